/**
 * SQL: an editor that completes names and explains as one types; queries, views, and files that are dropped on it.
 *
 * @module sql
 */

import { parse } from "livejoin";
import { advice, grounds, later } from "./advice.js";
import { announce, h, say, wrong } from "./dom.js";
import { count, many, seconds } from "./format.js";
import { FileError, columnsOf, kindOf, piecesOf } from "./files.js";
import { Grid, still } from "./grid.js";
import { ask, pathOf, read } from "./server.js";
import { picture, quoted } from "./view.js";

/** @typedef {import("./server.js").Watch} Watch */

const KEPT = "livejoin.sql", PAUSE = 450, SLOW = 1200; // milliseconds after the last key, and of what is slow

/** What a text is: a query, the query of a view that it creates, or something else. @param {string} text */
export function statementOf(text) {
  const bare = text.replace(/^(\s|--[^\n]*(\n|$)|\/\*[^]*?\*\/)+/, "").replace(/[\s;]+$/, "");
  if (!bare) return { kind: /** @type {const} */ ("none"), query: "", offset: 0 };
  const made = /^CREATE\s+(?:OR\s+REPLACE\s+)?(?:MATERIALIZED\s+)?VIEW\s+(?:IF\s+NOT\s+EXISTS\s+)?(?:`(?:[^`]|``)+`|[\w]+)\s+AS\s+/i.exec(bare);
  if (made) return { kind: /** @type {const} */ ("view"), query: bare.slice(made[0].length), offset: text.indexOf(bare) + made[0].length };
  if (/^(SELECT|WITH|VALUES|FROM|\()/i.test(bare)) return { kind: /** @type {const} */ ("query"), query: bare, offset: text.indexOf(bare) };
  return { kind: /** @type {const} */ ("change"), query: bare, offset: text.indexOf(bare) };
}

export class SqlPlace {
  /** @param {Watch} watch @param {(hash: string) => void} go */
  constructor(watch, go) {
    this.watch = watch;
    this.go = go;
    this.ending = new AbortController();
    this.asking = new AbortController();
    this.text = sessionStorage.getItem(KEPT) ?? "";
    /** @type {ReturnType<typeof import("./editor.js").makeEditor> | null} */ this.editor = null;
    /** @type {ReturnType<typeof setTimeout> | undefined} */ this.timer = undefined;
    this.host = h("div", { class: "editor" });
    this.run = h("button", { class: "primary", onclick: () => this.go_() }, "Run");
    this.make = h("button", { onclick: () => this.create() }, "Create view…");
    this.status = h("div", { class: "muted said", role: "status" });
    this.advice = h("div", { class: "advice" });
    this.answer = h("div", { class: "answer" });
    this.grid = new Grid("Rows of the query");
    const pick = h("input", { type: "file", multiple: true, hidden: true, onchange: () => { this.files(pick.files); pick.value = ""; } });
    this.drop = h("button", { class: "quiet", onclick: () => pick.click() }, "Load a file…");
    this.element = h("section", { class: "place sql", "aria-label": "SQL" },
      h("div", { class: "write" }, h("div", { class: "bar" }, h("h1", {}, "SQL"), this.drop, pick, this.make, this.run), this.host, this.status, this.answer),
      h("aside", { class: "explain", "aria-label": "What it would cost as a view" }, this.advice));
    const { signal } = this.ending;
    watch.on("graph", () => this.know(), signal);
    for (const name of ["dragover", "dragenter"]) {
      this.element.addEventListener(name, (event) => { event.preventDefault(); this.element.classList.add("over"); }, { signal });
    }
    this.element.addEventListener("dragleave", (event) => { if (event.target === this.element) this.element.classList.remove("over"); }, { signal });
    this.element.addEventListener("drop", (event) => {
      event.preventDefault();
      this.element.classList.remove("over");
      this.files(event.dataTransfer?.files ?? null);
    }, { signal });
    this.begin();
  }

  async begin() {
    const { makeEditor } = await import("./editor.js");
    if (this.ending.signal.aborted) return;
    this.editor = makeEditor(this.host, {
      text: this.text, label: "SQL", hint: "SELECT …   (Ctrl+Enter runs it)", onRun: () => this.go_(),
      onChange: (text) => this.changed(text),
    });
    this.know();
    this.changed(this.text);
    if (matchMedia("(pointer: fine)").matches) this.editor.focus();
  }

  know() {
    const graph = this.watch.graph;
    if (!graph || !this.editor) return;
    const names = [...graph.tables.filter((one) => one.columns).map((one) => [one.name, { kind: "table", columns: one.columns ?? [] }]),
      ...graph.views.map((one) => [one.name, { kind: "view", columns: one.columns }])];
    this.editor.complete(Object.fromEntries(names));
    this.make.hidden = !graph.who.admin;
  }

  /** @param {string} text */
  changed(text) {
    this.text = text;
    sessionStorage.setItem(KEPT, text);
    const { kind } = statementOf(text);
    this.make.disabled = kind !== "query";
    say(this.run, kind === "change" || kind === "view" ? "Execute" : "Run");
    this.run.disabled = kind === "none";
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.explain(), PAUSE);
  }

  async explain() {
    const { kind, query, offset } = statementOf(this.text);
    this.asking.abort();
    this.asking = new AbortController();
    const { signal } = this.asking;
    if (kind === "none" || kind === "change") {
      this.editor?.mark(null);
      this.advice.replaceChildren(...(kind === "none" ? beginning() : [h("p", { class: "muted" }, "This changes rows or declares something; it runs when you say so.")]));
      return;
    }
    try {
      // leading lines keep the positions of errors those of the editor
      const asked = (format = "json", suppose = /** @type {any[]} */ ([])) => ask(`v1/explain?format=${format}`, { json: { sql: blank(this.text, offset) + query, suppose }, signal });
      const found = parse(await (await asked()).text());
      if (signal.aborted) return;
      this.editor?.mark(null);
      this.advise(found, async (format, suppose) => (await asked(format, suppose)).text());
    } catch (error) {
      if (signal.aborted) return;
      const { message } = /** @type {Error} */ (error);
      this.editor?.mark(/** @type {any} */ (error));
      this.advice.replaceChildren(h("h2", {}, "Not yet a view"), ...wrong(message));
    }
  }

  /** @param {any} found @param {(format?: string, suppose?: any) => Promise<string>} asked Each form is planned anew, so that it is asked for when it is seen. */
  advise(found, asked) {
    this.advice.replaceChildren(h("h2", {}, "As a view"), ...advice(found, (one) => this.tries(one, asked, found)),
      later("Picture of the query", async () => picture(await asked("svg"), "The query")),
      later("Why, and how", async () => grounds(await asked("text"))));
  }

  /**
   * A button that tries a suggestion: a column more in the query, or a declaration that is supposed and not made.
   *
   * @param {any} suggestion @param {(format?: string, suppose?: any) => Promise<string>} asked @param {any} before
   */
  tries(suggestion, asked, before) {
    const { kind, sql: columns, suppose } = suggestion;
    if (suppose?.length) {
      const button = h("button", { class: "link", onclick: async () => {
        button.disabled = true;
        try { this.supposed(suggestion, parse(await asked("json", suppose)), before, asked); }
        catch (error) { this.fail(error); }
        finally { button.disabled = false; }
      } }, "try it");
      return button;
    }
    const select = /\bSELECT\b(?!\s+DISTINCT)/i.exec(this.text);
    if ((kind !== "output column" && kind !== "all columns") || !select || /\bGROUP\s+BY\b/i.test(this.text)) return "";
    return h("button", { class: "link", onclick: () => {
      const at = select.index + select[0].length;
      if (this.editor) this.editor.text = `${this.text.slice(0, at)} ${columns},${this.text.slice(at)}`;
    } }, "try it");
  }

  /** What it would cost with a declaration, and what it takes to have it. @param {any} suggestion @param {any} found @param {any} before @param {(format?: string, suppose?: any) => Promise<string>} asked */
  supposed(suggestion, found, before, asked) {
    const back = h("button", { onclick: () => this.advise(before, asked) }, "Back to what is declared");
    const title = h("h2", { tabindex: -1 }, "As a view, if that were declared");
    this.advice.replaceChildren(title, h("p", {}, suggestion.text), ...advice({ ...found, suggestions: [] }),
      h("h3", {}, "To have it"), h("p", {}, suggestion.for_real), h("p", { class: "muted" }, "Nothing was changed: this is what it would cost if the declaration is true of all rows, now and later."),
      h("div", { class: "buttons left" }, back), later("Picture of the query", async () => picture(await asked("svg", suggestion.suppose), "The query")));
    title.focus();
    announce("What it would cost with the declaration is shown");
  }

  /** Run what stands in the editor. */
  async go_() {
    const { kind, query } = statementOf(this.text);
    if (kind === "none") return;
    const began = performance.now();
    this.run.disabled = true;
    this.say("running …");
    const slow = setTimeout(() => this.say(kind === "query"
      ? "running … the first query after the server began also starts the process that answers queries"
      : "running … what a new view needs is compiled, once"), SLOW);
    try {
      if (kind === "query") {
        const found = await read("v1/query", { json: { sql: query } });
        this.answer.replaceChildren(this.grid.element);
        await this.grid.show(still(found.columns, found.rows));
        this.say(`${many(found.rows.length, "row")} at version ${count(found.version)}, in ${seconds((performance.now() - began) / 1000)}; asked once, not kept live`);
      } else {
        const found = await read("v1/execute", { json: { sql: this.text } });
        this.answer.replaceChildren();
        this.say(`done at version ${count(found.version)}: ${many(found.changes, "changed row")}, in ${seconds((performance.now() - began) / 1000)}`);
        this.watch.hurry();
      }
      this.editor?.mark(null);
    } catch (error) {
      this.fail(error);
    } finally {
      clearTimeout(slow);
      this.run.disabled = false;
    }
  }

  /** @param {string} text */
  say(text) {
    this.status.classList.remove("bad");
    say(this.status, text);
  }

  /** @param {any} error */
  fail(error) {
    this.status.classList.add("bad");
    this.status.replaceChildren(...wrong(error.message));
    this.editor?.mark(error);
  }

  /** Ask for a name, and create the view. */
  create() {
    const { query } = statementOf(this.text);
    const name = h("input", { name: "name", required: true, autofocus: true, autocomplete: "off", spellcheck: "false" });
    sheet("Create a view", [h("p", {}, "It is filled from the tables now, and stays right while they change."), h("label", {}, "Name", name)], "Create", async () => {
      await read("v1/execute", { json: { sql: `CREATE VIEW ${quoted(name.value)} AS ${query}` } });
      this.watch.hurry();
      announce(`The view ${name.value} was created`);
      this.go(`#/view/${encodeURIComponent(name.value)}`);
    }).catch((error) => this.fail(error));
  }

  /** @param {FileList | null} files */
  async files(files) {
    for (const file of files ?? []) await this.load(file);
  }

  /** Load a file into a table, old or new. @param {File} file */
  async load(file) {
    const graph = this.watch.graph;
    if (!graph) return;
    try {
      if ((await kindOf(file)) === "parquet") await piecesOf(file).next(); // says what to do
      const columns = graph.who.admin ? await columnsOf(file) : null;
      const own = file.name.replace(/\.\w+$/, "").replace(/\W+/g, "_").replace(/^(\d)/, "_$1") || "loaded";
      const tables = graph.tables.filter((one) => one.writable);
      if (!tables.length && !columns) throw new FileError("There is no table that you may change. Create one first.");
      const there = tables.find((one) => one.name.toLowerCase() === own.toLowerCase());
      const target = h("select", { name: "target" }, columns ? h("option", { value: "" }, "a new table") : "",
        tables.map((one) => h("option", { value: one.name, selected: one === there }, one.name)));
      const create = h("textarea", { rows: 8, spellcheck: "false", "aria-label": "How the table is declared" });
      create.value = columns ? `CREATE TABLE ${quoted(own)} (\n${columns.map((one) => `  ${quoted(one.name)} ${one.type}`).join(",\n")}\n)` : "";
      const declared = h("label", {}, "Declare it so (a PRIMARY KEY makes views cheaper)", create);
      const conflict = h("select", { name: "conflict" }, h("option", { value: "error" }, "is an error"), h("option", { value: "update" }, "takes the place of the old one"), h("option", { value: "ignore" }, "is left out"));
      const bar = h("progress", { max: 1, value: 0, hidden: true, "aria-label": "Loaded" });
      const turn = () => { declared.hidden = target.value !== ""; };
      target.addEventListener("change", turn);
      turn();
      await sheet(`Load ${file.name}`, [
        h("label", {}, "Into", target), declared, h("label", {}, "A row whose key is there", conflict),
        h("p", { class: "muted" }, "Large files go in several commits; if one fails, those before it stay."), bar,
      ], "Load", async () => {
        let name = target.value;
        if (!name) {
          await read("v1/execute", { json: { sql: create.value } });
          const made = /CREATE\s+TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?(?:`((?:[^`]|``)+)`|(\w+))/i.exec(create.value);
          name = made?.[1]?.replaceAll("``", "`") ?? made?.[2] ?? own;
          target.append(h("option", { value: name, selected: true }, name)); // so that a second try goes on with it
          turn();
        }
        let rows = 0, commits = 0, version = 0;
        bar.hidden = false;
        for await (const piece of piecesOf(file)) {
          const answer = await ask(pathOf("tables", name, `?on_conflict=${conflict.value}`), { method: "POST", body: piece.body, headers: { "Content-Type": piece.type } });
          const done = parse(await answer.text());
          [rows, commits, version] = [rows + done.changes, commits + 1, done.version];
          bar.value = piece.rows < 0 ? 1 : Math.min(1, (commits * String(piece.body).length) / Math.max(1, file.size));
          this.watch.hurry();
        }
        this.say(`${file.name}: ${many(rows, "row")} into ${name}, in ${many(commits, "commit")}, up to version ${count(version)}`);
        announce(`${many(rows, "row")} were loaded into ${name}`);
      });
    } catch (error) {
      this.fail(error);
    }
  }

  close() {
    this.ending.abort();
    this.asking.abort();
    clearTimeout(this.timer);
    this.editor?.close();
  }
}

/** As many lines and columns as a text has up to an offset, empty. @param {string} text @param {number} offset */
const blank = (text, offset) => text.slice(0, offset).replace(/[^\n]/g, " ");

const beginning = () => [
  h("h2", {}, "What would it cost?"),
  h("p", {}, "Write a SELECT: here stands what a change of the tables would cost if it were a view, and why. It is not run for that."),
  h("p", { class: "muted" }, "Ctrl+Enter asks it once. Drop a CSV, JSON or Arrow file anywhere on this page to load it into a table."),
];

/**
 * A dialog with a form; what it does is done before it closes, and an error stays in it.
 *
 * @param {string} title
 * @param {Node[]} body
 * @param {string} verb
 * @param {() => Promise<void>} act
 * @returns {Promise<void>} When it is closed, and what is under way has ended; what then fails is its error.
 */
function sheet(title, body, verb, act) {
  const bad = h("p", { class: "bad", role: "alert", hidden: true });
  const does = h("button", { class: "primary" }, verb);
  const form = h("form", {}, h("h2", {}, title), body, bad, h("div", { class: "buttons" }, h("button", { type: "button", onclick: () => dialog.close() }, "Cancel"), does));
  const dialog = h("dialog", { class: "sheet", "aria-label": title }, form);
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((resolve, reject) => {
    /** @type {Promise<void> | null} */ let work = null; // what is under way, also when the dialog is closed meanwhile
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      if (work) return;
      does.disabled = true;
      bad.hidden = true;
      form.setAttribute("aria-busy", "true");
      try {
        await (work = act());
        dialog.close();
      } catch (error) {
        bad.hidden = false;
        say(bad, String(/** @type {Error} */ (error).message));
      } finally {
        work = null;
        does.disabled = false;
        form.removeAttribute("aria-busy");
      }
    });
    dialog.addEventListener("close", () => { dialog.remove(); (work ?? Promise.resolve()).then(resolve, reject); }, { once: true });
  });
}
