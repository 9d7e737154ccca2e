// Names and values, one below the other.
import { Cell } from "tenure-ui";

export default {
  components: { Cell },
  props: ["fields"],
  template: `
    <dl class="tn-properties">
      <div v-for="field in fields" :key="field.label"><dt>{{ field.label }}</dt><dd><Cell :cell="field.cell"/></dd></div>
    </dl>`,
};
