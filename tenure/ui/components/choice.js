// One of a few.
export default {
  props: ["label", "options", "value"],
  emits: ["choose"],
  template: `
    <div class="tn-choice" role="group" :aria-label="label"><h2 class="tn-h2">{{ label }}</h2>
      <div><button v-for="[name, words] in options" :key="name" type="button" :aria-pressed="String(name === value)" @click="$emit('choose', name)">{{ words }}</button></div>
    </div>`,
};
