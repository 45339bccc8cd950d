/**
 * A view, or a table: its rows in a grid that is live, its picture, what it costs and why.
 *
 * @module view
 */

import { parse } from "livejoin";
import { advice, grounds, later } from "./advice.js";
import { chosen, ordered, orders, viewTimes } from "./dearest.js";
import { assertionSaid } from "./graph.js";
import { announce, h, say } from "./dom.js";
import { count, many, rate, seconds } from "./format.js";
import { Grid } from "./grid.js";
import { LiveRows, MANY, PagedRows } from "./rows.js";
import { ask, pathOf, read } from "./server.js";

/** @typedef {import("./server.js").Watch} Watch */

const OFTEN = 15_000; // milliseconds between two texts for a screen reader
const TABS = /** @type {const} */ ([["rows", "Rows"], ["picture", "Picture"], ["explained", "Explained"], ["why", "Why"], ["actual", "Actual"], ["sql", "SQL"]]);

/** The list of views and tables, of which one is shown. */
export class ViewPlace {
  /** @param {Watch} watch @param {(hash: string) => void} go @param {{ kind: "views" | "tables", name: string } | null} shown */
  constructor(watch, go, shown) {
    this.watch = watch;
    this.go = go;
    this.ending = new AbortController();
    this.list = h("nav", { "aria-label": "Views and tables" });
    this.order = orders(() => this.names());
    const narrow = matchMedia("(max-width: 720px)"); // as in console.css
    const folded = h("details", { class: "names", open: !narrow.matches }, h("summary", {}, "Views and tables"), this.order, this.list);
    narrow.addEventListener("change", () => { folded.open = !narrow.matches; }, { signal: this.ending.signal });
    this.main = h("div", { class: "view-main" });
    this.element = h("section", { class: "place view", "aria-label": "Views" }, folded, this.main);
    /** @type {One | null} */ this.one = null;
    this.shown = shown;
    this.stands = "";
    watch.on("graph", () => this.names(), this.ending.signal);
    watch.on("tick", () => { if (!this.isOrdered()) this.names(); else this.figures(); }, this.ending.signal);
    this.names();
  }

  /** The names of the views, as they are to stand. */
  wanted() {
    const { graph, tick } = this.watch;
    return graph ? ordered(graph.views.map((one) => one.name), viewTimes(graph, tick?.now), chosen.order) : [];
  }

  /** Whether the list stands so; one in which somebody moves is left alone. */
  isOrdered() {
    return this.list.contains(document.activeElement) || this.wanted().join("\n") === this.stands;
  }

  names() {
    const graph = this.watch.graph;
    if (!graph) return;
    const tables = graph.tables.filter((one) => one.readable), views = this.wanted();
    this.stands = views.join("\n");
    this.shown ??= views.length ? { kind: "views", name: views[0] } : tables.length ? { kind: "tables", name: tables[0].name } : null;
    const marks = new Map(graph.views.map((one) => [one.name, one.assertion]));
    const links = (/** @type {"views" | "tables"} */ kind, /** @type {string[]} */ some) => h("ul", {}, some.map((name) =>
      h("li", {}, h("a", { href: `#/${kind.slice(0, -1)}/${encodeURIComponent(name)}`, "aria-current": this.shown?.kind === kind && this.shown.name === name && "page" },
        h("span", { class: "name" }, name), marks.get(name) ? h("span", { class: "mark" }, "assertion") : "", h("span", { class: "muted number", "data-rows": `${kind} ${name}` })))));
    this.list.replaceChildren(
      h("h2", {}, "Views"), views.length ? links("views", views) : h("p", { class: "muted" }, "none yet"),
      h("h2", {}, "Tables"), tables.length ? links("tables", tables.map((one) => one.name)) : h("p", { class: "muted" }, "none that you may read"));
    this.figures();
    const is = this.shown;
    const sql = is?.kind === "views" ? graph.views.find((one) => one.name === is.name)?.sql : tables.some((one) => one.name === is?.name) ? "" : undefined;
    if (is && (!this.one || this.one.sql !== sql || this.one.isGone)) {
      if (this.one && sql === undefined) this.one.gone();
      else this.begin(is, sql ?? "");
    } else if (!is) {
      this.main.replaceChildren(h("p", { class: "empty" }, "Nothing is declared yet. ", h("a", { href: "#/sql" }, "Create a table or a view"), "."));
    }
  }

  /** @param {{ kind: "views" | "tables", name: string }} shown @param {string} sql */
  begin(shown, sql) {
    this.one?.close();
    this.one = new One(this.watch, this.go, shown.kind, shown.name, sql);
    this.main.replaceChildren(this.one.element);
    this.one.begin();
  }

  figures() {
    const now = this.watch.tick?.now;
    if (!now) return;
    const graph = this.watch.graph, times = graph && chosen.order === "dearest" ? viewTimes(graph, now) : null;
    for (const cell of this.list.querySelectorAll("[data-rows]")) {
      const [kind, ...rest] = (cell.getAttribute("data-rows") ?? "").split(" "), name = rest.join(" ");
      const rows = kind === "views" ? now.views[name] : now.tables[name]?.rows;
      const time = kind === "views" ? times?.get(name) : 0;
      say(cell, times ? (time ? seconds(time) : "") : rows === undefined ? "" : count(rows));
    }
    this.one?.tick();
  }

  close() {
    this.ending.abort();
    this.one?.close();
  }
}

/** One view or table. */
class One {
  /** @param {Watch} watch @param {(hash: string) => void} go @param {"views" | "tables"} kind @param {string} name @param {string} sql */
  constructor(watch, go, kind, name, sql) {
    this.watch = watch;
    this.go = go;
    this.kind = kind;
    this.name = name;
    this.sql = sql;
    this.what = kind.slice(0, -1);
    this.ending = new AbortController();
    /** @type {LiveRows | PagedRows | null} */ this.source = null;
    this.isGone = false;
    this.versionSeen = -1;
    this.grid = new Grid(`Rows of ${name}`);
    this.said = h("p", { class: "muted said" }, "…");
    this.note = h("div", { class: "note", role: "status", hidden: true });
    this.filter = h("input", { type: "search", placeholder: "Filter rows", "aria-label": "Filter rows", hidden: true, oninput: () => this.source instanceof LiveRows && this.source.find(this.filter.value) });
    this.tabs = h("div", { class: "tabs", role: "tablist" });
    this.panel = h("div", { class: "panel", role: "tabpanel" });
    const admin = watch.graph?.who.admin, assertion = watch.graph?.views.find((one) => one.name === name && kind === "views")?.assertion;
    /** What the tab Why asks, as JSON. */ this.asked = "";
    this.asking = h("button", { class: "quiet", hidden: true, onclick: () => { this.choose("why"); this.panel.querySelector("form")?.requestSubmit(); } }, "Why this row?");
    if (kind === "views") {
      this.grid.onRow = (row, isByKey) => {
        const names = this.source?.key.length ? this.source.key : this.source?.columns.map((one) => one.name) ?? [];
        this.asked = asJson(names.map((one) => [one, row[one]]));
        this.asking.hidden = false;
        if (isByKey) this.asking.focus();
      };
    }
    this.dropping = h("button", { class: "quiet danger", onclick: () => this.drop() }, assertion ? "Drop assertion…" : "Drop view…");
    this.element = h("div", { class: "one" },
      h("div", { class: "bar" }, h("div", {}, h("h1", {}, name), assertion ? h("p", { class: "muted" }, assertionSaid(assertion)) : "", this.said), this.filter, this.asking,
        kind === "views" ? h("a", { class: "button", href: `#/graph/${encodeURIComponent(name)}` }, "In the graph") : "",
        kind === "views" && admin ? this.dropping : ""),
      this.note, kind === "views" ? this.tabs : "", this.panel);
    if (kind === "views") {
      for (const [id, title] of TABS.filter(([id]) => admin || id !== "actual")) {
        this.tabs.append(h("button", { role: "tab", id: `tab-${id}`, onclick: () => this.choose(id), onkeydown: (/** @type {KeyboardEvent} */ event) => this.turn(event, id) }, title));
      }
    }
    this.panel.append(this.grid.element);
    this.mark("rows");
  }

  async begin() {
    try {
      const described = await read(pathOf(this.kind, this.name), { signal: this.ending.signal });
      const now = this.watch.tick?.now;
      const known = this.kind === "views" ? now?.views[this.name] : now?.tables[this.name]?.rows;
      const rows = known ?? (this.kind === "views" ? (await read(pathOf("views", this.name, "/count"))).count : 0);
      if (this.kind === "views" && described.changes && rows <= MANY) this.follow(described);
      else this.page(described, rows);
    } catch (error) {
      if (!this.ending.signal.aborted) this.tell(String(/** @type {Error} */ (error).message), true);
    }
  }

  /** @param {any} described */
  follow(described) {
    this.filter.hidden = false;
    let isShown = false;
    const said = (/** @type {number} */ version) => {
      const total = source.total(), all = source.all.length;
      say(this.said, `${many(total, "row")}${total < all ? ` of ${count(all)}` : ""} · version ${count(version)} · live`);
    };
    /** @type {LiveRows} */ const source = new LiveRows(this.name, described, {
      onChange: ({ came, went, isAll, version }) => {
        const all = source.all.length;
        said(version);
        if (!isAll && came + went) announce(`${this.name}: ${count(came)} rows came or changed, ${count(went)} went; ${many(all, "row")}`, OFTEN);
        if (isShown) this.grid.draw();
        else { isShown = true; this.grid.show(source); }
      },
      onState: (state) => {
        this.element.classList.toggle("stale", state === "waiting" || state === "connecting");
        if (state === "waiting") say(this.said, "the connection broke; coming back …");
        if (state === "live" && isShown) said(source.version); // who knows all is told no change
      },
      onOver: (error) => {
        const status = /** @type {any} */ (error).status;
        if (status === 404) this.gone();
        else this.tell(error.message, true);
      },
    });
    this.source = source;
  }

  /** @param {any} described @param {number} rows */
  page(described, rows) {
    const source = new PagedRows(this.kind, this.name, described, rows, (error) => {
      if (/** @type {any} */ (error).status === 404) this.gone();
      else this.tell(error.message, true);
    });
    this.source = source;
    this.grid.show(source);
    this.tick();
  }

  /** A second is over: rows that are read page by page are read anew if they changed. */
  tick() {
    const tick = this.watch.tick, source = this.source;
    if (!tick || !(source instanceof PagedRows)) return;
    const { now, before } = tick;
    const rows = (this.kind === "views" ? now.views[this.name] : now.tables[this.name]?.rows) ?? source.count;
    const changes = this.kind === "tables" ? now.tables[this.name]?.changes ?? 0 : now.version;
    const was = this.kind === "tables" ? before?.tables[this.name]?.changes ?? changes : before?.version ?? changes;
    const speed = this.kind === "tables" && changes > was ? ` · ${rate((changes - was) / tick.seconds)} changes/s` : "";
    say(this.said, `${many(rows, "row")} · version ${count(now.version)}${speed}${this.kind === "views" ? " · read page by page" : ""}${rows > MANY ? ` · no filter above ${count(MANY)} rows` : ""}`);
    if (changes !== this.versionSeen) {
      const isFirst = this.versionSeen < 0;
      this.versionSeen = changes;
      if (isFirst) return;
      source.stale(rows);
      this.grid.draw();
    }
  }

  gone() {
    if (this.isGone) return;
    this.isGone = true;
    this.element.classList.add("stale");
    say(this.said, "dropped");
    this.tell(`The ${this.what} ${this.name} was dropped. What stands here is how it last was.`, true);
    announce(`The ${this.what} ${this.name} was dropped`);
    this.source?.close();
  }

  /** @param {string} text @param {boolean} isBad */
  tell(text, isBad) {
    this.note.hidden = false;
    this.note.classList.toggle("bad", isBad);
    say(this.note, text);
  }

  /** @param {string} id */
  mark(id) {
    for (const tab of this.tabs.children) {
      const is = tab.id === `tab-${id}`;
      tab.setAttribute("aria-selected", String(is));
      tab.setAttribute("tabindex", is ? "0" : "-1");
    }
    this.panel.setAttribute("aria-labelledby", `tab-${id}`);
  }

  /** @param {KeyboardEvent} event @param {string} id */
  turn(event, id) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const tabs = /** @type {HTMLElement[]} */ ([...this.tabs.children]);
    const next = tabs[(tabs.findIndex((one) => one.id === `tab-${id}`) + step + tabs.length) % tabs.length];
    next.click();
    next.focus();
  }

  /** What it really cost, for which something must be counted: so it is asked first. @param {boolean} asks */
  async actual(asks) {
    const { signal } = this.ending;
    const button = (/** @type {string} */ text, /** @type {() => void} */ does) => h("button", { onclick: does }, text);
    const stop = async () => {
      await read(pathOf(this.kind, this.name, "/analyze"), { json: { on: false } });
      this.actual(false);
    };
    if (!asks) {
      this.panel.replaceChildren(h("div", { class: "explained" }, h("p", {}, "What was expected beside what happened: changes, rows, time, rows touched, the keys that cost most. ",
        "Counting that takes about a tenth of a millisecond a commit, and 0.3 microseconds a change, as long as it is on."), h("p", {}, button("Begin, and show it", () => { this.actual(true); }))));
      return;
    }
    this.panel.replaceChildren(h("p", { class: "muted" }, "…"));
    try {
      const text = await (await ask(pathOf(this.kind, this.name, "/explain?analyze=1&format=text"), { signal })).text();
      if (this.panel.getAttribute("aria-labelledby") !== "tab-actual") return;
      const begin = text.indexOf("predicted against actual");
      this.panel.replaceChildren(h("div", { class: "explained" }, h("pre", {}, text.slice(Math.max(0, begin))),
        h("div", { class: "buttons left" }, button("Look again", () => { this.actual(true); }), button("Stop counting", stop))));
    } catch (error) {
      this.panel.replaceChildren(h("p", { class: "bad" }, String(/** @type {Error} */ (error).message)));
    }
  }

  /** What a row is made of, or what is missing for one: its values as JSON, and the answer. */
  why() {
    const example = this.source ? asJson((this.source.key.length ? this.source.key : this.source.columns.map((one) => one.name)).map((one) => [one, null])) : "{}";
    const values = h("input", { name: "row", value: this.asked || example, spellcheck: "false", autocomplete: "off" });
    const answer = h("div", { role: "status" });
    const put = async (/** @type {"why" | "why_not"} */ question) => {
      this.asked = values.value;
      answer.replaceChildren(h("p", { class: "muted" }, "…"));
      try {
        const path = pathOf("views", this.name, `/${question}?format=text&get=${encodeURIComponent(values.value)}`);
        answer.replaceChildren(h("pre", {}, await (await ask(path, { signal: this.ending.signal })).text()));
      } catch (error) {
        answer.replaceChildren(h("p", { class: "bad" }, String(/** @type {Error} */ (error).message)));
      }
    };
    const form = h("form", { class: "question", onsubmit: (/** @type {SubmitEvent} */ event) => { event.preventDefault(); put("why"); } },
      h("label", {}, "The row, or the columns of a key, as JSON", values),
      h("div", { class: "buttons left" }, h("button", { class: "primary" }, "Why is it there?"), h("button", { type: "button", onclick: () => put("why_not") }, "Why is it not?")));
    this.panel.replaceChildren(h("div", { class: "explained" }, h("p", { class: "muted" }, "What the row is made of: the rows of the tables that give it. Click a row of the tab Rows to ask about it, or press Enter on it."), form, answer));
  }

  /** @param {"rows" | "picture" | "explained" | "why" | "actual" | "sql"} id */
  async choose(id) {
    this.mark(id);
    this.filter.hidden = id !== "rows" || !(this.source instanceof LiveRows);
    this.asking.hidden = true;
    if (id === "why") {
      this.why();
    } else if (id === "rows") {
      this.panel.replaceChildren(this.grid.element);
      this.grid.draw();
    } else if (id === "actual") {
      this.actual(false);
    } else if (id === "sql") {
      this.panel.replaceChildren(h("pre", { class: "sql block" }, this.sql),
        h("p", {}, h("button", { onclick: () => { sessionStorage.setItem("livejoin.sql", this.sql); this.go("#/sql"); } }, "Open in the editor")));
    } else {
      this.panel.replaceChildren(h("p", { class: "muted" }, "…"));
      try {
        const { signal } = this.ending;
        const asked = async (/** @type {string} */ form) => (await ask(pathOf(this.kind, this.name, `/explain?format=${form}`), { signal })).text();
        const found = id === "picture" ? picture(await asked("svg"), `The query of ${this.name}`)
          : h("div", { class: "explained" }, ...advice(parse(await asked("json"))), later("Why, and how", async () => grounds(await asked("text")), true));
        if (this.panel.getAttribute("aria-labelledby") === `tab-${id}`) this.panel.replaceChildren(found);
      } catch (error) {
        this.panel.replaceChildren(h("p", { class: "bad" }, String(/** @type {Error} */ (error).message)));
      }
    }
  }

  async drop() {
    const sure = h("dialog", { class: "sheet", "aria-label": "Drop the view" },
      h("h2", {}, `Drop ${this.name}?`), h("p", {}, "Its rows are no longer maintained. The tables stay as they are. Views that read it must be dropped first."),
      h("form", { method: "dialog" }, h("button", { value: "no", autofocus: true }, "Keep it"), h("button", { value: "drop", class: "danger" }, "Drop it")));
    document.body.append(sure);
    sure.addEventListener("close", async () => {
      sure.remove();
      if (sure.returnValue !== "drop" || this.dropping.disabled) return;
      this.dropping.disabled = true;
      try {
        await read("v1/execute", { json: { sql: `DROP VIEW ${quoted(this.name)}` } });
        this.watch.hurry();
      } catch (error) {
        this.tell(String(/** @type {Error} */ (error).message), true);
      } finally {
        this.dropping.disabled = false;
      }
    });
    sure.showModal();
  }

  close() {
    this.ending.abort();
    this.source?.close();
  }
}

/** Values by names as a JSON text, whose integers have all their digits. @param {[string, any][]} pairs */
const asJson = (pairs) => `{${pairs.map(([name, value]) => `${JSON.stringify(name)}: ${typeof value === "bigint" ? value : JSON.stringify(value ?? null)}`).join(", ")}}`;

/** A name as SQL quotes it. */
export const quoted = (/** @type {string} */ name) => `\`${name.replaceAll("`", "``")}\``;

/** A picture of the server as an image, in which nothing runs. @param {string} svg @param {string} label */
export function picture(svg, label) {
  const image = h("img", { class: "picture", alt: label, src: `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}` });
  return h("div", { class: "picture-frame", tabindex: "0", role: "region", "aria-label": label }, image);
}
