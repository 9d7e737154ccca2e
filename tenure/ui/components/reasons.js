// Why a subject is not moving, or who could move it: code, sentence, evidence, what would change it.
export default {
  props: ["reasons"],
  template: `
    <ul class="tn-reasons">
      <li v-for="(reason, index) in reasons" :key="index" :class="reason.blocking ? 'is-blocking' : 'is-open'">
        <p class="tn-reason"><span class="tn-sign" aria-hidden="true">{{ reason.blocking ? '✗' : '✓' }}</span>
          <span class="tn-hidden">{{ reason.blocking ? 'In the way:' : 'Not in the way:' }}</span>
          <b>{{ reason.message }}</b> <code>{{ reason.code }}</code></p>
        <dl v-if="reason.evidence.length" class="tn-evidence"><div v-for="[name, value] in reason.evidence" :key="name"><dt>{{ name }}</dt><dd>{{ value }}</dd></div></dl>
        <p class="tn-remedy"><span>What would change it</span> {{ reason.remedy }}</p>
      </li>
    </ul>`,
};
