// What narrows a list. It takes effect as it is chosen; text, when Enter is pressed or the field is left.
export default {
  props: ["fields", "values", "label"],
  emits: ["change"],
  template: `
    <form class="tn-filters" role="search" :aria-label="label" @submit.prevent>
      <div v-for="field in fields" :key="field.name" class="tn-filter">
        <label :for="'tn-filter-' + field.name">{{ field.label }}</label>
        <select v-if="field.options" :id="'tn-filter-' + field.name" :name="field.name" :value="chosen[field.name] || ''" @change="change(field.name, $event.target.value)">
          <option value="">{{ field.any || 'any' }}</option><option v-for="[value, words] in field.options" :key="value" :value="value">{{ words }}</option></select>
        <input v-else :id="'tn-filter-' + field.name" :name="field.name" :value="field.name in typing ? typing[field.name] : chosen[field.name] || ''" autocomplete="off" :placeholder="field.any || 'any'" maxlength="200" @input="typing[field.name] = $event.target.value" @change="change(field.name, $event.target.value)">
      </div>
      <button v-if="narrowed" type="button" class="tn-button is-small" @click="clear">Clear</button>
    </form>`,
  // What is being typed is the person's until it is sent, whatever the server says meanwhile.
  data: () => ({ chosen: {}, typing: {} }),
  watch: {
    values: { immediate: true, handler(values) {
      this.chosen = { ...values };
    } },
  },
  computed: {
    narrowed() {
      return Object.values(this.chosen).some((value) => value);
    },
  },
  methods: {
    /** What changes is told, not what is then chosen: the next choice may come before the server has shown this one. */
    change(name, typed) {
      const value = typed.trim();
      delete this.typing[name];
      this.chosen = { ...this.chosen, [name]: value };
      this.$emit("change", { name, value });
    },
    clear() {
      this.typing = {};
      this.chosen = {};
      this.$emit("change", {});
    },
  },
};
