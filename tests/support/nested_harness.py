"""Lives a life of nested views in livejoin, with DuckDB beside it, and checks after every step that they agree.

To what `Harness` checks come: a delta has no row that is inserted and deleted in one version, not even where two groups
look alike; errors of DROP VIEW name the readers; and what is read by position is what is enumerated.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from random import Random

import pyarrow as pa

from harness import Harness, Watched
from livejoin import errors
from nested_lives import Bad, Commit, Conflicts, Create, Drop, Life, Read, Reload, Replay, State, Step, possible
from nested_sql import ViewSpec
from oracle import signed_multiset
from reader import check_reading
from scenario import QuerySpec, Row, TableSpec, canonical_row

MOST_ROWS = 3000
"""A life ends before a view has more rows."""


class TooLarge(Exception):
    """A view has more rows than the tests care to compare."""


class NestedHarness(Harness):
    """An engine with the tables of a life, and the oracle beside it.

    Attributes:
        cases: Comparisons of the whole graph after a commit: of its deltas and its full state.
        declined: Texts of views that the engine does not maintain, with its reasons.
    """

    def __init__(self, tables: tuple[TableSpec, ...], threads: int = 1) -> None:
        super().__init__(tables, threads)
        self.cases = 0
        self.declined: list[tuple[str, str]] = []
        self.state = State.of(tables)

    def live(self, life: Life) -> None:
        """All steps in order, as long as results stay small."""
        try:
            for step in life.steps:
                self.take(step)
        except TooLarge:
            return

    def take(self, step: Step) -> None:
        """One step; what became impossible because a view was declined is left out."""
        before = self.state.views
        self.state.views = dict(before)
        done = possible(step, self.state)
        if done is None:
            return
        match done:
            case Create(view):
                self._create(view)
            case Drop(name, cascade):
                self._drop(name, cascade, before)
            case Commit(changes, form):
                self.apply(changes, form)
                self.cases += 1
            case Replay(changes, "change"):
                self.replay(changes)
                self.cases += len(changes)
            case Replay(changes):
                self.apply(changes, "log")
                self.cases += 1
            case Bad():
                self._refused(done)
            case Conflicts(changes, granularity):
                self.apply_ignoring(changes, granularity)
                self.cases += 1
            case Reload(threads):
                self.reload(threads)
            case Read(seed):
                self._read(Random(seed))

    def recomputed(self) -> dict[str, Counter[Row]]:
        found = super().recomputed()
        if any(rows.total() > MOST_ROWS for rows in found.values()):
            raise TooLarge
        return found

    def _create(self, view: ViewSpec) -> None:
        query = QuerySpec(view.sql, view.plain, algorithm=view.algorithm)  # type: ignore[arg-type]
        self.oracle.define(view.name, view.plain)
        self.recomputed()
        try:
            self.create_view(view.name, query, view.deltas, view.adaptive)
        except errors.UnsupportedQueryError as error:
            self.declined.append((view.sql, str(error)))
            self.oracle.forget(view.name)
            del self.state.views[view.name]
            assert view.name not in self.database.views

    def _drop(self, name: str, cascade: bool, before: dict[str, Create]) -> None:
        readers = [other for other, create in before.items() if name in create.view.reads]
        if readers and not cascade:
            error = refusal(lambda: self.database.execute(f"DROP VIEW {name}"), "SchemaError")
            for reader in readers:
                assert re.search(rf"\b{reader}\b", str(error)), f"{reader} is missing in: {error}"
            self.unchanged()
            return
        self.database.execute(f"DROP VIEW {name}{' CASCADE' if cascade else ''}")
        for gone in before.keys() - self.state.views.keys():
            del self.watched[gone]
            self.oracle.forget(gone)
        assert set(self.database.views) == set(self.watched) == set(self.state.views)
        self.check()

    def _refused(self, step: Bad) -> None:
        version = self.database.version
        changes = (*step.changes, step.culprit)
        if step.way == "replay":
            refusal(lambda: self.database.replay(self.logs(changes)), step.error)
        else:
            refusal(lambda: self.database.apply(self.data(changes, "arrow")), step.error)
        assert self.database.version == version
        self.unchanged()

    def _read(self, random: Random) -> None:
        for name, watched in self.watched.items():
            check_reading(self.database.views[name], self.oracle.result(watched.query.plain), random)

    def _check_kinds(
        self, watched: Watched, delta: pa.Table, before: Counter[Row], after: Counter[Row], context: str
    ) -> None:
        assert_net(delta, before, after, context)


def refusal(action: Callable[[], object], name: str) -> errors.LivejoinError:
    """The error of a class that an action raises; fails unless it does."""
    try:
        action()
    except errors.LivejoinError as error:
        assert type(error) is getattr(errors, name), f"{type(error).__name__} in place of {name}: {error}"
        return error
    msg = f"no {name}"
    raise AssertionError(msg)


def assert_net(delta: pa.Table, before: Counter[Row], after: Counter[Row], context: str) -> None:
    """Fail unless the delta of a version has each row once: what it removes was there, what it adds is there now.

    A preimage stands before its postimage and differs from it.
    """
    shown = [name for name in delta.column_names if not name.startswith("_")]
    kinds = delta["_change_type"].to_pylist()
    rows = [canonical_row(row) for row in zip(*(delta[name].to_pylist() for name in shown), strict=True)]
    signed = signed_multiset(delta)
    assert sum(map(abs, signed.values())) == delta.num_rows, f"{context}: a row is both inserted and deleted"
    for number, (kind, row) in enumerate(zip(kinds, rows, strict=True)):
        assert row in (before if kind in ("delete", "update_preimage") else after), f"{context}: {kind} of {row}"
        if kind == "update_preimage":
            assert row != rows[number + 1], f"{context}: an update changes nothing of {row}"
    pairs = [following for kind, following in pairwise([*kinds, ""]) if kind == "update_preimage"]
    expected = ["update_postimage"] * kinds.count("update_postimage")
    assert pairs == expected, f"{context}: an update without its other half: {kinds}"


def live(life: Life) -> NestedHarness:
    """Live a life; returns what was seen."""
    harness = NestedHarness(life.tables, life.threads)
    harness.live(life)
    return harness
