/**
 * Files as changes of a table: CSV, JSON, JSON lines and Arrow. A file is sent in pieces, each one commit.
 *
 * @module files
 */

/**
 * @typedef {object} Piece A body for `POST /v1/tables/NAME`.
 * @property {BodyInit} body
 * @property {string} type Its media type.
 * @property {number} rows How many; -1 where only the server knows.
 *
 * @typedef {{ name: string, type: string }} Column
 */

export const ROWS = 20_000; // of a piece
const BYTES = 8_000_000;
const LINES = "application/x-ndjson", ARROW = "application/vnd.apache.arrow.stream";

/** What a file is, by its first bytes and its name. @param {File | Blob & { name: string }} file */
export async function kindOf(file) {
  const head = new Uint8Array(await file.slice(0, 8).arrayBuffer());
  const text = String.fromCharCode(...head);
  if (text.startsWith("PAR1")) return "parquet";
  if (text.startsWith("ARROW1")) return "arrow file";
  if (head[0] === 0xff && head[1] === 0xff && head[2] === 0xff && head[3] === 0xff) return "arrow stream";
  if (head[0] === 0x1f && head[1] === 0x8b) return "gzip";
  if (text.startsWith("PK")) return "zip";
  const name = file.name.toLowerCase();
  if (/\.(jsonl|ndjson)$/.test(name)) return "json lines";
  if (/\.json$/.test(name) || /^\s*[[{]/.test(text)) return "json";
  return "csv";
}

export class FileError extends Error {}

/**
 * The rows of a file, piece by piece.
 *
 * @param {File | Blob & { name: string }} file
 * @returns {AsyncGenerator<Piece>}
 */
export async function* piecesOf(file) {
  const kind = await kindOf(file);
  switch (kind) {
    case "parquet":
      throw new FileError(`${file.name} is a Parquet file, which a page cannot read. In Python: client.apply("TABLE", pyarrow.parquet.read_table("${file.name}")), or save it as an Arrow file.`);
    case "gzip":
    case "zip":
      throw new FileError(`${file.name} is compressed; unpack it first.`);
    case "arrow file": {
      const tail = new DataView(await file.slice(file.size - 10, file.size).arrayBuffer());
      const end = file.size - 10 - tail.getInt32(0, true); // the length of the footer, then the magic
      if (end <= 8) throw new FileError(`${file.name} is no whole Arrow file: its end is missing.`);
      yield { body: file.slice(8, end), type: ARROW, rows: -1 }; // in between it is a stream
      return;
    }
    case "arrow stream":
      yield { body: file, type: ARROW, rows: -1 };
      return;
    case "json": {
      const text = await file.text();
      const rows = splitArray(text);
      if (rows) yield* joined(rows);
      else yield* joined(text.split("\n")); // objects line by line under another name
      return;
    }
    case "json lines":
      yield* joined((await file.text()).split("\n"));
      return;
    case "csv":
      yield* joined(objectsOf(await file.text(), file.name));
      return;
  }
}

/** Texts of objects as pieces. @param {Iterable<string>} lines @returns {Generator<Piece>} */
function* joined(lines) {
  let /** @type {string[]} */ some = [], size = 0;
  for (const line of lines) {
    if (!line.trim()) continue;
    some.push(line);
    size += line.length;
    if (some.length >= ROWS || size >= BYTES) {
      yield { body: some.join("\n"), type: LINES, rows: some.length };
      [some, size] = [[], 0];
    }
  }
  if (some.length) yield { body: some.join("\n"), type: LINES, rows: some.length };
}

/**
 * The texts of the values of a JSON array, which stay as they were written: numbers keep all digits. Null if it is none.
 *
 * @param {string} text
 */
export function splitArray(text) {
  let at = text.search(/\S/);
  if (text[at] !== "[") return null;
  const /** @type {string[]} */ found = [];
  let depth = 0, from = at + 1;
  const token = /"(?:[^"\\]|\\.)*"|[[\]{},]/gs;
  token.lastIndex = at;
  for (let match = token.exec(text); match; match = token.exec(text)) {
    const [sign] = match;
    if (sign === "[" || sign === "{") depth++;
    else if (sign === "]" || sign === "}") depth--;
    if ((sign === "," && depth === 1) || (sign === "]" && depth === 0)) {
      const value = text.slice(from, match.index).trim();
      if (value) found.push(value.replace(/\s*\n\s*/g, " "));
      from = match.index + 1;
      if (depth === 0) return found;
    }
  }
  throw new FileError("the JSON array does not end");
}

/**
 * The lines of a CSV (RFC 4180; separated by commas, semicolons or tabs, as the first line is), each as a list of texts
 * and nulls: a field that is empty and not quoted is NULL, and "" is the empty text.
 *
 * @param {string} text
 * @returns {Generator<(string | null)[]>}
 */
export function* csvLines(text) {
  const given = text.replace(/^\uFEFF/, ""), first = given.slice(0, (given + "\n").search(/[\r\n]/));
  const separator = [",", ";", "\t"].reduce((best, one) => (first.split(one).length > first.split(best).length ? one : best));
  const field = new RegExp(`"((?:[^"]|"")*)"(?=${separator}|\\r|\\n|$)|([^${separator}\\r\\n]*)`, "y");
  let at = 0, /** @type {(string | null)[]} */ line = [];
  while (at <= given.length) {
    field.lastIndex = at;
    const match = /** @type {RegExpExecArray} */ (field.exec(given));
    line.push(match[1] !== undefined ? match[1].replaceAll('""', '"') : match[2] || null);
    at = field.lastIndex;
    if (given[at] === separator) { at++; continue; }
    if (line.length > 1 || line[0] !== null || match[1] !== undefined) yield line;
    line = [];
    if (at >= given.length) return;
    at += given[at] === "\r" && given[at + 1] === "\n" ? 2 : 1;
  }
}

/** The rows of a CSV as texts of objects, by its first line. @param {string} text @param {string} name @returns {Generator<string>} */
function* objectsOf(text, name) {
  const lines = csvLines(text);
  /** @type {(string | null)[] | undefined} */
  const head = lines.next().value ?? undefined;
  if (!head) throw new FileError(`${name} is empty.`);
  if (head.some((one) => one === null)) throw new FileError(`${name}: the first line must name the columns, and has an empty name.`);
  const names = head.map((one) => JSON.stringify(String(one).trim()));
  let place = 1;
  for (const line of lines) {
    place++;
    if (line.length !== names.length) throw new FileError(`${name}: line ${place} has ${line.length} values, and the first line names ${names.length} columns.`);
    yield `{${line.map((value, i) => `${names[i]}:${JSON.stringify(value)}`).join(",")}}`;
  }
}

/**
 * Columns for a table of which a file's first rows could be: the narrowest type that each value fits.
 *
 * @param {File | Blob & { name: string }} file
 * @returns {Promise<Column[] | null>} Null where only the server can read it.
 */
export async function columnsOf(file) {
  const kind = await kindOf(file);
  if (kind !== "csv" && kind !== "json" && kind !== "json lines") return null;
  const /** @type {Map<string, any[]>} */ seen = new Map();
  for await (const piece of piecesOf(file)) {
    for (const line of String(piece.body).split("\n").slice(0, 1000)) {
      for (const [name, value] of Object.entries(JSON.parse(line))) seen.set(name, [...(seen.get(name) ?? []), value]);
    }
    break;
  }
  return [...seen].filter(([name]) => !name.startsWith("_change")).map(([name, values]) => ({ name, type: typeOf(values.filter((one) => one !== null), kind === "csv") }));
}

/** @param {any[]} values @param {boolean} isText Whether numbers are texts. */
function typeOf(values, isText) {
  /** @type {(fits: (value: any) => boolean) => boolean} */
  const all = (fits) => values.length > 0 && values.every(fits);
  const number = (/** @type {any} */ one) => typeof one === "number" || (isText && typeof one === "string");
  if (all((/** @type {any} */ one) => number(one) && /^-?(0|[1-9]\d{0,17})$/.test(String(one)))) return "BIGINT";
  if (all((/** @type {any} */ one) => number(one) && /^-?\d+(\.\d+)?([eE][-+]?\d+)?$/.test(String(one)) && !/^-?0\d/.test(String(one)))) return "DOUBLE";
  if (all((/** @type {any} */ one) => typeof one === "boolean" || (isText && /^(true|false)$/i.test(one)))) return "BOOLEAN";
  if (all((/** @type {any} */ one) => /^\d{4}-\d\d-\d\d$/.test(one))) return "DATE";
  if (all((/** @type {any} */ one) => /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?Z?$/.test(one))) return "TIMESTAMP";
  return "STRING";
}
