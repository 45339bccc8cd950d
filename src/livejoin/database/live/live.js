// A live cell: the first rows of a view as a table. What changed is marked for a moment. The rows come from Python as the
// trait `shown`; the page says when it shows the cell and when it does not, so that nothing is read for nobody.

const LIT = 1200; // milliseconds that a change is seen

/** @param {string} name @param {Record<string, string>} [attributes] @param {...(Node | string)} inside */
function element(name, attributes = {}, ...inside) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...inside);
  return made;
}

const many = (/** @type {number} */ count, /** @type {string} */ what) => `${count.toLocaleString("en")} ${what}${count === 1 ? "" : "s"}`;

/** What the cell says below its rows. */
function said({ version, total, rows, state, said: why, commits }) {
  const parts = [`version ${version.toLocaleString("en")}`];
  parts.push(total === null || total <= rows.length ? many(rows.length, "row") : `${many(total, "row")}, the first ${rows.length.toLocaleString("en")} of them`);
  parts.push(state === "live" ? "live" : why);
  if (commits > 1) parts.push(`fell behind: ${many(commits, "commit")} in one step`);
  return parts.join(" · ");
}

/** Rows that are the same from one update to the next have the same name; equal rows without a key are counted. */
function names(rows, key) {
  const seen = new Map();
  return rows.map((row) => {
    const text = JSON.stringify(key.length ? key.map((place) => row[place]) : row);
    const number = seen.get(text) ?? 0;
    seen.set(text, number + 1);
    return `${number} ${text}`;
  });
}

function light(cell) {
  cell.classList.remove("livejoin-lit");
  void cell.offsetWidth; // so that a change that follows at once is seen too
  cell.classList.add("livejoin-lit");
  clearTimeout(cell.timer);
  cell.timer = setTimeout(() => cell.classList.remove("livejoin-lit"), LIT);
}

function fill(cell, text) {
  cell.textContent = text ?? "NULL";
  cell.classList.toggle("livejoin-null", text === null);
}

function render({ model, el }) {
  const head = element("thead"), body = element("tbody"), status = element("p", { class: "livejoin-said", role: "status" });
  const table = element("table", {}, head, body);
  el.append(element("div", { class: "livejoin-live" }, element("div", { class: "livejoin-frame", tabindex: "0", role: "region" }, table), status));
  /** The rows that stand there, by their names. @type {Map<string, HTMLTableRowElement>} */
  let there = new Map();
  let columns = "";

  function draw(isFirst) {
    const shown = model.get("shown");
    const now = JSON.stringify(shown.columns);
    if (now !== columns) {
      columns = now;
      head.replaceChildren(element("tr", {}, ...shown.columns.map((one) => element("th", { scope: "col", class: one.right ? "livejoin-right" : "" }, one.name))));
      body.replaceChildren();
      there = new Map();
      table.parentElement.setAttribute("aria-label", `The first rows of ${shown.name}`);
    }
    const next = new Map();
    names(shown.rows, shown.key).forEach((name, place) => {
      const row = shown.rows[place];
      let line = there.get(name);
      if (line) {
        row.forEach((text, column) => {
          const cell = line.cells[column];
          if (cell.textContent !== (text ?? "NULL") || cell.classList.contains("livejoin-null") !== (text === null)) {
            fill(cell, text);
            light(cell);
          }
        });
      } else {
        line = element("tr", {}, ...row.map((text, column) => {
          const cell = element("td", { class: shown.columns[column].right ? "livejoin-right" : "" });
          fill(cell, text);
          if (!isFirst) light(cell);
          return cell;
        }));
      }
      next.set(name, line);
      if (body.rows[place] !== line) body.insertBefore(line, body.rows[place] ?? null);
    });
    for (const [name, line] of there) if (!next.has(name)) line.remove();
    there = next;
    status.textContent = said(shown);
    status.classList.toggle("livejoin-over", shown.state !== "live");
  }

  const changed = () => draw(false);
  draw(true);
  model.on("change:shown", changed);
  model.send({ page: "came" });
  return () => {
    model.off("change:shown", changed);
    model.send({ page: "went" });
  };
}

export default { render };
