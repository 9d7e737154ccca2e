// Steps and the ways between them, coloured by how they stand; each can be chosen by click, Enter or space.
export default {
  props: ["picture", "chosen", "label"],
  emits: ["choose"],
  template: `
    <div class="tn-graph" role="group" :aria-label="label">
      <svg v-if="picture" :viewBox="'0 0 ' + picture.width + ' ' + picture.height" :style="{ width: picture.width + 'px', 'min-width': picture.width * .8 + 'px' }" role="group" :aria-label="picture.title">
        <g aria-hidden="true"><g v-for="(line, index) in picture.lines" :key="index" :class="['tn-way', 'is-' + line.kind, { 'is-taken': line.taken }]">
          <path :d="line.path"/><polygon :points="line.head"/></g>
          <g v-for="(line, index) in picture.lines" :key="'t' + index"><text v-if="line.label" :x="line.label.x" :y="line.label.y" :text-anchor="line.label.anchor" class="tn-way-label">{{ line.label.text }}<title>{{ line.label.whole }}</title></text></g></g>
        <g v-for="box in picture.boxes" :key="box.id" role="button" tabindex="0" :aria-pressed="String(box.id === chosen)" :data-step="box.id"
          :class="['tn-step', 'is-' + box.state, { 'is-chosen': box.id === chosen }]" @click="choose(box)" @keydown.enter.prevent="choose(box)" @keydown.space.prevent="choose(box)">
          <rect :x="box.x" :y="box.y" :width="box.width" :height="box.height" :rx="box.rounded"><title>{{ box.told }}</title></rect>
          <text :x="box.x + box.width / 2" :y="box.y + box.height / 2 - 3" text-anchor="middle" class="tn-step-name">{{ box.name + ' ' }}</text>
          <text :x="box.x + box.width / 2" :y="box.y + box.height / 2 + 14" text-anchor="middle" class="tn-step-sub">{{ box.below }}</text>
        </g>
      </svg>
    </div>`,
  methods: {
    choose(box) {
      this.$emit("choose", box.id);
    },
  },
};
