/**
 * Where a grid has the rows of a view or a table from: all of them, kept live by `live()`, or page by page where they are
 * many or are those of a table.
 *
 * @module rows
 */

import { live } from "livejoin";
import { pathOf, place, read } from "./server.js";

/** @typedef {import("./grid.js").Row} Row */
/** @typedef {import("./grid.js").Column} Column */
/** @typedef {import("./grid.js").Flash} Flash */
/** @typedef {import("./grid.js").Source} Source */

/** From so many rows on a view is read page by page. */
export const MANY = 50_000;

const LIT = 1200; // milliseconds that a change is seen
const PAGE = 200, PAGES = 40; // rows, and pages that are kept

/** @type {(a: any, b: any) => number} Values in the order of SQL, NULL first. */
function compare(a, b) {
  if (a === b) return 0;
  if (a === null || a === undefined) return -1;
  if (b === null || b === undefined) return 1;
  if (typeof a === "object" || typeof b === "object") return compare(JSON.stringify(a), JSON.stringify(b));
  return a < b ? -1 : a > b ? 1 : 0;
}

/** @type {(column: Column) => (a: any, b: any) => number} DECIMAL comes as a text, and is a number. */
function comparison({ type }) {
  if (!/^(decimal|numeric|double|float|real)/i.test(type)) return compare;
  const number = (/** @type {any} */ value) => (value === null || value === undefined ? null : Number(value));
  return (a, b) => {
    const [x, y] = [number(a), number(b)];
    return Number.isNaN(x) || Number.isNaN(y) ? Number(Number.isNaN(x)) - Number(Number.isNaN(y)) : compare(x, y) || compare(a, b);
  };
}

const textOf = (/** @type {any} */ value) => JSON.stringify(value, (_, one) => (typeof one === "bigint" ? String(one) : one));

/**
 * All rows of a view, kept live. `onChange` is called at most once in a while that grows with what a drawing costs.
 *
 * @implements {Source}
 */
export class LiveRows {
  /**
   * @param {string} view
   * @param {{ columns: Column[], key: string[] | null, order?: { column: string, descending: boolean, nulls_first: boolean }[] }} described
   * @param {{ onChange: (said: { came: number, went: number, isAll: boolean, version: number }) => void, onState: (state: string) => void, onOver: (error: Error) => void }} calls
   */
  constructor(view, described, calls) {
    this.columns = described.columns;
    this.key = described.key ?? [];
    this.natural = described.order ?? []; // the order of the query
    this.calls = calls;
    this.version = 0;
    this.filter = "";
    /** @type {Row[]} */ this.all = [];
    /** @type {Row[]} */ this.list = [];
    /** @type {{ column: string, isDown: boolean } | null} */ this.order = null;
    /** @type {WeakMap<Row, Flash>} */ this.lit = new WeakMap();
    /** @type {Map<string, Row>} */ this.byKey = new Map();
    /** @type {WeakSet<Row>} */ this.seen = new WeakSet();
    this.turn = 0;
    this.cost = 0;
    this.said = { came: 0, went: 0, isAll: false, version: 0 };
    /** @type {ReturnType<typeof setTimeout> | undefined} */ this.timer = undefined;
    this.following = live(view, (rows, info) => this.take(rows, info), {
      ...place(), shape: this.key.length ? "upsert" : "changes", onState: calls.onState, onError: (error, isOver) => { if (isOver) calls.onOver(error); },
    });
  }

  /** @param {Row[]} rows @param {import("livejoin").Info} info */
  take(rows, info) {
    this.all = rows;
    this.version = info.version;
    this.turn++;
    const until = performance.now() + LIT;
    const isFirst = this.said.version === 0 && this.byKey.size === 0;
    if (this.key.length) {
      const named = (/** @type {Row} */ row) => textOf(this.key.map((name) => row[name]));
      if (info.reset) this.byKey.clear();
      for (const row of info.gone) this.byKey.delete(named(row));
      for (const row of info.puts) {
        const name = named(row), old = this.byKey.get(name);
        if (!info.reset) {
          const changed = old && new Set(this.columns.map((one) => one.name).filter((one) => textOf(old[one]) !== textOf(row[one])));
          this.lit.set(row, { columns: changed ?? null, turn: this.turn, until });
        }
        this.byKey.set(name, row);
      }
    } else {
      for (const row of rows) {
        if (this.seen.has(row)) continue; // one that did not change is the same object
        this.seen.add(row);
        if (!info.reset) this.lit.set(row, { columns: null, turn: this.turn, until });
      }
    }
    const went = info.reset ? 0 : info.gone.length || info.changes.filter((one) => /delete|preimage/.test(one._change_type)).length;
    const came = info.reset ? 0 : info.puts.length || info.changes.length - went;
    this.said = { came: this.said.came + came, went: this.said.went + went, isAll: this.said.isAll || info.reset, version: info.version };
    if (isFirst) this.tell();
    else this.timer ??= setTimeout(() => this.tell(), Math.max(16, 4 * this.cost));
  }

  tell() {
    this.timer = undefined;
    const began = performance.now();
    this.arrange();
    const said = this.said;
    this.said = { came: 0, went: 0, isAll: false, version: said.version };
    this.calls.onChange(said);
    this.cost = performance.now() - began;
  }

  arrange() {
    const wanted = this.filter.toLowerCase();
    const names = this.columns.map((one) => one.name);
    const kept = wanted ? this.all.filter((row) => names.some((name) => String(typeof row[name] === "object" ? textOf(row[name]) : row[name]).toLowerCase().includes(wanted))) : [...this.all];
    const ascending = (/** @type {string} */ column) => ({ column, descending: false, nulls_first: true });
    const chosen = this.order ? [{ column: this.order.column, descending: this.order.isDown, nulls_first: !this.order.isDown }] : this.natural;
    const ways = [...chosen, ...(this.key.length ? this.key : names).map(ascending)].map((one) =>
      ({ ...one, way: comparison(/** @type {Column} */ (this.columns.find(({ name }) => name === one.column))) }));
    this.list = kept.sort((a, b) => {
      for (const { column, way, descending, nulls_first } of ways) {
        const [x, y] = [a[column] ?? null, b[column] ?? null];
        const found = (x === null) !== (y === null) ? ((x === null) === nulls_first ? -1 : 1) : (descending ? -1 : 1) * way(x, y);
        if (found) return found;
      }
      return 0;
    });
  }

  total() { return this.list.length; }

  /** @param {number} from @param {number} to */
  rows(from, to) { return this.list.slice(from, to); }

  /** @param {Row} row */
  flash(row) { return this.lit.get(row); }

  /** Order by a column: up, down, then not at all. */
  sort = (/** @type {string} */ column) => {
    const { order } = this;
    this.order = order?.column !== column ? { column, isDown: false } : order.isDown ? null : { column, isDown: true };
    this.tell();
  };

  /** @param {string} text */
  find(text) {
    this.filter = text;
    this.tell();
  }

  close() {
    this.following.close();
    clearTimeout(this.timer);
  }
}

/**
 * The rows of a table, or of a view that has many, page by page in the order in which the server has them.
 *
 * @implements {Source}
 */
export class PagedRows {
  /**
   * @param {"views" | "tables"} kind
   * @param {string} name
   * @param {{ columns: Column[], key: string[] | null }} described
   * @param {number} rows
   * @param {(error: Error) => void} onError
   */
  constructor(kind, name, described, rows, onError) {
    this.kind = kind;
    this.name = name;
    this.columns = described.columns;
    this.key = described.key ?? [];
    this.count = rows;
    this.onError = onError;
    /** @type {Map<number, Promise<Row[]>>} */ this.pages = new Map();
    /** @type {Map<number, Row[]>} */ this.old = new Map();
    /** @type {WeakMap<Row, Flash>} */ this.lit = new WeakMap();
    this.turn = 0;
    /** @type {Source["order"]} The server has none to ask for. */
    this.order = null;
    /** @type {Source["sort"]} */
    this.sort = null;
  }

  total() { return this.count; }

  /** @param {number} from @param {number} to */
  async rows(from, to) {
    const pages = [];
    for (let page = Math.floor(from / PAGE); page * PAGE < to; page++) pages.push(await this.page(page));
    const first = Math.floor(from / PAGE) * PAGE;
    return pages.flat().slice(from - first, to - first);
  }

  /** @param {number} page */
  page(page) {
    let found = this.pages.get(page);
    if (!found) {
      found = read(pathOf(this.kind, this.name, `/rows?at=${page * PAGE}&limit=${PAGE}`)).then(({ rows }) => this.compared(page, rows), (error) => {
        this.pages.delete(page);
        this.onError(error);
        return this.old.get(page) ?? [];
      });
      this.pages.set(page, found);
      if (this.pages.size > PAGES) this.pages.delete(/** @type {number} */ (this.pages.keys().next().value));
    }
    return found;
  }

  /** The rows of a page, of which those light up that were not on it before. @param {number} page @param {Row[]} rows */
  compared(page, rows) {
    const old = this.old.get(page);
    if (old) {
      const known = new Set(old.map(textOf)), until = performance.now() + LIT;
      for (const row of rows) if (!known.has(textOf(row))) this.lit.set(row, { columns: null, turn: this.turn, until });
    }
    this.old.set(page, rows);
    if (this.old.size > PAGES) this.old.delete(/** @type {number} */ (this.old.keys().next().value));
    return rows;
  }

  /** @param {Row} row */
  flash(row) { return this.lit.get(row); }

  /** The rows changed: the pages are read again when they are next seen. @param {number} rows */
  stale(rows) {
    this.count = rows;
    this.turn++;
    this.pages.clear();
  }

  close() {}
}
