/**
 * The server of this page: requests with the token, and the figures that are asked for each second.
 *
 * The token is kept in `sessionStorage`, goes in the header of requests, and never in an address.
 *
 * @module server
 */

import { LivejoinError, parse } from "livejoin";

/** Where the server is: this module lies in its folder `console/`, wherever it is mounted. */
export const BASE = new URL("../", import.meta.url);

const KEY = `livejoin.token ${BASE.pathname}`;
const SECOND = 1000, LONGEST = 8000, PATIENCE = 10_000, LONG = 3500; // milliseconds

/** @returns {string | undefined} */
export const token = () => sessionStorage.getItem(KEY) ?? undefined;

export const keepToken = (/** @type {string | undefined} */ text) =>
  text ? sessionStorage.setItem(KEY, text) : sessionStorage.removeItem(KEY);

/** What `live` and `query` take. */
export const place = () => ({ server: BASE, token: token() });

/**
 * Ask the server.
 *
 * @param {string} path As `v1/stats`.
 * @param {RequestInit & { json?: any }} [request] `json` is the body of a POST.
 * @returns {Promise<Response>}
 */
export async function ask(path, { json, ...request } = {}) {
  const headers = new Headers(request.headers);
  if (token()) headers.set("Authorization", `Bearer ${token()}`);
  if (json !== undefined) {
    headers.set("Content-Type", "application/json");
    Object.assign(request, { method: "POST", body: JSON.stringify(json) });
  }
  const answer = await fetch(new URL(path, BASE), { cache: "no-store", ...request, headers });
  if (answer.ok) return answer;
  const said = await answer.json().catch(() => ({})), error = said?.error ?? {};
  const message = error.message ?? `the server answered ${answer.status}`;
  const found = new LivejoinError(message, error.kind ?? "ServerError", answer.status);
  throw Object.assign(found, { line: error.line, column: error.column, table: error.table, row: error.row });
}

/** The value of an answer; integers beyond 2^53 are BigInt. @type {(path: string, request?: RequestInit & { json?: any }) => Promise<any>} */
export const read = async (path, request) => parse(await (await ask(path, request)).text());

/** The path of a view or a table. */
export const pathOf = (/** @type {"views" | "tables"} */ kind, /** @type {string} */ name, rest = "") =>
  `v1/${kind}/${encodeURIComponent(name)}${rest}`;

/**
 * @typedef {object} BlockFigures Figures of a block since its process made it; null where nobody asked for them, or over tables that
 *   this token may not read.
 * @property {number} number
 * @property {number | null} rows
 * @property {number | null} bytes
 * @property {number} seconds
 * @property {number | null} touched
 * @property {number} commits
 * @property {number | null} stopped
 * @property {number | null} received
 * @property {number | null} passed
 *
 * @typedef {object} TableFigures
 * @property {number} rows
 * @property {number} bytes
 * @property {number} changes
 * @property {number} late
 *
 * @typedef {object} Stats
 * @property {number} version
 * @property {string} process
 * @property {string} graph
 * @property {number} at
 * @property {Record<string, TableFigures>} tables
 * @property {BlockFigures[]} blocks
 * @property {Record<string, number>} views Those whose rows are known.
 * @property {any} [database]
 * @property {any} [server]
 *
 * @typedef {object} GraphBlock
 * @property {number} number
 * @property {string} kind
 * @property {string[]} does
 * @property {string} update
 * @property {string[]} tables
 * @property {number[]} below
 * @property {number[]} above
 * @property {string[]} views
 *
 * @typedef {{ name: string, type: string }} Column
 *
 * @typedef {object} Graph
 * @property {string} graph
 * @property {{ name: string, admin: boolean, reads_all: boolean }} who
 * @property {{ name: string, readable: boolean, writable: boolean, columns?: Column[], keys?: string[] }[]} tables
 * @property {GraphBlock[]} blocks
 * @property {{ name: string, block: number | null, sql: string, columns: Column[], assertion?: "enforced" | "warn" }[]} views
 *
 * @typedef {object} Tick What happened in about a second.
 * @property {Stats} now
 * @property {Stats | null} before Null at first, and when the server is another process.
 * @property {number} seconds Between the two.
 *
 * @typedef {"connecting" | "live" | "busy" | "away"} State
 */

/**
 * Asks for figures each second while the page is seen; tells of the graph when it is another one, and of a server that
 * goes away and comes back.
 */
export class Watch extends EventTarget {
  /** @type {Graph | null} */ graph = null;
  /** @type {Tick | null} */ tick = null;
  /** @type {State} */ state = "connecting";
  /** When it was last heard of. */
  heardAt = Date.now();
  /** When the figures last were others: the server has those of before while a commit goes on that is long. */
  changedAt = Date.now();
  #wake = () => {};

  async run() {
    let pause = SECOND;
    for (;;) {
      if (document.hidden) await this.#seen();
      const began = performance.now();
      try {
        /** @type {Stats} */
        const now = await read("v1/stats", { signal: AbortSignal.timeout(PATIENCE) });
        for (const named of [now.tables, now.views, now.server?.followers]) if (named) Object.setPrototypeOf(named, null); // a table may be called constructor
        const before = this.tick?.now.process === now.process ? this.tick.now : null;
        if (this.tick && !before) this.dispatchEvent(new CustomEvent("restart"));
        if (now.at !== this.tick?.now.at) this.changedAt = Date.now();
        const isOther = now.graph !== this.graph?.graph;
        if (isOther) this.graph = await read("v1/graph", { signal: AbortSignal.timeout(60_000) });
        this.tick = { now, before, seconds: before ? Math.max(0.001, now.at - before.at) : 0 };
        if (isOther) this.dispatchEvent(new CustomEvent("graph"));
        this.heardAt = Date.now();
        pause = SECOND;
        this.#is(Date.now() - this.changedAt > LONG ? "busy" : "live");
        if (!before || now.at !== before.at) this.dispatchEvent(new CustomEvent("tick"));
      } catch (error) {
        if (error instanceof LivejoinError && error.status === 401) {
          await new Promise((resolve) => this.dispatchEvent(new CustomEvent("token", { detail: resolve })));
          continue;
        }
        if (!(error instanceof LivejoinError || error instanceof TypeError || error instanceof DOMException)) console.error(error);
        this.#is("away");
        pause = Math.min(LONGEST, pause * 1.5);
      }
      await new Promise((resolve) => {
        const timer = setTimeout(resolve, Math.max(50, pause - (performance.now() - began)));
        this.#wake = () => { clearTimeout(timer); resolve(undefined); };
      });
    }
  }

  /** Ask at once, as after a change of one's own. */
  hurry() {
    this.#wake();
  }

  /** @param {State} state */
  #is(state) {
    if (state === this.state) return;
    this.state = state;
    this.dispatchEvent(new CustomEvent("state"));
  }

  async #seen() {
    await new Promise((resolve) => document.addEventListener("visibilitychange", resolve, { once: true }));
  }

  /**
   * Listen until a signal ends it.
   *
   * @param {"graph" | "tick" | "state" | "token" | "restart"} name
   * @param {(event: any) => void} call
   * @param {AbortSignal} [signal]
   */
  on(name, call, signal) {
    this.addEventListener(name, call, { signal });
  }
}
