"""Logs of changes, replayed as one commit or in pieces.

The column ``_seq`` orders the changes of a log across its tables. A piece is the next n changes in this order, and an
atomic commit. Law: the applied part of a log is always a prefix of whole pieces. The deltas of all pieces of a replay
by change are those of the whole replay, version by version.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa

from livejoin.changes import ChangeBatch
from livejoin.database.commit import BadRow, Commit
from livejoin.database.contents import Contents
from livejoin.database.transactions import transaction
from livejoin.database.transactions.bad_rows import Good, guilty
from livejoin.database.transactions.guard import Guard, alone, commits
from livejoin.database.transactions.staging import Granularity, OnConflict, ranks_by_sequence
from livejoin.errors import (
    ChangeError,
    ChangeValueError,
    ExpressionError,
    LivejoinError,
    SchemaError,
    StorageError,
    ViolationError,
)
from livejoin.words import Words


@dataclass(frozen=True)
class Manner:
    """How a log is applied.

    Args:
        granularity: Whether each change has a version of its own, or all changes of a piece share one.
        on_conflict: What happens to changes that conflict, as for `livejoin.Database.apply`.
    """

    granularity: Granularity
    on_conflict: OnConflict


def replay_whole(contents: Contents, batches: Sequence[ChangeBatch], manner: Manner) -> Commit:
    """Apply whole logs, or nothing; raises as `livejoin.Database.replay`."""
    ranks = ranks_by_sequence(batches)
    count = sum(rank.shape[0] for rank in ranks)
    return _run(contents, list(zip(batches, ranks, strict=True)), count, manner)


def replay_good(contents: Contents, good: Good, manner: Manner) -> tuple[Commit, list[BadRow]]:
    """Apply the good ones of the changes of whole logs; raises as `livejoin.Database.replay`."""
    batches = good.read()
    ranks = ranks_by_sequence(batches)
    count = sum(rank.shape[0] for rank in ranks)
    commit, bad = _run_good(contents, list(zip(batches, ranks, strict=True)), count, manner)
    names = list(good.kept)
    for number, row, error in bad:
        good.note(names[number], int(good.kept[names[number]][row]), error)
    return commit, good.letters()


def _run_good(
    contents: Contents,
    ranked: Sequence[tuple[ChangeBatch, Words]],
    count: int,
    manner: Manner,
    then: Callable[[], object] | None = None,
) -> tuple[Commit, list[tuple[int, int, LivejoinError]]]:
    """As `_run`, without the changes that are bad: for each the number of its batch, its position there, and why.

    With the granularity ``change`` the version of a change that is left out changes nothing.
    """
    kept = [np.arange(batch.length) for batch, _ in ranked]
    bad: list[tuple[int, int, LivejoinError]] = []

    def attempt(some: list[ChangeBatch], rows: list[Words], conflicts: OnConflict) -> None:
        tried = Manner(manner.granularity, conflicts)
        ranks = [of_batch[chosen] for (_, of_batch), chosen in zip(good, rows, strict=True)]
        with suppress(transaction.Tried):
            _run(contents, list(zip(some, ranks, strict=True)), count, tried, tried=lambda _: None)

    while True:
        good = list(ranked)
        if bad:
            good = [(_taken(batch, rows), ranks[rows]) for (batch, ranks), rows in zip(ranked, kept, strict=True)]
        try:
            return _run(contents, good, count, manner, then), bad
        except ChangeValueError as error:
            if error.row < 0:
                raise
            number = next(i for i, (batch, _) in enumerate(ranked) if batch.table.name == error.table)
            position = error.row
            bad.append((number, int(kept[number][position]), error))
        except ExpressionError as error:
            tables = np.repeat(np.arange(len(good)), [ranks.shape[0] for _, ranks in good])
            rows = np.concatenate([np.arange(ranks.shape[0]) for _, ranks in good])
            order = np.argsort(np.concatenate([ranks for _, ranks in good]), kind="stable")
            number, position, why = guilty([one for one, _ in good], (tables[order], rows[order]), attempt, error)
            bad.append((number, int(kept[number][position]), why))
        kept[number] = np.delete(kept[number], position)


def _taken(batch: ChangeBatch, rows: Words) -> ChangeBatch:
    """Some changes of a batch, which know where they were given."""
    taken = batch.take(rows)
    taken.origin = batch.origins(rows)
    return taken


def _run(
    contents: Contents,
    ranked: Sequence[tuple[ChangeBatch, Words]],
    count: int,
    manner: Manner,
    then: Callable[[], object] | None = None,
    tried: Callable[[Commit], object] | None = None,
) -> Commit:
    """Apply the changes with ranks from 0 up to ``count``; the journal calls ``then`` when they stand.

    Raises:
        Tried: The changes would have stood, and were only ``tried``.
    """
    if tried is None:
        transaction.seal(contents, [batch for batch, _ in ranked])
    changes = [(batch, _versions(contents, rank, manner)) for batch, rank in ranked]
    versions = 1 if manner.granularity == "commit" else count
    return transaction.run(contents, changes, versions, manner.granularity, manner.on_conflict, then, tried)


def _versions(contents: Contents, ranks: Words, manner: Manner) -> Words:
    first = contents.version + 1
    return np.full(ranks.shape, first, np.int64) if manner.granularity == "commit" else ranks + first


class Replay:
    """A replay in pieces, made by `livejoin.Database.replay` with ``max_rows``: an iterator of commits.

    Each step applies the next piece and gives its commit. A step is a call as `livejoin.Database.apply` is. Between two
    steps other calls may be made, commits too, whose versions then lie between those of the pieces. If you stop
    iterating, the applied pieces stay. A step that fails applies nothing of its piece; the next step tries that piece
    again.

    Args:
        contents: The database's contents.
        batches: The changes of each table, with ``_seq``.
        max_rows: The most changes of a piece.
        manner: How each piece is applied.
        good: The changes without those that cannot be read, where bad ones are left out; else None.
        tells: Whether commits give back the changes that were left out.

    Raises:
        ChangeFormatError: ``_seq`` has a value twice.
    """

    def __init__(
        self,
        contents: Contents,
        batches: Sequence[ChangeBatch],
        max_rows: int,
        manner: Manner,
        good: Good | None = None,
        tells: bool = False,
    ) -> None:
        ranks = ranks_by_sequence(batches)
        self._contents = contents
        self._logs = [_Log(batch, *_in_order(rank)) for batch, rank in zip(batches, ranks, strict=True)]
        self._size = sum(rank.shape[0] for rank in ranks)
        self._max_rows = max_rows
        self._manner = manner
        self._applied = 0
        self._good = good
        self._tells = tells
        self._told: set[tuple[str, int]] = set()

    @property
    def _guard(self) -> Guard:
        return self._contents.guard

    @property
    @alone
    def changes(self) -> int:
        """How many changes of the log were applied, including those skipped as conflicts."""
        return self._applied

    @property
    @alone
    def sequence(self) -> int | None:
        """The last ``_seq`` that was applied, also after a step that Ctrl-C cut off; None before the first."""
        return self._last()

    def __iter__(self) -> Replay:
        return self

    @commits
    def __next__(self) -> Commit:
        """Apply the next piece.

        Raises:
            ChangeError, ExpressionError, CapacityError, StorageError: As for `livejoin.Database.apply`; nothing of the
                piece was applied. The message gives the row's place in the log, and how much of the log was applied.
            SchemaError: A table of the log was dropped or declared anew.

        Cost: that of `livejoin.Database.apply` for the piece, and O(log changes) for each table.
        """
        begin, end = self._applied, min(self._applied + self._max_rows, self._size)
        if begin == end:
            raise StopIteration
        pieces = [log.piece(begin, end) for log in self._logs]
        ranked = [(batch, ranks - begin) for batch, ranks in pieces if ranks.shape[0]]
        try:
            for batch, _ in ranked:
                self._refuse_another(batch)
            then = partial(setattr, self, "_applied", end)
            if self._good is None:
                return _run(self._contents, ranked, end - begin, self._manner, then)
            commit, bad = _run_good(self._contents, ranked, end - begin, self._manner, then)
            self._leave_out(
                self._good, begin, [log for log, (_, r) in zip(self._logs, pieces, strict=True) if r.size], bad
            )
            return self._with_letters(self._good, commit)
        except LivejoinError as error:
            if self._applied > begin:  # it stands
                raise
            raise self._stopped(error, begin) from (error.__cause__ if isinstance(error, StorageError) else error)

    def _leave_out(
        self, good: Good, begin: int, logs: Sequence[_Log], bad: Sequence[tuple[int, int, LivejoinError]]
    ) -> None:
        """Take note of the changes that a piece left out."""
        names = {self._contents.catalog[name].name: name for name in good.kept}
        for number, row, error in bad:
            name = names[logs[number].batch.table.name]
            good.note(name, int(good.kept[name][logs[number].position(begin, row)]), error)

    def _with_letters(self, good: Good, commit: Commit) -> Commit:
        """A commit with what was left out and not told of yet; the first one has also what cannot be read."""
        new = [letter for letter in good.letters() if (letter.table, letter.row) not in self._told]
        self._told.update((letter.table, letter.row) for letter in new)
        commit.bad_rows = len(new)
        commit.dead_letters = tuple(new) if self._tells else ()
        return commit

    def _refuse_another(self, batch: ChangeBatch) -> None:
        """Refuse a piece whose table is not the one that the log was read for."""
        name = batch.table.name
        if self._contents.catalog[name] != batch.table:
            msg = f"table {name!r} is not declared as it was when its log was read; begin a new replay"
            raise SchemaError(msg)
        transaction.refuse_unpromised(self._contents, batch)

    def _last(self) -> int | None:
        lasts = [last for log in self._logs if (last := log.last(self._applied)) is not None]
        return max(lasts, default=None)

    def _stopped(self, error: LivejoinError, begin: int) -> LivejoinError:
        """The error of a piece, with how much of the log was applied."""
        last = self._last()
        stands = "nothing of it stands" if last is None else f"its changes up to _seq {last} stand, {begin:,}"
        where = f"; the replay of {self._size:,} changes stopped: {stands}, at version {self._contents.version}"
        if isinstance(error, ViolationError):
            return error.with_more(where)
        if isinstance(error, ChangeError):
            row = error.row
            for log in self._logs:
                if log.batch.table.name == error.table and row >= 0:
                    row = int(log.batch.origins(np.array([log.position(begin, row)]))[0])
            return type(error)(error.message + where, error.table, row)
        return type(error)(str(error) + where)


@dataclass(frozen=True, eq=False)
class _Log:
    """The changes of one table.

    Args:
        batch: The changes as they were given.
        order: The positions of the changes in the order of ``_seq``; None where they were given in this order.
        ranks: The rank of each change in the order across all tables, ascending.
    """

    batch: ChangeBatch
    order: Words | None
    ranks: Words

    def piece(self, begin: int, end: int) -> tuple[ChangeBatch, Words]:
        """The changes with ranks from ``begin`` up to ``end``, and their ranks."""
        low, high = np.searchsorted(self.ranks, (begin, end)).tolist()
        if self.order is None:
            return self._taken(self.batch.rows.slice(low, high - low), slice(low, high)), self.ranks[low:high]
        at = self.order[low:high]
        return self._taken(self.batch.rows.take(at), at), self.ranks[low:high]

    def _taken(self, rows: pa.Table, at: slice | Words) -> ChangeBatch:
        """Some of the changes, with their rows."""
        batch = self.batch
        assert batch.sequence is not None
        replaces = None if batch.replaces is None else batch.replaces[at]
        given = None if batch.given is None else batch.given[:, at]
        columns = tuple(rows.columns)
        return ChangeBatch(batch.table, columns, batch.weights[at], batch.sequence[at], replaces, given=given)

    def position(self, begin: int, row: int) -> int:
        """The position, among the given changes, of change ``row`` of the piece that begins at rank ``begin``."""
        at = int(np.searchsorted(self.ranks, begin)) + row
        return at if self.order is None else int(self.order[at])

    def last(self, end: int) -> int | None:
        """The ``_seq`` of the last change with a rank below ``end``."""
        below = int(np.searchsorted(self.ranks, end))
        if not below:
            return None
        assert self.batch.sequence is not None
        return int(self.batch.sequence[below - 1 if self.order is None else self.order[below - 1]])


def _in_order(ranks: Words) -> tuple[Words | None, Words]:
    """The positions that sort the ranks, None where the ranks ascend already; and the sorted ranks."""
    if (ranks[1:] > ranks[:-1]).all():
        return None, ranks
    order = np.argsort(ranks, kind="stable")
    return order, ranks[order]
