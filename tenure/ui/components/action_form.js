// Asks for what an action needs, the reason above all, in a dialog that stays open until the action was done.
import { nextTick } from "vue";

export default {
  props: ["form", "problem", "once", "pending"],
  emits: ["submit", "close"],
  template: `
    <dialog ref="dialog" class="tn-dialog" aria-labelledby="tn-form-title" @cancel.prevent="once || close()" @click="outside">
      <form v-if="form" method="dialog" @submit.prevent="submit" novalidate>
        <h2 id="tn-form-title">{{ form.title }}</h2>
        <template v-if="once">
          <p role="status">{{ once.text }}</p>
          <div class="tn-field"><label for="tn-once">Shown this once</label>
            <input id="tn-once" ref="once" class="tn-mono" readonly :value="once.secret" autocomplete="off" spellcheck="false" aria-describedby="tn-once-hint" @focus="$event.target.select()">
            <p id="tn-once-hint" class="tn-hint">{{ copied ? 'Copied.' : 'Keep it now: nobody can see it again.' }}</p></div>
          <div class="tn-actions"><button type="button" class="tn-button" @click="copy">Copy</button><button type="button" class="tn-button is-primary" @click="close">I have kept it</button></div>
        </template>
        <template v-else>
        <p v-if="form.about" class="tn-about tn-mono">{{ form.about }}</p>
        <p v-if="form.says" class="tn-quiet">{{ form.says }}</p>
        <div v-for="(field, index) in form.fields" :key="form.id + field.name" class="tn-field">
          <label v-if="field.kind === 'check'" class="tn-check"><input type="checkbox" v-model="values[field.name]" :name="field.name"> {{ field.label }}</label>
          <template v-else>
            <label :for="'tn-field-' + field.name">{{ field.label }} <span v-if="!field.required" class="tn-quiet">optional</span></label>
            <textarea v-if="field.kind === 'long' || field.kind === 'json'" :id="'tn-field-' + field.name" :name="field.name" v-model="values[field.name]" :rows="field.kind === 'json' ? 5 : 3"
              :class="{ 'tn-mono': field.kind === 'json' }" :placeholder="field.placeholder" :required="field.required" :aria-invalid="missing.includes(field.name) ? 'true' : null"
              :aria-describedby="field.hint || missing.includes(field.name) ? 'tn-hint-' + field.name : null" maxlength="20000" @keydown.ctrl.enter="submit" @keydown.meta.enter="submit"></textarea>
            <select v-else-if="field.kind === 'choice'" :id="'tn-field-' + field.name" :name="field.name" v-model="values[field.name]">
              <option v-for="[value, words] in field.options" :key="value" :value="value">{{ words }}</option></select>
            <input v-else :id="'tn-field-' + field.name" :name="field.name" :type="field.kind === 'number' ? 'number' : field.kind === 'time' ? 'datetime-local' : 'text'" v-model="values[field.name]" autocomplete="off"
              :placeholder="field.placeholder" :required="field.required" :aria-invalid="missing.includes(field.name) ? 'true' : null" :aria-describedby="field.hint || missing.includes(field.name) ? 'tn-hint-' + field.name : null">
          </template>
          <p v-if="missing.includes(field.name)" :id="'tn-hint-' + field.name" class="tn-error">{{ field.missing || 'Please fill this in.' }}</p>
          <p v-else-if="field.hint" :id="'tn-hint-' + field.name" class="tn-hint">{{ field.hint }}</p>
        </div>
        <div v-if="problem" class="tn-problem" role="alert"><p><b>{{ problem.message }}</b> <code>{{ problem.code }}</code></p><p v-if="problem.hint">{{ problem.hint }}</p>
          <ul v-if="problem.each"><li v-for="line in problem.each" :key="line">{{ line }}</li></ul></div>
        <div class="tn-actions">
          <button type="button" class="tn-button" @click="close">{{ problem && problem.final ? 'Close' : 'Cancel' }}</button>
          <button v-if="!(problem && problem.final)" type="submit" class="tn-button is-primary" :class="form.tone ? 'is-' + form.tone : ''" :disabled="pending || sent">{{ pending || sent ? 'Working …' : form.submit }}</button>
        </div>
        </template>
      </form>
    </dialog>`,
  data: () => ({ values: {}, missing: [], sent: false, copied: false, before: null }),
  watch: {
    form: { immediate: true, handler(form, old) {
      if (form && form.id !== old?.id) this.open(form);
      else if (!form) this.shut();
    } },
    problem() {
      this.sent = false;
    },
    async once(now) {
      this.copied = false;
      await nextTick();
      if (now) this.$refs.once?.focus();
    },
    pending(now) {
      if (!now) this.sent = false;
    },
  },
  methods: {
    async open(form) {
      this.before = document.activeElement;
      this.values = Object.fromEntries(form.fields.map((field) => [field.name, field.value ?? (field.kind === "check" ? false : "")]));
      this.missing = [];
      this.sent = false;
      await nextTick();
      if (!this.$refs.dialog.open) this.$refs.dialog.showModal();
      (this.$refs.dialog.querySelector("textarea, input, select") || this.$refs.dialog.querySelector("button[type=submit]"))?.focus();
    },
    shut() {
      if (!this.$refs.dialog?.open) return;
      this.$refs.dialog.close();
      if (this.before?.isConnected) this.before.focus({ preventScroll: true });
    },
    async copy() {
      this.$refs.once.select();
      this.copied = await navigator.clipboard?.writeText(this.once.secret).then(() => true, () => false) || document.execCommand("copy");
    },
    submit() {
      if (this.once || this.pending || this.sent) return;
      this.missing = this.form.fields.filter((field) => field.required && !String(this.values[field.name] ?? "").trim()).map((field) => field.name);
      if (this.missing.length) {
        this.$refs.dialog.querySelector(`[name="${this.missing[0]}"]`)?.focus();
        return;
      }
      this.sent = true;
      this.$emit("submit", { id: this.form.id, values: this.values });
    },
    close() {
      this.shut();
      this.$emit("close", this.form?.id);
    },
    outside(event) {
      if (!this.once && event.target === this.$refs.dialog && !Object.values(this.values).some((value) => typeof value === "string" && value.trim())) this.close();
    },
  },
};
