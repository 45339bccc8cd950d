"""Commits so large that each kernel is called several times, cut off behind any one of these calls.

Law: the commit stands or does not, as the version says; the next call of any kind finishes it or undoes it; invariants
hold, and the view is DuckDB's over the rows that the table then has.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import livejoin
from livejoin.dataflow.stores import aggregate, set_operation, top_k
from livejoin.kernels.memory import free, layout
from livejoin.kernels.relation import derived_rows, rows, settling, stage_changes, stage_commit, staging
from livejoin.state import arena
from oracle import connect

ROWS = staging.AT_ONCE + 5000  # two pieces of a table's kernels
FEWER = 2 * layout.AT_ONCE + 5000  # three pieces of all others
OF_TABLES = (settling, rows, stage_changes, stage_commit)
COUNTED = "SELECT v, COUNT(*) AS n FROM A GROUP BY v"


class CutOffError(Exception):
    """What is raised behind a call."""


class Behind:
    """A kernel behind whose calls an exception comes once.

    Args:
        kernel: The kernel.
        at: Behind which call, from 1; none where it is 0.

    Attributes:
        calls: How many there were.
    """

    def __init__(self, kernel: Callable[..., Any], at: int) -> None:
        self.calls = 0
        self._kernel = kernel
        self._at = at

    def __call__(self, *arguments: Any) -> Any:
        found = self._kernel(*arguments)
        self.calls += 1
        if self.calls == self._at:
            raise CutOffError
        return found


@dataclass(frozen=True)
class Case:
    """A kernel, and a large commit of table A (k, v) that calls it.

    Args:
        module: Where the kernel is.
        kernel: Its name.
        deletes: Whether the commit deletes the rows that another one has brought.
        sql: The view.
        key: A key of A, as SQL.
        options: How A is declared otherwise.
        granularity: That of the commit.
        is_refused: Whether the commit ends with a row that is not there.
        leaps: Whether the commit's rows come so late that all others leave the window.
        rows: How many rows it has.
    """

    module: ModuleType
    kernel: str
    deletes: bool = False
    sql: str = COUNTED
    key: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    granularity: Any = "commit"
    is_refused: bool = False
    leaps: bool = False
    rows: int = ROWS


KEYED: Mapping[str, Any] = {"key": ", PRIMARY KEY (k)"}
UNIQUE: Mapping[str, Any] = {"key": ", UNIQUE (k)"}
FIRST = "SELECT k, v FROM A ORDER BY v, k LIMIT 9"
STORED = "SELECT D.k AS k, B.v AS w FROM (SELECT DISTINCT k, v FROM A) D JOIN B ON D.k = B.k"
EXCEPT = "SELECT k FROM A EXCEPT SELECT k FROM B"
CASES = {
    "net events": Case(settling, "net_events"),
    "rows that came are finished": Case(settling, "finish_commit"),
    "rows that went are finished": Case(settling, "finish_commit", deletes=True),
    "rows that were undone are finished": Case(settling, "finish_commit", is_refused=True),
    "undo": Case(settling, "undo", is_refused=True),
    "undo of deletions": Case(settling, "undo", deletes=True, is_refused=True),
    "undo with keys": Case(settling, "undo", **KEYED, is_refused=True),
    "undo with keys of deletions": Case(settling, "undo", deletes=True, **KEYED, is_refused=True),
    "undo of a window": Case(settling, "undo", options={"window_rows": ROWS}, is_refused=True, leaps=True),
    "undo of a range": Case(settling, "undo", options={"window_range": ("k", ROWS)}, is_refused=True, leaps=True),
    "keys": Case(stage_commit, "stage_commit", **KEYED),
    "keys of deletions": Case(stage_commit, "stage_commit", deletes=True, **KEYED),
    "UNIQUE": Case(stage_commit, "stage_commit", **UNIQUE),
    "UNIQUE of deletions": Case(stage_commit, "stage_commit", deletes=True, **UNIQUE),
    "undo with UNIQUE": Case(settling, "undo", **UNIQUE, is_refused=True),
    "a window": Case(stage_commit, "stage_commit", **KEYED, options={"window_rows": ROWS}, leaps=True),
    "a range": Case(stage_commit, "stage_commit", **KEYED, options={"window_range": ("k", ROWS)}, leaps=True),
    "changes of a range": Case(
        stage_changes,
        "stage_changes",
        **KEYED,
        options={"window_range": ("k", ROWS)},
        granularity="change",
        leaps=True,
    ),
    "an index of rows": Case(rows, "rehash", leaps=True),
    "a directory": Case(arena, "move_slots", sql="SELECT k, COUNT(*) AS n FROM A GROUP BY k"),
    "free blocks": Case(free, "free_words", deletes=True, sql="SELECT DISTINCT k FROM A", rows=FEWER),
    "groups": Case(aggregate.kernel, "maintain", sql="SELECT k, MAX(v) AS m FROM A GROUP BY k", rows=FEWER),
    "the first rows": Case(top_k.kernel, "maintain", sql=FIRST, rows=FEWER),
    "the first rows leave": Case(top_k.kernel, "maintain", deletes=True, sql=FIRST, rows=FEWER),
    "a set operation": Case(set_operation.kernel, "apply", sql=EXCEPT, rows=FEWER),
    "a set operation of deletions": Case(set_operation.kernel, "apply", deletes=True, sql=EXCEPT, rows=FEWER),
    "stored rows": Case(derived_rows, "apply", sql=STORED, rows=FEWER),
    "stored rows leave": Case(derived_rows, "apply", deletes=True, sql=STORED, rows=FEWER),
    "stored rows are finished": Case(derived_rows, "finish", deletes=True, sql=STORED, rows=FEWER),
}


def given(first: int, count: int) -> pa.Table:
    keys = np.arange(first, first + count)
    return pa.table({"k": keys, "v": keys * 7 % 1000})


class Large:
    """A database with the view of a case, and the rows of A beside it.

    Args:
        case: The case.
    """

    def __init__(self, case: Case) -> None:
        self._case = case
        self.db = livejoin.Database()
        self.db.create_table("A", "k BIGINT, v BIGINT" + case.key, **case.options)
        self.db.create_table("B", "k BIGINT, v BIGINT")
        self.view = self.db.create_view("v", case.sql)
        self.rows = given(0, case.rows if case.deletes or case.leaps else 100)
        self.db.apply({"A": self.rows, "B": given(50, 100)})

    def commit(self) -> None:
        """The large commit."""
        changes, _ = self._changes()
        if self._case.is_refused:
            refused = {"k": [-1], "v": [-1], "_change_type": ["delete"]}
            with pytest.raises(livejoin.AbsentRowError):
                self.db.apply("A", pa.concat_tables([changes, pa.table(refused, schema=changes.schema)]))
        elif self._case.granularity == "change":
            sequence = pa.array(np.arange(changes.num_rows))
            self.db.replay({"A": changes.append_column("_seq", sequence)}, granularity="change")
        else:
            self.db.apply("A", changes)

    def settle(self, version: int) -> None:
        """Note what the table has, as the version says, and make the call that brings the commit to its end."""
        stands = self.db.version != version
        assert not (stands and self._case.is_refused)
        if stands:
            self.rows = self._changes()[1]
        assert self.db.stats()["tables"]["A"]["rows"] == self.rows.num_rows

    def check(self) -> None:
        """Invariants hold, of what the kernel changes, and the view is what DuckDB says it is."""
        if self._case.module in OF_TABLES:
            self.db._contents.tables["a"]._check()
        else:
            self.db._check()
        expected = f"({self._case.sql})"
        with connect() as duck:
            duck.register("A", self.rows)
            duck.register("B", given(50, 100))
            duck.register("found", self.view.to_arrow())
            for one, other in (("(FROM found)", expected), (expected, "(FROM found)")):
                differ = duck.execute(f"SELECT COUNT(*) FROM ({one} EXCEPT ALL {other})").fetchone()
                assert differ == (0,)

    def go_on(self) -> None:
        """Commits after it: the table takes rows, and lets some go."""
        change = given(20 * ROWS, 1000)
        self.db.apply("A", change)
        gone, kept = change.slice(500), pa.concat_tables([self.rows, change])
        if "window_rows" in self._case.options:
            kept = kept.slice(max(0, kept.num_rows - ROWS))
        elif "window_range" in self._case.options:
            kept = kept.filter(pc.greater(kept["k"], 20 * ROWS + 999 - ROWS))
        self.db.apply("A", gone.append_column("_change_type", pa.array(["delete"] * gone.num_rows)))
        self.rows = kept.slice(0, kept.num_rows - gone.num_rows)

    def _changes(self) -> tuple[pa.Table, pa.Table]:
        """The changes of the large commit, and the rows of A behind it."""
        if self._case.deletes:
            given_rows, after, kind = self.rows, self.rows.slice(0, 0), "delete"
        else:
            given_rows, kind = given(10 * ROWS if self._case.leaps else 200, self._case.rows), "insert"
            after = given_rows if self._case.options else pa.concat_tables([self.rows, given_rows])
        return given_rows.append_column("_change_type", pa.array([kind] * given_rows.num_rows)), after


def calls(name: str) -> int:
    """How often the large commit of a case, and the call behind it, call its kernel."""
    case = CASES[name]
    large, behind = Large(case), Behind(getattr(case.module, case.kernel), 0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(case.module, case.kernel, behind)
        large.commit()
        large.db.stats()
    return behind.calls


def cut(name: str, at: int) -> tuple[int, bool]:
    """Cut the large commit of a case off behind a call of its kernel, and assert the law.

    Returns:
        The calls of the kernel, and whether the commit stands.
    """
    case = CASES[name]
    large = Large(case)
    version = large.db.version
    behind = Behind(getattr(case.module, case.kernel), at)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(case.module, case.kernel, behind)
        for call in (large.commit, large.db.stats):
            with suppress(CutOffError):
                call()
    stands = large.db.version != version
    large.settle(version)
    large.check()
    large.go_on()
    large.check()
    return behind.calls, stands
