// A table that is read, sorted by nobody but the server, walked with j and k, and turned into cards on a narrow screen.
import { Cell, shortcutOf } from "tenure-ui";

export default {
  components: { Cell },
  props: ["label", "columns", "rows", "empty", "selectable", "selected", "back", "more", "walk"],
  emits: ["act", "select", "turn"],
  template: `
    <div class="tn-listing">
      <div v-if="!rows.length && empty" class="tn-empty">
        <h3>{{ empty.title }}</h3><p>{{ empty.text }}</p>
        <p v-if="empty.code"><code>{{ empty.code }}</code></p>
      </div>
      <div v-else-if="rows.length" class="tn-scroll" tabindex="-1">
      <table role="table" :aria-label="label">
        <thead role="rowgroup"><tr role="row">
          <th v-if="selectable" role="columnheader" class="tn-tick"><input type="checkbox" :checked="all" :indeterminate.prop="some" :aria-label="'Select all of ' + label" @change="tick(rows.map((row) => row.key), $event.target.checked)"></th>
          <th v-for="column in columns" :key="column.key" role="columnheader" scope="col" :class="column.align">{{ column.label }}</th>
          <th v-if="acting" role="columnheader"><span class="tn-hidden">Actions</span></th>
        </tr></thead>
        <tbody role="rowgroup">
          <tr v-for="row in rows" :key="row.key" role="row" :data-key="row.key" :class="[row.tone ? 'is-' + row.tone : '', { 'is-here': row.key === here, 'is-selected': chosen.has(row.key) }]">
            <td v-if="selectable" role="cell" class="tn-tick"><input type="checkbox" :checked="chosen.has(row.key)" :aria-label="'Select ' + row.name" @change="tick([row.key], $event.target.checked)"></td>
            <td v-for="(cell, index) in row.cells" :key="columns[index].key" role="cell" :class="columns[index].align" :data-label="columns[index].label"><Cell :cell="cell"/></td>
            <td v-if="acting" role="cell" class="tn-row-actions">
              <button v-for="act in row.acts" :key="act.name" type="button" class="tn-button is-small" :class="act.tone ? 'is-' + act.tone : ''" :disabled="!!act.refused" :title="act.refused || null"
                :aria-label="act.label + ' ' + row.name" @click="$emit('act', { name: act.name, key: row.key })">{{ act.label }}</button></td>
          </tr>
        </tbody>
      </table></div>
      <div v-if="back || more" class="tn-turn">
        <button type="button" class="tn-button" :disabled="!back" @click="$emit('turn', 'back')">Previous</button>
        <button type="button" class="tn-button" :disabled="!more" @click="$emit('turn', 'on')">Next</button>
      </div>
    </div>`,
  data: () => ({ here: null }),
  computed: {
    acting() {
      return this.rows.some((row) => row.acts?.length);
    },
    chosen() {
      return new Set(this.selected || []);
    },
    all() {
      return this.rows.length > 0 && this.rows.every((row) => this.chosen.has(row.key));
    },
    some() {
      return !this.all && this.rows.some((row) => this.chosen.has(row.key));
    },
  },
  mounted() {
    document.addEventListener("keydown", this.onKey);
  },
  unmounted() {
    document.removeEventListener("keydown", this.onKey);
  },
  methods: {
    /** What changes is told, not what is then selected: the next tick may come before the server has shown this one. */
    tick(keys, on) {
      this.$emit("select", { keys, on });
    },
    /** What a selector finds within the row that one is at; the row itself where it is empty. */
    within(selector) {
      return this.$el.querySelector(`tr[data-key="${CSS.escape(this.here)}"] ${selector}`);
    },
    onKey(event) {
      if (!this.walk || !this.rows.length) return;
      const key = shortcutOf(event);
      if (!["j", "k", "x", "Enter"].includes(key)) return;
      const at = this.rows.findIndex((row) => row.key === this.here);
      if (key === "j" || key === "k") {
        event.preventDefault();
        const next = key === "j" ? Math.min(at + 1, this.rows.length - 1) : Math.max(at - 1, 0);
        this.here = this.rows[next].key;
        this.within("")?.scrollIntoView({ block: "nearest" });
        this.within("a[href]")?.focus({ preventScroll: true });
      } else if (at >= 0 && key === "x" && this.selectable) {
        this.within(".tn-tick input")?.click();
      } else if (at >= 0 && key === "Enter" && event.target === document.body && this.rows[at].href) {
        event.preventDefault();
        this.within("a[href]")?.click();
      }
    },
  },
};
