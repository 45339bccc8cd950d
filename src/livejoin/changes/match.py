"""Matching the column names of data with those of a table: once for each set of names, then remembered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, assert_never

from livejoin.changes.intake import ExtraColumns
from livejoin.errors import ChangeFormatError
from livejoin.schema import CHANGE_COLUMNS, CHANGE_TYPE, SEQUENCE, Table
from livejoin.shown import meant

MayLack = Literal["nothing", "by key", "nullable"]
"""Which columns data may leave out: none, by key those that do not say which row is meant, or all that may be NULL
or have a DEFAULT."""

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


def match_names(
    table: Table,
    names: tuple[str, ...],
    needs_sequence: bool,
    may_lack: tuple[MayLack, MayLack] = ("nothing", "nothing"),
    extra_columns: ExtraColumns = "refuse",
) -> Matched:
    """Find the columns of a table among the column names of the data.

    Args:
        table: The table.
        names: The names in the data.
        needs_sequence: Whether ``_seq`` must be there.
        may_lack: Which columns may be missing: where there is no ``_change_type``, and where there is.
        extra_columns: What happens to columns that the table does not have.

    Raises:
        ChangeFormatError: A column is missing, doubled or unknown.

    Cost: O(names) for names that were matched before.
    """
    key = (names, needs_sequence, may_lack, extra_columns)
    found = table.remembered.get(key)
    if isinstance(found, Matched):
        return found
    matched = _matched(table, names, needs_sequence, may_lack, extra_columns)
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


def _matched(
    table: Table,
    names: tuple[str, ...],
    needs_sequence: bool,
    may_lack: tuple[MayLack, MayLack],
    extra_columns: ExtraColumns,
) -> Matched:
    positions = {name.lower(): position for position, name in enumerate(names)}
    if len(positions) < len(names):
        lowered = [name.lower() for name in names]
        twice = [name for position, name in enumerate(names) if name.lower() in lowered[:position]]
        if extra_columns == "ignore":
            twice = [name for name in twice if table.has_column(name) or name.lower() in _OWN]
        if twice:
            msg = f"column {twice[0]!r} is there twice (names are compared without regard to case); keep one"
            raise ChangeFormatError(msg, table.name)
    if needs_sequence and SEQUENCE not in positions:
        msg = f"missing column {SEQUENCE!r}: a replay needs it, distinct int64 values that order all changes"
        raise ChangeFormatError(msg, table.name)
    lacking = [place for name, place in table.places.items() if name not in positions]
    if lacking:
        _refuse_missing(table, lacking, names, may_lack[CHANGE_TYPE in positions])
    if extra_columns == "refuse" and positions.keys() - table.places.keys() - _OWN:
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


def _refuse_missing(table: Table, lacking: Sequence[int], names: Sequence[str], may_lack: MayLack) -> None:
    """Refuse data without columns that it may not leave out."""
    match may_lack:
        case "nothing":
            missing = [place for place in lacking if place not in table.generated]
            what = "give every column, NULL where it has no value"
        case "by key":
            missing = [place for place in lacking if table.identifies(place)]
            what = "changes by key need the key, and what orders them"
        case "nullable":
            missing = [place for place in lacking if not table.may_lack[place]]
            what = "give every column that is NOT NULL or in a key"
        case _:
            assert_never(may_lack)
    if missing:
        lacks = [table.columns[place].name for place in missing]
        known = {column.name.lower() for column in table.columns}
        others = [name for name in names if name.lower() not in known]
        hint = "".join(f" (is {other!r} {name!r}?)" for name in lacks for other in others if meant(other, [name]))
        verb = "is" if len(names) == 1 else "are"
        msg = f"missing {listed(lacks)}{hint}; found {verb} {listed(names)}; {what}"
        raise ChangeFormatError(msg, table.name)
