/**
 * The console: four places behind one header, by the hash of the address.
 *
 * @module main
 */

import { announce, h, say } from "./dom.js";
import { clock, count, span } from "./format.js";
import { GraphPlace } from "./graph.js";
import { HealthPlace, Past } from "./health.js";
import { Watch, keepToken, token } from "./server.js";
import { SqlPlace } from "./sql.js";
import { ViewPlace } from "./view.js";

const watch = new Watch(), past = new Past(watch);
const PLACES = /** @type {const} */ ([["graph", "Graph", "g"], ["view", "Views", "v"], ["sql", "SQL", "s"], ["health", "Health", "h"]]);

/** @type {{ element: HTMLElement, close(): void } | null} */
let shown = null;

const state = h("p", { class: "state", role: "status" }), version = h("p", { class: "version" });
const banner = h("p", { class: "banner", hidden: true }); // it counts seconds, which nobody wants to be told one by one
const links = PLACES.map(([id, title, key]) => h("a", { href: `#/${id}`, "data-place": id, "aria-keyshortcuts": `Alt+${key}`, title: `Alt+${key.toUpperCase()}` }, title));
const out = h("button", { class: "quiet", hidden: true, onclick: () => { keepToken(undefined); location.reload(); } }, "Forget token");
const main = h("main", { id: "main", tabindex: "-1" });
document.body.prepend(
  h("a", { class: "skip", href: "#main", onclick: (/** @type {Event} */ event) => { event.preventDefault(); main.focus(); } }, "Skip to the content"),
  h("header", { class: "head" }, h("p", { class: "brand" }, "livejoin"), h("nav", { "aria-label": "Places" }, links), h("div", { class: "who" }, version, state, out)),
  banner, main, h("p", { id: "announcements", class: "unseen", "aria-live": "polite" }));

const go = (/** @type {string} */ hash) => { location.hash = hash; };

/** Show what the address says; `isAnother` where something is shown already. Gives whether the place stays. */
function route(isAnother = false) {
  const [, place = "graph", ...rest] = location.hash.split("/");
  const name = nameOf(rest.join("/"));
  const here = place === "table" ? "view" : place;
  if (shown instanceof GraphPlace && here === "graph" && isAnother) {
    shown.show(name);
    return true;
  }
  for (const link of links) {
    if (link.dataset.place === here) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  shown?.close();
  shown = here === "view" ? new ViewPlace(watch, go, name ? { kind: place === "table" ? "tables" : "views", name } : null)
    : here === "sql" ? new SqlPlace(watch, go) : here === "health" ? new HealthPlace(watch, past) : new GraphPlace(watch, go, name);
  main.replaceChildren(shown.element);
  document.title = `${name || PLACES.find(([id]) => id === here)?.[1] || "Graph"} · livejoin`;
  if ("draw" in shown && typeof shown.draw === "function") shown.draw(); // what it measures is there now
  return false;
}

function nameOf(/** @type {string} */ text) {
  try { return decodeURIComponent(text); }
  catch { return text; }
}

function tellState() {
  const { state: is } = watch;
  document.body.dataset.state = is;
  say(state, { connecting: "connecting", live: "live", busy: "busy with a long commit", away: "no answer" }[is]);
  banner.hidden = is !== "away";
  if (is === "live" && said === "away") announce("The server is back");
  if (is === "away") announce("The server does not answer");
  said = is;
  tellAway();
}
let said = "connecting";

function tellAway() {
  if (watch.state === "away") say(banner, `The server does not answer since ${clock(watch.heardAt)}, for ${span((Date.now() - watch.heardAt) / 1000)}. This page asks again and goes on by itself.`);
}

/** Ask for the token, once. @param {CustomEvent<(value: unknown) => void>} event */
function askToken({ detail: done }) {
  const had = token();
  const input = h("input", { type: "password", name: "token", required: true, autofocus: true, autocomplete: "current-password", spellcheck: "false" });
  const form = h("form", { method: "dialog" }, h("h2", {}, "This server wants a token"),
    h("p", { class: had ? "bad" : "muted" }, had ? "The server does not know this token." : "It is kept until this tab is closed, and sent in the header of each request."),
    h("label", {}, "Token", input), h("div", { class: "buttons" }, h("button", { class: "primary" }, "Go on")));
  const dialog = h("dialog", { class: "sheet", "aria-label": "Token", oncancel: (/** @type {Event} */ one) => one.preventDefault() }, form);
  document.body.append(dialog);
  dialog.addEventListener("close", () => { keepToken(input.value.trim()); dialog.remove(); done(undefined); }, { once: true });
  dialog.showModal();
}

watch.on("state", tellState);
watch.on("tick", () => say(version, `version ${count(watch.tick?.now.version ?? 0)}`));
watch.on("token", askToken);
watch.on("restart", () => announce("The server was started anew"));
watch.on("graph", () => { out.hidden = !token(); });
addEventListener("hashchange", () => { if (!route(true)) main.focus({ preventScroll: true }); });
addEventListener("keydown", (event) => {
  const place = event.altKey && !event.ctrlKey && !event.metaKey && PLACES.find(([, , key]) => event.code === `Key${key.toUpperCase()}`);
  if (place) { event.preventDefault(); go(`#/${place[0]}`); }
});
setInterval(tellAway, 1000);
tellState();
route();
watch.run();
