"""What a change costs, for somebody who knows SQL: the first lines of every form of an explanation.

First what a change meets and what it changes, a line a table, with how that grows; then what each found combination is
checked for; then the upkeep of what the plan stores. What is not known is called so.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from livejoin.plan.explain.effects.amount import NOTHING, Amount, Growth, largest, total
from livejoin.plan.explain.number_words import inside, listed, one_in, readable, rows, stored
from livejoin.plan.explain.ways import is_made_alias, rows_of
from livejoin.search.guarantee import UpdateBound

if TYPE_CHECKING:
    from livejoin.plan.explain.effects.effect import Effect, Way
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

_MARKS = (
    "Each row also has a mark that says whether it has a match in each other table. A change sets that mark where a "
    "first match comes, or the last one goes."
)
_STAYING = "It is more work where an old row stays, and its only match comes and goes again and again."

_UPKEEP = {
    UpdateBound.ALWAYS: "",
    UpdateBound.FIFO: (
        f"{_MARKS} That is rare while rows leave in the order in which they came, or never leave. {_STAYING}"
    ),
    UpdateBound.LAMBDA: f"{_MARKS} That is rare while rows never leave. {_STAYING}",
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
    "counted": "means over the rows that the tables have now",
    "sampled": "estimates from a sample of the rows of large tables",
    "given": "from the statistics that were given",
    "observed": "from the rows that were there when the plan was made",
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
        yield from (_CLOSES.format(table=one.table) for one in changing if one.closes)
        yield from _conditions(changing)
        yield from [told.nulls] if told.nulls else []
        yield from [] if is_read_later(told) else _kept_up(told, changing)
    if told.beside:
        yield told.beside
    if told.begins:
        yield told.begins


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
    if worst.growth is Growth.NONE:
        same = "costs about the same however large the tables get"
        if any(one.may_be_all for one in changing):
            return f"On average a change {same}, and a single one may cost as much as all rows: it {_of_any(changing)}."
        return f"A change {same}: it {_of_any(changing)}."
    costs_most = " costs most: it" if len(changing) > 1 else ""
    ways = [(way, [hop for hop in way.reach.hops if hop.kept and hop.rows.growth]) for way in worst.ways]
    growing = [(way, hops) for way, hops in ways if hops]
    if not growing:
        return " ".join(_looks(worst, costs_most))
    return " ".join(_meets(worst, costs_most, growing))


def _looks(one: Effect, costs_most: str) -> Iterator[str]:
    """What a change looks at above the joins, where that is all that grows."""
    grown = max(one.stored, key=lambda step: (step.rows.growth, step.rows.expected or 0.0), default=None)
    kept = "" if grown is None else f": {grown.what}"
    yield f"A change of {one.table}{costs_most} reads {stored(one.looked_up)}{kept}."
    yield f"It {_changes(one)}."
    if one.last_alone:
        yield "A row that comes behind all others in that order changes only itself."


def _meets(one: Effect, costs_most: str, growing: Sequence[tuple[Way, Sequence[Hop]]]) -> Iterator[str]:
    """The rows that a change meets; each number is of the rows that it names."""
    way, hops = max(growing, key=lambda found: (max(hop.rows.growth for hop in found[1]), len(found[1])))
    meets = "may meet" if one.growth is Growth.TABLE else "meets"
    first = f"{'' if hops[0].different else 'all '}{rows_of(hops[0])} ({_in_all(hops[0].rows)})"
    then = "".join(f", for each of them {rows_of(hop)} ({_for_each(hop.rows)})" for hop in hops[1:_SHOWN])
    more = ", and so on" if len(hops) > _SHOWN else ""
    if way.reach.only is not None:
        alone = "there is no other such row" if way.reach.condition else "it is the only match"
        meets = f"{'' if costs_most else 'meets other rows '}if {alone}: it then meets"
        costs_most = costs_most.removesuffix(": it")
    yield f"A change of {one.table}{_fitting(way)}{costs_most} {meets} {first}{then}{more}."
    together = _together(one, growing, hops)
    if way.reach.condition:
        met = f"meets {rows(one.met)}, and " if one.met.expected is not None else ""
        yield f"Over all changes of {one.table}, also those that do not fit{together}, a change {met}{_changes(one)}."
    elif one.met.expected == 0 and way.reach.only is not None:
        yield f"With the rows that are there now no change does that, so that it {_changes(one)}."
    elif one.met.expected is None or rows(one.met) == rows(hops[0].rows):
        yield f"It {_changes(one)}."
    else:
        yield f"Together{together}, that is {rows(one.met)}. It {_changes(one)}."


def _fitting(way: Way) -> str:
    """Which changes go a way, where not all do."""
    condition, fits = way.reach.condition, way.reach.fits
    if not condition:
        return ""
    share = "" if fits is None else f" ({one_in(fits)})"
    if len(condition) > _LONG or _MADE.search(condition):
        return f" that fits the query's conditions{share}"
    return f" where {readable(condition)}{share}"


_LONG = 60


def _together(one: Effect, growing: Sequence[tuple[Way, Sequence[Hop]]], shown: Sequence[Hop]) -> str:
    """What is added up, beside the rows that were named."""
    ways = [way for way, _ in growing]
    known = [way for way in ways if not is_made_alias(way)]
    occurrences = dict.fromkeys(f"through {way.through}" if way.through else f"as {way.alias}" for way in known)
    once = "" if len(occurrences) <= 1 else f", {listed([*occurrences])}"
    found = ((way, hop) for way in ways for hop in way.reach.hops if hop.kept and hop.rows.growth)
    named = total(way.begin.times(hop.met) for way, hop in found)
    others = ", with rows of other tables that are found from there" if rows(named) != rows(one.met) else ""
    moved = next((way for way in known if rows(way.begin) != "1 row"), None)
    as_moved = "" if moved is None else f", as {rows(moved.begin)} of {moved.through or moved.alias} may change"
    return f"{once}{as_moved}{others}"


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
        parts.append(f"reads {stored(looked_up)}")
    changes = "changes" if not all(one.closes for one in changing) else "adds"
    return f"{', '.join(parts) or 'meets no other row'}, and {changes} {_of_result(result)}"


def _result(one: Effect) -> str:
    return _of_result(one.result)


def _changes(one: Effect) -> str:
    """What it does to the result."""
    return f"{'adds' if one.closes else 'changes'} {_result(one)}"


def _of_result(amount: Amount) -> str:
    return re.sub(r"\b(rows?)\b", r"\1 of the result", rows(amount), count=1)


def _for_each(amount: Amount) -> str:
    return _in_all(amount) + ("" if amount.expected is None else " each")


def _in_all(amount: Amount) -> str:
    return "how many is unknown" if amount.expected is None else inside(amount)


_SHOWN = 3

_CLOSES = (
    "The watermark of {table} adds the rows: a window comes to the result when the watermark passes its end. No later "
    "change touches it."
)


def _conditions(changing: list[Effect]) -> Iterator[str]:
    found = dict.fromkeys(condition for one in changing for condition in one.conditions)
    for condition in found:
        if _MADE.search(condition):
            yield "Each combination of rows that it meets is checked for a condition over several tables."
        else:
            yield f"Each combination of rows that it meets is checked: {readable(condition)}."


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

    >>> from livejoin.plan.explain.effects.effect import Effect
    >>> effect_line(Effect("orders", "", NOTHING, Amount(8.0, 8.0, True), Amount(9000.0, 9000.0)))
    'orders: reads about 9,000 stored rows, changes up to 8 rows of the result, however large the tables get'
    """
    if one.promise == "static":
        return f"{one.table}: never changes (declared static)"
    if read_later:
        return f"{one.table}: {_changes(one)}, which are looked for when it is read"
    met = [f"meets {rows(one.met)}"] if any(hop.kept for way in one.ways for hop in way.reach.hops) else []
    if one.looked_up != NOTHING:
        met.append(f"reads {stored(one.looked_up)}")
    line = f"{one.table}: {', '.join(met) or 'meets no other row'}, {_changes(one)}"
    line += " as the watermark closes windows" if one.closes else ""
    line += ", only itself if it comes behind all others in its window" if one.last_alone else ""
    if not one.growth:
        return f"{line}{'; on average the same' if one.may_be_all else ','} however large the tables get"
    return f"{line}; grows with the {_listed(_first(one.causes))}"


def _first(causes: Sequence[str]) -> Sequence[str]:
    """The first of what something grows with, and how many more there are."""
    few = causes[: _SHOWN - 1]
    return causes if len(causes) <= _SHOWN else (*few, f"{len(causes) - len(few)} others like that")


def source_line(told: Explanation) -> str:
    """Where the figures are from, or that there are none; empty where nothing is to be said."""
    changing = [one for one in told.effects if one.promise != "static"]
    found = dict.fromkeys(source for one in changing for source in one.sources)
    names = _SOURCES if told.log is None else _SOURCES | {"observed": "from the change log"}
    parts = []
    if found:
        parts.append(f"Figures are {', and '.join(names[one] for one in found)}.")
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
