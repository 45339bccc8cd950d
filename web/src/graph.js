/**
 * The graph: tables, blocks and views, by an SVG of our own whose figures are updated by id. A change is seen on its way:
 * an edge over which changes went lights up, and a block in which they ended shows so.
 *
 * @module graph
 */

import { chosen, feeding, ordered, orders, viewTimes } from "./dearest.js";
import { announce, fades, h, isCalm, s, say } from "./dom.js";
import { bytes, count, many, rate, seconds } from "./format.js";
import { layout } from "./layout.js";

/** @typedef {import("./server.js").Watch} Watch */
/** @typedef {import("./server.js").Graph} Graph */
/** @typedef {import("./server.js").Tick} Tick */
/** @typedef {"table" | "block" | "view"} Kind */

/**
 * @typedef {object} Item
 * @property {string} id
 * @property {Kind} kind
 * @property {string} title
 * @property {string} what
 * @property {string[]} reads Ids.
 * @property {string[]} readers Ids.
 * @property {any} of
 */

const BOX = { width: 190, height: 64 }, LAYER_GAP = 52, GAP = 18, THIN = 10, EDGE = 16, LEAST = 0.8;
const NARROW = 720, ON_PHONES = { width: 160, gap: 14, between: 40, thin: 2, edge: 4, boxes: 2, least: 0.75 };

/** What each kind of block does, for somebody who knows SQL. */
const WORDS = /** @type {Record<string, string>} */ ({
  "join": "Joins what it reads. It keeps the rows with small indexes, not the result, so that its memory grows with the data.",
  "groups of a join": "Joins what it reads and keeps one row for each group on the way, so that the rows of the join are never listed.",
  "rows of a table": "Passes the rows of one table on that fit.",
  "selected rows": "Passes the rows of one table on that fit. It keeps nothing.",
  "columns": "Computes columns and filters, row by row. It keeps nothing.",
  "groups": "Keeps one row for each group, with its aggregates.",
  "DISTINCT": "Keeps each row once, with how often it is there.",
  "stored rows": "Keeps the rows of what it reads, so that a join above can find them.",
  "bag": "Joins the tables of a circle first, and keeps that result for the join above.",
  "first rows": "Keeps all rows in order, and shows the first ones.",
  "rows with ranks": "Keeps the rows of each partition in order, with their ranks.",
  "running aggregates": "Keeps the rows of each partition in order, with the aggregates up to each.",
  "as-of join": "Keeps the rows of both sides in order, and shows each row of the left one with the last row of the right one before it.",
  "constant rows": "Rows that the query itself says.",
  "rows within bounds": "Keeps groups in order of an aggregate, and shows those within the bounds.",
  "groups within bounds": "Keeps aggregates of the groups within the bounds.",
});

/** @type {(kind: string) => string} */
const wordsOf = (kind) =>
  WORDS[kind] ?? (/^(UNION|INTERSECT|EXCEPT|MINUS)/.test(kind) ? `Keeps the result of ${kind}.` : "");

export class GraphPlace {
  /** @param {Watch} watch @param {(hash: string) => void} go @param {string} only The view that is shown alone, or nothing. */
  constructor(watch, go, only) {
    this.watch = watch;
    this.only = only;
    this.go = go;
    /** @type {Map<string, Item>} */ this.items = new Map();
    /** @type {Map<string, SVGGElement>} */ this.boxes = new Map();
    /** @type {{ from: string, to: string, line: SVGPathElement, pulse: SVGPathElement, marks: number }[]} */ this.edges = [];
    /** @type {string | null} */ this.chosen = null;
    /** @type {string | undefined} */ this.listed = undefined;
    this.listedOnly = "";
    this.ending = new AbortController();
    /** @type {{ element: SVGSVGElement, width: number, height: number } | null} */ this.svg = null;
    this.canvas = h("div", { class: "canvas", tabindex: "-1" });
    fades(this.canvas, this.ending.signal);
    this.names = h("datalist", { id: "boxes" });
    this.find = h("input", { type: "search", list: "boxes", placeholder: "Find a table or view", "aria-label": "Find a table or view", onchange: () => {
      const { graph } = this.watch, wanted = this.find.value.trim().toLowerCase();
      const found = graph && [...itemsOf(graph).values()].find((one) => one.title.toLowerCase() === wanted);
      if (!found) return;
      if (this.items.has(found.id)) this.choose(found.id);
      else { this.chosen = found.id; this.go("#/graph"); }
    } });
    this.menu = h("select", { class: "only", "aria-label": "Show all views, or only one with what feeds it", onchange: () => this.go(hashOf(this.menu.value)) });
    this.order = orders(() => this.list());
    this.all = h("button", { class: "quiet", hidden: true, onclick: () => { this.go("#/graph"); this.menu.focus(); } }, "Show all views");
    this.legend = h("p", { class: "legend muted" });
    this.detail = h("aside", { class: "detail", "aria-live": "off", hidden: true, onkeydown: (/** @type {KeyboardEvent} */ event) => { if (event.key === "Escape") this.choose(null); } });
    this.element = h("section", { class: "place graph", "aria-label": "Graph" },
      h("div", { class: "graph-main" }, h("div", { class: "bar" }, h("h1", {}, "Graph"), this.legend, this.all, this.menu, this.order, this.find, this.names), this.canvas), this.detail);
    const { signal } = this.ending;
    watch.on("graph", () => this.draw(), signal);
    watch.on("tick", () => { this.update(true); this.list(); }, signal);
    this.isNarrow = innerWidth < NARROW;
    addEventListener("resize", () => {
      if (this.isNarrow !== innerWidth < NARROW) { this.isNarrow = innerWidth < NARROW; this.draw(); }
      else this.fit();
    }, { signal });
    this.draw();
  }

  close() {
    this.ending.abort();
  }

  /** Show one view with what feeds it, or all. @param {string} only The name of the view, or nothing. */
  show(only) {
    const focused = document.activeElement;
    this.only = only;
    this.canvas.scrollTo(0, 0);
    this.draw();
    if (focused instanceof HTMLElement && !focused.isConnected) (/** @type {HTMLElement | null} */ (this.detail.querySelector("[data-only]")) ?? this.menu).focus();
    announce(only ? `Only ${only}: ${this.legend.textContent}` : `All: ${this.legend.textContent}`);
  }

  /** The views of the menu, in their order; left alone while somebody chooses. */
  list() {
    const { graph, tick } = this.watch;
    if (!graph) return;
    const times = viewTimes(graph, tick?.now), isDearest = chosen.order === "dearest";
    const options = ordered(graph.views.map((one) => one.name), times, chosen.order).map((name) =>
      [name, isDearest && times.get(name) ? `${name} · ${seconds(times.get(name) ?? 0)} a commit` : name]);
    const is = JSON.stringify([this.only, options]);
    if (is === this.listed || (document.activeElement === this.menu && this.listed !== undefined && this.listedOnly === this.only)) return;
    [this.listed, this.listedOnly] = [is, this.only];
    this.menu.replaceChildren(h("option", { value: "" }, "All views"), ...options.map(([value, text]) => h("option", { value }, text)));
    this.menu.value = this.only;
  }

  draw() {
    const whole = this.watch.graph;
    if (!whole) return;
    this.list();
    const graph = this.only ? feeding(whole, this.only) : whole;
    this.all.hidden = !this.only;
    this.boxes.clear();
    this.edges = [];
    this.names.replaceChildren(...[...itemsOf(whole).values()].map((one) => h("option", { value: one.title })));
    if (!graph) {
      this.items = new Map();
      this.svg = null;
      this.detail.hidden = true;
      say(this.legend, "");
      this.canvas.replaceChildren(h("p", { class: "empty" }, `There is no view ${this.only} that you may read. `, h("a", { href: "#/graph" }, "Show all views"), "."));
      return;
    }
    this.items = itemsOf(graph);
    const { tables, blocks, views } = graph, assertions = views.filter((one) => one.assertion).length;
    const parts = [many(tables.length, "table"), many(blocks.length, "block"), many(views.length - assertions, "view"), ...(assertions ? [many(assertions, "assertion")] : [])];
    say(this.legend, parts.join(", "));
    if (!this.items.size) {
      this.canvas.replaceChildren(h("p", { class: "empty" }, "Nothing is declared yet. ", h("a", { href: "#/sql" }, "Create a table"), "."));
      return;
    }
    const edges = [...this.items.values()].flatMap((item) => item.reads.map((from) => ({ from, to: item.id })));
    const down = this.isNarrow;
    const across = down ? ON_PHONES.width : BOX.height, along = down ? BOX.height : BOX.width;
    const gap = down ? ON_PHONES.gap : GAP, between = down ? ON_PHONES.between : LAYER_GAP, rim = down ? ON_PHONES.edge : EDGE;
    const found = down ? layout(nearFirst(this.items), edges, { size: across, gap, thin: ON_PHONES.thin, most: Math.max(ON_PHONES.boxes, Math.floor((innerWidth - 40) / (across + gap))) })
      : layout([...this.items.keys()], edges, { size: across, gap, thin: THIN });
    const length = found.layers * (along + between) - between;
    const [width, height] = down ? [found.breadth, length] : [length, found.breadth];
    const point = (/** @type {number} */ a, /** @type {number} */ b) => (down ? `${b} ${a}` : `${a} ${b}`);
    const lines = s("g", { "aria-hidden": "true" }), boxes = s("g", { role: "list" });
    for (const edge of edges) {
      const from = /** @type {import("./layout.js").Placed} */ (found.places.get(edge.from));
      const to = /** @type {import("./layout.js").Placed} */ (found.places.get(edge.to));
      let at = from.layer * (along + between) + along, side = from.across;
      let way = `M ${point(at, side)}`;
      for (const next of [.../** @type {number[]} */ (found.ways.get(edge)), to.across]) {
        const there = at + between, middle = at + between / 2;
        way += ` C ${point(middle, side)}, ${point(middle, next)}, ${point(there, next)}`;
        [at, side] = [there, next];
        if (at < to.layer * (along + between)) { way += ` L ${point(at + along, side)}`; at += along; }
      }
      const line = s("path", { d: way, class: "edge" }), pulse = s("path", { d: way, class: "pulse", pathLength: 1 });
      lines.append(line, pulse);
      this.edges.push({ ...edge, line, pulse, marks: from.layer });
    }
    for (const item of this.items.values()) {
      const { layer, across: middle } = /** @type {import("./layout.js").Placed} */ (found.places.get(item.id));
      const [x, y] = down ? [middle - across / 2, layer * (along + between)] : [layer * (along + between), middle - BOX.height / 2];
      const box = this.box(item, x, y);
      this.boxes.set(item.id, box);
      boxes.append(box);
    }
    const svg = s("svg", {
      width: width + 2 * rim, height: height + 2 * rim, viewBox: `${-rim} ${-rim} ${width + 2 * rim} ${height + 2 * rim}`,
      role: "group", "aria-label": `${tables.length} tables, ${blocks.length} blocks and ${views.length} views; arrow keys follow the edges`,
      onkeydown: (/** @type {KeyboardEvent} */ event) => this.key(event),
    }, lines, boxes);
    this.canvas.replaceChildren(svg);
    this.svg = { element: svg, width: width + 2 * rim, height: height + 2 * rim };
    this.fit();
    if (this.chosen && this.items.has(this.chosen)) this.choose(this.chosen, false);
    else this.detail.hidden = true;
    this.update(false);
    requestAnimationFrame(() => this.begin());
  }

  /** Show a table first: where the graph is wider than the screen, nothing may stand at its corner. */
  begin() {
    const box = this.boxes.values().next().value, { canvas } = this;
    if (!box || this.chosen || canvas.scrollLeft || canvas.scrollTop) return;
    const is = box.getBoundingClientRect(), room = canvas.getBoundingClientRect();
    if (is.left < room.left || is.right > room.right) canvas.scrollLeft += is.left - room.left - EDGE;
    if (is.top < room.top || is.bottom > room.bottom) canvas.scrollTop += is.top - room.top - EDGE;
  }

  /** Make the graph a little smaller where it then fits; text stays readable. */
  fit() {
    if (!this.svg) return;
    const room = this.canvas.clientWidth - 10, { element, width, height } = this.svg;
    const scale = room > 0 ? Math.min(1, Math.max(this.isNarrow ? ON_PHONES.least : LEAST, room / width)) : 1;
    element.setAttribute("width", String(scale * width));
    element.setAttribute("height", String(scale * height));
  }

  /** @param {Item} item @param {number} x @param {number} y */
  box(item, x, y) {
    const width = this.isNarrow ? ON_PHONES.width : BOX.width, most = this.isNarrow ? 17 : 21;
    const clip = (/** @type {string} */ text) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
    return s("g", {
      id: `box ${item.id}`, class: `box ${item.kind}${item.of.assertion ? " assertion" : ""}`, transform: `translate(${x} ${y})`, role: "button", tabindex: 0,
      "aria-label": `${item.what} ${item.title}`, onclick: () => this.choose(item.id),
    },
      s("rect", { class: "outline", width, height: BOX.height, rx: 6 }),
      s("rect", { class: "stripe", x: 0, y: 0, width: 4, height: BOX.height, rx: 2 }),
      s("text", { x: 14, y: 19, class: "what" }, item.what),
      s("text", { x: width - 10, y: item.kind === "block" ? 37 : 19, class: "size", "text-anchor": "end", "data-figure": "size" }),
      s("text", { x: 14, y: 37, class: "title" }, clip(item.title), s("title", {}, item.title)),
      s("text", { x: 14, y: 54, class: "flow", "data-figure": "flow" }),
      s("text", { x: width - 10, y: 54, class: "time", "text-anchor": "end", "data-figure": "time" }));
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const box = event.target instanceof Element ? event.target.closest(".box") : null;
    const item = box && this.items.get(box.id.slice(4));
    if (!box || !item) return;
    const [before, behind, up, next] = this.isNarrow
      ? ["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"] : ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"];
    const ids = [...this.items.keys()], at = ids.indexOf(item.id);
    const to = { [before]: item.reads[0], [behind]: item.readers[0], [up]: ids[at - 1], [next]: ids[at + 1], Home: ids[0], End: ids.at(-1) }[event.key];
    if (event.key === "Enter" || event.key === " ") this.choose(item.id);
    else if (event.key === "Escape") this.choose(null);
    else if (to) this.boxes.get(to)?.focus();
    else if (!event.key.startsWith("Arrow")) return;
    event.preventDefault();
  }

  /** Show what there is to say of a box; null for none. */
  choose(/** @type {string | null} */ id, moves = true) {
    const old = this.chosen;
    this.chosen = id;
    const way = id === null ? null : this.connected(id);
    for (const [one, box] of this.boxes) {
      box.classList.toggle("chosen", one === id);
      box.classList.toggle("apart", way !== null && !way.has(one));
    }
    for (const edge of this.edges) {
      edge.line.classList.toggle("near", id !== null && (edge.from === id || edge.to === id));
      for (const one of [edge.line, edge.pulse]) one.classList.toggle("apart", way !== null && !(way.has(edge.from) && way.has(edge.to)));
    }
    const item = id === null ? undefined : this.items.get(id);
    this.detail.hidden = !item;
    if (!item) {
      this.fit();
      if (old) this.boxes.get(old)?.focus();
      return;
    }
    const link = (/** @type {string} */ one) => {
      const other = /** @type {Item} */ (this.items.get(one));
      return h("button", { class: "link", onclick: () => { this.choose(one); } }, other.kind === "block" ? `${other.title} ${other.what}` : other.title);
    };
    const listed = (/** @type {string} */ title, /** @type {string[]} */ ids) =>
      ids.length ? [h("dt", {}, this.only ? `${title}, of what is shown` : title), h("dd", {}, ids.map((one) => [link(one), " "]).flat())] : [];
    const only = item.kind !== "view" ? "" : h("p", {}, this.only === item.title
      ? h("button", { "data-only": "", onclick: () => this.go("#/graph") }, "Show all views")
      : h("button", { "data-only": "", onclick: () => this.go(hashOf(item.title)) }, "Only this view"));
    const close = h("button", { class: "quiet", "aria-label": "Close", onclick: () => this.choose(null) }, "✕");
    this.detail.replaceChildren(
      h("header", {}, h("div", {}, h("p", { class: "muted" }, item.kind === "block" ? `block ${item.title}` : item.what), h("h2", {}, item.kind === "block" ? item.what : item.title)), close),
      ...this.told(item),
      h("dl", {}, ...listed("Reads", item.reads), ...listed("Read by", item.readers)),
      h("table", { class: "figures" }, h("tbody", { "data-figures": "" })),
      only,
      item.kind === "view" ? h("p", {}, h("a", { class: "button", href: `#/view/${encodeURIComponent(item.title)}` }, "Show its rows")) : "",
      item.kind === "table" && item.of.readable ? h("p", {}, h("a", { class: "button", href: `#/table/${encodeURIComponent(item.title)}` }, "Show its rows")) : "",
    );
    this.fit();
    if (moves) this.boxes.get(item.id)?.scrollIntoView({ behavior: isCalm() ? "auto" : "smooth", block: "center", inline: "center" });
    if (moves) close.focus({ preventScroll: true });
    this.update(false);
  }

  /** A box, all that it reads and all that reads it, at any depth. @param {string} id */
  connected(id) {
    const found = new Set([id]);
    for (const side of /** @type {const} */ (["reads", "readers"])) {
      const waiting = [id];
      for (let one = waiting.pop(); one !== undefined; one = waiting.pop()) {
        for (const next of this.items.get(one)?.[side] ?? []) if (!found.has(next)) { found.add(next); waiting.push(next); }
      }
    }
    return found;
  }

  /** @param {Item} item @returns {Node[]} */
  told(item) {
    switch (item.kind) {
      case "table":
        return [
          h("p", {}, item.of.readable ? "A table. Its rows stay here; the blocks that read it are told what changes." : "A table that you may not read."),
          ...(item.of.columns ? [h("dl", {}, h("dt", {}, "Columns"), h("dd", {}, columnsOf(item.of.columns)),
            ...(item.of.keys?.length ? [h("dt", {}, "Keys"), h("dd", {}, item.of.keys.join(", "))] : []))] : []),
        ];
      case "view":
        return [h("p", {}, item.of.assertion ? assertionSaid(item.of.assertion) : "A view: whoever follows it is told each change."), h("pre", { class: "sql" }, item.of.sql),
          h("dl", {}, h("dt", {}, "Columns"), h("dd", {}, columnsOf(item.of.columns)))];
      case "block":
        return [
          ...(wordsOf(item.of.kind) ? [h("p", {}, wordsOf(item.of.kind))] : []),
          h("dl", {},
            h("dt", {}, "A change costs"), h("dd", {}, item.of.update || "one look-up, or nothing"),
            h("dt", {}, "In detail"), h("dd", {}, item.of.does.map((/** @type {string} */ line) => h("p", {}, line)))),
        ];
    }
  }

  /** Bring the figures up to date; @param {boolean} moves Whether the changes of this second are shown on their way. */
  update(moves) {
    const tick = this.watch.tick;
    if (!tick) return;
    const flows = flowsOf(this.items, tick);
    for (const [id, flow] of flows) {
      const box = this.boxes.get(id), item = this.items.get(id);
      if (!box || !item) continue;
      if (this.isNarrow && flow.shown.flow) flow.shown.time = ""; // there is room for one of them; the details have both
      for (const [name, text] of Object.entries(flow.shown)) say(box.querySelector(`[data-figure="${name}"]`), text);
      box.classList.toggle("busy", flow.moved);
      box.setAttribute("aria-label", `${item.what} ${item.title}, ${flow.shown.size}${flow.shown.flow ? `, ${flow.shown.flow}` : ""}`);
      if (id === this.chosen) this.figures(flow.rows);
    }
    if (!moves || !tick.before) return;
    for (const edge of this.edges) {
      const from = flows.get(edge.from), to = flows.get(edge.to);
      if (from?.passes && to?.moved) this.pulse(edge);
    }
    for (const [id, flow] of flows) if (flow.stopped) this.stop(id);
  }

  /** @param {[string, string][]} rows */
  figures(rows) {
    const body = this.detail.querySelector("[data-figures]");
    if (!body) return;
    if (body.children.length !== rows.length) body.replaceChildren(...rows.map(([name]) => h("tr", {}, h("th", { scope: "row" }, name), h("td"))));
    rows.forEach(([name, text], place) => { say(body.children[place].children[0], name); say(body.children[place].children[1], text); });
  }

  /** A change went over an edge. @param {{ pulse: SVGPathElement, line: SVGPathElement, marks: number }} edge */
  pulse(edge) {
    edge.line.classList.add("went");
    if (isCalm()) {
      setTimeout(() => edge.line.classList.remove("went"), 900);
      return;
    }
    const delay = 140 * edge.marks;
    edge.pulse.animate([{ strokeDashoffset: 0.16, opacity: 1 }, { strokeDashoffset: -1, opacity: 1 }], { duration: 700, delay, easing: "ease-in-out", fill: "none" });
    setTimeout(() => edge.line.classList.remove("went"), delay + 800);
  }

  /** Changes ended in a block: they changed nothing in its result. @param {string} id */
  stop(id) {
    const box = this.boxes.get(id);
    if (!box) return;
    box.classList.add("stopped");
    setTimeout(() => box.classList.remove("stopped"), 950);
  }
}

/** The address of the graph, of one view or of all. @type {(only: string) => string} */
const hashOf = (only) => (only ? `#/graph/${encodeURIComponent(only)}` : "#/graph");

/** @type {(columns: { name: string, type: string }[]) => Node[]} */
const columnsOf = (columns) => columns.map(({ name, type }) => h("span", { class: "column" }, name, h("span", { class: "muted" }, ` ${type.toLowerCase()}`)));

/** What an assertion does. @param {"enforced" | "warn"} kind */
export const assertionSaid = (kind) => kind === "enforced"
  ? "An assertion: it has no rows, and a commit that would give it one is refused."
  : "An assertion that warns: each of its rows violates it, and commits are not refused.";

/** The ids of boxes, each behind all that it reads and near to it: a view stands below its blocks, not below all tables. @param {Map<string, Item>} items */
function nearFirst(items) {
  /** @type {Set<string>} */ const found = new Set();
  const add = (/** @type {string} */ id) => {
    if (found.has(id)) return;
    for (const one of items.get(id)?.reads ?? []) add(one);
    found.add(id);
  };
  for (const [id, item] of items) if (!item.readers.length) add(id);
  return [...found];
}

/** The boxes of a graph, each behind all that it reads. @param {Graph} graph */
export function itemsOf(graph) {
  /** @type {Map<string, Item>} */
  const items = new Map();
  const add = (/** @type {Omit<Item, "readers">} */ item) => { items.set(item.id, { ...item, readers: [] }); };
  for (const of of graph.tables) add({ id: `t ${of.name}`, kind: "table", title: of.name, what: "table", reads: [], of });
  for (const of of graph.blocks) {
    const reads = [...of.tables.map((one) => `t ${one}`), ...of.below.map((one) => `b ${one}`)];
    add({ id: `b ${of.number}`, kind: "block", title: `#${of.number}`, what: of.kind, reads, of });
  }
  for (const of of graph.views) add({ id: `v ${of.name}`, kind: "view", title: of.name, what: of.assertion ? "assertion" : "view", reads: of.block === null ? [] : [`b ${of.block}`], of });
  for (const item of items.values()) {
    item.reads = item.reads.filter((one) => items.has(one));
    for (const one of item.reads) items.get(one)?.readers.push(item.id);
  }
  return items;
}

/**
 * What each box shows of a second: texts, whether changes came, whether some went on, how many commits ended there.
 *
 * @param {Map<string, Item>} items
 * @param {Tick} tick
 * @returns {Map<string, { shown: Record<string, string>, rows: [string, string][], moved: boolean, passes: boolean, stopped: number }>}
 */
export function flowsOf(items, { now, before, seconds: span }) {
  const blocks = new Map(now.blocks.map((one) => [one.number, one])), old = new Map(before?.blocks.map((one) => [one.number, one]));
  const found = new Map();
  for (const item of items.values()) {
    if (item.kind === "table") {
      const is = now.tables[item.title], was = before?.tables[item.title];
      const came = is && was ? is.changes - was.changes : 0;
      const shown = { size: is ? many(is.rows, "row") : "", flow: came ? `${rate(came / span)} changes/s` : "", time: is ? bytes(is.bytes) : "" };
      /** @type {[string, string][]} */
      const rows = is ? [["Rows", count(is.rows)], ["Changes a second", rate(was ? came / span : 0)], ["Changes so far", count(is.changes)],
        ["Memory", bytes(is.bytes)], ["Late changes", count(is.late)]] : [];
      // a table that may not be read does not say whether it changed: what reads it does
      found.set(item.id, { shown, rows, moved: came > 0, passes: is ? came > 0 : true, stopped: 0 });
    } else if (item.kind === "block") {
      const is = blocks.get(item.of.number), was = old.get(item.of.number);
      if (!is) continue;
      const did = (/** @type {"commits" | "received" | "passed" | "stopped" | "seconds" | "touched"} */ name) => (was ? (is[name] ?? 0) - (was[name] ?? 0) : 0);
      const commits = did("commits"), received = did("received"), passed = did("passed");
      const pace = commits ? did("seconds") / commits : is.commits ? is.seconds / is.commits : 0;
      const lambda = is.touched !== null && is.received ? is.touched / is.received : null;
      const shown = {
        size: is.rows === null ? "" : many(is.rows, "row"), time: pace ? seconds(pace) : is.bytes === null ? "" : bytes(is.bytes),
        flow: !commits || is.received === null ? "" : `${rate(received / span)}/s → ${is.passed === null ? "not asked" : `${rate(passed / span)}/s`}`,
      };
      /** @type {[string, string][]} */
      const rows = is.received === null || is.rows === null || is.bytes === null ? [
        ["Rows and changes", "of a table that you may not read"],
        ["Time a commit", is.commits ? `${seconds(pace)}${commits ? "" : " on average"}` : "none so far"],
      ] : [
        ["Changes a second", rate(received / span || 0)], ["Delta rows a second", is.passed === null ? "nobody asks" : rate(passed / span || 0)],
        ["Changes so far", count(is.received)], ["Delta rows so far", is.passed === null ? "nobody asks" : count(is.passed)],
        ["Commits that ended here", is.stopped === null ? "nobody asks" : `${count(is.stopped)} of ${count(is.commits)}`],
        ["Time a commit", is.commits ? `${seconds(pace)}${commits ? "" : " on average"}` : "none so far"],
        ...(lambda === null ? [] : /** @type {[string, string][]} */ ([["Rows visited a change (λ)", lambda.toPrecision(3)]])),
        ["Rows", count(is.rows)], ["Memory", bytes(is.bytes)],
      ];
      found.set(item.id, { shown, rows, moved: commits > 0, passes: is.passed === null && is.received === null ? commits > 0 : passed > 0, stopped: did("stopped") });
    } else {
      const rows = now.views[item.title] ?? 0, block = item.of.block;
      const is = blocks.get(block), was = old.get(block);
      const passed = is && was ? (is.passed ?? 0) - (was.passed ?? 0) : 0;
      found.set(item.id, {
        shown: { size: many(rows, "row"), flow: passed ? `${rate(passed / span)} delta rows/s` : "", time: "" },
        rows: [["Rows", count(rows)], ["Delta rows a second", rate(passed / span || 0)]], moved: passed > 0, passes: false, stopped: 0,
      });
    }
  }
  return found;
}
