/**
 * A grid that shows the rows that fit, of as many as there are, and lets cells flash that changed.
 *
 * @module grid
 */

import "regular-table";
import { h } from "./dom.js";
import { count, isNumeric, shown } from "./format.js";

/** @typedef {Record<string, any>} Row */
/** @typedef {{ name: string, type: string }} Column */

/**
 * @typedef {object} Source Where a grid has its rows from.
 * @property {Column[]} columns
 * @property {string[]} key
 * @property {() => number} total
 * @property {(from: number, to: number) => Promise<Row[]> | Row[]} rows
 * @property {(row: Row) => Flash | undefined} [flash]
 * @property {{ column: string, isDown: boolean } | null} [order]
 * @property {((column: string) => void) | null} [sort]
 *
 * @typedef {{ columns: Set<string> | null, turn: number, until: number }} Flash Which cells flash (null: all), the how
 *   manieth time, until when.
 */

const ROW = 27; // pixels, as in console.css

/** How far to scroll so that a cell is within the grid. @param {DOMRect} cell @param {DOMRect} grid */
const sideways = (cell, grid) => (cell.left < grid.left ? cell.left - grid.left : cell.right > grid.right ? Math.min(cell.right - grid.right, cell.left - grid.left) : 0);

export class Grid {
  /** @param {string} label */
  constructor(label) {
    /** @type {Source | null} */ this.source = null;
    /** @type {any} */ this.table = document.createElement("regular-table");
    this.table.setAttribute("tabindex", "0");
    this.table.setAttribute("role", "region");
    this.table.setAttribute("aria-label", label);
    this.element = h("div", { class: "grid" }, this.table);
    /** @type {Row[]} */ this.visible = [];
    this.from = 0;
    /** Is called with the row of a cell that was clicked, or on which Enter was pressed. @type {((row: Row, isByKey: boolean) => void) | null} */ this.onRow = null;
    this.isDrawing = false;
    this.isStale = false;
    this.table.addStyleListener(() => this.style());
    this.table.addEventListener("click", (/** @type {Event} */ event) => this.click(event));
    this.table.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
      if ((event.key === "Enter" || event.key === " ") && event.target instanceof HTMLTableCellElement) { event.preventDefault(); this.click(event); }
      else this.key(event);
    });
  }

  /** @param {Source} source */
  show(source) {
    this.source = source;
    this.table.setDataListener((/** @type {number} */ x0, /** @type {number} */ y0, /** @type {number} */ x1, /** @type {number} */ y1) => this.data(x0, y0, x1, y1));
    this.table.resetAutoSize();
    this.table.scrollTop = 0;
    return this.draw();
  }

  /** Draw anew; calls that come while it is drawn are one. */
  async draw() {
    if (this.isDrawing) { this.isStale = true; return; }
    this.isDrawing = true;
    try {
      do {
        this.isStale = false;
        if (this.element.isConnected && this.source) await this.table.draw();
      } while (this.isStale);
    } finally {
      this.isDrawing = false;
    }
  }

  /** @param {number} x0 @param {number} y0 @param {number} x1 @param {number} y1 */
  async data(x0, y0, x1, y1) {
    const source = /** @type {Source} */ (this.source);
    const rows = y1 > y0 ? await source.rows(y0, y1) : [];
    this.visible = rows;
    this.from = y0;
    const columns = source.columns.slice(x0, x1);
    return {
      num_rows: source.total(), num_columns: source.columns.length,
      column_headers: columns.map(({ name, type }) => [name]),
      data: columns.map(({ name, type }) => rows.map((row) => shown(row[name], isNumeric(type), source.key.includes(name)).text)),
    };
  }

  style() {
    const source = this.source;
    if (!source) return;
    const now = performance.now(), table = this.table.querySelector("table");
    table?.setAttribute("aria-rowcount", String(source.total() + 1));
    for (const cell of this.table.querySelectorAll("thead th")) {
      const meta = this.table.getMeta(cell), column = meta && source.columns[meta.x];
      if (!column) continue;
      cell.classList.toggle("right", isNumeric(column.type));
      cell.title = column.type.toLowerCase();
      cell.setAttribute("scope", "col");
      const order = source.order && source.order.column === column.name ? (source.order.isDown ? "descending" : "ascending") : "none";
      if (source.sort) {
        cell.setAttribute("tabindex", "0");
        cell.setAttribute("aria-sort", order);
      }
    }
    for (const cell of this.table.querySelectorAll("tbody td")) {
      const meta = this.table.getMeta(cell), column = meta && source.columns[meta.x], row = meta && this.visible[meta.y - this.from];
      if (!column || !row) { cell.className = "cell beyond"; continue; } // left over from before, below what is seen
      const value = row[column.name], isKey = source.key.includes(column.name);
      const { text, kind } = shown(value, isNumeric(column.type), isKey);
      const flash = source.flash?.(row);
      const isLit = flash && now < flash.until && (!flash.columns || flash.columns.has(column.name));
      cell.className = ["cell", kind, isNumeric(column.type) && "right", isKey && "key", value === "" && "blank",
        isLit && `flash-${flash.turn % 2}`, meta.y % 2 && "odd"].filter(Boolean).join(" ");
      cell.tabIndex = -1;
      cell.title = text.length > 40 ? text.slice(0, 2000) : "";
    }
  }

  /** Arrows go from cell to cell, from the grid itself to the first one that is seen; Escape leads back to the grid. @param {KeyboardEvent} event */
  key(event) {
    const source = this.source, { target } = event;
    const at = target instanceof HTMLTableCellElement && target.localName === "td" ? this.table.getMeta(target) : null;
    if (!source?.total() || !(at || target === this.table) || event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key === "Escape" && at) { this.table.focus(); return; }
    const last = source.total() - 1, page = Math.max(1, this.seen() - 1);
    const [x, y] = at ? [at.x, at.y] : [0, Math.ceil(this.top()) - (event.key === "ArrowDown" ? 1 : 0)];
    const to = { ArrowDown: [x, y + 1], ArrowUp: [x, y - 1], PageDown: [x, y + page], PageUp: [x, y - page], Home: [x, 0], End: [x, last], ...(at && { ArrowLeft: [x - 1, y], ArrowRight: [x + 1, y] }) }[event.key];
    if (!to) return;
    event.preventDefault();
    void this.focus(Math.min(Math.max(to[0], 0), source.columns.length - 1), Math.min(Math.max(to[1], 0), last));
  }

  /** How many rows are seen at once. */
  seen() { return Math.max(1, Math.floor(this.table.clientHeight / ROW) - 1); }

  /** The first row that is seen; the grid is lower than its rows would be where there are many. */
  top() {
    const room = this.table.scrollHeight - this.table.clientHeight, rows = Math.max(0, (this.source?.total() ?? 0) - this.seen());
    return room > 0 ? (rows * this.table.scrollTop) / room : 0;
  }

  /** Give a cell the focus, and show it. @param {number} x @param {number} y */
  async focus(x, y) {
    const cell = () => [...this.table.querySelectorAll("tbody td")].find((one) => { const meta = this.table.getMeta(one); return meta?.x === x && meta.y === y && !one.classList.contains("beyond"); });
    for (let turn = 0; turn < 3; turn++) { // the height of all rows is known better once they are drawn
      const top = this.top(), seen = this.seen(), rows = Math.max(1, (this.source?.total() ?? 0) - seen);
      const first = y < top ? y : y >= top + seen ? y - seen + 1 : null;
      if (first === null && cell()) break;
      if (first !== null) this.table.scrollTop = ((this.table.scrollHeight - this.table.clientHeight) * Math.min(first, rows)) / rows;
      await this.draw();
    }
    const found = cell();
    found?.focus({ preventScroll: true });
    if (found) this.table.scrollLeft += sideways(found.getBoundingClientRect(), this.table.getBoundingClientRect());
  }

  /** @param {Event} event */
  click(event) {
    const cell = event.target instanceof Element ? event.target.closest("th") : null;
    const meta = cell && this.table.getMeta(cell), column = meta && this.source?.columns[meta.x];
    if (column && this.source?.sort) this.source.sort(column.name);
    const data = event.target instanceof Element ? event.target.closest("td") : null;
    const at = data && this.table.getMeta(data), row = at && this.visible[at.y - this.from];
    if (row) this.onRow?.(row, event instanceof KeyboardEvent);
  }
}

/** Rows that do not change: those of an answer. @param {Column[]} columns @param {Row[]} rows @returns {Source} */
export const still = (columns, rows) => ({ columns, key: [], total: () => rows.length, rows: (from, to) => rows.slice(from, to) });

/** The rows of a grid, in words. */
export const rowsSaid = (/** @type {number} */ rows) => `${count(rows)} row${rows === 1 ? "" : "s"}`;
