// The head of a screen: where it belongs, what it shows, how it stands, what can be done.
import { Cell, shortcutOf } from "tenure-ui";

export default {
  components: { Cell },
  props: ["title", "level", "mono", "above", "marks", "text", "acts"],
  emits: ["act"],
  template: `
    <div class="tn-heading">
      <div>
        <p v-if="above" class="tn-above"><a :href="above.href">{{ above.label }}</a></p>
        <component :is="'h' + (level || 1)" :tabindex="level ? null : -1" :class="{ 'tn-mono': mono }">{{ title }}</component>
        <p v-if="marks && marks.length" class="tn-marks"><span v-for="(mark, index) in marks" :key="index"><Cell :cell="mark"/></span></p>
        <p v-if="text" class="tn-quiet">{{ text }}</p>
      </div>
      <div v-if="acts && acts.length" class="tn-acts" role="group" aria-label="Actions">
        <button v-for="act in acts" :key="act.name" type="button" class="tn-button" :class="act.tone ? 'is-' + act.tone : ''"
          :disabled="!!act.refused" :title="act.refused || null" :aria-keyshortcuts="act.letter || null" @click="$emit('act', act.name)">
          {{ act.label }}<kbd v-if="act.letter" aria-hidden="true">{{ act.letter }}</kbd></button>
      </div>
    </div>`,
  mounted() {
    document.addEventListener("keydown", this.onKey);
  },
  unmounted() {
    document.removeEventListener("keydown", this.onKey);
  },
  methods: {
    onKey(event) {
      const key = shortcutOf(event);
      const act = key && (this.acts || []).find((each) => each.letter === key && !each.refused);
      if (!act) return;
      event.preventDefault();
      this.$emit("act", act.name);
    },
  },
};
