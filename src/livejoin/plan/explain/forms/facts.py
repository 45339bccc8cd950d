"""What there is to say of a plan, each fact as lines of plain text: what every form of an explanation is made of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from livejoin.plan.draw.drawing import commas
from livejoin.plan.explain.glossary import words
from livejoin.plan.explain.verdict import cost_of

if TYPE_CHECKING:
    from livejoin.families.outline import BagOutline, MergedOutline, NodeOutline, StatesOutline, StaticOutline
    from livejoin.plan.explain.explanation import Alternative, Explanation, LogOutline, Suggestion, TableOutline


def facts(explanation: Explanation) -> Iterator[tuple[str, list[str]]]:
    """Name and lines of each fact, in the order in which they are shown; the class stands before them."""
    promise, plan = explanation.guarantee, explanation.plan
    yield "plan", [plan.title]
    if explanation.operators:
        yield "above it", [*explanation.operators]
    if not explanation.executable:
        yield "refused", [f"this version does not maintain the query: {explanation.obstacle}"]
    if plan.static is not None:
        yield "static", [*static_lines(plan.static)]
    if plan.merged:
        yield "merged", [*map(merged_line, plan.merged)]
    if left_out := left_out_line(explanation.tables):
        yield "left out", [left_out]
    if plan.states is not None:
        yield "states", [_states(plan.states)]
    yield "update", [*update_lines(explanation), *([explanation.beside] if explanation.beside else [])]
    yield "results", [promise.delay + ("" if explanation.deltas else "; no deltas (deltas=False)")]
    if explanation.change_types:
        yield "deltas", [explanation.change_types]
    yield "space", [promise.space]
    if explanation.memory is not None:
        yield "memory", [*explanation.memory.lines()]
    if explanation.cells is not None:
        yield "threads", [explanation.cells.note]
    for name, value in (
        ("names", explanation.names),
        ("whole", explanation.whole),
        ("loading", promise.preprocessing),
        ("proof", promise.source),
        ("why", explanation.reason),
        ("search", explanation.search.note),
    ):
        if value:
            yield name, [value]


def paper_words(explanation: Explanation) -> str:
    """The papers' words for the class and the plan; which part has which bound where these differ."""
    return ", ".join(entry.word for entry in words(explanation)) + which_part(explanation)


def which_part(explanation: Explanation) -> str:
    """Which bound the join has alone, and which with what is stored above it; and what no bound counts."""
    alone, whole = explanation.alone, explanation.guarantee.bound
    in_order = any("O(log " in line for line in explanation.operators)
    also = "; rows that are kept in order cost O(log rows) each, beside that" if in_order else ""
    if alone is not None and alone.bound != whole and len(explanation.atoms) > 1:
        return f"; the join alone {alone.bound.formula}, with what is stored above it {whole.formula}{also}"
    if explanation.deltas and any(one.growth for one in explanation.effects):
        said = "; these do not count the rows of the result that change, nor the matches that are checked for them"
        return said + also
    return also


def class_line(explanation: Explanation) -> str:
    """The class of the query, its width where it is cyclic, and how many atoms and output variables it has."""
    found = explanation.query_class
    width = f" of width {found.width}" if found.width != "1" else ""
    over = commas([atom.name for atom in explanation.atoms])
    part = f": this part, over {over}; the other parts have theirs below" if explanation.others else ""
    return f"{found.name} conjunctive query{width}; {_count(len(explanation.atoms), 'atom')}{part}"


def update_lines(explanation: Explanation) -> Iterator[str]:
    """What a change costs, of the join and of what is stored above it each on a line of its own."""
    alone, whole = explanation.alone, explanation.guarantee.update
    if alone is None or not whole.startswith(f"{alone.update}; and "):
        yield whole
        return
    what = "the join" if len(explanation.atoms) > 1 else "its rows"
    yield f"{what}: {alone.update}"
    yield f"above {'it' if len(explanation.atoms) > 1 else 'them'}: {whole.removeprefix(f'{alone.update}; and ')}"


def static_lines(static: StaticOutline) -> Iterator[str]:
    """What is made of static tables before changes come."""
    if not static.bags:
        yield f"class {static.tractability}: nothing is joined before changes come"
        return
    yield f"class {static.tractability}: joined once, by the variable order {static.order}, of width {static.width}"
    yield from (f"{bag.title}: {_bag_rows(bag)}" for bag in static.bags)
    if static.limit is not None:
        yield f"refused beyond {static.limit:,} rows (preprocessing_limit)"


def merged_line(merged: MergedOutline) -> str:
    """Which static tables are one relation, and how many rows that spares."""
    rows = f"up to {merged.expected:,.0f}" if merged.rows is None else f"{merged.rows:,}"
    return f"{commas(merged.tables)}: one relation of {rows} rows instead of {merged.instead:,.0f}"


def left_out_line(tables: Sequence[TableOutline]) -> str:
    """How many rows of static tables have no record, since they can be part of no result; empty if all have one."""
    static = [one for one in tables if one.kept is not None and one.rows is not None]
    rows, kept = sum(one.rows or 0 for one in static), sum(one.kept or 0 for one in static)
    if kept >= rows:
        return ""
    names = commas([one.name for one in static])
    return f"{rows - kept:,.0f} of the {rows:,.0f} rows of {names}: they are part of no result, whatever changes"


def _bag_rows(bag: BagOutline) -> str:
    """How many rows a static bag has, and was expected to have."""
    expected = "" if bag.expected is None else f"about {bag.expected:,.0f} rows expected"
    if bag.rows is None:
        return expected or "how many rows is not known before the tables have some"
    return f"{bag.rows:,} rows" + (f" ({expected})" if expected else "")


def _states(states: StatesOutline) -> str:
    """What the states are made of, how many there are at most, and how many of them are kept."""
    rows = "a number that is not known" if states.rows is None else f"about {states.rows:,.0f}"
    of = ", ".join(f"{alias} {rows:,.0f}" for alias, rows in states.matter.items() if rows is not None)
    most = "" if states.rows is None else f", so that there are at most 2^{states.rows:.0f} states"
    each = f" for each ({', '.join(states.shared)})" if states.shared else ""
    return (
        f"sets of the rows that matter{each}: {rows}{f' ({of})' if of else ''}{most}; those that are met are kept, up "
        f"to {states.most_bytes >> 20} MB or a quarter of memory_limit"
    )


def node_name(node: NodeOutline) -> str:
    """What a node is, with its variables; a generalized relation is its variables."""
    if not node.atoms and node.label.startswith("["):
        return node.label
    mark = f" {node.promise}" if node.promise and not node.label.startswith(node.promise) else ""
    return f"{node.label}({commas(node.variables)}){mark}"


def views(node: NodeOutline) -> str:
    """The views of a node on one line."""
    return (", " if any(" " in view for view in node.views) else " ").join(node.views)


def state_lines(tables: Sequence[TableOutline]) -> list[str]:
    """What the state has of each table of which it has something."""
    return [_state_line(one) for one in tables if one.row_bytes + one.index_bytes]


def _state_line(table: TableOutline) -> str:
    total = table.row_bytes + table.index_bytes
    size = f"{total:.0f} bytes a base row ({table.row_bytes} in its record, {table.index_bytes:.0f} in indexes)"
    columns = commas(table.columns) or "no columns"
    return f"{table.name} ({columns}) for {commas(table.aliases)}: {size}{_known(table)}"


def _known(table: TableOutline) -> str:
    parts = []
    if table.rows is not None:
        parts.append(f"{table.rows:,.0f} rows ({table.rows_known})")
    if table.changes is not None and table.changes_known != "unknown":
        parts.append(f"relative rate of change {table.changes:.3g} ({table.changes_known})")
    if table.kept is not None and table.kept < (table.rows or 0):
        parts.append(f"{table.kept:,} of them kept")
    return "".join(f"; {part}" for part in parts)


def log_lines(log: LogOutline) -> Iterator[str]:
    """What a change log says."""
    yield f"{log.changes:,} changes, {log.lifespans:,} lifespans, {log.pattern}"
    for name, average, most in log_figures(log):
        yield f"{name} = {average:,.2f} on average, {most:,} at most"


def log_figures(log: LogOutline) -> Iterator[tuple[str, float, int]]:
    """Name, average and largest value of each enclosureness that the log has."""
    yield "lambda", log.enclosure, log.largest
    if log.tree_enclosure is not None and log.tree_largest is not None:
        yield "lambda_T", log.tree_enclosure, log.tree_largest
    if log.crossing_enclosure is not None and log.crossing_largest is not None:
        yield "lambda_T+", log.crossing_enclosure, log.crossing_largest


def gain(suggestion: Suggestion) -> str:
    """What a suggestion would give."""
    later = "" if suggestion.executable else "; this version does not run that plan yet"
    bound = suggestion.guarantee.bound
    return f"Then, beside the rows that it meets, {cost_of(bound).removesuffix('.').lower()} ({bound.formula}){later}"


def alternative_line(plan: Alternative) -> str:
    """A plan that was compared."""
    visited, touched = _three(plan.propagation), _three(plan.touches)
    rows, records = ("row" if visited == "1" else "rows"), ("record or key" if touched == "1" else "records and keys")
    work = f"a change is expected to visit {visited} {rows}, and to touch {touched} {records}"
    figures = f"height {plan.height}, depth times changes {plan.cost:.3g}; {work}"
    line = f"{plan.title}: {plan.tree}; {plan.guarantee.bound.formula}; {figures}"
    return line + ("" if plan.executable else f"; not run: {plan.obstacle}")


def _three(value: float) -> str:
    """A number with three digits that count.

    >>> _three(1.0625), _three(2012.0)
    ('1.06', '2,010')
    """
    return f"{value:.3g}" if value < 100 else f"{float(f'{value:.3g}'):,.0f}"


def _count(number: int, noun: str) -> str:
    return f"1 {noun}" if number == 1 else f"{number} {noun}s"
