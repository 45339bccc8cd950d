"""Values that changes leave as they were, from the rows before them: of other changes, or those that are there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from livejoin.checkpoint.incoming.lacking import AFTER, BEFORE, GOING, Flags
from livejoin.database import Database
from livejoin.database.base_rows import keys_of, rows_with
from livejoin.schema import CHANGE_TYPE, Table
from livejoin.words import Words

Places = npt.NDArray[np.int64]


class Rows(Protocol):
    """The rows that are there, for some changes.

    Attributes:
        keys: The keys of the changes, of shape (columns of the key, changes); equal for equal keys.
    """

    keys: Words

    def find(self, keys: Words) -> tuple[pa.Table, Places]:
        """The rows with some of these keys, and which of them each key has; -1 where there is none."""


class RowsOfDatabase:
    """Those of a table of a database."""

    def __init__(self, database: Database, table: Table, changes: pa.Table) -> None:
        self._database, self._name = database, table.name
        self.keys = keys_of(database, table.name, changes)

    def find(self, keys: Words) -> tuple[pa.Table, Places]:
        return rows_with(self._database, self._name, keys)


class RowsByKey:
    """Those of an Arrow table, which has each key once at most.

    Cost: that of telling keys apart by Arrow, O(rows + changes), and a sort of those that are asked for.
    """

    def __init__(self, table: Table, rows: pa.Table, changes: pa.Table) -> None:
        self._rows = rows
        columns = [table.columns[position] for position in table.primary_key]
        both = [_codes(rows.column(one.name), changes.column(one.name), one.type.arrow) for one in columns]
        self._own = np.stack([codes[: rows.num_rows] for codes in both])
        self.keys = np.stack([codes[rows.num_rows :] for codes in both])

    def find(self, keys: Words) -> tuple[pa.Table, Places]:
        count = self._rows.num_rows
        _, names = np.unique(np.hstack([self._own, keys]), axis=1, return_inverse=True)
        names = names.reshape(-1)
        places = np.full(names.size, -1)
        places[names[:count]] = np.arange(count)
        return self._rows, places[names[count:]]


def _codes(some: pa.ChunkedArray, others: pa.ChunkedArray, kind: pa.DataType) -> Words:
    """Numbers for the values of two columns, equal for equal values."""
    values = pa.concat_arrays([*some.cast(kind).chunks, *others.cast(kind).chunks, pa.array([], kind)])
    if pa.types.is_floating(kind):
        values = pc.add(values, pa.scalar(0.0, kind))  # there is one zero
    codes = values.dictionary_encode(null_encoding="encode").indices
    numbers: Words = codes.to_numpy().astype(np.int64)
    return numbers


@dataclass(frozen=True, eq=False)
class Filled:
    """Changes with values that they left as they were.

    Args:
        changes: The changes.
        lost: For a column those whose value is not there.
        under_another: For a column those whose value a row had, if it is there, under another key, in this batch too.
    """

    changes: pa.Table
    lost: Mapping[str, Flags]
    under_another: Mapping[str, Flags]


def filled(
    there: Rows,
    changes: pa.Table,
    unchanged: Mapping[str, Flags],
    numbers: Places,
    is_empty: bool,
) -> Filled:
    """The changes of a table with a key, with the values that they leave as they were.

    The row before is that of the last change of the same key, or the one that is there. Where an update changes the key
    itself, it is that of the key that goes, which stands right before.

    Args:
        there: The rows that are there before them.
        changes: The changes.
        unchanged: For a column the rows that keep the value that was there.
        numbers: The place that each change had among those that came.
        is_empty: Whether no row is there any more.
    """
    keys = there.keys
    count = changes.num_rows
    kinds = np.asarray(changes.column(CHANGE_TYPE))
    own = np.arange(count)
    moves = kinds == AFTER
    is_pair = (np.diff(numbers, prepend=-2) == 1) & (np.roll(kinds, 1) == BEFORE)
    by = np.where(moves, own - 1, own)
    before = np.where(moves & ~is_pair, -1, _last_of_same_key(keys)[by])
    lost, under_another = dict[str, Flags](), dict[str, Flags]()
    for name, flags in unchanged.items():
        source, under_another[name] = _followed(np.where(flags & (before >= 0), before, own), flags & moves)
        rows, places = there.find(keys[:, by[source]])
        if is_empty:
            places = np.full_like(places, -1)
        places = np.where((moves & ~is_pair)[source], -1, places)
        values = changes.column(name).combine_chunks()
        kept = rows.column(name).combine_chunks().cast(values.type)
        is_kept = flags[source] & (places >= 0)
        taken = pa.concat_arrays([values, kept]).take(pa.array(np.where(is_kept, count + places, source)))
        lost[name] = flags & np.where(flags[source], places < 0, np.isin(kinds[source], GOING))
        changes = changes.set_column(changes.column_names.index(name), changes.field(name), taken)
    return Filled(changes, lost, under_another)


def _last_of_same_key(keys: Words) -> Places:
    """For each change the one before it with its key; -1 for the first."""
    count = keys.shape[1]
    order = np.lexsort((np.arange(count), *keys))
    sorted_keys = keys[:, order]
    same = np.append(False, (sorted_keys[:, 1:] == sorted_keys[:, :-1]).all(axis=0))
    found = np.full(count, -1)
    found[order[1:]] = np.where(same[1:], order[:-1], -1)
    return found


def _followed(source: Places, flags: Flags) -> tuple[Places, Flags]:
    """Where the way from each place ends, and whether a place on it has a flag; every step goes back, or stays."""
    while True:
        further, more = source[source], flags | flags[source]
        if np.array_equal(further, source) and np.array_equal(more, flags):
            return source, flags
        source, flags = further, more
