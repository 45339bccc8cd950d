"""Between two commits: what rows that left have left behind is given back.

Tables give back free words at their end; where the ids in use lie far apart, the rows get new ones. Entries of the
dictionaries that no row uses are forgotten; where the codes in use lie far apart, they get new ones. Ids never change
while a row is there, nor codes while a row holds them: joins know ids, and a new code is a new word of all tables. So
what takes the place is built aside, and one assignment, of `Contents.replacement`, makes it that of the database. What
is left to do behind it, `install` does, which may be cut off and called again: blocks that know ids or codes are let
go, and loaded from the new tables when they are needed next.

Laws: when it has been looked at, which is before a commit once the values since the last look are some hundred and a
sixteenth of the rows, no table has more than twice the memory that it would have if its rows were loaded alone, unless
that is little beside the blocks that know their ids; and of the entries of the dictionaries less than half are used by
no row, but for some thousand, and for what would cost more to look for than the rows that came and left since the last
look have paid.
Cost: O(1) amortised for each value that comes or leaves.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from livejoin.catalog import Catalog
from livejoin.dataflow.blocks.table_change import TableChange
from livejoin.dataflow.graph import ROW_BYTES
from livejoin.state.codec import Codec, is_coded
from livejoin.state.recoding import Recoding, is_scattered, recoded
from livejoin.state.table import BaseTable
from livejoin.state.table_rows import rows_of, table_of

if TYPE_CHECKING:
    from livejoin.database.contents import Contents
    from livejoin.database.transactions.staging import TableInput

_MIN_GARBAGE = 2048  # entries for which nothing is looked through
_LITTLE_BYTES = 1 << 14  # that the dictionaries may take without being looked through
_PRICE = 4  # values that are looked through for each that came or left
_ENTRY_BYTES = 8  # of new entries, that pay for one value
_BLOCK_BYTES = 256  # of a block's state, that are looked through as one value
_PAUSE = 256  # values that pass at least between two looks at the tables and blocks
_SHARE = 16  # of the rows that are there, as many values pass too
_FEWER = 8  # values of a column are few where each has so many rows
FEW = 16
"""Rows of which a call of NumPy's costs more than they do."""
_COMMIT = 16  # values that a commit counts as at least


@dataclass(eq=False)
class Passed:
    """Values that a commit moves, each row of a table counted as one value beside those that may be codes.

    Args:
        left: Those of rows that leave which may be the last ones of their kind.
        moved: Those of rows that come or leave.
        held: Those of rows that come which are new, as far as such rows are counted in ``left`` when they leave.
    """

    left: int
    moved: int
    held: int = 0


NOTHING = Passed(0, 0)


@dataclass
class Seen:
    """The dictionaries as they were last looked through, and what has happened since; mutable.

    Args:
        entries: Entries that were kept.
        bytes: Their bytes.
        left: Values that left at most.
        moved: Values that came or left.
        price: Values that are looked through next time, as far as is known.
        is_due: Whether they are looked through next time, whatever that costs.
        held: New entries that a row had, in a column of which each row that leaves is counted.
        few: Values of columns that had few of them: no more can be left behind, however many rows leave.
        many: For each table the columns that had many, each row of which may leave a value behind.
        computed: Values that are computed from a row and that it may leave behind too.
    """

    entries: int = 0
    bytes: int = 0
    left: int = 0
    moved: int = 0
    price: int = 0
    is_due: bool = False
    held: int = 0
    few: int = 0
    many: Mapping[str, frozenset[int]] = field(default_factory=dict)
    computed: int = 0

    def note(self, passed: Passed) -> None:
        """Take note of a commit that stands."""
        self.left, self.moved = self.left + passed.left, self.moved + passed.moved
        self.held += passed.held


@dataclass(frozen=True, eq=False)
class Replacement:
    """What takes the place of tables, dictionaries, declarations and plans, with the same content.

    Args:
        tables: The tables by name in lower case.
        codec: The dictionaries, if they are others.
        catalog: The declarations, if they are others.
        views: Attributes of views that are others, by the views' names in lower case.
    """

    tables: Mapping[str, BaseTable]
    codec: Codec | None
    catalog: Catalog | None = None
    views: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


def passed(contents: Contents, staged: Mapping[str, TableChange], given: Iterable[tuple[str, TableInput]]) -> Passed:
    """What staged changes move. A value that is computed may be a string though none of the row's is: so it counts.

    Args:
        contents: The database's contents.
        staged: The changes of each table.
        given: What they came of.
    """
    left = moved = held = 0
    many = contents.seen.many
    for name, change in staged.items():
        values, weights = 1 + contents.tables[name].coded, change.staged.weights
        rows = weights.shape[0]
        moved += values * rows
        last = len(many[name]) + contents.seen.computed if name in many else values
        if rows == 1:
            left += last if weights[0] < 0 else 0
        elif rows <= FEW:
            left += last * sum([weight < 0 for weight in weights.tolist()])
        else:
            left += last * int(np.count_nonzero(weights < 0))
    for name, one in given:
        if one.fresh is not None and _all_come(one, staged[name]):
            held += int((one.fresh[list(many[name])] if name in many else one.fresh).sum())
    return Passed(left, moved, held)


def _all_come(given: TableInput, change: TableChange) -> bool:
    """Whether each row that was given to be inserted is there now, or was, and no value came with a deletion alone."""
    staged = change.staged
    if given.batch.by_key or staged.ignored or staged.late:
        return False
    return int(np.count_nonzero(staged.weights > 0)) == int(np.count_nonzero(given.batch.weights > 0))


def note(contents: Contents, passed: Passed) -> None:
    """Take note of a commit that stands."""
    contents.seen.note(passed)
    contents.pause -= max(passed.moved, _COMMIT)


def compact_in_turn(contents: Contents) -> None:
    """As `compact`, before a commit: not before each small one, since every table and block is looked at."""
    if contents.pause <= 0 or contents.seen.is_due:
        compact(contents)
        contents.pause = max(_PAUSE, sum([base.rows for base in contents.tables.values()]) // _SHARE)


def compact(contents: Contents) -> None:
    """Give back what is not needed. The content stays what it is, and so does every delta.

    Raises:
        CapacityError, MemoryError: As for building what takes the place; nothing has changed.
    """
    contents.is_compacting = True  # a call that comes out of this one, as from a signal handler, must change nothing
    try:
        _compact(contents)
    finally:
        contents.is_compacting = False  # or, if that is cut off, by the next call


def _compact(contents: Contents) -> None:
    for base in contents.tables.values():
        base.trim()
        if base.tombstones is not None and base.tombstones.is_sparse:
            base.tombstones = _dense(base.tombstones)
    sparse = {name for name, base in contents.tables.items() if base.is_sparse and _pays(contents, name)}
    if sparse:
        _replace(contents, {name: _dense(contents.tables[name]) for name in sparse}, None)
    contents.graph.shrink()
    if _may_have_garbage(contents):
        _collect(contents)
        if is_scattered(contents.codec):
            recoding = recoded(contents.codec)
            tables = {name: _recoded(base, recoding) for name, base in contents.tables.items()}
            _replace(contents, tables, recoding.codec)


def install(contents: Contents) -> None:
    """Put a replacement in its place, if there is one; may be cut off and called again."""
    replacement = contents.replacement
    if replacement is None:
        return
    graph = contents.graph
    graph.let_go(graph.reading(replacement.tables) if replacement.codec is None else graph.nodes)
    for name, base in replacement.tables.items():
        vars(contents.tables[name]).update(vars(base))
    if replacement.codec is not None:
        vars(contents.codec).update(vars(replacement.codec))
    if replacement.catalog is not None:
        contents.catalog = replacement.catalog
        for table in replacement.catalog:
            contents.tables[table.name.lower()].table = table
        for name, attributes in replacement.views.items():
            vars(contents.views[name]).update(attributes)
        contents.views = dict(contents.views)  # what is known of them is found anew
    contents.replacement = None


def _replace(contents: Contents, tables: Mapping[str, BaseTable], codec: Codec | None) -> None:
    """Let tables and dictionaries take the place of those that are there: now, or by the next call."""
    contents.replacement = Replacement(tables, codec)
    install(contents)


def _pays(contents: Contents, name: str) -> bool:
    """Whether a table is so large that other ids for it pay for loading the blocks anew that know them."""
    rows = sum(node.registered for node in contents.graph.reading({name}))
    return contents.tables[name].nbytes >= ROW_BYTES * rows


def _dense(base: BaseTable) -> BaseTable:
    """A table with the same rows in the same order under ids from 0 on."""
    rows = rows_of(base)
    return table_of(base.table, replace(rows, ids=np.arange(rows.ids.shape[0])), base._budget)


def _recoded(base: BaseTable, recoding: Recoding) -> BaseTable:
    """A table with the same rows under the same ids, in other words."""
    rows = rows_of(base)
    types = [column.type for column in base.table.columns]
    lines = [recoding.words(type_, line) for type_, line in zip(types, rows.values, strict=True)]
    values = np.array(lines).reshape(rows.values.shape)
    tombstones = rows.tombstones
    if base.tombstones is not None:
        types = [column.type for column in base.tombstones.table.columns]
        lines = [recoding.words(type_, line) for type_, line in zip(types, tombstones, strict=True)]
        tombstones = np.array(lines).reshape(tombstones.shape)
    return table_of(base.table, replace(rows, values=values, tombstones=tombstones), base._budget)


def _most_garbage(contents: Contents) -> int:
    """How many entries are in no use at most: those that are new, and those that rows may have left behind.

    A new entry of a row is in no use only when that row has left, which is counted as such.
    """
    seen = contents.seen
    return contents.codec.entries - seen.entries - seen.held + seen.left + min(seen.few, seen.moved)


def _may_have_garbage(contents: Contents) -> bool:
    """Whether half of the entries may be in no use, and it is paid for to look."""
    entries, seen = contents.codec.entries, contents.seen
    garbage = _most_garbage(contents)
    if seen.is_due:
        return True
    if entries < _MIN_GARBAGE and contents.codec.nbytes < _LITTLE_BYTES:
        return False
    if not entries or garbage < _MIN_GARBAGE or 2 * garbage < entries:
        return False
    paid = _PRICE * (seen.moved + max(0, contents.codec.live_bytes - seen.bytes) // _ENTRY_BYTES)
    if paid >= seen.price:
        seen.price = entries + _values(contents)  # at most as often as it turns out to be more than was known
    return paid >= seen.price


def _values(contents: Contents) -> int:
    """Values that are looked through, about."""
    rows = sum(base.rows * base.coded for base in contents.tables.values())
    return rows + sum(node.block.sizes()[0] for node in contents.graph.nodes) // _BLOCK_BYTES


def _collect(contents: Contents) -> None:
    """Forget strings and wide decimals that no row uses, and learn what the rows that leave next may leave behind."""
    codec, decimals = contents.codec, [np.empty(0, np.int64)]
    marks = np.zeros(codec.issued, np.bool_)
    few, many, per_row = 0, dict[str, frozenset[int]](), 0
    for name, base in contents.tables.items():
        ids = base.used_ids()
        coded = [
            (place, column.type.word_kind) for place, column in enumerate(base.table.columns) if is_coded(column.type)
        ]
        wide = [base.used_words(place, ids) for place, kind in coded if kind != "string"]
        texts = [place for place, kind in coded if kind == "string"]
        values = dict(zip([place for place, kind in coded if kind != "string"], map(len, wide), strict=True))
        values |= dict(zip(texts, base.mark_codes(texts, ids, marks).tolist(), strict=True))
        few += sum([one for one in values.values() if _FEWER * one <= base.rows])
        many[name] = frozenset([place for place, one in values.items() if _FEWER * one > base.rows])
        decimals += wide
    of_tables = int(np.count_nonzero(marks))
    for node in contents.graph.nodes:
        for words in node.block.used_words("string"):
            codec.mark(words, marks)
        decimals += node.block.used_words("decimal")
    computed = int(np.count_nonzero(marks)) - of_tables + sum(one.shape[0] for one in decimals)
    codec.retain(np.flatnonzero(marks), np.concatenate(decimals))
    if _FEWER * computed <= codec.entries:
        few += computed
    else:
        per_row = 1
    contents.seen = Seen(codec.entries, codec.live_bytes, few=few, many=many, computed=per_row)
