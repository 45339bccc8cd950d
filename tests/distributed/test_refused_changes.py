"""Changes that conflict are left out in all cells alike, and told of once."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest

import livejoin
from driven_cells import LocalSteps, Memories
from livejoin.checkpoint.job import job_of
from livejoin.checkpoint.policy import Policy
from livejoin.distributed import Declared, Manifests
from livejoin.distributed.driver import commit, read_delta, read_letters
from livejoin.errors import AbsentRowError, LivejoinError
from livejoin.sql import parse_columns
from oracle import signed_multiset, without_zeros
from scenario import Row

COLUMNS = {"T": "a BIGINT, b BIGINT", "U": "k BIGINT UNIQUE, v BIGINT"}
VIEWS = {
    "hops": "SELECT x.a AS a, y.b AS b FROM T x JOIN T y ON x.b = y.a",
    "counts": "SELECT a, COUNT(*) AS n FROM T GROUP BY a",
    "joined": "SELECT T.b AS b, U.v AS v FROM T JOIN U ON T.a = U.k",
}


class Refusing:
    """Cells over tables of which changes conflict, and a database that ignores these.

    Args:
        path: The checkpoint.
        policy: What becomes of changes that conflict.
    """

    def __init__(self, path: Path, policy: Policy) -> None:
        self.policy, self.dice, self.memories = policy, Random(5), Memories()
        self.tables = {name: parse_columns(name, text) for name, text in COLUMNS.items()}
        self.manifests = Manifests(path)
        self.declared = Declared(path, job_of(self.tables, VIEWS, frozenset(), keep_all=True), 3)
        self.whole = livejoin.Database()
        for table in self.tables.values():
            self.whole._contents.add_table(table)
        for name, sql in VIEWS.items():
            self.whole.create_view(name, sql)
        self.told: dict[str, Counter[Row]] = {name: Counter() for name in VIEWS}
        self.letters: list[tuple[str, tuple[object, ...]]] = []

    def apply(self, changes: dict[str, pa.Table]) -> dict[str, int]:
        """A batch; how many changes of it were left out."""
        steps = LocalSteps(self.dice, self.memories, changes)
        last = self.manifests.last
        number = 0 if last is None else last.batch_id + 1
        done = commit(self.declared, self.manifests, "difference", number, steps, self.policy)
        for name, rows in read_letters(self.declared, self.manifests, done.manifest).items():
            self.letters += [(name, tuple(row.values())) for row in rows.to_pylist()]
        for view in VIEWS:
            delta = read_delta(self.declared, self.manifests, done.manifest, view)
            self.told[view].update(signed_multiset(delta.drop_columns(["_commit_version"])))
        self.manifests.finish(number, [])
        return done.refused


def changes(names: str, rows: list[tuple[object, ...]]) -> pa.Table:
    """Rows of two columns with their kinds."""
    columns = list(zip(*rows, strict=True))
    numbers = [pa.array(list(column), pa.int64()) for column in columns[:2]]
    return pa.table([*numbers, pa.array(list(columns[2]))], names=[*names, "_change_type"])


def test_what_conflicts_is_left_out_everywhere(tmp_path: Path) -> None:
    refusing = Refusing(tmp_path, Policy(on_conflict="dead_letter"))
    dice, expected = Random(9), 0
    for _ in range(8):
        some = [
            (dice.choice([None, 0, 1, 2]), dice.choice([None, 0, 1, 2]), dice.choice(["insert", "insert", "delete"]))
            for _ in range(8)
        ]
        unique = [(dice.randrange(5), dice.randrange(3), "insert") for _ in range(2)]
        batch = {"T": changes("ab", some), "U": changes("kv", unique)}
        refused = refusing.apply(batch)
        ignored = refusing.whole.apply(batch, on_conflict="ignore").ignored
        expected += ignored
        assert sum(refused.values()) == ignored
        for view, told in refusing.told.items():
            held = Counter(tuple(row.values()) for row in refusing.whole.views[view].to_arrow().to_pylist())
            assert without_zeros(told) == held, view
    assert len(refusing.letters) == expected > 10
    assert {name for name, _ in refusing.letters} == {"T", "U"}
    assert all(
        row[2] == "delete" and "which is not in the table" in row[3] for name, row in refusing.letters if name == "T"
    )


def test_a_conflict_that_ends_the_query_names_the_table(tmp_path: Path) -> None:
    refusing = Refusing(tmp_path, Policy())
    refusing.apply({"T": changes("ab", [(1, 2, "insert")])})
    with pytest.raises(AbsentRowError, match=r"^table 'T': the change deletes the row \(a = 7, b = NULL\)"):
        refusing.apply({"T": changes("ab", [(7, None, "delete")])})


def test_too_many_conflicts(tmp_path: Path) -> None:
    refusing = Refusing(tmp_path, Policy(on_conflict="skip", most=4))
    gone: list[tuple[object, ...]] = [(n, n, "delete") for n in range(6)]
    with pytest.raises(LivejoinError, match=r"6 changes of this batch cannot be applied \(6 of table 'T'\), .*is 4"):
        refusing.apply({"T": changes("ab", gone)})
    assert refusing.manifests.last is None
    assert refusing.apply({"T": changes("ab", gone[:4])}) == {"T": 4}
    assert not refusing.letters
