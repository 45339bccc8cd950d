"""Missing values of changes: values that stay unchanged, and texts that are no values of their columns.

The column `WITHOUT` names them, as JSON by column; see `livejoin.checkpoint.incoming.settled`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from livejoin.errors import StateError
from livejoin.schema import ABSENT, CHANGE_TYPE, GONE, LOST, TEXT, UNCHANGED, WITHOUT, Table

BEFORE, AFTER = "update_preimage", "update_postimage"
GOING = ("delete", BEFORE)

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Lacking:
    """The values that are missing in the columns that count.

    Args:
        unchanged: For a column the rows that keep the old value; in the order of the columns.
        lost: For a column the rows that keep an old value which nobody knows.
        texts: For a row the first text that is no value, and its column.
    """

    unchanged: dict[str, Flags] = field(default_factory=dict)
    lost: dict[str, Flags] = field(default_factory=dict)
    texts: dict[int, tuple[str, str]] = field(default_factory=dict)


def lacking(table: Table, changes: pa.Table) -> Lacking:
    """Find the missing values of rows. For a deletion by key only the key counts.

    Raises:
        StateError: A column that is kept did not exist when a row was changed, or does not exist any more.
    """
    found = Lacking()
    said = changes.column(WITHOUT)
    rows = np.flatnonzero(np.asarray(said.is_valid()))
    names = [column.name for column in table.columns]
    keys = {table.columns[position].name for position in table.primary_key}
    goes = np.isin(np.asarray(changes.column(CHANGE_TYPE).take(rows)), GOING)
    texts = said.take(rows).combine_chunks().dictionary_encode()
    codes = np.asarray(texts.indices)
    for code, text in enumerate(texts.dictionary.to_pylist()):
        for name, why in json.loads(text).items():
            mine = rows[(codes == code) & ~(goes & (name not in keys) & bool(keys))] if name in names else rows[:0]
            if not mine.size:
                continue
            if why == ABSENT:
                raise StateError(_absent(table, name))
            if why == GONE:
                raise StateError(_gone(table, name))
            if why in (UNCHANGED, LOST):
                flags = found.unchanged if why == UNCHANGED else found.lost
                flags.setdefault(name, np.zeros(changes.num_rows, np.bool_))[mine] = True
            else:
                for row in mine.tolist():
                    found.texts.setdefault(row, (name, why.removeprefix(TEXT)))
    unchanged, lost = ({name: one[name] for name in names if name in one} for one in (found.unchanged, found.lost))
    return Lacking(unchanged, lost, found.texts)


def first_of(columns: Mapping[str, Flags]) -> dict[int, str]:
    """For each row with a flag the first column that has one."""
    found: dict[int, str] = {}
    for name, flags in columns.items():
        found = dict.fromkeys(np.flatnonzero(flags).tolist(), name) | found
    return found


def no_value(table: Table, name: str, text: str) -> str:
    """The message for a text that is no value of its column."""
    kind = table.columns[table.position(name)].declared
    return (
        f"column {name!r} has the value {text:.60}, which {kind} cannot hold. If its type has become a wider one, "
        "start the query again. Else let no view read the column, or let such changes be left out: "
        'on_bad_rows = "skip" or "dead_letter"'
    )


def not_there(name: str) -> str:
    """The message for an update whose old row is missing."""
    return (
        f"column {name!r} of an updated row is large and was not changed, so that it was not sent, and there is no row "
        f"with its key: a change was left out before. {send_again(name)}"
    )


def send_again(name: str) -> str:
    """The remedy for a message: what the user can do."""
    return (
        'Let no view read the column. Or let such changes be left out, on_bad_rows = "skip" or "dead_letter", and send '
        f"the row again, as by UPDATE t SET {name} = {name} || ''"
    )


def _absent(table: Table, name: str) -> str:
    return (
        f"table {table.name!r}: a row was changed before the column {name!r} came, whose value in it was computed (by "
        "a default that is not constant, or as an identity) and is not in the log. Let no view read it. To have its "
        "values, add another column without a default, start with views that read that one, and copy: UPDATE t SET "
        "new = old"
    )


def _gone(table: Table, name: str) -> str:
    return (
        f"table {table.name!r}: the column {name!r} of the stream is not there any more. Where it was renamed, start "
        f'the query again with its new name: columns={{"{table.name}": {{"{name}": "..."}}}} of read_postgres, or '
        "columns of the table in a pipeline file. Where it was dropped, start it with views that do not read it"
    )
