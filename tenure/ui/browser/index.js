// What all components share: the server's clock, how a cell is drawn, and whether keys are for shortcuts just now.
import { computed, h, reactive } from "vue";

const SECOND = 1000;
export const clock = reactive({ offset: 0, now: Date.now() });
setInterval(() => (clock.now = Date.now() + clock.offset), SECOND);

/** Go by the server's clock from now on: `iso` is what it shows. Small differences are travel time. */
export function setClock(iso) {
  const offset = new Date(iso).getTime() - Date.now();
  if (Math.abs(offset - clock.offset) > 2 * SECOND || clock.offset === 0) {
    clock.offset = offset;
    clock.now = Date.now() + offset;
  }
}

const STEPS = [[86400, "d"], [3600, "h"], [60, "m"], [1, "s"]];
/** A duration in its two largest units, as the terminal words it: `3h 20m`. */
export function age(seconds) {
  const whole = Math.max(0, Math.floor(seconds));
  for (let i = 0; i < STEPS.length - 1; i++) {
    const [size, unit] = STEPS[i];
    if (whole >= size) {
      const [smaller, name] = STEPS[i + 1];
      const rest = Math.floor((whole % size) / smaller);
      return `${Math.floor(whole / size)}${unit}` + (rest ? ` ${rest}${name}` : "");
    }
  }
  return `${whole}s`;
}

export const secondsSince = (iso) => (clock.now - new Date(iso).getTime()) / SECOND;

const label = (word) => String(word).toLowerCase().replaceAll("_", " ");
export const tone = (word) => "is-" + String(word).toLowerCase().replace(/[_ ]/g, "-");

function drawn(cell) {
  const before = cell.before ? cell.before + " " : "";
  if (cell.kind === "state") return h("span", { class: ["tn-state", tone(cell.text)] }, label(cell.text));
  if (cell.kind === "since") {
    return h("time", { datetime: cell.at, title: cell.text, class: "tn-num" }, before + age(secondsSince(cell.at)) + " ago");
  }
  if (cell.kind === "until") {
    const left = -secondsSince(cell.at);
    const words = before + (left > 0 ? "in " + age(left) : age(-left) + " ago");
    const soon = left <= 0 ? "is-over" : left < 60 ? "is-soon" : "";
    return h("time", { datetime: cell.at, title: cell.text, class: ["tn-num", soon] }, words);
  }
  if (cell.kind === "code") return h("pre", { class: "tn-code", tabindex: 0 }, typeof cell.data === "string" ? cell.data : JSON.stringify(cell.data, null, 2));
  const classes = [cell.kind ? "tn-" + (cell.kind === "number" ? "num" : cell.kind) : "", cell.tone ? "is-" + cell.tone : ""];
  if (cell.href) return h("a", { href: cell.href, class: classes, title: cell.title }, cell.text);
  return h("span", { class: classes, title: cell.title }, cell.text);
}

export const Cell = {
  props: ["cell"],
  setup(props) {
    return () => [
      drawn(props.cell),
      props.cell.sub ? h("span", { class: "tn-sub" }, props.cell.sub) : null,
    ];
  },
};

const OFF = "tenure-shortcuts-off";
export const shortcuts = reactive({ on: localStorage.getItem(OFF) === null });
export function setShortcuts(on) {
  shortcuts.on = on;
  if (on) localStorage.removeItem(OFF);
  else localStorage.setItem(OFF, "1");
}

/** The key of a plain key press that may be a shortcut, else "". */
export function shortcutOf(event) {
  if (!shortcuts.on || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return "";
  const at = event.target instanceof Element ? event.target : document.body;
  if (at.closest("input, textarea, select, [contenteditable], dialog")) return "";
  if (document.querySelector("dialog[open]")) return "";
  return event.key;
}

/** Sends a request of this site with the session's cookie. Gives `null` when it went well, else the problem. */
export async function send(method, path, body) {
  try {
    const answer = await fetch(path, {
      method, credentials: "same-origin", headers: body ? { "Content-Type": "application/json" } : {},
      body: body ? JSON.stringify(body) : undefined,
    });
    if (answer.ok) return null;
    const problem = await answer.json().catch(() => ({}));
    return { detail: problem.detail || `The server answered ${answer.status}.`, hint: problem.hint || "", code: problem.code || "" };
  } catch {
    return { detail: "The server cannot be reached.", hint: "Check the connection and try again.", code: "unreachable" };
  }
}

export { computed };
