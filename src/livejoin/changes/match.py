"""Matching the column names of data with those of a table: once for each set of names, then remembered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from livejoin.errors import ChangeFormatError
from livejoin.schema import CHANGE_COLUMNS, CHANGE_TYPE, SEQUENCE, Table

_OWN = frozenset(CHANGE_COLUMNS)
_KNOWN = 64  # sets of names that are remembered for a table


class Matched(NamedTuple):
    """The positions in the data of a table's columns.

    Args:
        columns: For each column of the table its position in the data; None if the data lacks the column.
        kinds: The position of ``_change_type``, None if it is missing.
        sequence: The position of ``_seq``, None if it is missing.
        lacking: The names of the columns that the data lacks.
    """

    columns: tuple[int | None, ...]
    kinds: int | None
    sequence: int | None
    lacking: tuple[str, ...]


def match_names(table: Table, names: tuple[str, ...], needs_sequence: bool, keyed: bool) -> Matched:
    """Find the columns of a table among the column names of the data.

    Args:
        table: The table.
        names: The names in the data.
        needs_sequence: Whether ``_seq`` must be there.
        keyed: Whether a deletion may leave columns out that are not in the key.

    Raises:
        ChangeFormatError: A column is missing, doubled or unknown.

    Cost: O(names) for names that were matched before.
    """
    key = (names, needs_sequence, keyed)
    found = table.remembered.get(key)
    if isinstance(found, Matched):
        return found
    matched = _matched(table, names, needs_sequence, keyed)
    if all(type(name) is str for name in names):  # others may be equal today and not tomorrow
        if len(table.remembered) >= _KNOWN:
            table.remembered.clear()
        table.remembered[key] = matched
    return matched


def listed(names: Sequence[str]) -> str:
    """Names of columns, for messages."""
    if not names:
        return "no columns"
    return ("column " if len(names) == 1 else "columns ") + ", ".join(repr(name) for name in names)


def _matched(table: Table, names: tuple[str, ...], needs_sequence: bool, keyed: bool) -> Matched:
    positions = {name.lower(): position for position, name in enumerate(names)}
    if len(positions) < len(names):
        lowered = [name.lower() for name in names]
        name = next(name for position, name in enumerate(names) if name.lower() in lowered[:position])
        msg = f"column {name!r} is there twice (names are compared without regard to case); keep one"
        raise ChangeFormatError(msg, table.name)
    if needs_sequence and SEQUENCE not in positions:
        msg = f"missing column {SEQUENCE!r}: a replay needs it, distinct int64 values that order all changes"
        raise ChangeFormatError(msg, table.name)
    may_lack = keyed and CHANGE_TYPE in positions
    lacking = [place for name, place in table.places.items() if name not in positions]
    missing = [table.columns[place].name for place in lacking if not (may_lack and not table.identifies(place))]
    if missing:
        msg = f"missing {listed(missing)}; found are {listed(names)}; give every column, NULL where it has no value"
        raise ChangeFormatError(msg, table.name)
    if positions.keys() - table.places.keys() - _OWN:
        unknown = [name for name in names if not table.has_column(name) and name.lower() not in _OWN]
        own = ", ".join(column.name for column in table.columns)
        msg = f"unknown {listed(unknown)}; the table has {own}; also allowed are {', '.join(CHANGE_COLUMNS)}"
        raise ChangeFormatError(msg, table.name)
    return Matched(
        tuple(positions.get(name) for name in table.places),
        positions.get(CHANGE_TYPE),
        positions.get(SEQUENCE),
        tuple(table.columns[place].name for place in lacking),
    )
