"""What livejoin gives for a query: over tables that are full, and over tables that random commits filled."""

from __future__ import annotations

import random
import signal
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from livejoin import Database
from livejoin.database.difference import types_of
from livejoin.errors import CapacityError, ExpressionError
from livejoin.schema import SqlType

from .hive_text import rows_of
from .session import Session, Table

_VIEW = "checked view"
_SECONDS = 60
_PIECES = 4


class TookTooLongError(Exception):
    """A query took longer than it may."""


@dataclass(frozen=True)
class Answer:
    """The result of a query.

    Args:
        rows: Its rows, in the order in which they are read.
        table: The same in Arrow.
        types: Their types.
    """

    rows: tuple[str, ...]
    table: pa.Table
    types: tuple[SqlType, ...]


def over_all_rows(session: Session, names: Sequence[str], sql: str) -> Answer:
    """The view is created over full tables."""
    with _at_most(_SECONDS):
        database = session.filled(list(names))
        database.create_view(_VIEW, sql, allow_product=True)
        return _read(database)


def built_up(session: Session, names: Sequence[str], sql: str, chance: random.Random) -> Answer:
    """The view is created over empty tables, which random commits fill; some of them delete, and bring back.

    Raises:
        LivejoinError: The last commit fails, by which all rows are there. Those before may: a part of the rows may give
            a divisor of 0 that all of them do not.
        AssertionError: What the deltas add up to is another thing than the view.
    """
    with _at_most(_SECONDS):
        database = session.empty(list(names))
        database.create_view(_VIEW, sql, allow_product=True)
        tables = {name: one for name in names if isinstance(one := session.relations[name], Table)}
        seen: Counter[str] = Counter(_read(database).rows)
        present: dict[str, set[int]] = {name: set() for name in tables}
        for _ in range(_PIECES):
            changes = {name: _some(table, present[name], chance) for name, table in tables.items()}
            with suppress(ExpressionError, CapacityError):
                _commit(database, tables, changes, present, seen)
        rest = {name: (sorted(set(range(table.rows.num_rows)) - present[name]), []) for name, table in tables.items()}
        _commit(database, tables, rest, present, seen)
        answer = _read(database)
        assert +seen == Counter(answer.rows) and min(seen.values(), default=0) >= 0, "the deltas' sum is another one"
        return answer


_Change = tuple[list[int], list[int]]


def _some(table: Table, present: set[int], chance: random.Random) -> _Change:
    """Rows that come and rows that go."""
    absent = sorted(set(range(table.rows.num_rows)) - present)
    return chance.sample(absent, chance.randint(0, len(absent))), chance.sample(
        sorted(present), chance.randint(0, len(present)) // 2
    )


def _commit(
    database: Database,
    tables: dict[str, Table],
    changes: dict[str, _Change],
    present: dict[str, set[int]],
    seen: Counter[str],
) -> None:
    data = {}
    for name, (come, go) in changes.items():
        rows = tables[name].rows
        kinds = pa.array(["insert"] * len(come) + ["delete"] * len(go))
        if come or go:
            data[name] = rows.take(pa.array(come + go, pa.int64())).append_column("_change_type", kinds)
    if not data:
        return
    delta = database.apply(data)[_VIEW]
    for name, (come, go) in changes.items():
        present[name] |= set(come)
        present[name] -= set(go)
    columns = list(range(delta.num_columns - 2))
    rows_changed = rows_of(delta.select(columns), types_of(database, _VIEW))
    for row, kind in zip(rows_changed, delta["_change_type"].to_pylist(), strict=True):
        seen[row] += 1 if kind in ("insert", "update_postimage") else -1


def _read(database: Database) -> Answer:
    types = types_of(database, _VIEW)
    table = database.views[_VIEW].to_arrow()
    return Answer(tuple(rows_of(table, types)), table, types)


@contextmanager
def _at_most(seconds: int) -> Iterator[None]:
    def end(*_: Any) -> None:
        raise TookTooLongError

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
