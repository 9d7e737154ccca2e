// The frame of every page: skip link, bar with search and person, navigation, banner, the screen itself, help.
import { nextTick } from "vue";
import { send, setClock, setShortcuts, shortcutOf, shortcuts } from "tenure-ui";

const THEMES = ["system", "light", "dark"];

export default {
  props: ["person", "tenant", "places", "current", "trouble", "now", "busy", "keys"],
  emits: ["open", "visible", "leave"],
  template: `
    <div class="tn-shell" :class="{ 'is-busy': busy || waiting }">
      <a class="tn-skip" href="#tn-main" @click.prevent="toMain">Skip to content</a>
      <div class="tn-progress" aria-hidden="true"></div>
      <header class="tn-bar">
        <a class="tn-brand" :href="places[0].href" aria-label="Tenure, home">
          <svg viewBox="0 0 24 24" aria-hidden="true"><path d="M4 6h16M12 6v13M7.5 12.5h9"/><circle cx="12" cy="19.5" r="1.6"/></svg>
          <span>Tenure</span>
        </a>
        <span class="tn-tenant" :title="'Tenant ' + tenant">{{ tenant }}</span>
        <form class="tn-search" role="search" @submit.prevent="search">
          <label class="tn-hidden" for="tn-search">Find a subject by EUID, reference or name</label>
          <svg class="tn-lens" viewBox="0 0 24 24" aria-hidden="true"><circle cx="10.5" cy="10.5" r="6"/><path d="m15 15 5 5"/></svg>
          <input id="tn-search" ref="search" v-model="sought" type="search" autocomplete="off" spellcheck="false" maxlength="500"
            placeholder="Find by EUID, reference or name" @keydown.esc="$event.target.blur()">
          <kbd aria-hidden="true">/</kbd>
        </form>
        <span class="tn-live" :class="{ 'is-off': trouble }" role="status">
          <i aria-hidden="true"></i><span class="tn-wide">{{ trouble ? 'not live' : 'live' }}</span></span>
        <button type="button" class="tn-icon" :aria-label="'Colours: ' + theme + '. Change'" :title="'Colours: ' + theme" @click="nextTheme">
          <svg v-if="theme === 'light'" viewBox="0 0 24 24" aria-hidden="true"><circle cx="12" cy="12" r="4"/><path d="M12 3v2M12 19v2M3 12h2M19 12h2M5.6 5.6 7 7M17 17l1.4 1.4M5.6 18.4 7 17M17 7l1.4-1.4"/></svg>
          <svg v-else-if="theme === 'dark'" viewBox="0 0 24 24" aria-hidden="true"><path d="M20 14.5A8 8 0 0 1 9.5 4 8 8 0 1 0 20 14.5Z"/></svg>
          <svg v-else viewBox="0 0 24 24" aria-hidden="true"><circle cx="12" cy="12" r="8"/><path d="M12 4a8 8 0 0 1 0 16Z" fill="currentColor"/></svg>
        </button>
        <button type="button" class="tn-icon" aria-label="Keyboard help" title="Keyboard help (?)" @click="help"><b aria-hidden="true">?</b></button>
        <div class="tn-person" @focusout="leaving">
          <button type="button" class="tn-who" aria-haspopup="true" :aria-expanded="String(menu)" :aria-label="initials + ', signed in as ' + person.name" @click="menu = !menu">
            <span>{{ initials }}</span></button>
          <div v-if="menu" class="tn-menu" @keydown.esc="menu = false">
            <p><b>{{ person.display }}</b><br><span class="tn-mono">{{ person.name }}</span></p>
            <p class="tn-quiet">{{ person.roles.join(', ') || 'no roles' }}</p>
            <button type="button" class="tn-button" @click="$emit('leave')">Sign out</button>
            <p v-if="problem" class="tn-error" role="alert">{{ problem.detail }} {{ problem.hint }}</p>
          </div>
        </div>
      </header>
      <nav class="tn-nav" aria-label="Screens">
        <a v-for="place in places" :key="place.href" :href="place.href" :aria-current="place.key === current ? 'page' : null">
          <svg viewBox="0 0 24 24" aria-hidden="true"><path :d="place.icon"/></svg><span>{{ place.label }}</span></a>
      </nav>
      <div class="tn-banner" role="alert" v-if="trouble"><b>{{ trouble.title }}</b> {{ trouble.text }}</div>
      <main id="tn-main" class="tn-main" tabindex="-1"><slot></slot></main>
      <dialog ref="help" class="tn-dialog" aria-labelledby="tn-help-title">
        <h2 id="tn-help-title">Keyboard</h2>
        <dl class="tn-keys"><template v-for="[key, does] in keys" :key="key">
          <dt><kbd v-for="part in key.split(' ')" :key="part">{{ part }}</kbd></dt><dd>{{ does }}</dd></template></dl>
        <label class="tn-check"><input type="checkbox" :checked="shortcuts.on" @change="setShortcuts($event.target.checked)"> Use single-key shortcuts</label>
        <div class="tn-actions"><button type="button" class="tn-button" autofocus @click="$refs.help.close()">Close</button></div>
      </dialog>
    </div>`,
  data: () => ({
    sought: "", menu: false, problem: null, waiting: false, theme: "system", going: false, shortcuts, at: "",
  }),
  computed: {
    initials() {
      return (this.person.display || this.person.name).replace(/^.*:/, "").slice(0, 2).toUpperCase();
    },
  },
  watch: {
    now: { immediate: true, handler: (iso) => iso && setClock(iso) },
  },
  mounted() {
    this.at = this.address();
    this.theme = localStorage.getItem("tenure-theme") || "system";
    document.addEventListener("click", this.onClick);
    document.addEventListener("keydown", this.onKey);
    document.addEventListener("visibilitychange", this.onVisible);
    window.addEventListener("popstate", this.onBack);
  },
  unmounted() {
    document.removeEventListener("click", this.onClick);
    document.removeEventListener("keydown", this.onKey);
    document.removeEventListener("visibilitychange", this.onVisible);
    window.removeEventListener("popstate", this.onBack);
  },
  methods: {
    setShortcuts,
    toMain() {
      document.getElementById("tn-main").focus();
    },
    // Where the server is connected, a link changes the screen in place; else the browser follows it as ever.
    visit(path) {
      if (!window.socket?.connected) return (window.location.href = path);
      history.pushState({}, "", path);
      this.go();
    },
    replace(path) {
      if (!window.socket?.connected) return window.location.replace(path);
      history.replaceState({}, "", path);
      this.go();
    },
    go() {
      this.waiting = true;
      this.at = this.address();
      this.$emit("open", this.at);
    },
    address() {
      return window.location.pathname + window.location.search;
    },
    /** The screen of an address is there. Whoever has gone on meanwhile waits for another one. */
    async arrived(title, address) {
      if (address !== this.at) return;
      this.waiting = false;
      document.title = title;
      await nextTick();
      const there = window.location.hash && document.getElementById(window.location.hash.slice(1));
      if (there) there.scrollIntoView({ block: "center" });
      else window.scrollTo(0, 0);
      // Who is typing already keeps the field.
      if (document.activeElement !== this.$refs.search) document.querySelector("#tn-main h1")?.focus({ preventScroll: true });
    },
    onClick(event) {
      const link = event.target.closest?.("a[href]");
      if (!link || event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
      const url = new URL(link.href, window.location.href);
      if (url.origin !== window.location.origin || !url.pathname.startsWith("/ui/") || link.target) return;
      if (url.pathname === window.location.pathname && url.search === window.location.search && url.hash) return;
      event.preventDefault();
      this.visit(url.pathname + url.search + url.hash);
    },
    onBack() {
      if (this.at === this.address()) return; // to a place within the screen
      if (window.socket?.connected) this.go();
      else window.location.reload();
    },
    onVisible() {
      this.$emit("visible", !document.hidden);
    },
    onKey(event) {
      const key = shortcutOf(event);
      if (!key) return;
      const then = { "/": () => this.$refs.search.focus(), "?": this.help }[key];
      if (then) {
        event.preventDefault();
        then();
      } else if (this.going) {
        this.going = false;
        const place = this.places.find((each) => each.letter === key);
        if (place) this.visit(place.href);
      } else if (key === "g") {
        this.going = true;
        clearTimeout(this.gone);
        this.gone = setTimeout(() => (this.going = false), 1500);
      }
    },
    search() {
      const text = this.sought.trim();
      if (!text) return;
      this.visit("/ui/search?q=" + encodeURIComponent(text));
      this.sought = "";
      this.$refs.search.blur();
    },
    help() {
      this.$refs.help.showModal();
    },
    leaving(event) {
      if (!event.currentTarget.contains(event.relatedTarget)) this.menu = false;
    },
    nextTheme() {
      this.theme = THEMES[(THEMES.indexOf(this.theme) + 1) % THEMES.length];
      window.tenureTheme(this.theme);
    },
    async signOut() {
      this.problem = await send("DELETE", "/api/v1/session");
      if (!this.problem || this.problem.code === "unauthenticated") window.location.href = "/ui/sign-in";
    },
  },
};
