"""Where a change of a table goes, a line for each occurrence, and the rows of other tables that it meets there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from livejoin.plan.explain.number_words import inside, listed, readable, stored, unbracketed

if TYPE_CHECKING:
    from livejoin.plan.explain.effects.effect import Effect, Way
    from livejoin.plan.explain.effects.reach import Hop
    from livejoin.plan.explain.effects.stored import StoredStep


def way_lines(one: Effect) -> Iterator[str]:
    """Where a change of a table goes, a line for each occurrence of the table and of what it changed before.

    The last line is of the rows that are stored above joins. That there is nowhere to go is said once.
    """
    lines = dict.fromkeys(way_line(one, way) for way in one.ways if _steps(way))
    yield from lines
    if one.stored:
        yield f"{one.table}: {'then ' if lines else ''}to {'; '.join(map(stored_step, one.stored))}"
    elif not lines and one.ways:
        yield f"{one.table}: {_NOWHERE}"


_NOWHERE = "to no row of another table"
_ASKED = "it is only asked whether there is a match"  # of EXISTS and NOT EXISTS


def way_line(one: Effect, way: Way) -> str:
    """Where a change of a table goes from one of its occurrences."""
    return f"{one.table}{_seen(one, way)}: {_steps(way) or _NOWHERE}"


def stored_step(step: StoredStep) -> str:
    """The rows that are looked at above joins."""
    return f"{step.what} ({unbracketed(stored(step.rows))})"


def _steps(way: Way) -> str:
    """The steps of a way; empty if there are none."""
    hops = way.reach.hops
    if not hops and len(way.atoms) > 1:
        return _ASKED
    kept = [_hop(hop, place) for place, hop in enumerate(hop for hop in hops if hop.kept)]
    asked = [_rows_name(hop) for hop in hops if not hop.kept]
    told = [f"to {', then '.join(kept)}"] if kept else []
    if asked:
        told.append(f"it is only asked whether {listed(asked)} {'has' if len(asked) == 1 else 'have'} a row")
    return "; ".join(told)


def _seen(one: Effect, way: Way) -> str:
    """Which occurrence of a table it is; of one that no user named, which rows."""
    if is_made_alias(way):
        return f" where {readable(way.reach.condition)}" if way.reach.condition else ""
    if way.through:
        return f", through {way.through}"
    return "" if way.alias == one.table else f", as {way.alias}"


def _hop(hop: Hop, place: int) -> str:
    """A step, with the rows that each combination so far meets."""
    by = f" by {' and '.join(hop.columns)}" if hop.columns and not hop.is_nested else ""
    only = f"one for each {' and '.join(hop.different)}: " if hop.different else ""
    each = " for each" if place and not hop.by_key else ""
    return f"{_rows_name(hop)}{by}" + ("" if hop.rows.expected is None else f" ({only}{inside(hop.rows)}{each})")


def _rows_name(hop: Hop) -> str:
    return "a nested query" if hop.is_nested else hop.table if hop.alias == hop.table else f"{hop.table} {hop.alias}"


def rows_of(hop: Hop) -> str:
    """The rows that a step meets, as a noun."""
    only = f", one for each {' and '.join(hop.different)}" if hop.different else ""
    return _matching(hop) + (" that fit the query's conditions" if hop.is_selected else "") + only


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


def is_made_alias(way: Way) -> bool:
    """Whether an occurrence has a number that no user wrote, as one sub-query is asked several things (NOT IN)."""
    base, _, number = way.alias.rpartition("_")
    return number.isdigit() and base in way.atoms
