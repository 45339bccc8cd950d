/**
 * Views of a livejoin server in a page: rows that stay live, queries, commits. No dependency, no build step.
 *
 *     import { live } from "/livejoin.js";
 *     const totals = live("totals", (rows) => show(rows));
 *     totals.close();
 *
 * Values are those of JSON: DECIMAL, DATE, TIMESTAMP and BINARY are texts. An integer beyond 2^53 is a
 * BigInt.
 *
 * @module livejoin
 */

/**
 * @typedef {Record<string, any>} Row
 * @typedef {object} Place Where the server is, and who asks.
 * @property {string | URL} [server] The server; by default where this module came from.
 * @property {string} [token] The token that the server knows you by.
 */

/**
 * @typedef {object} Info What a message was.
 * @property {number} version The version of the database that the rows are of.
 * @property {boolean} reset Whether all rows came anew.
 * @property {Row[]} changes The rows that came and went, with `_change_type`, of a view without a key.
 * @property {Row[]} puts The rows that came or changed, of a view with a key.
 * @property {Row[]} gone The keys of the rows that are gone, of a view with a key.
 * @property {string[]} [key] The columns of the view's key, where all rows come anew and the view has one.
 */

/**
 * @typedef {object} Listening `onError` is called for each connection that fails, and for the error that ends it.
 * @property {(error: Error, isOver: boolean) => void} [onError]
 * @property {(state: "connecting" | "live" | "waiting" | "closed") => void} [onState]
 * @property {AbortSignal} [signal] Closes it as `close()` does.
 * @property {"upsert" | "changes"} [shape] `changes` for a view that is known to have no key, which spares a request.
 * @typedef {Place & Listening} LiveOptions
 */

const FIRST_PAUSE = 250, LONGEST_PAUSE = 15_000; // milliseconds
const SILENCE = 45_000; // the server says something every 15 seconds
const PASSING = new Set([408, 425, 429, 502, 503, 504]);

/** An error that the server told: `kind` is its class there, `status` that of HTTP, `retryAfter` are milliseconds. */
export class LivejoinError extends Error {
  /** @param {string} message @param {string} kind @param {number} status @param {number} [retryAfter] */
  constructor(message, kind, status, retryAfter = 0) {
    super(message);
    this.name = this.kind = kind;
    this.status = status;
    this.retryAfter = retryAfter;
  }
}

/**
 * Follow a view: `onRows` gets all rows, at once and again whenever a commit changes them.
 *
 * A connection that breaks is made anew, and goes on behind the last message; nothing is missed, nothing comes twice.
 * Rows come in no order. The array is a new one each time; a row that did not change is the same object, so that a page can tell.
 *
 * @param {string} view
 * @param {(rows: Row[], info: Info) => void} onRows
 * @param {LiveOptions} [options]
 * @returns {{ close(): void }}
 */
export function live(view, onRows, options = {}) {
  const ending = new AbortController();
  const close = () => ending.abort();
  options.signal?.addEventListener("abort", close, { once: true });
  if (options.signal?.aborted) close();
  follow(view, onRows, options, ending.signal).catch((error) => {
    close();
    if (options.onError) options.onError(error, true);
    else reportError(error);
  }).finally(() => {
    options.signal?.removeEventListener("abort", close);
    options.onState?.("closed");
  });
  return { close };
}

/** Rows of a view with a key, by it; of one without, with how many there are of each. */
class Rows {
  /** @param {string[] | null} key */
  constructor(key) {
    this.key = key;
    /** @type {Map<string, { row: Row, count: number }>} */
    this.found = new Map();
  }

  /** @param {Info} message */
  take(message) {
    if (this.key) {
      const key = this.key;
      const named = (/** @type {Row} */ row) => textOf(key.map((name) => row[name]));
      for (const row of message.gone) this.found.delete(named(row));
      for (const row of message.puts) this.found.set(named(row), { row, count: 1 });
      return;
    }
    for (const { _change_type: kind, ...row } of message.changes) {
      const name = textOf(row), known = this.found.get(name);
      const count = (known?.count ?? 0) + (kind === "delete" || kind === "update_preimage" ? -1 : 1);
      if (count) this.found.set(name, { row: known?.row ?? row, count });
      else this.found.delete(name);
    }
  }

  /** @returns {Row[]} */
  list() {
    const rows = [];
    for (const { row, count } of this.found.values()) for (let i = 0; i < count; i++) rows.push(row);
    return rows;
  }
}

/** @type {(view: string, onRows: (rows: Row[], info: Info) => void, options: LiveOptions, signal: AbortSignal) => Promise<void>} */
async function follow(view, onRows, options, signal) {
  const path = `v1/views/${encodeURIComponent(view)}`;
  let since = "", pause = FIRST_PAUSE, rows = new Rows(null), shape = options.shape ?? "upsert"; // as long as it has a key
  while (!signal.aborted) {
    const watch = new AbortController(); // ends a connection that is silent for too long
    const end = () => watch.abort();
    signal.addEventListener("abort", end, { once: true });
    globalThis.addEventListener?.("pagehide", end, { signal: watch.signal }); // browsers keep pages, and what these read
    let timer = setTimeout(end, SILENCE), wait = 0;
    const alive = () => { clearTimeout(timer); timer = setTimeout(end, SILENCE); };
    try {
      options.onState?.("connecting");
      const changes = () => {
        const headers = { Accept: "text/event-stream", ...(since && { "Last-Event-ID": since }) };
        return ask(`${path}/changes?shape=${shape}`, { headers, signal: watch.signal, cache: "no-store" }, options);
      };
      const answer = await changes().catch((error) => {
        if (shape !== "upsert" || error?.kind !== "ReadError") throw error;
        [rows, since, shape] = [new Rows(null), "", "changes"]; // it has no key
        return changes();
      });
      options.onState?.("live");
      for await (const event of eventsOf(answer, alive)) {
        if (event.name === "end") {
          if (!parse(event.data).again) [since, shape] = ["", options.shape ?? "upsert"]; // another query may follow
          break;
        }
        if (event.name !== "change" || signal.aborted) continue;
        const message = { changes: [], puts: [], gone: [], ...parse(event.data) };
        if (message.reset) rows = new Rows(shape === "upsert" ? message.key : null);
        rows.take(message);
        since = event.id;
        if (!message.reset) pause = FIRST_PAUSE;
        call(() => onRows(rows.list(), message));
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof LivejoinError && !PASSING.has(error.status)) throw error;
      wait = error instanceof LivejoinError ? error.retryAfter : 0;
      const failure = error instanceof Error ? error : new Error(String(error));
      call(() => options.onError?.(failure, false));
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      end();
    }
    if (!signal.aborted) options.onState?.("waiting");
    await sleep(Math.max(wait, pause * (0.5 + Math.random() / 2)), signal);
    pause = Math.min(2 * pause, LONGEST_PAUSE);
  }
}

/**
 * The events of an answer, as the HTML standard has them; one without the empty line at its end is none.
 *
 * @param {Response} answer
 * @param {() => void} alive Called for each piece.
 * @returns {AsyncGenerator<{ name: string, id: string, data: string }>}
 */
async function* eventsOf(answer, alive) {
  if (!answer.body || !answer.headers.get("content-type")?.startsWith("text/event-stream")) {
    throw new LivejoinError("the server answered something else than events", "ServerError", answer.status);
  }
  const reader = answer.body.getReader(), decoder = new TextDecoder();
  let /** @type {string[]} */ pieces = [], /** @type {string[]} */ data = [], name = "", id = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      alive();
      const piece = decoder.decode(value, { stream: true });
      pieces.push(piece);
      if (!/[\r\n]/.test(piece)) continue; // a long line comes in many pieces, which are joined once
      const text = pieces.join(""), last = text.endsWith("\r") ? text.length - 1 : text.length; // \n may follow
      const lines = text.slice(0, last).split(/\r\n|\n|\r/);
      pieces = [lines.pop() + text.slice(last)];
      for (const line of lines) {
        if (line === "") {
          if (data.length) yield { name: name || "message", id, data: data.join("\n") };
          [data, name] = [[], ""];
          continue;
        }
        const colon = line.indexOf(":"), field = colon < 0 ? line : line.slice(0, colon);
        const said = colon < 0 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
        if (field === "data") data.push(said);
        else if (field === "event") name = said;
        else if (field === "id" && !said.includes("\0")) id = said;
      }
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

/**
 * The rows that a SELECT over tables and views gives, at one version.
 *
 * @param {string} sql
 * @param {any[] | Record<string, any>} [parameters] Values for `?`, or by names for `:name`.
 * @param {Place} [options]
 * @returns {Promise<Row[]>}
 */
export async function query(sql, parameters, options = {}) {
  const body = jsonOf(parameters === undefined ? { sql } : { sql, parameters });
  return (await sent("v1/query", body, {}, options)).rows;
}

const client = typeof crypto.randomUUID === "function" ? crypto.randomUUID() : `page-${Date.now()}-${Math.random()}`;
let number = 0;

/**
 * Apply one commit, once, however often it must be sent: `apply("orders", rows)`, or `apply({orders: rows, lines: rows})`.
 *
 * @param {string | Record<string, Row[]>} changes A table's name, or the changes of each table.
 * @param {Row[]} [rows] The changes of the one table; `_change_type` says what each is; without it all are insertions.
 * @param {Place & { onConflict?: "error" | "ignore" | "update", onBadRows?: "fail" | "skip" | "dead_letter",
 *   dryRun?: boolean }} [options] `dryRun` only tries it: the answer has `deltas`, by view, and `violations`.
 * @returns {Promise<{ version: number, changes: number, ignored: number, late: number, bad_rows?: number,
 *   repeated?: boolean, dead_letters?: Row[], dry_run?: boolean, deltas?: Record<string, Row[]>, violations?: Row[] }>}
 */
export async function apply(changes, rows, options = {}) {
  const path = typeof changes === "string" ? `v1/tables/${encodeURIComponent(changes)}` : "v1/commit";
  const query = new URLSearchParams();
  if (options.onConflict) query.set("on_conflict", options.onConflict);
  if (options.onBadRows) query.set("on_bad_rows", options.onBadRows);
  if (options.dryRun) query.set("dry_run", "1");
  const headers = { "Livejoin-Client": client, "Livejoin-Number": String(++number) };
  return sent(`${path}?${query}`, jsonOf(typeof changes === "string" ? rows : changes), headers, options);
}

/** @type {(path: string, body: string, headers: Record<string, string>, options: Place) => Promise<any>} */
async function sent(path, body, headers, options) {
  const request = { method: "POST", body, headers: { "Content-Type": "application/json", ...headers } };
  for (let pause = FIRST_PAUSE; ; pause *= 2) {
    try {
      return parse(await (await ask(path, request, options)).text());
    } catch (error) {
      const isPassing = error instanceof LivejoinError ? PASSING.has(error.status) : error instanceof TypeError;
      if (!isPassing || pause > LONGEST_PAUSE) throw error;
      await sleep(Math.max(error instanceof LivejoinError ? error.retryAfter : 0, pause * (0.5 + Math.random() / 2)));
    }
  }
}

/** @type {(path: string, request: RequestInit, options: Place) => Promise<Response>} */
async function ask(path, request, { server, token }) {
  const base = new URL(server ?? new URL(".", import.meta.url), globalThis.location?.href);
  const url = new URL(path, base.href.endsWith("/") ? base : `${base.href}/`);
  const headers = { ...request.headers, ...(token && { Authorization: `Bearer ${token}` }) };
  const answer = await fetch(url, { ...request, headers });
  if (answer.ok) return answer;
  const said = await answer.json().catch(() => ({})), error = said?.error ?? {};
  const seconds = Number(answer.headers.get("retry-after")) || 0;
  const message = error.message ?? `${url.pathname}: the server answered ${answer.status}`;
  throw new LivejoinError(message, error.kind ?? "ServerError", answer.status, 1000 * seconds);
}

/**
 * A JSON text as a value; integers that a number does not hold are BigInt. They become texts with a mark first, since
 * JSON.parse rounds them; the texts that begin with the mark's NUL get one more.
 */
export const parse = (/** @type {string} */ text) => {
  if (!/\d{16}/.test(text)) return JSON.parse(text);
  const marked = text.replace(/"(?:[^"\\]|\\.)*"|(?<![\d.eE+-])-?\d{16,}(?![\d.eE])/g, (part) =>
    part[0] !== '"' ? `"\\u0000i${part}"` : part.startsWith('"\\u0000') ? `"\\u0000s${part.slice(1)}` : part);
  return JSON.parse(marked, (_, value) => {
    if (typeof value !== "string" || value[0] !== "\u0000") return value;
    if (value[1] === "s") return value.slice(2);
    return Number.isSafeInteger(Number(value.slice(2))) ? Number(value.slice(2)) : BigInt(value.slice(2));
  });
};

/** A value as JSON for the server, which reads integers and BigInt from texts of digits, and numbers that are none. */
const jsonOf = (/** @type {any} */ value) =>
  JSON.stringify(value, (_, one) =>
    typeof one === "bigint" || (typeof one === "number" && !Number.isFinite(one)) ? String(one) : one);

/** A value as a text that no other value of the same type has. */
const textOf = (/** @type {any} */ value) =>
  JSON.stringify(value, (_, one) => (typeof one === "bigint" ? String(one) : Object.is(one, -0) ? "-0" : one));

/** Call back; what it throws is its own, and ends nothing here. */
const call = (/** @type {() => void} */ back) => {
  try { back(); } catch (error) { reportError(error); }
};

const reportError = (/** @type {any} */ error) => {
  if (typeof globalThis.reportError === "function") globalThis.reportError(error);
  else queueMicrotask(() => { throw error; });
};

/** @type {(milliseconds: number, signal?: AbortSignal) => Promise<void>} */
const sleep = (milliseconds, signal) =>
  new Promise((resolve) => {
    const woken = () => { clearTimeout(timer); signal?.removeEventListener("abort", woken); resolve(); };
    const timer = setTimeout(woken, milliseconds);
    signal?.addEventListener("abort", woken);
  });
