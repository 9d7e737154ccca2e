// A few numbers that matter, side by side.
import { Cell } from "tenure-ui";

export default {
  components: { Cell },
  props: ["label", "tiles"],
  template: `
    <dl class="tn-tiles" :aria-label="label">
      <div v-for="tile in tiles" :key="tile.label" :class="['tn-tile', tile.tone ? 'is-' + tile.tone : '']">
        <dt>{{ tile.label }}</dt><dd><Cell :cell="tile.cell"/></dd>
        <dd v-if="tile.note" class="tn-sub">{{ tile.note }}</dd>
      </div>
    </dl>`,
};
