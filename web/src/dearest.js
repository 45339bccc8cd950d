/**
 * What feeds a view, and how dear it is: views and blocks by name, or those first that take the longest in a commit.
 *
 * @module dearest
 */

import { h } from "./dom.js";

/** @typedef {import("./server.js").Graph} Graph */
/** @typedef {import("./server.js").Stats} Stats */
/** @typedef {"name" | "dearest"} Order */

/** The blocks from which a view is made: its own, and all below. @type {(graph: Graph, block: number | null) => Set<number>} */
export function blocksOf(graph, block) {
  const known = new Map(graph.blocks.map((one) => [one.number, one])), found = new Set(block === null ? [] : [block]);
  for (const one of found) for (const below of known.get(one)?.below ?? []) if (known.has(below)) found.add(below);
  return found;
}

/**
 * The part of a graph that feeds a view: its blocks, their tables, and the views that such a block below shows; null
 * where there is no view of that name.
 *
 * @type {(graph: Graph, name: string) => Graph | null}
 */
export function feeding(graph, name) {
  const view = graph.views.find((one) => one.name === name);
  if (!view) return null;
  const within = blocksOf(graph, view.block), blocks = graph.blocks.filter((one) => within.has(one.number));
  const tables = new Set(blocks.flatMap((one) => one.tables));
  return { ...graph, blocks, tables: graph.tables.filter((one) => tables.has(one.name)),
    views: graph.views.filter((one) => one === view || (one.block !== view.block && one.block !== null && within.has(one.block))) };
}

/** Seconds that a block takes in a commit that reaches it, on average. @type {(now: Stats | undefined) => Map<number, number>} */
export const timesOf = (now) => new Map((now?.blocks ?? []).map((one) => [one.number, one.commits ? one.seconds / one.commits : 0]));

/** Seconds of each view: what its blocks take in a commit that reaches all of them. @type {(graph: Graph, now: Stats | undefined) => Map<string, number>} */
export function viewTimes(graph, now) {
  const times = timesOf(now);
  return new Map(graph.views.map((one) => [one.name, [...blocksOf(graph, one.block)].reduce((sum, number) => sum + (times.get(number) ?? 0), 0)]));
}

/** Names in their order; those that take no time by name, behind the others. @type {(names: string[], times: Map<string, number>, order: Order) => string[]} */
export const ordered = (names, times, order) =>
  [...names].sort((a, b) => (order === "dearest" ? (times.get(b) ?? 0) - (times.get(a) ?? 0) : 0) || a.localeCompare(b, undefined, { numeric: true }));

/** How lists of views stand, while the page is open. @type {{ order: Order }} */
export const chosen = { order: "name" };

/** The choice between the two orders; `call` is told of another one. @type {(call: () => void) => HTMLSelectElement} */
export const orders = (call) => {
  const menu = h("select", { class: "order", "aria-label": "Order of views", title: "Dearest first: by the time that the blocks of a view take in a commit", onchange: () => {
    chosen.order = /** @type {Order} */ (menu.value);
    call();
  } }, h("option", { value: "name" }, "by name"), h("option", { value: "dearest" }, "dearest first"));
  menu.value = chosen.order;
  return menu;
};
