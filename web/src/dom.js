/**
 * Elements, made without a text that is read as HTML: whatever a name or a value has in it stays text.
 *
 * @module dom
 */

/** @typedef {Node | string | number | null | undefined | false} Child */
/** @typedef {Record<string, any>} Attributes */

/** @type {(element: Element, attributes: Attributes, children: (Child | Child[])[]) => void} */
function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on") && typeof value === "function") element.addEventListener(name.slice(2), value);
    else if (name === "style") Object.assign(/** @type {any} */ (element).style, value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(.../** @type {Node[]} */ (children.flat().filter(isThere).map((one) => (one instanceof Node ? one : String(one)))));
}

const isThere = (/** @type {Child} */ one) => one !== null && one !== undefined && one !== false;

/**
 * An element of HTML: `h("p", { class: "note" }, "text", h("b", {}, "bold"))`. `onclick` and its like are listeners.
 *
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {Attributes} [attributes]
 * @param {...(Child | Child[])} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export function h(tag, attributes = {}, ...children) {
  const found = document.createElement(tag);
  fill(found, attributes, children);
  return found;
}

/**
 * An element of SVG.
 *
 * @template {keyof SVGElementTagNameMap} T
 * @param {T} tag
 * @param {Attributes} [attributes]
 * @param {...(Child | Child[])} children
 * @returns {SVGElementTagNameMap[T]}
 */
export function s(tag, attributes = {}, ...children) {
  const found = document.createElementNS("http://www.w3.org/2000/svg", tag);
  fill(found, attributes, children);
  return found;
}

/**
 * What went wrong: the query with its caret as it was set, in letters of one width, and the rest as text.
 *
 * @param {string} message
 * @returns {HTMLElement[]}
 */
export function wrong(message) {
  const lines = message.split("\n"), caret = lines.findIndex((line) => /^\s*\^+\s*$/.test(line));
  if (caret < 1) return [h("p", { class: "bad" }, message)];
  const before = lines.slice(0, caret - 1).join("\n"), behind = lines.slice(caret + 1).join("\n");
  const shown = h("pre", { class: "bad caret", tabindex: "0" }, `${lines[caret - 1]}\n${lines[caret]}`);
  return [h("p", { class: "bad" }, before), shown, ...(behind ? [h("p", { class: "bad" }, behind)] : [])];
}

/** Set a text where it is another one, so that a screen reader and the layout are left alone where it is not. */
export const say = (/** @type {Element | null | undefined} */ element, /** @type {string} */ text) => {
  if (element && element.textContent !== text) element.textContent = text;
};

/**
 * Let the edges of what scrolls fade where there is more of it, so that one sees that it scrolls.
 *
 * @template {HTMLElement} T
 * @param {T} element
 * @param {AbortSignal} signal Ends it.
 * @returns {T}
 */
export function fades(element, signal) {
  const look = () => {
    const { scrollLeft, scrollWidth, clientWidth, scrollTop, scrollHeight, clientHeight } = element;
    element.classList.toggle("more-left", scrollLeft > 2);
    element.classList.toggle("more-right", scrollLeft + clientWidth < scrollWidth - 2);
    element.classList.toggle("more-up", scrollTop > 2);
    element.classList.toggle("more-down", scrollTop + clientHeight < scrollHeight - 2);
  };
  const sizes = new ResizeObserver(look), inside = new MutationObserver(look);
  sizes.observe(element);
  inside.observe(element, { childList: true, subtree: true });
  element.addEventListener("scroll", look, { passive: true, signal });
  signal.addEventListener("abort", () => { sizes.disconnect(); inside.disconnect(); }, { once: true });
  return element;
}

/** Whether the reader asked for less motion. */
export const isCalm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

/** @type {HTMLElement | null} */
let region = null;
let saidAt = 0;

/** Let a screen reader say something, politely; `often` is how many milliseconds must lie before it. */
export function announce(/** @type {string} */ text, often = 0) {
  region ??= document.getElementById("announcements");
  const now = performance.now();
  if (!region || (often && now - saidAt < often)) return;
  saidAt = now;
  region.textContent = text;
}
