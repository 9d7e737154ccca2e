// The way in. What is typed goes to the session route and nowhere else.
import { send } from "tenure-ui";

export default {
  props: ["next", "single", "note", "tenant"],
  data: () => ({ name: "", password: "", problem: null, busy: false }),
  template: `
    <main class="tn-door">
      <form class="tn-card" @submit.prevent="enter" novalidate>
        <p class="tn-brand"><svg viewBox="0 0 24 24" aria-hidden="true"><path d="M4 6h16M12 6v13M7.5 12.5h9"/><circle cx="12" cy="19.5" r="1.6"/></svg><span>Tenure</span></p>
        <h1>Sign in</h1>
        <p v-if="tenant" class="tn-quiet">Tenant {{ tenant }}</p>
        <div v-if="note && !problem" class="tn-problem" role="alert"><p>{{ note }}</p></div>
        <div class="tn-field"><label for="tn-name">Name</label>
          <input id="tn-name" name="name" v-model="name" autocomplete="username" autocapitalize="none" spellcheck="false" autofocus required placeholder="ada"></div>
        <div class="tn-field"><label for="tn-password">Password</label>
          <input id="tn-password" name="password" type="password" v-model="password" autocomplete="current-password" required></div>
        <div v-if="problem" class="tn-problem" role="alert"><p><b>{{ problem.detail }}</b></p><p v-if="problem.hint">{{ problem.hint }}</p></div>
        <button class="tn-button is-primary" :disabled="busy">{{ busy ? 'Signing in …' : 'Sign in' }}</button>
        <a v-if="single" class="tn-button" :href="single.href">{{ single.label }}</a>
      </form>
    </main>`,
  methods: {
    async enter() {
      if (this.busy) return;
      if (!this.name.trim() || !this.password) {
        this.problem = { detail: "Name and password are both needed." };
        return;
      }
      this.busy = true;
      this.problem = await send("POST", "/api/v1/session", {
        name: this.name.trim(), password: this.password, ...(this.tenant ? { tenant: this.tenant } : {}),
      });
      if (!this.problem) window.location.replace(this.next);
      this.busy = false;
    },
  },
};
