/**
 * The editor: CodeMirror in a shadow tree, as its styles are sheets that a page without inline styles allows there alone.
 *
 * @module editor
 */

import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { SQLDialect, sql } from "@codemirror/lang-sql";
import { HighlightStyle, bracketMatching, indentOnInput, syntaxHighlighting } from "@codemirror/language";
import { setDiagnostics } from "@codemirror/lint";
import { Compartment, EditorState } from "@codemirror/state";
import { EditorView, drawSelection, highlightActiveLine, keymap, lineNumbers, placeholder } from "@codemirror/view";
import { tags } from "@lezer/highlight";

const KEYWORDS = `select from where group by having order limit offset join inner left right full outer cross semi anti on using
as and or not in exists between like rlike is null true false case when then else end union all intersect except minus distinct
with values create table view or replace if not exists primary key unique foreign references check default generated always drop cascade insert into
update set delete merge matched using refresh asc desc nulls first last over partition rows range preceding following current row
unbounded filter lateral explode cast try_cast interval rollup cube grouping sets pivot unpivot qualify tblproperties alter add column begin commit`;
const TYPES = "bigint int integer smallint tinyint double float decimal string varchar char boolean date timestamp timestamp_ntz binary interval array map struct";
const BUILTIN = "count sum avg min max min_by max_by any_value first last stddev variance coalesce nullif abs round floor ceil length lower upper substring concat trim row_number rank dense_rank lag lead year month day hour date_trunc greatest least array_agg approx_count_distinct";

const spark = SQLDialect.define({
  keywords: KEYWORDS, types: TYPES, builtin: BUILTIN, identifierQuotes: "`", doubleQuotedStrings: true, backslashEscapes: true, caseInsensitiveIdentifiers: true,
});

const colours = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--accent)", fontWeight: "600" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--string)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--number)" },
  { tag: [tags.typeName, tags.standard(tags.name)], color: "var(--type)" },
  { tag: [tags.lineComment, tags.blockComment], color: "var(--muted)", fontStyle: "italic" },
]);

const look = EditorView.theme({
  "&": { height: "100%", fontSize: "13.5px", color: "var(--ink)", backgroundColor: "var(--panel)" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.55" },
  ".cm-content": { caretColor: "var(--ink)", padding: "10px 0" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  ".cm-gutters": { backgroundColor: "var(--panel)", color: "var(--faint)", border: "none" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--hover)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "var(--selection)" },
  ".cm-tooltip": { backgroundColor: "var(--panel)", border: "1px solid var(--line)", borderRadius: "6px", boxShadow: "0 4px 16px rgb(0 0 0 / 18%)", color: "var(--ink)" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--accent)", color: "var(--on-accent)" },
  ".cm-tooltip-autocomplete > ul > li": { padding: "3px 10px", fontFamily: "var(--mono)" },
  ".cm-completionDetail": { color: "inherit", opacity: "0.65", fontStyle: "normal" },
  ".cm-completionIcon": { display: "none" },
  ".cm-diagnostic": { borderLeftColor: "var(--bad)" },
  ".cm-placeholder": { color: "var(--faint)" },
});

/**
 * Completes columns without an alias before them: those of the tables and views that the text names.
 *
 * @param {Record<string, { kind: string, columns: { name: string, type: string }[] }>} names
 * @returns {import("@codemirror/autocomplete").CompletionSource}
 */
const columnsNamed = (names) => (context) => {
  const word = context.matchBefore(/[\w`]+/);
  if ((!word && !context.explicit) || (word && context.state.sliceDoc(word.from - 1, word.from) === ".")) return null;
  const said = new Set(context.state.doc.toString().toLowerCase().match(/[^`]+(?=`)|\w+/g));
  const options = Object.entries(names).filter(([name]) => said.has(name.toLowerCase())).flatMap(([name, { columns }]) =>
    columns.map((one) => ({ label: one.name, apply: quoted(one.name), type: "property", detail: `${one.type.toLowerCase()}, ${name}`, boost: 2 })));
  return { from: word?.from ?? context.pos, options, validFor: /^\w*$/ };
};

/** A name as SQL has it: quoted where it must be. */
const quoted = (/** @type {string} */ name) => (/^[a-z_]\w*$/i.test(name) ? name : `\`${name.replaceAll("`", "``")}\``);

/**
 * Text over a selection is put in by us: browsers do it by an element with an inline style, which the page refuses.
 *
 * @param {InputEvent} event @param {EditorView} view
 */
function beforeinput(event, view) {
  const { from, to, empty } = view.state.selection.main;
  if (event.inputType !== "insertText" || event.data === null || empty || view.composing || view.state.selection.ranges.length > 1) return false;
  const text = event.data, insert = () => view.state.update(view.state.replaceSelection(text), { userEvent: "input.type", scrollIntoView: true });
  if (!view.state.facet(EditorView.inputHandler).some((one) => one(view, from, to, text, insert))) view.dispatch(insert());
  event.preventDefault();
  return true;
}

/**
 * @param {HTMLElement} host Where it goes; it gets a shadow tree.
 * @param {{ text: string, onChange: (text: string) => void, onRun: () => void, hint: string, label: string }} options
 */
export function makeEditor(host, { text, onChange, onRun, hint, label }) {
  const root = host.attachShadow({ mode: "open" });
  const place = document.createElement("div");
  Object.assign(place.style, { height: "100%" });
  root.append(place);
  const language = new Compartment();
  const run = () => { onRun(); return true; };
  const view = new EditorView({
    root, parent: place,
    state: EditorState.create({
      doc: text,
      extensions: [
        keymap.of([{ key: "Mod-Enter", run }]), // before the keys that take Enter
        lineNumbers(), history(), drawSelection(), indentOnInput(), bracketMatching(), closeBrackets(), highlightActiveLine(),
        autocompletion({ icons: false }), syntaxHighlighting(colours), look, EditorView.lineWrapping, placeholder(hint),
        EditorView.domEventHandlers({ beforeinput }), EditorView.contentAttributes.of({ "aria-label": label, "aria-multiline": "true" }),
        keymap.of([...closeBracketsKeymap, ...completionKeymap, ...historyKeymap, ...defaultKeymap]),
        language.of(sql({ dialect: spark, upperCaseKeywords: true })),
        EditorView.updateListener.of((update) => { if (update.docChanged) onChange(update.state.doc.toString()); }),
      ],
    }),
  });
  return {
    get text() { return view.state.doc.toString(); },
    set text(/** @type {string} */ given) { view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: given } }); },
    focus: () => view.focus(),
    close: () => view.destroy(),
    /** Complete names of tables and views, each with its columns. @param {Record<string, { kind: string, columns: { name: string, type: string }[] }>} names */
    complete(names) {
      const schema = Object.fromEntries(Object.entries(names).map(([name, { kind, columns }]) => [name.replace(/([\\.])/g, "\\$1"), {
        self: { label: name, type: "type", detail: kind, apply: quoted(name) },
        children: columns.map((one) => ({ label: one.name, type: "property", detail: one.type.toLowerCase(), boost: 1 })),
      }]));
      const columns = spark.language.data.of({ autocomplete: columnsNamed(names) });
      view.dispatch({ effects: language.reconfigure([sql({ dialect: spark, schema, upperCaseKeywords: true }), columns]) });
    },
    /** Mark where an error is; line and column count from 1. @param {{ message: string, line?: number, column?: number } | null} error */
    mark(error) {
      const found = [];
      if (error?.line && error.line <= view.state.doc.lines) {
        const line = view.state.doc.line(error.line), from = Math.min(line.to, line.from + Math.max(0, (error.column ?? 1) - 1));
        const word = /^[\w`]+/.exec(line.text.slice(from - line.from))?.[0].length ?? 1;
        found.push({ from, to: Math.min(line.to, from + word), severity: /** @type {const} */ ("error"), message: error.message });
      }
      view.dispatch(setDiagnostics(view.state, found));
    },
  };
}
