"""Tables as small texts: what is there, and what is expected."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa

from livejoin.changes.convert import convert
from livejoin.database import Commit, Database, RowsAt, StoredTable, View
from livejoin.errors import ChangeFormatError, ChangeValueError
from livejoin.schema import CHANGE_TYPE, Column, SqlType, Table
from livejoin.shown import meant, shown
from livejoin.testing.values import comparable

_DIGITS = 12  # of a DOUBLE that are compared
_KINDS = {"+": "insert", "-": "delete", "-u": "update_preimage", "+u": "update_postimage", "^": "upsert"}

_RULE = re.compile(r"[-+=|:\s]*(--|==)[-+=|:\s]*")  # the line below the names, as psql and Markdown draw it

Row = tuple[Any, ...]


def given(db: Database, **tables: str) -> Commit:
    """Apply the rows of texts to tables, as one commit.

    Args:
        db: The database.
        tables: A text for each table: a line of column names, then a line a row, with ``|`` between. A cell is a value
            as JSON and people write it, also ``[1, 2]`` for an ARRAY. An empty one is NULL, ``''`` is the empty text,
            and quotes keep blanks; a row of a single empty cell is written ``| |``, as a line without anything is no
            row. A column ``_change_type``, or ``±``, says what a row is: ``insert`` or ``+``, ``delete`` or ``-``,
            ``upsert`` or ``^``; without it all rows are inserted. Columns that are left out have their DEFAULT, or are
            NULL.

    Raises:
        ChangeFormatError: A text is no table.
        ChangeError, SchemaError: As `livejoin.Database.apply`.
    """
    __tracebackhide__ = True  # of pytest
    changes = {}
    for name, text in tables.items():
        table = db.tables[name]
        columns, rows = _parsed(text, name)
        known = {column.name.lower(): column.type for column in table.columns}
        kinds = [known.get(column.lower()) for column in columns]
        changes[name] = [
            {
                column: _kind(cell, name) if column == CHANGE_TYPE else _meant(cell, kind)
                for column, kind, cell in zip(columns, kinds, row, strict=True)
                if column != CHANGE_TYPE or cell is not None
            }
            for row in rows
        ]
        if CHANGE_TYPE in columns:
            changes[name] = [{CHANGE_TYPE: "insert", **row} for row in changes[name]]
    return db.apply(changes, coerce="json")


def expect(found: View | StoredTable | RowsAt | pa.Table, text: str, *, of: View | None = None) -> None:
    """Assert that a view, a table or a delta has the rows of a text and no others, in any order.

    Args:
        found: The view, or the table, also in a snapshot; or a delta, as ``commit["totals"]``.
        text: The rows, as for `given`. Columns that are left out are not compared. The line of names alone says that
            there is no row.
        of: The view that a delta is of, where the types of its columns matter: dates, decimals, timestamps.

    Raises:
        AssertionError: The rows are others; the message has those that are missing and those that are too many.
        ChangeFormatError: The text is no table, or names columns that are not there; or ``found`` is no view, no
            table and no delta.

    >>> delta = pa.table({"n": [1, 2], "_change_type": ["delete", "insert"]})
    >>> expect(
    ...     delta,
    ...     '''
    ...     ± | n
    ...     - | 1
    ...     + | 2
    ... ''',
    ... )
    """
    __tracebackhide__ = True  # of pytest
    if not isinstance(found, View | StoredTable | RowsAt | pa.Table):
        msg = (
            f"expect was given {shown(found)}; give a view, as db.views['totals'], a table, as db.tables['orders'], or "
            "a delta, as commit['totals']"
        )
        raise ChangeFormatError(msg)
    rows = found if isinstance(found, pa.Table) else found.to_arrow()
    name, types = _about(of if isinstance(found, pa.Table) else found)
    columns, cells = _parsed(text, name)
    places = [_place(column, rows.column_names, name) for column in columns]
    wanted = list(
        zip(
            *(
                _values(column, place, rows, types, cells, i, name)
                for i, (column, place) in enumerate(zip(columns, places, strict=True))
            ),
            strict=True,
        )
    )
    there = list(
        zip(*((comparable(one, _DIGITS) for one in rows.column(place).to_pylist()) for place in places), strict=True)
    )
    missing, more = Counter(wanted) - Counter(there), Counter(there) - Counter(wanted)
    if missing or more:
        raise AssertionError(_difference(name, columns, missing, more))


def _about(read: View | StoredTable | RowsAt | None) -> tuple[str, Sequence[SqlType]]:
    """The name for messages, and the types of the columns as far as they are known."""
    match read:
        case None:
            return "the delta", ()
        case StoredTable():
            return f"table {read.name!r}", [column.type for column in read.columns]
        case View():
            return f"view {read.name!r}", read.types
        case _:
            return f"{read.name!r} at version {read.version}", read.types


def _values(
    column: str,
    place: int,
    rows: pa.Table,
    types: Sequence[SqlType],
    cells: Sequence[Sequence[str | None]],
    i: int,
    name: str,
) -> Iterable[Any]:
    """The values that a column of the text stands for."""
    texts = [row[i] for row in cells]
    if column == CHANGE_TYPE:
        return [_kind(text or "insert", name) for text in texts]
    kind = types[place] if place < len(types) else _type_of(rows.schema.field(place).type)
    if kind is None:
        return texts
    declared = Column(column, kind)
    try:
        found = convert(
            tuple(_meant(text, kind) for text in texts),
            declared,
            Table("expected", (declared,)),
            False,
            coerce="json",
        )
    except ChangeValueError as error:
        msg = f"{name}: {error.message}"
        raise ChangeFormatError(msg) from error
    return [comparable(one, _DIGITS) for one in pa.chunked_array([found]).to_pylist()]


def _type_of(kind: pa.DataType) -> SqlType | None:
    """The SQL type of a column of Arrow, of those that a cell is read as; None for texts."""
    if pa.types.is_boolean(kind):
        return SqlType("boolean")
    if pa.types.is_integer(kind):
        return SqlType.integer(64)
    if pa.types.is_floating(kind):
        return SqlType("double")
    if pa.types.is_decimal(kind):
        return SqlType.decimal(kind.precision, kind.scale)
    if pa.types.is_date(kind):
        return SqlType("date")
    if pa.types.is_timestamp(kind):
        return SqlType("timestamp")
    return None


def _meant(cell: str | None, kind: SqlType | None) -> Any:
    """A cell as a value: ``true`` and ``false`` for a BOOLEAN, JSON for an ARRAY, a STRUCT, a MAP."""
    if kind is None or cell is None:
        return cell
    if kind.kind == "boolean":
        return {"true": True, "false": False}.get(cell.lower(), cell)
    if not kind.is_payload:
        return cell
    try:
        return json.loads(cell, parse_float=Decimal)
    except ValueError:
        return cell  # which is refused as none of the type


def _kind(cell: str | None, name: str) -> str:
    found = _KINDS.get(cell or "+", cell)
    if found not in _KINDS.values():
        allowed = ", ".join((*_KINDS, *_KINDS.values()))
        msg = f"{name}: {cell!r} is no kind of a change; allowed are {allowed}"
        raise ChangeFormatError(msg)
    return str(found)


def _place(column: str, names: Sequence[str], of: str) -> int:
    for place, name in enumerate(names):
        if name.lower() == column.lower():
            return place
    msg = f"{of} has no column {column!r}{meant(column, names)}; it has {', '.join(names)}"
    raise ChangeFormatError(msg)


def _parsed(text: str, name: str) -> tuple[list[str], list[list[str | None]]]:
    """The names of the columns, and the cells of each row."""
    lines = [line for line in text.splitlines() if line.strip() and not _RULE.fullmatch(line)]
    if not lines:
        msg = (
            f"{name}: the text has no line; the first one has the names of the columns, with | between, also where "
            "there is no row"
        )
        raise ChangeFormatError(msg)
    columns = [CHANGE_TYPE if one.strip() in ("±", "+-") else one.strip() for one in _cells(lines[0])]
    if len(set(map(str.lower, columns))) < len(columns) or "" in columns:
        msg = f"{name}: the first line has a name twice, or an empty one: {lines[0].strip()}"
        raise ChangeFormatError(msg)
    rows = []
    for line in lines[1:]:
        cells = _cells(line, len(columns))
        if len(cells) != len(columns):
            msg = f"{name}: {len(cells)} cells stand under {len(columns)} columns: {line.strip()}"
            raise ChangeFormatError(msg)
        rows.append([_cell(cell.strip()) for cell in cells])
    return columns, rows


def _cells(line: str, wanted: int | None = None) -> list[str]:
    """The parts between bars, and not those outside of a frame; a bar within quotes is a part of its cell."""
    parts, quote = [""], ""
    for letter in line.strip():
        if letter == "|" and not quote:
            parts.append("")
            continue
        if letter in "'\"" and (quote == letter or not parts[-1].strip()):
            quote = "" if quote else letter
        parts[-1] += letter
    is_framed = len(parts) > 2 if wanted is None else len(parts) == wanted + 2
    if is_framed and not parts[0].strip() and not parts[-1].strip():  # | a | b |
        parts = parts[1:-1]
    return parts


def _cell(text: str) -> str | None:
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    return text or None


def _difference(name: str, columns: Sequence[str], missing: Counter[Row], more: Counter[Row]) -> str:
    lines = [f"{name} has other rows ({', '.join(columns)}):"]
    for sign, rows in (("missing ", missing), ("too many", more)):
        for row, count in sorted(rows.items(), key=repr):
            times = f"  ({count} times)" if count > 1 else ""
            lines.append(f"  {sign}  {' | '.join('NULL' if one is None else str(one) for one in row)}{times}")
    return "\n".join(lines)
