/**
 * What `explain` says of a query, for somebody who knows SQL: what a change costs, of each table, and what would be better.
 *
 * @module advice
 */

import { h } from "./dom.js";

/**
 * @param {any} found What `explain` gives as JSON.
 * @param {(suggestion: any) => Node | string} [tries] A button beside a suggestion.
 * @returns {Node[]}
 */
export function advice(found, tries = () => "") {
  const better = (found.suggestions ?? []).filter((/** @type {any} */ one) => one.maintained);
  const rest = (/** @type {any} */ one) => (one.text.startsWith(one.table) ? one.text.slice(one.table.length) : `: ${one.text}`);
  return [
    h("p", { class: `headline ${found.maintained ? "" : "bad"}` }, found.maintained ? found.verdict : found.refusal),
    ...(found.effects?.length ? [h("h3", {}, "One change of"),
      h("ul", { class: "effects" }, found.effects.map((/** @type {any} */ one) => h("li", {}, h("b", {}, one.table), rest(one))))] : []),
    ...(found.memory ? [h("h3", {}, "Memory"),
      h("ul", { class: "effects" }, found.memory.lines.map((/** @type {string} */ one) => h("li", {}, one)))] : []),
    ...(better.length ? [h("h3", {}, "What would make it better"),
      h("ul", { class: "better" }, better.map((/** @type {any} */ one) => h("li", {}, one.text, " ", tries(one))))] : []),
  ];
}

/** What is made when it is opened. @param {string} title @param {() => Promise<Node>} make @param {boolean} [isOpen] */
export function later(title, make, isOpen = false) {
  const details = h("details", { ontoggle: async () => {
    if (!details.open || details.children.length > 1) return;
    const body = h("div", {}, h("p", { class: "muted" }, "…"));
    details.append(body);
    try { body.replaceChildren(await make()); }
    catch (error) { body.replaceChildren(h("p", { class: "bad" }, String(/** @type {Error} */ (error).message))); }
  } }, h("summary", {}, title));
  if (isOpen) details.open = true;
  return details;
}

/** The text of `explain` behind its first part, which `advice` says. @param {string} text */
export const grounds = (text) => h("pre", { tabindex: 0 }, text.split(/\n\s*\n/).slice(1).join("\n\n"));
