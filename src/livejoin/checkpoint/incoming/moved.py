"""Updates of a key that keep values which were not sent, where the tables are in cells.

The old row may be in another cell than the new one. So the keys of such rows are asked for first. With the answer the
changes are completed and need no other row.

Law: the result, settled in the cells, is what `livejoin.checkpoint.incoming.settled` makes of the original changes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from livejoin.checkpoint.incoming.filled import Places, RowsByKey, filled
from livejoin.checkpoint.incoming.lacking import BEFORE, Flags, lacking
from livejoin.checkpoint.incoming.settled import behind_truncation, comes_under_another_key, reasons_of, without
from livejoin.schema import CHANGE_TYPE, LOST, WITHOUT, Table

_DONE, _LOST = 1, 2


@dataclass(frozen=True, eq=False)
class Moved:
    """Changes, and the keys of old rows that they need.

    Args:
        changes: All changes in their order; those whose values were found have them.
        asks: The keys of rows that are needed, as a table of the key's columns; None if none is needed.
    """

    changes: pa.Table
    asks: pa.Table | None = None


def moved(table: Table, changes: pa.Table, rows: pa.Table | None) -> Moved:
    """Complete the changes with the values that rows keep under another key.

    Args:
        table: The table, with the columns that are kept.
        changes: All changes of a batch that may have one of these keys, in their order.
        rows: The rows before the batch with the keys that were asked for, if they exist; None before asking.

    Raises:
        StateError: As `livejoin.checkpoint.incoming.settled.settled`.

    Cost: little where there are no such rows; else linear in the changes.
    """
    if WITHOUT not in changes.column_names or not table.primary_key:
        return Moved(changes)
    first = behind_truncation(changes)
    rest = changes.slice(first)
    lacks = lacking(table, rest)
    under_another = comes_under_another_key(rest)
    wanted = np.zeros(rest.num_rows, np.bool_)
    for flags in lacks.unchanged.values():
        wanted |= flags & under_another
    if not wanted.any():
        return Moved(changes)
    few, here = without(rest, reasons_of(table, rest, lacks))
    if rows is None:
        keys = [table.columns[position].name for position in table.primary_key]
        return Moved(changes, few.select(keys).take(_goes_before(few, here, wanted[here])))
    unchanged = {name: flags[here] for name, flags in lacks.unchanged.items()}
    found = filled(RowsByKey(table, rows, few), few, unchanged, here, is_empty=first > 0)
    done = {name: flags & ~found.lost[name] for name, flags in unchanged.items()}
    lost = {name: flags & found.under_another[name] for name, flags in found.lost.items()}
    return Moved(_in_their_places(changes, _said_anew(found.changes, done, lost), first + here, done, lost))


def _goes_before(changes: pa.Table, numbers: Places, wanted: Flags) -> Places:
    """The deletions of the old keys of some updates; each stands right before its update."""
    places: Places = np.flatnonzero(wanted) - 1
    goes: Flags = np.asarray(changes.column(CHANGE_TYPE)) == BEFORE
    are_pairs: Flags = (places >= 0) & goes[places] & (numbers[places] + 1 == numbers[places + 1])
    return np.compress(are_pairs, places)


def _said_anew(changes: pa.Table, done: Mapping[str, Flags], lost: Mapping[str, Flags]) -> pa.Table:
    """Changes that name the values that they still lack, and which of these nobody has."""
    said = changes.column(WITHOUT).combine_chunks().dictionary_encode(null_encoding="encode")
    whats = [done[name] + 2 * lost[name] for name in done]
    cases, which = np.unique(np.stack([np.asarray(said.indices), *whats]), axis=1, return_inverse=True)
    texts = []
    for code, *there in cases.T.tolist():
        text = said.dictionary[code].as_py()
        lacks: dict[str, str] = {} if text is None else json.loads(text)
        for name, what in zip(done, there, strict=True):
            if what == _DONE:
                del lacks[name]
            elif what == _LOST:
                lacks[name] = LOST
        texts.append(json.dumps(lacks) if lacks else None)
    anew = pa.array(texts, pa.string()).take(pa.array(which.reshape(-1)))
    return changes.set_column(changes.column_names.index(WITHOUT), WITHOUT, anew)


def _in_their_places(
    changes: pa.Table, some: pa.Table, numbers: Places, done: Mapping[str, Flags], lost: Mapping[str, Flags]
) -> pa.Table:
    """Changes with values from other changes; ``numbers`` are the positions of these."""
    are_new = {**done, WITHOUT: np.logical_or.reduce([*done.values(), *lost.values()])}
    columns = {}
    for name in changes.column_names:
        old, new = changes.column(name), some.column(name).cast(changes.column(name).type)
        source = np.arange(changes.num_rows)
        if name in are_new:
            source[numbers[are_new[name]]] = changes.num_rows + np.flatnonzero(are_new[name])
        columns[name] = pa.chunked_array([*old.chunks, *new.chunks], old.type).take(pa.array(source))
    return pa.table(columns, schema=changes.schema)
