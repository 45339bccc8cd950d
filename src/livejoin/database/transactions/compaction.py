"""Between two commits: memory of rows that left is given back.

Tables give back free words at their end. Rows whose ids lie far apart get new ids. Dictionary entries that no row uses
are forgotten, and codes that lie far apart are renumbered.

An id never changes while its row is there, nor a code while a row holds it: joins know ids, and a code is a word in all
tables. So new tables and dictionaries are built aside, and one assignment, of `Contents.replacement`, makes them those
of the database. `install` then drops the blocks that know old ids or codes; they are loaded again when they are needed.
`install` may be cut off and called again.

Laws, which hold after each look. A look happens before a commit when the values that passed since the last look are
some hundred and a sixteenth of the rows. (1) No table has more than twice the memory of its rows loaded alone, unless
that is little beside the blocks that know their ids. (2) Fewer than half of the dictionary entries are unused, except
for some thousand, and except for entries that cost more to find than the rows since the last look have paid for.

Cost: O(1) amortised for each value that comes or leaves.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from livejoin.catalog import Catalog
from livejoin.database.transactions.trusted import fold, trusted_tables
from livejoin.dataflow.blocks.table_change import TableChange
from livejoin.dataflow.graph import ROW_BYTES
from livejoin.kernels.values.chosen import count_positive
from livejoin.state.codec import Codec, is_coded
from livejoin.state.recoding import Recoding, is_scattered, recoded
from livejoin.state.table import BaseTable
from livejoin.state.table_rows import rows_of, table_of
from livejoin.state.trusted_table import TrustedTable

if TYPE_CHECKING:
    from livejoin.database.contents import Contents
    from livejoin.database.durable.log import Placed
    from livejoin.database.transactions.journal import Letter
    from livejoin.database.transactions.staging import TableInput
    from livejoin.database.versions.links import Stepped
    from livejoin.database.view import View
    from livejoin.dataflow.deltas.view_delta import ViewDelta

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
    """How many values a commit moves. Each row counts as one value, and each of its codes as another.

    Args:
        left: Values of leaving rows that may have been the last of their kind.
        moved: Values of rows that come or leave.
        held: New values of rows that come, in columns whose leaving rows count in ``left``.
    """

    left: int
    moved: int
    held: int = 0


NOTHING = Passed(0, 0)


@dataclass
class Seen:
    """The state of the dictionaries at the last search for garbage, and what has happened since; mutable.

    Args:
        entries: Entries that were kept.
        bytes: The bytes of these entries.
        left: Values that may have left since.
        moved: Values that came or left since.
        price: Values that the next search has to look at, estimated.
        is_due: Whether the next search is made whatever it costs.
        held: New entries of rows, in columns that count each leaving row.
        few: Values of columns with few distinct values: no more can become garbage, however many rows leave.
        many: For each table the columns with many distinct values, where each leaving row may leave garbage.
        computed: Values computed from a row, which may become garbage too.
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
    """New tables, dictionaries, declarations and plans with the same content as the old ones.

    Args:
        tables: The new tables by name in lower case.
        codec: The new dictionaries; None if they stay.
        catalog: The new declarations; None if they stay.
        views: New attributes of views, by the views' names in lower case.
        commit: The views that show something else from a version on; None if all show what they did.
        renamed: A table that gets another name; None for none.
    """

    tables: Mapping[str, BaseTable]
    codec: Codec | None
    catalog: Catalog | None = None
    views: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    commit: OtherViews | None = None
    renamed: Renamed | None = None


@dataclass(frozen=True, eq=False)
class Renamed:
    """A table that gets another name.

    Args:
        was: The old name, in lower case.
        name: The new name, in lower case.
        tables: The tables as they are, by their new names, in their order.
    """

    was: str
    name: str
    tables: Mapping[str, BaseTable]


@dataclass(eq=False)
class OtherViews:
    """Views that show something else without a change of a table; mutable.

    The replacement takes place if the database has the version, which is one assignment, and else is forgotten.

    Args:
        version: The version of the database from which on they show it.
        views: All views, each behind those that it reads.
        ended: The views that are gone, whose subscriptions end.
        letters: Makes the letters to subscribers; called when all is in its place, and perhaps again.
        deltas: The delta of each view with deltas that shows something else, by its name.
        steps: The steps of the views whose versions somebody reads or follows.
        placed: Where the log has the deltas of views with a history.
        rekeyed: The views, by name in lower case, that have other keys; who follows them begins anew.
        is_noted: Whether it was counted.
    """

    version: int
    views: dict[str, View]
    ended: Sequence[View]
    letters: Callable[[], Iterable[Letter]]
    deltas: Mapping[str, ViewDelta]
    steps: Mapping[str, Stepped]
    placed: Placed
    rekeyed: Sequence[str]
    is_noted: bool = False


def passed(contents: Contents, staged: Mapping[str, TableChange], given: Sequence[TableInput]) -> Passed:
    """How many values staged changes move. Each computed value counts, as it may be a string that no column has.

    Args:
        contents: The database's contents.
        staged: The changes of each table, by name in lower case.
        given: The changes as they were given, of the tables in the same order.
    """
    left = moved = held = 0
    many = contents.seen.many
    for one, (name, change) in zip(given, staged.items(), strict=True):
        values, weights = 1 + one.base.coded, change.staged.weights
        rows = weights.shape[0]
        moved += values * rows
        if one.fresh is not None and _all_come(one, change):
            held += int((one.fresh[list(many[name])] if name in many else one.fresh).sum())
        last = len(many[name]) + contents.seen.computed if name in many else values
        if rows == 1:
            left += last if weights[0] < 0 else 0
        elif rows <= FEW:
            left += last * sum([weight < 0 for weight in weights.tolist()])
        else:
            left += last * (rows - count_positive(weights))  # an event's weight is not zero
    return Passed(left, moved, held)


def _all_come(given: TableInput, change: TableChange) -> bool:
    """Whether each given insertion has its row in the table now or had it, and no value came with a deletion alone."""
    staged = change.staged
    if given.batch.by_key or staged.ignored or staged.late:
        return False
    return count_positive(staged.weights) == count_positive(given.batch.weights)


def note(contents: Contents, passed: Passed) -> None:
    """Take note of a commit that stands."""
    contents.seen.note(passed)
    contents.pause -= passed.moved if passed.moved > _COMMIT else _COMMIT


def compact_in_turn(contents: Contents) -> None:
    """`compact`, at most once in a number of small commits, because it looks at every table and block.

    It is called where ``contents.pause`` has run out, or where ``contents.seen.is_due``.
    """
    compact(contents)
    contents.pause = max(_PAUSE, sum([base.rows for base in contents.tables.values()]) // _SHARE)


def compact(contents: Contents) -> None:
    """Give back memory that is not needed. The content and every delta stay the same.

    Raises:
        CapacityError, MemoryError: The new tables or dictionaries do not fit; nothing was changed.
    """
    contents.is_compacting = True  # a call that comes out of this one, as from a signal handler, must change nothing
    try:
        _compact(contents)
    finally:
        contents.is_compacting = False  # or, if that is cut off, by the next call


def _compact(contents: Contents) -> None:
    for table in trusted_tables(contents):
        if table.is_long:
            _fold(contents, table)
    for base in contents.tables.values():
        base.trim()
        if base.tombstones is not None and base.tombstones.is_sparse:
            base.tombstones = _dense(base.tombstones)
    sparse = {name for name, base in contents.tables.items() if base.is_sparse and _pays(contents, name)}
    if sparse:
        dense = {name: _dense(contents.tables[name]) for name in sparse}
        if contents.tally.analyses:
            for name, base in dense.items():
                base.renumbered = contents.tables[name].live_rows()[0]
        _replace(contents, dense, None)
    contents.graph.shrink()
    if _may_have_garbage(contents):
        _collect(contents)
        if is_scattered(contents.codec):
            recoding = recoded(contents.codec)
            tables = {name: _recoded(base, recoding) for name, base in contents.tables.items()}
            _replace(contents, tables, recoding.codec)


def _fold(contents: Contents, table: TrustedTable) -> None:
    """Let the changes of a table that keeps no rows go; what they brought may be garbage."""
    values = fold(contents, table)
    contents.seen.note(Passed(values, values))


def install(contents: Contents) -> None:
    """Put a replacement in its place, if there is one; may be cut off and called again."""
    replacement = contents.replacement
    if replacement is None:
        return
    if replacement.commit is not None:
        _install_views(contents, replacement, replacement.commit)
        return
    _end_altered(contents, replacement)
    graph = contents.graph
    if replacement.renamed is not None:
        _rename(contents, replacement.renamed)
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


def _end_altered(contents: Contents, replacement: Replacement) -> None:
    """End the chains of tables whose columns change, or whose name does; views show what they showed."""
    renamed = replacement.renamed
    if renamed is not None and renamed.was != renamed.name:
        contents.links.end(renamed.was, f"table {renamed.was!r} has another name")
    for table in replacement.catalog or ():
        base = contents.tables.get(table.name.lower())
        if base is not None and not base.table.arrow.equals(table.arrow):
            contents.links.end(table.name.lower(), f"table {table.name!r} got other columns")


def _rename(contents: Contents, renamed: Renamed) -> None:
    """Let a table have its new name wherever names are kept; may be cut off and called again."""
    graph = contents.graph
    graph.let_go(graph.reading({renamed.was}))
    contents.tables.clear()  # the dict that the graph has too; all of it is in the replacement
    contents.tables.update(renamed.tables)
    kept = [contents.tally.events] if contents.log is None else [contents.tally.events, contents.log.account.numbers]
    for numbers in kept:
        if renamed.was in numbers:
            numbers[renamed.name] = numbers[renamed.was]
            if renamed.name != renamed.was:
                del numbers[renamed.was]


def _install_views(contents: Contents, replacement: Replacement, commit: OtherViews) -> None:
    """As `install`, of views that show something else: if the version says so."""
    if contents.log is not None:
        contents.log.settle()
    if contents.version != commit.version:
        contents.replacement = None
        return
    for name, attributes in replacement.views.items():
        vars(commit.views[name]).update(attributes)
    contents.views = commit.views
    place = 0 if contents.log is None else contents.log.written
    for view in commit.ended:
        view._subscribers.clear()
        contents.links.end(view.name.lower(), f"view {view.name!r} was replaced by one with other columns")
        contents.histories.pop(view.name.lower(), None)
    contents.note_told(commit.placed)
    contents.links.extend(commit.version, place, commit.steps)
    for name in commit.rekeyed:
        contents.links.lose(name)
        if name in contents.histories:
            contents.histories[name].restart(commit.version)
    if not commit.is_noted:
        commit.is_noted = True
        contents.tally.note(1, {})
        for name, delta in commit.deltas.items():
            commit.views[name.lower()]._note(delta)
    contents.letters, contents.replacement = deque([*contents.letters, *commit.letters()]), None


def _replace(contents: Contents, tables: Mapping[str, BaseTable], codec: Codec | None) -> None:
    """Replace tables and dictionaries now, or in the next call if this one is cut off."""
    contents.replacement = Replacement(tables, codec)
    install(contents)


def _pays(contents: Contents, name: str) -> bool:
    """Whether a table is so large that new ids pay for reloading the blocks that know the old ids."""
    rows = sum(node.registered for node in contents.graph.reading({name}))
    return contents.tables[name].nbytes >= ROW_BYTES * rows


def _dense(base: BaseTable) -> BaseTable:
    """A table with the same rows in the same order under ids from 0 on."""
    rows = rows_of(base)
    return table_of(base.table, replace(rows, ids=np.arange(rows.ids.shape[0])), base._budget)


def _recoded(base: BaseTable, recoding: Recoding) -> BaseTable:
    """The same rows under the same ids, with the words of new dictionaries."""
    if isinstance(base, TrustedTable):
        return base.recoded(recoding)
    rows = rows_of(base)
    types = [column.type for column in base.table.columns]
    lines = [recoding.words(type_, line) for type_, line in zip(types, rows.values, strict=True)]
    values = np.array(lines).reshape(rows.values.shape)
    tombstones = rows.tombstones
    if base.tombstones is not None:
        types = [column.type for column in base.tombstones.table.columns]
        lines = [recoding.words(type_, line) for type_, line in zip(types, tombstones, strict=True)]
        tombstones = np.array(lines).reshape(tombstones.shape)
    made = table_of(base.table, replace(rows, values=values, tombstones=tombstones), base._budget)
    made.renumbered = base.renumbered
    return made


def _most_garbage(contents: Contents) -> int:
    """An upper bound of the unused entries: new entries, and those that leaving rows may have left behind.

    A new entry of a row becomes unused only when the row leaves, which is counted then.
    """
    seen = contents.seen
    return contents.codec.entries - seen.entries - seen.held + seen.left + min(seen.few, seen.moved)


def _may_have_garbage(contents: Contents) -> bool:
    """Whether half of the entries may be unused, and the search for them is paid for."""
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
    """About how many values a search looks at."""
    rows = sum(base.rows * base.coded for base in contents.tables.values())
    return rows + sum(node.block.sizes()[0] for node in contents.graph.nodes) // _BLOCK_BYTES


def _collect(contents: Contents) -> None:
    """Forget strings and wide decimals that no row uses, and find the columns where rows may leave garbage."""
    for table in trusted_tables(contents):
        if table.changes:  # what was copied is then what the blocks have, which say what they use
            _fold(contents, table)
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
