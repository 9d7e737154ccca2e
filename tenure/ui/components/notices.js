// Says what was done, with a way to the fact that proves it.
export default {
  data: () => ({ notices: [], next: 1 }),
  template: `
    <div class="tn-notices" role="status" aria-live="polite">
      <div v-for="notice in notices" :key="notice.id" class="tn-notice" :class="notice.tone ? 'is-' + notice.tone : ''">
        <span>{{ notice.text }}</span> <a v-if="notice.href" :href="notice.href">{{ notice.link }}</a>
        <button type="button" class="tn-icon" aria-label="Dismiss" @click="drop(notice.id)"><span aria-hidden="true">×</span></button>
      </div>
    </div>`,
  methods: {
    say(notice) {
      const id = this.next++;
      this.notices = [...this.notices.slice(-3), { ...notice, id }];
      setTimeout(() => this.drop(id), 12000);
    },
    drop(id) {
      this.notices = this.notices.filter((notice) => notice.id !== id);
    },
  },
};
