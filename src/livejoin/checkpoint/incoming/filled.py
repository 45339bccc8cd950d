"""Values that an update did not send, taken from the row before: of an earlier change, or of the table."""

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
    """The rows of a table, looked up for some changes.

    Attributes:
        keys: The keys of the changes, of shape (columns of the key, changes); equal keys have equal words.
    """

    keys: Words

    def find(self, keys: Words) -> tuple[pa.Table, Places]:
        """The rows with the given keys, and for each key the position of its row; -1 where there is none."""


class RowsOfDatabase:
    """The rows of a table of a database."""

    def __init__(self, database: Database, table: Table, changes: pa.Table) -> None:
        self._database, self._name = database, table.name
        self.keys = keys_of(database, table.name, changes)

    def find(self, keys: Words) -> tuple[pa.Table, Places]:
        return rows_with(self._database, self._name, keys)


class RowsByKey:
    """The rows of an Arrow table, which has each key at most once.

    Cost: O(rows + changes) to compare keys in Arrow, and a sort of the keys that are asked for.
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
    """Changes whose missing values are filled in.

    Args:
        changes: The changes.
        lost: For a column the changes whose value was not found.
        under_another: For a column the changes whose value belongs to a row with another key, if anywhere.
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
    """Fill in the values that changes of a table with a key leave unchanged.

    The value comes from the row before: that of the last change with the same key, or that of the table. If an update
    changes the key itself, the row before has the old key; its deletion stands right before the update.

    Args:
        there: The rows of the table before the changes.
        changes: The changes.
        unchanged: For a column the changes that keep the old value.
        numbers: The position of each change among all that came.
        is_empty: Whether the table has no rows, because of a truncation.
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
    """For each change the position of the one before it with the same key; -1 for the first."""
    count = keys.shape[1]
    order = np.lexsort((np.arange(count), *keys))
    sorted_keys = keys[:, order]
    same = np.append(False, (sorted_keys[:, 1:] == sorted_keys[:, :-1]).all(axis=0))
    found = np.full(count, -1)
    found[order[1:]] = np.where(same[1:], order[:-1], -1)
    return found


def _followed(source: Places, flags: Flags) -> tuple[Places, Flags]:
    """Follow the chain of predecessors from each position: where it ends, and whether a flag is set on the way."""
    while True:
        further, more = source[source], flags | flags[source]
        if np.array_equal(further, source) and np.array_equal(more, flags):
            return source, flags
        source, flags = further, more
