"""What a change costs, for somebody who knows SQL: the first lines of every form of an explanation.

First what a change meets and what it changes, a line a table, with how that grows; then what each found combination is
checked for; then the upkeep of what the plan stores. What is not known is called so.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, assert_never

from livejoin.plan.explain.effects.amount import NOTHING, Amount, Growth, largest, total
from livejoin.search.guarantee import UpdateBound

if TYPE_CHECKING:
    from livejoin.plan.explain.effects.effects import Effect, Way
    from livejoin.plan.explain.effects.reach import Hop
    from livejoin.plan.explain.explanation import Explanation

_COSTS = {
    UpdateBound.ALWAYS: "A change takes constant time, whatever changes come.",
    UpdateBound.FIFO: (
        "A change takes constant time while rows leave in the order in which they came, or never leave; else it takes "
        "longer the more rows come and go while others stay."
    ),
    UpdateBound.LAMBDA: (
        "A change takes constant time while rows never leave; else it takes longer the more rows come and go while "
        "others stay."
    ),
    UpdateBound.LINEAR: "A change may take time in proportion to the number of rows in the tables.",
    UpdateBound.POLYNOMIAL: "A change may take more time than in proportion to the number of rows in the tables.",
}

_ON_AVERAGE = (
    "A change takes constant time on average, whatever changes come; one that brings the first row with a key to an "
    "append-only table may take longer, once for each row that waited for it."
)

_MADE = re.compile(r"\bc\d+\b")  # a column that no user named

_UPKEEP = {
    UpdateBound.ALWAYS: "",
    UpdateBound.FIFO: (
        "A change also marks rows that begin or cease to have a match. On average these are few while rows leave in "
        "the order in which they came, or never leave. They are more where a row stays while its only matches come "
        "and go."
    ),
    UpdateBound.LAMBDA: (
        "A change also marks rows that begin or cease to have a match. On average these are few while rows never "
        "leave. They are more where a row stays while its only matches come and go."
    ),
    UpdateBound.LINEAR: (
        "To update what the plan stores may take time in proportion to the number of rows in the tables."
    ),
    UpdateBound.POLYNOMIAL: (
        "To update what the plan stores may take more time than in proportion to the number of rows in the tables."
    ),
}

_UPKEEP_ON_AVERAGE = (
    "The first row with a key that comes to an append-only table also meets each row that waited for it, once."
)

_SOURCES = {
    "counted": "counted in the rows that the tables have now",
    "sampled": "estimated from a sample of the rows that the tables have now",
    "given": "from the statistics that were given",
    "observed": "counted when the plan was made",
}


def headline(explanation: Explanation) -> str:
    """The first sentence of a verdict."""
    return next(_sentences(explanation))


def verdict(explanation: Explanation) -> str:
    """What a change of the query's tables costs, in plain words, or that it is not maintained."""
    return " ".join(_sentences(explanation))


def _sentences(told: Explanation) -> Iterator[str]:
    if not told.executable:
        yield f"This version does not maintain the query: {told.obstacle}."
        return
    if told.asserted:
        yield told.asserted
    if told.product:
        yield told.product
    changing = [one for one in told.effects if one.promise != "static"]
    if not told.effects and not told.diagram.nodes:
        yield cost(told)  # a part of a query
    elif not changing:
        yield "No table of the query changes, so that nothing is to be kept up."
    else:
        yield cost(told) if is_read_later(told) else _headline(changing)
        yield from _conditions(changing)
        yield from [] if is_read_later(told) else _kept_up(told, changing)
    if told.beside:
        yield told.beside


def cost(told: Explanation) -> str:
    """The bound of a plan in plain words."""
    promise = told.guarantee
    if promise.is_amortised and promise.bound is UpdateBound.ALWAYS:
        return _ON_AVERAGE
    return cost_of(promise.bound)


def cost_of(bound: UpdateBound) -> str:
    """A bound in plain words."""
    return _COSTS[bound]


def _headline(changing: Sequence[Effect]) -> str:
    worst = changing[0]
    match worst.growth:
        case Growth.NONE:
            return f"A change costs about the same however large the tables get: it {_of_any(changing)}."
        case Growth.KEY:
            return f"A change of {worst.table} {_way(worst, 'meets', 'looks up')}, and changes {_result(worst)}."
        case Growth.TABLE:
            return f"A change of {worst.table} may {_way(worst, 'meet', 'look up')}, and changes {_result(worst)}."
        case _:
            assert_never(worst.growth)


def _of_any(changing: Sequence[Effect]) -> str:
    """What a change of any table does where nothing of it grows."""
    hops = [hop for one in changing for way in one.ways for hop in way.reach.hops]
    kept = [hop for hop in hops if hop.kept]
    looked_up, result = largest(one.looked_up for one in changing), largest(one.result for one in changing)
    parts = []
    if kept and all(hop.by_key for hop in kept):
        parts.append("meets at most one row of each other table, found by its key")
    elif kept:
        parts.append(f"meets {rows(largest(one.met for one in changing))}")
    elif hops:
        parts.append("only asks whether there are matching rows")
    if looked_up != NOTHING:
        parts.append(f"looks up {stored(looked_up)}")
    return f"{', '.join(parts) or 'meets no other row'}, and changes {_of_result(result)}"


def _result(one: Effect) -> str:
    return _of_result(one.result)


def _of_result(amount: Amount) -> str:
    return re.sub(r"\b(rows?)\b", r"\1 of the result", rows(amount), count=1)


def _way(one: Effect, meets: str, looks_up: str) -> str:
    """The rows that a change meets, or looks up above the joins, in words; each number is of the rows that it names."""
    ways = [(way, [hop for hop in way.reach.hops if hop.kept and hop.rows.growth]) for way in one.ways]
    growing = [(way, hops) for way, hops in ways if hops]
    if not growing:
        return f"{looks_up} {stored(one.looked_up)}, more as there are more {_listed_plain(_first(one.causes))}"
    way, hops = max(growing, key=lambda found: (max(hop.rows.growth for hop in found[1]), len(found[1])))
    first = f"all {_rows_of(hops[0])} ({_in_all(hops[0].rows)})"
    then = "".join(f", for each of them {_rows_of(hop)} ({_for_each(hop.rows)})" for hop in hops[1:_SHOWN])
    more = ", and so on" if len(hops) > _SHOWN else ""
    fitting = ", where it fits the query's conditions," if way.reach.is_selected else ""
    return f"{meets}{fitting} {first}{then}{more}{_altogether(one, [found for found, _ in growing], hops)}"


def _altogether(one: Effect, ways: Sequence[Way], shown: Sequence[Hop]) -> str:
    """All rows that a change meets, where these are more, or fewer, than those that were named."""
    if one.met.expected is None or rows(one.met) == rows(shown[0].rows):
        return ""
    occurrences = dict.fromkeys(f"through {way.through}" if way.through else f"as {way.alias}" for way in ways)
    once = "" if len(occurrences) == 1 else f", {_listed_plain([*occurrences])}"
    named = total(hop.met for way in ways for hop in way.reach.hops if hop.kept and hop.rows.growth)
    others = ", with the rows of other tables that these meet" if rows(named) != rows(one.met) else ""
    return f"{once}: {rows(one.met)} in all{others}"


def _for_each(amount: Amount) -> str:
    return _in_all(amount) + ("" if amount.expected is None else " each")


def _in_all(amount: Amount) -> str:
    return "how many is unknown" if amount.expected is None else _inside(amount)


_SHOWN = 3


def _rows_of(hop: Hop) -> str:
    return _matching(hop) + (" that fit the query's conditions" if hop.is_selected else "")


def _matching(hop: Hop) -> str:
    if hop.is_nested:
        return "rows of a nested query" + (" with the same key" if hop.columns else "")
    if not hop.columns:
        return f"rows of {hop.table}"
    if not hop.compared:  # with columns of several rows that were met before
        return f"rows of {hop.table} that match these by {' and '.join(hop.columns)}"
    if hop.compared == hop.columns:
        return f"rows of {hop.table} with the same {' and '.join(hop.columns)}"
    pairs = zip(hop.columns, hop.compared, strict=True)
    return f"rows of {hop.table} whose {' and '.join(f'{column} is its {other}' for column, other in pairs)}"


def _conditions(changing: list[Effect]) -> Iterator[str]:
    found = dict.fromkeys(condition for one in changing for condition in one.conditions)
    for condition in found:
        if _MADE.search(condition):
            yield "Each combination of rows that it meets is checked for a condition over several tables."
        else:
            yield f"Each combination of rows that it meets is checked: {condition}."


def _kept_up(told: Explanation, changing: Sequence[Effect]) -> Iterator[str]:
    """What keeping the plan's indexes costs beside the rows that a change meets."""
    promises = [one.alone or one.guarantee for one in (told, *told.others)]
    promise = max(promises, key=lambda one: one.bound)
    if promise.bound is UpdateBound.ALWAYS:
        yield from [_UPKEEP_ON_AVERAGE] if any(one.is_amortised for one in promises) else []
    elif promise.bound in (UpdateBound.FIFO, UpdateBound.LAMBDA) or changing[0].growth < _GROWTH[promise.bound]:
        yield _UPKEEP[promise.bound]


_GROWTH = {UpdateBound.LINEAR: Growth.KEY, UpdateBound.POLYNOMIAL: Growth.TABLE}


def is_read_later(told: Explanation) -> bool:
    """Whether no result is looked for before the view is read: there are no deltas, and nothing is stored above."""
    return not told.deltas and told.alone is None and not told.others


def effect_line(one: Effect, read_later: bool = False) -> str:
    """What one change of a table does, in one sentence.

    Args:
        one: The effect of a change.
        read_later: As `is_read_later`.

    >>> from livejoin.plan.explain.effects.effects import Effect
    >>> effect_line(Effect("orders", "", NOTHING, Amount(8.0, 8.0, True), Amount(9000.0, 9000.0)))
    'orders: looks up about 9,000 stored rows, changes up to 8 rows of the result, however large the tables get'
    """
    if one.promise == "static":
        return f"{one.table}: never changes (declared static)"
    if read_later:
        return f"{one.table}: changes {_result(one)}, which are looked for when it is read"
    met = [f"meets {rows(one.met)}"] if any(hop.kept for way in one.ways for hop in way.reach.hops) else []
    if one.looked_up != NOTHING:
        met.append(f"looks up {stored(one.looked_up)}")
    line = f"{one.table}: {', '.join(met) or 'meets no other row'}, changes {_result(one)}"
    if not one.growth:
        return f"{line}, however large the tables get"
    return f"{line}; grows with the {_listed(_first(one.causes))}"


def way_lines(one: Effect) -> Iterator[str]:
    """Where a change of a table goes, a line for each occurrence of the table and of what it changed before."""
    for way in one.ways:
        hops = way.reach.hops
        kept = [_hop(hop, place) for place, hop in enumerate(hop for hop in hops if hop.kept)]
        asked = [_rows_name(hop) for hop in hops if not hop.kept]
        told = [f"to {', then '.join(kept)}"] if kept else []
        if asked:
            told.append(f"it is only asked whether {_listed_plain(asked)} {'has' if len(asked) == 1 else 'have'} a row")
        yield f"{one.table}{_seen(one, way)}: {'; '.join(told) or 'to no row of another table'}"


def _seen(one: Effect, way: Way) -> str:
    """Which occurrence of a table it is."""
    if way.through:
        return f", through {way.through}"
    return "" if way.alias == one.table else f", as {way.alias}"


def _hop(hop: Hop, place: int) -> str:
    """A step, with the rows that each combination so far meets."""
    by = f" by {' and '.join(hop.columns)}" if hop.columns and not hop.is_nested else ""
    each = " for each" if place and not hop.by_key else ""
    return f"{_rows_name(hop)}{by}" + ("" if hop.rows.expected is None else f" ({_inside(hop.rows)}{each})")


def _inside(amount: Amount) -> str:
    """A number of rows as it stands in parentheses.

    >>> _inside(Amount(12.34, 500.0))
    'about 12 rows, 500 at most'
    """
    return rows(amount).replace(" (", ", ").removesuffix(")")


def _rows_name(hop: Hop) -> str:
    return "a nested query" if hop.is_nested else hop.table if hop.alias == hop.table else f"{hop.table} {hop.alias}"


def _listed_plain(names: Sequence[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def _first(causes: Sequence[str]) -> Sequence[str]:
    """The first of what something grows with, and how many more there are."""
    few = causes[: _SHOWN - 1]
    return causes if len(causes) <= _SHOWN else (*few, f"{len(causes) - len(few)} others like that")


def stored(amount: Amount) -> str:
    """A number of rows in words, of those that are stored above a join.

    >>> stored(Amount(3.0, 3.0, True)), stored(Amount(1.0, 1.0))
    ('at most 3 stored rows', '1 stored row')
    """
    return re.sub(r"\brow", "stored row", rows(amount).replace("up to", "at most"), count=1)


def rows(amount: Amount) -> str:
    """A number of rows in words.

    >>> rows(Amount(1.0, 1.0, True)), rows(Amount(12.34, 500.0)), rows(Amount(None, None))
    ('at most 1 row', 'about 12 rows (500 at most)', 'an unknown number of rows')
    """
    expected, most = amount.expected, amount.most
    if expected is None:
        return "an unknown number of rows"
    if expected == 0:
        return "no row now" if amount.growth else "no row"
    if most is not None and most <= 1:
        return "1 row" if expected == 1 and not amount.is_bound else "at most 1 row"
    if expected < 1 and not amount.is_bound:
        found = "less than 1 row on average"
    else:
        about = "up to " if amount.is_bound else "" if expected == most and expected < _ROUNDED else "about "
        found = f"{about}{number(expected)} {'row' if number(expected) == '1' else 'rows'}"
    if most is None or number(most) == number(expected):
        return found
    return f"{found}{' on average' if amount.is_bound else ''} ({number(most)} at most)"


_ROUNDED = 10


def number(value: float) -> str:
    """A number with two figures, below ten with one behind the point where there is one.

    >>> number(8123.0), number(2.34), number(3.0), number(0.02), number(1.6e10)
    ('8,100', '2.3', '3', '0.02', '16,000,000,000')
    """
    if value < 1:
        return f"{value:.1g}"
    if value < _ROUNDED:
        return f"{value:.1f}".removesuffix(".0")
    return f"{float(f'{value:.2g}'):,.0f}"


def source_line(told: Explanation) -> str:
    """Where the figures are from, or that there are none; empty where nothing is to be said."""
    changing = [one for one in told.effects if one.promise != "static"]
    found = dict.fromkeys(source for one in changing for source in one.sources)
    names = _SOURCES if told.log is None else _SOURCES | {"observed": "from the change log"}
    parts = []
    if found:
        parts.append(f"Figures for a change like the rows there are: {' and '.join(names[one] for one in found)}.")
    if any(not one.is_known for one in changing):
        parts.append(
            "A number is unknown where the tables have no rows yet; statistics={...}, or a change log, would tell it."
            if not found
            else "A number is unknown where nothing is known of the rows that are met, as those of a nested query."
        )
    return " ".join(parts)


def _listed(causes: Iterable[str]) -> str:
    *first, last = dict.fromkeys(causes)
    return f"{', the '.join(first)} and the {last}" if first else last
