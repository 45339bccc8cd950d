"""Runs an engine and the oracle side by side and checks, after every commit, that they agree.

What is checked of every view: the sum of its deltas, its full enumeration and its count equal DuckDB's recomputation;
its delta is DuckDB's difference; look-ups give the rows that are there; subscribers saw the same delta; who follows
has the same rows; a snapshot still has those of its version some commits later; a bad commit raised the right error and
changed nothing; and every structure's `_check()` holds.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import livejoin
from change_kinds import assert_kinds
from livejoin import errors
from look_ups import check_look_ups
from oracle import Oracle, assert_same_rows, difference, multiset, signed_multiset
from scenario import Change, CommitSpec, QuerySpec, Row, Scenario, TableSpec, arrow_rows, batch, canonical_row

RESULT_LIMIT = 3000
EACH_VERSION = "LIVEJOIN_FUZZ" in os.environ
"""Whether rows are looked up at each version; a third of them takes a third of the time."""
SYNC = os.environ.get("LIVEJOIN_STAYS") or None
FORMS = ("arrow", "tuples", "dicts", "chunks", "log")
"""The ways of a commit into the database."""


@dataclass
class Watched:
    """A view of the engine, what its deltas add up to, and the deltas that its subscriber saw."""

    query: QuerySpec
    deltas: bool
    total: Counter[Row]
    seen: list[pa.Table] = field(default_factory=list)
    changes: livejoin.Changes | None = None
    followed: Counter[Row] = field(default_factory=Counter)
    stored: dict[Row, Row] = field(default_factory=dict)
    key: tuple[str, ...] | None = None
    pairs: tuple[str, ...] | None = None

    def follow(self, view: livejoin.View) -> None:
        """Follow the view from now on, each delta by itself or those that wait as one."""
        if self.deltas:
            keys = [key for key in view.keys if key]
            self.key = keys[0] if keys else tuple(view.schema.names) if view.keys else None
            waiting: Any = "merge" if len(view.name) % 2 else "each"
            self.pairs = view.keys[0] if view.keys else None
            self.changes = view.changes(waiting=waiting, paired=self.pairs is not None)

    def drained(self) -> Counter[Row]:
        """The rows that one who follows has, when all that waits is read."""
        assert self.changes is not None
        while True:
            try:
                update = self.changes.next(timeout=0)
            except TimeoutError:
                if self.key is not None:
                    assert_same_rows(Counter(self.stored.values()), self.followed, "what a store by key has")
                return self.followed
            assert update is not None
            if self.key is not None:
                self._store(update)
            if self.pairs is not None:
                assert_paired(update.delta, self.pairs)
            signed = signed_multiset(update.delta)
            self.followed = signed if update.reset else add(self.followed, signed)

    def _store(self, update: livejoin.Update) -> None:
        assert self.key is not None
        if update.reset:
            self.stored.clear()
        gone, puts = update.gone, update.puts
        keys = [canonical_row(row) for row in zip(*(column.to_pylist() for column in gone.columns), strict=True)]
        for key in keys:
            del self.stored[key]
        for row in puts.to_pylist():
            self.stored[canonical_row([row[name] for name in self.key])] = canonical_row(list(row.values()))


@dataclass
class Held:
    """A snapshot, and what DuckDB says of its version."""

    snapshot: livejoin.Snapshot
    views: dict[str, Counter[Row]]
    tables: dict[str, Counter[Row]]

    def check(self, may_fail: Collection[str]) -> None:
        """Views and tables are what they were; some views may be refused: those without deltas, and those dropped."""
        for name, expected in self.views.items():
            try:
                rows = self.snapshot[name].to_arrow()
            except errors.ReadError:
                assert name in may_fail
            else:
                assert_same_rows(rows, expected, f"{name} at version {self.snapshot.version}")
        for name, expected in self.tables.items():
            assert_same_rows(self.snapshot[name].to_arrow(), expected, f"{name} at version {self.snapshot.version}")
        self.snapshot.close()


def assert_paired(delta: pa.Table, key: tuple[str, ...]) -> None:
    """Fail if what goes and comes with one key in a version is not said to be an update, or anything else is."""
    kinds: dict[Row, list[str]] = {}
    for row in delta.to_pylist():
        place = canonical_row([row["_commit_version"], *(row[name] for name in key)])
        kinds.setdefault(place, []).append(row["_change_type"])
    for place, found in kinds.items():
        goes = [kind for kind in found if kind in ("delete", "update_preimage")]
        if len(goes) < len(found) and goes:
            assert sorted(found) == ["update_postimage", "update_preimage"], place


def assert_keyed(view: livejoin.View, rows: pa.Table, context: str, *within: str) -> None:
    """Fail if two rows agree on a key of a view, among those that agree on further columns."""
    for key in view.keys:
        lines = [rows[name].to_pylist() for name in (*key, *within)]
        values = [canonical_row(row) for row in zip(*lines, strict=True)] if lines else [()] * rows.num_rows
        double = [value for value, times in Counter(values).items() if times > 1]
        assert not double, f"{context} has several rows with the key {key} = {double[:3]}"


class Harness:
    """An engine with the tables of a scenario, and the oracle beside it.

    Args:
        tables: The tables.
        threads: The engine's threads.
        sync: Its database is in a folder, synchronised so, and is opened again before some commits; None if nothing of
            it stays. With ``LIVEJOIN_STAYS``, as in every second round of ``make fuzz``, all of them are in folders.
    """

    def __init__(self, tables: Sequence[TableSpec], threads: int = 1, sync: str | None = SYNC) -> None:
        self.tables = {t.name: t for t in tables}
        self.oracle = Oracle(tables)
        self.sync: Any = sync
        self.folder = None if sync is None else tempfile.TemporaryDirectory(prefix="livejoin ")
        if self.folder is None:
            self.database = livejoin.Database(threads=threads)
        else:
            self.database = livejoin.open(self.folder.name, threads=threads, sync=self.sync)
            vars(self.database)["folder of a test"] = self.folder  # which is there as long as the database is used
        self.watched: dict[str, Watched] = {}
        self.held: list[Held] = []
        self.stopped = False
        for table in tables:
            self.database.create_table(
                table.name,
                table.column_list,
                window_rows=table.window_rows,
                window_range=table.window_range,
                static=table.static,
            )

    def create_view(self, name: str, query: QuerySpec, deltas: bool = True, adaptive: bool = False) -> None:
        """Create a view over the tables as they are; its first result must be right at once."""
        view = self.database.create_view(name, query.sql, deltas=deltas, algorithm=query.algorithm, adaptive=adaptive)
        watched = Watched(query, deltas, multiset(view.to_arrow()))
        assert_same_rows(watched.total, self.oracle.result(query.plain), f"{name} when it was created")
        if deltas:
            view.subscribe(watched.seen.append)
            watched.follow(view)
        self.watched[name] = watched
        self.check()

    def too_large(self, changes: Sequence[Change]) -> bool:
        """Whether some view would have more rows after these changes than the tests care to compare."""
        after = self.oracle.copy()
        after.apply(changes)
        texts = [text for w in self.watched.values() for text in (w.query.joins or (w.query.plain,))]
        return any(after.count(text) > RESULT_LIMIT for text in texts)

    def grows_large(self, changes: Sequence[Change]) -> bool:
        """Whether that is so at any point on the way, change by change; then none of the later ones is run either."""
        self.stopped = self.stopped or any(self.too_large(changes[:end]) for end in range(1, len(changes) + 1))
        return self.stopped

    def run(self, commit: CommitSpec, form: str | None = None) -> None:
        """One commit, good or bad, with all checks; from the first that makes a result too large, none is run."""
        self.stopped = self.stopped or (commit.error is None and self.too_large(commit.changes))
        if self.stopped:
            return
        if commit.error is not None:
            self.refused(commit, form or "arrow")
        else:
            self.apply(commit.changes, form)

    def data(self, changes: Sequence[Change], form: str) -> dict[str, object]:
        """The changes as `Database.apply` takes them."""
        return {
            name: batch(table, mine, form)
            for name, table in self.tables.items()
            if (mine := [c for c in changes if c.table == name])
        }

    def apply(self, changes: Sequence[Change], form: str | None = None) -> None:
        """One good commit, in one of the forms in turn if none is given; in the form "log" it is a replay."""
        before = self.recomputed()
        version = self.database.version
        if self.folder is not None and version % 3 == 1:
            self.reopen()
        self.hold(before)
        form = form or FORMS[version % len(FORMS)]
        if form == "log":
            commit = self.database.replay(self.logs(changes), granularity="commit")
        else:
            commit = self.database.apply(self.data(changes, form))
        self.oracle.apply(changes)
        assert commit.version == version + 1 == self.database.version
        assert (commit.ignored, commit.changes) == (self.oracle.late, len(changes) - self.oracle.late)
        after = self.recomputed()
        for name, watched in self.watched.items():
            if not watched.deltas:
                with pytest.raises(errors.ReadError, match=name):
                    commit[name]
                continue
            delta = commit[name]
            self._check_shape(name, delta)
            assert set(delta["_commit_version"].to_pylist()) <= {commit.version}
            signed = signed_multiset(delta)
            assert_same_rows(signed, difference(after[name], before[name]), f"delta of {name}")
            self._check_kinds(watched, delta, before[name], after[name], f"delta of {name}")
            watched.total = add(watched.total, signed)
            assert_same_rows(self._taken(watched), signed, f"delta of {name} that its subscriber saw")
        assert set(commit.views) == {name for name, w in self.watched.items() if w.deltas}
        self.check()

    def logs(self, changes: Sequence[Change], order: Sequence[int] | None = None, gap: int = 1) -> dict[str, object]:
        """The changes as `Database.replay` takes them, the rows of the logs in the given order."""
        order = list(range(len(changes))) if order is None else order
        logs: dict[str, object] = {}
        for name, table in self.tables.items():
            mine = [i for i in order if changes[i].table == name]
            if mine:
                logs[name] = arrow_rows(table, [changes[i] for i in mine], [100 + gap * i for i in mine])
        return logs

    def replay(self, changes: Sequence[Change], order: Sequence[int] | None = None, gap: int = 1) -> None:
        """Changes one by one, in order; `order` permutes the rows of the logs, which `_seq` puts right."""
        steps = self._steps(changes)
        self.hold(steps[0])
        logs = self.logs(changes, order, gap)
        version = self.database.version
        commit = self.database.replay(logs, granularity="change")
        self.oracle.apply_each(changes)
        assert commit.version == version + len(changes) == self.database.version
        assert (commit.ignored, commit.changes) == (self.oracle.late, len(changes) - self.oracle.late)
        for name, watched in self.watched.items():
            if not watched.deltas:
                continue
            delta = commit[name]
            self._check_shape(name, delta)
            versions = delta["_commit_version"].to_pylist()
            assert versions == sorted(versions)
            assert set(versions) <= set(range(version + 1, commit.version + 1))
            for number in range(len(changes)):
                mask = pa.array([v == version + 1 + number for v in versions], pa.bool_())
                one = delta.filter(mask)
                expected = difference(steps[number + 1][name], steps[number][name])
                context = f"delta of {name} for change {number}, {changes[number]}"
                assert_same_rows(signed_multiset(one), expected, context)
                self._check_kinds(watched, one, steps[number][name], steps[number + 1][name], context)
            signed = signed_multiset(delta)
            watched.total = add(watched.total, signed)
            assert_same_rows(self._taken(watched), signed, f"deltas of {name} that its subscriber saw")
        self.check()

    def apply_ignoring(self, changes: Sequence[Change], granularity: str) -> None:
        """Changes of which some are conflicts, which are skipped and counted."""
        before = self.recomputed()
        if granularity == "commit":
            ignored = self.oracle.apply_ignoring(changes)
            commit = self.database.apply(self.data(changes, "arrow"), on_conflict="ignore")
        else:
            ignored = sum(self.oracle.apply_ignoring([change]) for change in changes)
            commit = self.database.replay(self.logs(changes), granularity="change", on_conflict="ignore")
        assert (commit.ignored, commit.changes) == (ignored, len(changes) - ignored)
        after = self.recomputed()
        for name, watched in self.watched.items():
            if watched.deltas:
                signed = signed_multiset(commit[name])
                assert_same_rows(signed, difference(after[name], before[name]), f"delta of {name}")
                watched.total = add(watched.total, signed)
                watched.seen.clear()
        self.check()

    def refused(self, commit: CommitSpec, form: str = "arrow") -> None:
        """One bad commit: it must raise its error and change nothing."""
        assert commit.error is not None
        version = self.database.version
        with pytest.raises(getattr(errors, commit.error)):
            self.database.apply(self.data(commit.changes, form))
        assert self.database.version == version
        self.unchanged()

    def unchanged(self) -> None:
        """Nothing reached a subscriber, and all results are what they were."""
        assert not any(w.seen for w in self.watched.values())
        self.check()

    def reload(self, threads: int | None = None) -> None:
        """Save the database, load it elsewhere, with another number of threads if given, and go on with it.

        At even versions the states of the views are trusted, at others the views are loaded from the tables.
        """
        with tempfile.TemporaryDirectory() as folder:
            self.database.save(folder, extra={"batch_id": 7})
            self.database = livejoin.Database.load(
                folder, threads=threads or self.database.threads, trusted=self.database.version % 2 == 0
            )
        self.folder = None
        assert self.database.extra == {"batch_id": 7}
        for name, watched in self.watched.items():
            if watched.deltas:
                self.database.views[name].subscribe(watched.seen.append)
                watched.follow(self.database.views[name])
        self.held.clear()
        self.check()

    def reopen(self, threads: int | None = None) -> None:
        """Go on with what is in the folder: of the database that was closed, or at even versions of one that was not.

        What a process has written is there whatever becomes of it, so that a copy of the files is what a kill leaves.
        """
        assert self.folder is not None
        there, before = self.folder, self.database
        if before.version % 2 == 0:
            self.folder = tempfile.TemporaryDirectory(prefix="livejoin ")
            shutil.copytree(there.name, self.folder.name, dirs_exist_ok=True)
        before.close()
        self.database = livejoin.open(self.folder.name, threads=threads or before.threads, sync=self.sync)
        assert self.database.version == before.version
        for name, watched in self.watched.items():
            if watched.deltas:
                self.database.views[name].subscribe(watched.seen.append)
                watched.follow(self.database.views[name])
        self.held.clear()
        self.check()

    def hold(self, views: dict[str, Counter[Row]]) -> None:
        """Keep two versions of every three; check them two commits later, the newer one first."""
        if self.database.version % 3 == 2 or not self.watched:
            while self.held:
                held = self.held.pop()
                held.check({n for n in held.views if n not in self.watched or not self.watched[n].deltas})
        else:
            tables = {name: multiset(self.oracle.rows[name]) for name in self.tables}
            self.held.append(Held(self.database.snapshot(), views, tables))

    def recomputed(self) -> dict[str, Counter[Row]]:
        """Every view, recomputed by DuckDB."""
        return {name: multiset(self.oracle.result(w.query.plain)) for name, w in self.watched.items()}

    def check(self) -> None:
        """Every view's sum of deltas, full enumeration and count equal DuckDB's result; all invariants hold."""
        self.database._check()
        for name, watched in self.watched.items():
            view = self.database.views[name]
            expected = multiset(self.oracle.result(watched.query.plain))
            result = view.to_arrow()
            assert_keyed(view, result, f"the result of {name}")
            assert result.schema.equals(view.schema)
            assert_same_rows(result, expected, name)
            assert view.count() == result.num_rows
            if EACH_VERSION or self.database.version % 3 == 1:
                check_look_ups(view, result)
            if watched.deltas:
                assert_same_rows(watched.total, expected, f"sum of the deltas of {name}")
                assert_same_rows(watched.drained(), expected, f"what one who follows {name} has")

    def _check_kinds(
        self, watched: Watched, delta: pa.Table, before: Counter[Row], after: Counter[Row], context: str
    ) -> None:
        """The change types of a delta of one version are what the query's rows allow."""
        assert_kinds(delta, watched.query, before, after, context)

    def _check_shape(self, name: str, delta: pa.Table) -> None:
        view = self.database.views[name]
        schema = view.schema
        assert json.loads(delta.schema.metadata[b"livejoin.keys"]) == [list(key) for key in view.keys]
        goes = pc.is_in(delta["_change_type"], pa.array(["delete", "update_preimage"]))
        for side, chosen in (("goes", goes), ("comes", pc.invert(goes))):
            assert_keyed(view, delta.filter(chosen), f"what {side} in a delta of {name}", "_commit_version")
        assert delta.column_names == [*schema.names, "_change_type", "_commit_version"]
        assert delta.select(schema.names).schema.equals(schema)
        assert delta.schema.field("_change_type").type == pa.string()
        assert delta.schema.field("_commit_version").type == pa.int64()

    def _steps(self, changes: Sequence[Change]) -> list[dict[str, Counter[Row]]]:
        """Every view before the first and after each change, recomputed."""
        now = self.oracle.copy()
        steps = []
        for change in [None, *changes]:
            if change is not None:
                now.apply([change])
            steps.append({name: multiset(now.result(w.query.plain)) for name, w in self.watched.items()})
        return steps

    @staticmethod
    def _taken(watched: Watched) -> Counter[Row]:
        total: Counter[Row] = Counter()
        for delta in watched.seen:
            total = add(total, signed_multiset(delta))
        watched.seen.clear()
        return total


def add(left: Counter[Row], right: Counter[Row]) -> Counter[Row]:
    """Sum of two signed multisets."""
    total = Counter(left)
    total.update(right)
    return Counter({row: count for row, count in total.items() if count})


def run_all(scenario: Scenario, deltas: bool = True) -> Harness:
    """All commits of a scenario over views that exist from the start."""
    harness = Harness(scenario.tables)
    for number, query in enumerate(scenario.queries):
        harness.create_view(f"v{number}", query, deltas=deltas)
    for commit, form in zip(scenario.commits, scenario.forms, strict=True):
        harness.run(commit, form)
    return harness
