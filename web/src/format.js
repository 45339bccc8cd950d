/**
 * Numbers, sizes, times and values of SQL as people read them.
 *
 * @module format
 */

const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const some = new Intl.NumberFormat("en-US", { maximumSignificantDigits: 3 });
const exact = new Intl.NumberFormat("en-US", { maximumFractionDigits: 17 });

/** 1234567 as 1,234,567; also a BigInt. */
export const count = (/** @type {number | bigint} */ n) => whole.format(n);

/** `count` and its noun: 1 row, 2 rows. */
export const many = (/** @type {number | bigint} */ n, /** @type {string} */ noun) => `${count(n)} ${noun}${n == 1 ? "" : "s"}`;

/** A number a second, in three digits where it is small. */
export const rate = (/** @type {number} */ n) => (n >= 100 || Number.isInteger(n) ? whole.format(n) : some.format(n));

/** 1536 as 1.5 kB. */
export function bytes(/** @type {number} */ n) {
  for (const [size, unit] of /** @type {[number, string][]} */ ([[1e12, "TB"], [1e9, "GB"], [1e6, "MB"], [1e3, "kB"]])) {
    if (n >= size) return `${some.format(n / size)} ${unit}`;
  }
  return `${whole.format(n)} B`;
}

/** Seconds as µs, ms or s. */
export function seconds(/** @type {number} */ n) {
  if (n >= 1) return `${some.format(n)} s`;
  return n >= 0.001 ? `${some.format(n * 1e3)} ms` : `${some.format(n * 1e6)} µs`;
}

/** A span that a person waits: 12 s, 3 min, 2 h. */
export function span(/** @type {number} */ n) {
  if (n < 90) return `${whole.format(n)} s`;
  return n < 5400 ? `${whole.format(n / 60)} min` : `${some.format(n / 3600)} h`;
}

/** A time of the day. */
export const clock = (/** @type {number} */ milliseconds) => new Date(milliseconds).toLocaleTimeString("en-GB");

/** Whether a column's type, as the server says it, is of numbers: those stand at the right. */
export const isNumeric = (/** @type {string} */ type) =>
  /^(tinyint|smallint|int|integer|bigint|float|double|real|decimal|numeric|u?int\d+|halffloat|decimal\d+)\b/i.test(type);

/**
 * A value of SQL as a text, and what it is: `null`, `number`, `text`, `flag` or `nested`. The text NULL and no value
 * at all are told apart by that, and so are the texts of digits and numbers.
 *
 * @param {any} value
 * @param {boolean} isNumber Whether the column is of numbers: DECIMAL comes as a text.
 * @param {boolean} isKey A key is a name, and has no separators.
 * @returns {{ text: string, kind: "null" | "number" | "text" | "flag" | "nested" }}
 */
export function shown(value, isNumber = false, isKey = false) {
  if (value === null || value === undefined) return { text: "NULL", kind: "null" };
  if (typeof value === "bigint") return { text: isKey ? String(value) : whole.format(value), kind: "number" };
  if (typeof value === "number") return { text: isKey ? String(value) : number(value), kind: "number" };
  if (typeof value === "boolean") return { text: String(value), kind: "flag" };
  if (typeof value === "string") {
    return isNumber ? { text: isKey ? value : digits(value), kind: "number" } : { text: value, kind: "text" };
  }
  return { text: JSON.stringify(value, (_, one) => (typeof one === "bigint" ? String(one) : one)), kind: "nested" };
}

const number = (/** @type {number} */ n) => (Math.abs(n) < 1e15 && (n === 0 || Math.abs(n) >= 1e-6) ? exact.format(n) : String(n));

/** A DECIMAL's text with separators; none of its digits is lost. */
function digits(/** @type {string} */ text) {
  const found = /^(-?)(\d+)(\.\d+)?$/.exec(text);
  return found ? `${found[1]}${whole.format(BigInt(found[2]))}${found[3] ?? ""}` : text;
}
