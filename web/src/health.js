/**
 * Health: how many commits there are and how long they take, memory by block, those who follow, what a restart reads.
 *
 * @module health
 */

import { timesOf } from "./dearest.js";
import { fades, h, s, say } from "./dom.js";
import { bytes, clock, count, many, rate, seconds } from "./format.js";

/** @typedef {import("./server.js").Watch} Watch */

const KEPT = 180; // seconds of a line
const MOST = 30; // blocks and tables that are listed

/** The last minutes of a figure, kept while the page is open; also while another place is shown. */
export class Past {
  /** @param {Watch} watch */
  constructor(watch) {
    /** @type {{ at: number, commits: number, changes: number, memory: number, followers: number }[]} */ this.points = [];
    watch.on("tick", () => {
      const tick = watch.tick;
      if (!tick?.before) return;
      const { now, before, seconds: span } = tick;
      const sum = (/** @type {import("./server.js").Stats} */ one) => Object.values(one.tables).reduce((all, table) => all + table.changes, 0);
      this.points.push({
        at: now.at, commits: (now.version - before.version) / span, changes: Math.max(0, sum(now) - sum(before)) / span,
        memory: now.database?.memory_bytes ?? 0, followers: followersOf(now),
      });
      while (this.points.length && this.points[0].at < now.at - KEPT) this.points.shift();
    });
    watch.on("restart", () => { this.points = []; });
  }
}

const followersOf = (/** @type {import("./server.js").Stats} */ now) =>
  Object.values(/** @type {Record<string, number>} */ (now.server?.followers ?? {})).reduce((all, one) => all + one, 0);

export class HealthPlace {
  /** @param {Watch} watch @param {Past} past */
  constructor(watch, past) {
    this.watch = watch;
    this.past = past;
    this.ending = new AbortController();
    /** @type {Map<string, { value: Element, note: Element, line: SVGPathElement | null, area: SVGPathElement | null }>} */ this.tiles = new Map();
    const tile = (/** @type {string} */ id, /** @type {string} */ title, hasLine = true) => {
      const value = h("p", { class: "figure" }, "–"), note = h("p", { class: "muted note-line" });
      const line = hasLine ? s("path", { class: "trend" }) : null, area = hasLine ? s("path", { class: "area" }) : null;
      this.tiles.set(id, { value, note, line, area });
      return h("article", { class: "tile" }, h("h2", {}, title), value, note,
        line ? s("svg", { class: "spark", viewBox: "0 0 180 36", preserveAspectRatio: "none", "aria-hidden": "true" }, area, line) : "");
    };
    this.memory = h("tbody");
    this.followers = h("tbody");
    this.slow = h("tbody");
    /** By what the blocks are listed. @type {"name" | "bytes" | "pace"} */ this.by = "bytes";
    const sorting = (/** @type {"name" | "bytes" | "pace"} */ by, /** @type {string} */ text) => h("button", { class: "head-button", "data-by": by, title: by === "pace" ? "Dearest first" : null, onclick: () => { this.by = by; this.update(); } }, text);
    const listed = (/** @type {string} */ title, /** @type {(string | HTMLElement)[]} */ heads, /** @type {Element} */ body) =>
      h("article", { class: "list" }, h("h2", {}, title), fades(h("div", { class: "wide", tabindex: "0", role: "region", "aria-label": title }, h("table", {}, h("thead", {}, h("tr", {}, heads.map((one) => typeof one !== "string" ? h("th", { scope: "col", class: one.dataset.by !== "name" && "right" }, one) : h("th", { scope: "col", class: one.startsWith(">") ? "right" : one === "" && "share" }, one.replace(">", ""))))), body)), this.ending.signal));
    this.element = h("section", { class: "place health", "aria-label": "Health" },
      h("div", { class: "bar" }, h("h1", {}, "Health"), h("p", { class: "muted" }, "lines: up to the last three minutes")),
      h("div", { class: "tiles" }, tile("commits", "Commits a second"), tile("changes", "Changes a second"), tile("p50", "Commit, median", false), tile("p99", "Commit, 99th percentile", false),
        tile("memory", "Memory"), tile("followers", "Followers"), tile("bad", "Bad rows", false), tile("restart", "Next start reads", false)),
      h("div", { class: "lists" },
        listed("Memory and time by block", [sorting("name", "view, block"), sorting("bytes", "allocated"), "", ">time", sorting("pace", "time a commit")], this.memory),
        h("div", {}, listed("Slowest commits", ["version", "when", ">took", ">changes", "mostly in"], this.slow),
          listed("Who follows", ["view", ">connections"], this.followers))));
    watch.on("tick", () => this.update(), this.ending.signal);
    this.update();
  }

  close() {
    this.ending.abort();
  }

  update() {
    const tick = this.watch.tick;
    if (!tick) return;
    const { now } = tick, points = this.past.points, last = points.at(-1);
    const set = (/** @type {string} */ id, /** @type {string} */ value, note = "") => {
      say(this.tiles.get(id)?.value, value);
      say(this.tiles.get(id)?.note, note);
    };
    const { database, server } = now;
    const hidden = "needs a token that reads all";
    set("commits", last ? rate(last.commits) : "–", `${many(now.version, "version")} so far`);
    set("changes", last ? rate(last.changes) : "–", "of the tables that you may read");
    const times = server?.times;
    set("p50", times?.p50 != null ? seconds(times.p50) : "–", server ? (times.commits ? `of the last ${count(Math.min(4096, times.commits))} commits` : "no commits so far") : hidden);
    set("p99", times?.p99 != null ? seconds(times.p99) : "–", times?.longest != null ? `the longest took ${seconds(times.longest)}` : "");
    set("memory", database ? bytes(database.memory_bytes) : "–", database ? (database.memory_limit ? `allocated, of ${bytes(database.memory_limit)} allowed` : "allocated; no limit") : hidden);
    set("followers", server ? count(followersOf(now)) : "–", server ? `${many(server.messages, "message")}; ${bytes(server.waiting_bytes)} wait${server.lost ? `; ${count(server.lost)} began anew` : ""}` : hidden);
    set("bad", server ? count(server.bad_rows) : "–", server ? "left out by requests" : hidden);
    const log = database?.log;
    set("restart", database ? (log ? many(log.records, "record") : "nothing") : "–", database ? (log ? `${bytes(log.bytes)} behind the last snapshot; sync = ${log.sync}` : "the database is in memory alone") : hidden);
    for (const id of /** @type {const} */ (["commits", "changes", "memory", "followers"])) {
      const way = lineOf(points.map((one) => [one.at - now.at, one[id]]), id === "memory"), tile = this.tiles.get(id);
      tile?.line?.setAttribute("d", way);
      tile?.area?.setAttribute("d", way && `${way} V 36 H ${/^M (\S+)/.exec(way)?.[1]} Z`);
    }
    const graph = this.watch.graph;
    const kinds = new Map(graph?.blocks.map((one) => [one.number, `${readersOf(graph, one.number)}#${one.number} ${one.kind}`]));
    const paces = timesOf(now);
    const blocks = now.blocks.map((one) => ({ name: kinds.get(one.number) ?? `#${one.number}`, bytes: one.bytes ?? 0, isTold: one.bytes !== null, seconds: /** @type {number | null} */ (one.seconds), pace: paces.get(one.number) ?? 0 }));
    const tables = Object.entries(now.tables).map(([name, one]) => ({ name, bytes: one.bytes, isTold: true, seconds: null, pace: 0 }));
    const all = [...blocks, ...tables].sort((a, b) => (this.by === "name" ? 0 : b[this.by] - a[this.by]) || a.name.localeCompare(b.name, "en", { numeric: true })).slice(0, MOST);
    for (const head of /** @type {NodeListOf<HTMLElement>} */ (this.element.querySelectorAll("[data-by]"))) {
      const cell = head.closest("th");
      if (head.dataset.by === this.by) cell?.setAttribute("aria-sort", this.by === "name" ? "ascending" : "descending");
      else cell?.removeAttribute("aria-sort");
    }
    const most = Math.max(1, ...all.map((one) => one.bytes));
    this.memory.replaceChildren(...all.map((one) => h("tr", {},
      h("th", { scope: "row" }, one.name), h("td", { class: "right" }, one.isTold ? bytes(one.bytes) : "not told"),
      h("td", { class: "share" }, h("div", { class: "share-bar", style: { width: `${(100 * one.bytes) / most}%` } })),
      h("td", { class: "right" }, one.seconds === null ? "" : seconds(one.seconds)),
      h("td", { class: "right" }, one.pace ? seconds(one.pace) : ""))));
    const followers = Object.entries(/** @type {Record<string, number>} */ (server?.followers ?? {}));
    this.followers.replaceChildren(...(followers.length ? followers : [["nobody", ""]]).map(([name, number]) =>
      h("tr", {}, h("th", { scope: "row" }, name), h("td", { class: "right" }, typeof number === "number" ? count(number) : ""))));
    const slow = /** @type {any[]} */ (now.database?.slow_commits ?? []);
    this.slow.replaceChildren(...(slow.length ? slow.map((one) => h("tr", {},
      h("th", { scope: "row" }, count(one.version)), h("td", {}, clock(1000 * one.at)), h("td", { class: "right" }, seconds(one.seconds)),
      h("td", { class: "right" }, count(Object.values(/** @type {Record<string, number>} */ (one.changes)).reduce((all, some) => all + some, 0))),
      h("td", { class: "mostly" }, mostly(one))))
      : [h("tr", {}, h("td", { colspan: 5, class: "muted" }, database ? "none so far" : hidden))]));
  }
}

/** The views that a block is kept for, in front of its name; of a shared one the first, and how many more. @param {import("./server.js").Graph} graph @param {number} number */
function readersOf(graph, number) {
  const blocks = new Map(graph.blocks.map((one) => [one.number, one])), seen = new Set([number]), names = new Set();
  for (const one of seen) {
    const block = blocks.get(one);
    for (const above of block?.above ?? []) seen.add(above);
    for (const view of block?.views ?? []) names.add(view);
  }
  const [first, ...others] = names;
  if (first === undefined) return "";
  return others.length ? `shared by ${first}${others.length > 1 ? ` and ${others.length} more` : ` and ${others[0]}`}, ` : `${first}, `;
}

/** In what a slow commit was: a block where it took half of it, else the part. @param {any} one */
function mostly({ part, part_share, block, block_number, block_share, waited, waited_for }) {
  const waits = waited_for ? `; waited ${seconds(waited)} for ${waited_for}` : "";
  if (part !== "blocks" || !block) return `${part}, ${percent(part_share)}${waits}`;
  const said = `${block_number === null ? "" : `#${block_number} `}${block}, ${percent(block_share)}`;
  return (2 * block_share < part_share ? `${part}, ${percent(part_share)}; most in ${said}` : said) + waits;
}

const percent = (/** @type {number} */ share) => `${Math.round(100 * share)}%`;

/** A line through points of seconds before now. @param {[number, number][]} points @param {boolean} isLevel Whether it begins at the least value, not at 0. */
function lineOf(points, isLevel) {
  if (points.length < 2) return "";
  const length = Math.min(KEPT, Math.max(20, -points[0][0]));
  const values = points.map(([, value]) => value), most = Math.max(...values), least = isLevel ? Math.min(...values) : 0;
  const height = (/** @type {number} */ value) => (most === least ? (most && !isLevel ? 3 : 32) : 33 - (30 * (value - least)) / (most - least));
  return points.map(([at, value], place) => `${place ? "L" : "M"} ${(KEPT * (1 + at / length)).toFixed(1)} ${height(value).toFixed(1)}`).join(" ");
}
