// Facts in order, newest first or last, each with what it changed; refusals among them. A long one is turned like a list.
import { Cell } from "tenure-ui";

export default {
  components: { Cell },
  props: ["entries", "label", "back", "more"],
  emits: ["turn"],
  template: `
    <div>
    <ol class="tn-timeline" :aria-label="label">
      <li v-for="entry in entries" :key="entry.key" :id="entry.seq !== null ? 'fact-' + entry.seq : null" :class="entry.tone ? 'is-' + entry.tone : ''">
        <span class="tn-seq tn-num">{{ entry.seq === null ? '' : '#' + entry.seq }}</span>
        <div class="tn-entry">
          <p><b>{{ entry.type }}</b> <Cell v-if="entry.state" :cell="entry.state"/></p>
          <p v-if="entry.what" class="tn-what">{{ entry.what }}</p>
          <p v-if="entry.error" class="tn-fault">{{ entry.error }}</p>
          <p class="tn-by"><Cell :cell="entry.at"/><span v-if="entry.by"> by {{ entry.by }}</span></p>
          <details v-if="entry.more"><summary>Evidence</summary><pre class="tn-code" tabindex="0">{{ JSON.stringify(entry.more, null, 2) }}</pre></details>
        </div>
      </li>
    </ol>
    <div v-if="back || more" class="tn-turn" role="group" :aria-label="'Pages: ' + label">
      <button type="button" class="tn-button" :disabled="!back" @click="$emit('turn', 'back')">Newer</button>
      <button type="button" class="tn-button" :disabled="!more" @click="$emit('turn', 'on')">Older</button>
    </div>
    </div>`,
};
