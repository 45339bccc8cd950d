"""Changes that columns and expressions refuse are left out of all cells, the same ones as one engine leaves out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import livejoin
from driven_cells import LocalSteps, Memories
from livejoin.checkpoint.incoming.settled import settled
from livejoin.checkpoint.job import job_of
from livejoin.checkpoint.policy import Policy
from livejoin.database.refusals import Refusal, refused_changes, without
from livejoin.distributed import Declared, Manifests
from livejoin.distributed.bad_rows import refuse_null
from livejoin.distributed.driver import Committed, commit, read_delta, read_letters
from livejoin.errors import ChangeFormatError, ChangeValueError, ExpressionError
from livejoin.plan.dispatch import TableSample, sampled
from livejoin.plan.stages import Everywhere
from livejoin.sql import parse_columns
from oracle import signed_multiset, without_zeros
from scenario import Row
from strategies import IS_FUZZ

COLUMNS = {
    "T": "a BIGINT, b BIGINT, c VARCHAR(3)",
    "P": "k BIGINT, v BIGINT NOT NULL, PRIMARY KEY (k)",
    "D": "k BIGINT, v BIGINT, PRIMARY KEY (k)",
}
VIEWS = {
    "rows": "SELECT 10 / b AS q, c FROM T WHERE a < 5",
    "pairs": "SELECT x.a AS a, 10 / (x.b + y.a - 4) AS q FROM T x JOIN T y ON x.b = y.a",
    "joined": "SELECT T.c AS c, 10 / (P.v - T.b) AS q FROM T JOIN P ON T.a = P.k",
    "groups": "SELECT a, 10 / (SUM(b) - 11) AS q FROM T GROUP BY a",
    "all": "SELECT COUNT(*) AS n, 10 / (COUNT(*) - 40) AS q FROM T",
}


class Both:
    """Cells and an engine in one process that leave out what cannot be applied.

    Args:
        path: The checkpoint.
        policy: What becomes of such changes.
        views: The views.
        options: What else is said of tables.
    """

    def __init__(
        self,
        path: Path,
        policy: Policy,
        views: dict[str, str] = VIEWS,
        options: Mapping[str, Mapping[str, Any]] = {},
    ) -> None:
        self.policy, self.dice, self.memories, self.path, self.views = policy, Random(5), Memories(), path, views
        self.whole = livejoin.Database()
        for name, text in COLUMNS.items():
            self.whole.create_table(name, text, **options.get(name, {}))
        self.tables = {table.name: table for table in self.whole._contents.catalog}
        for name, sql in views.items():
            self.whole.create_view(name, sql)
        self.told: dict[str, Counter[Row]] = {name: Counter() for name in views}
        self.tries, self.left_out = 0, (0, 0)
        self.samples: dict[str, TableSample] = {}
        self.start()

    def start(self) -> None:
        """Begin, or begin again."""
        job = job_of(self.tables, self.views, frozenset(), keep_all=True)
        self.manifests = Manifests(self.path)
        self.declared = Declared(self.path, job, 3, last=self.manifests.last)

    def apply(self, changes: dict[str, pa.Table]) -> Committed:
        """A batch in cells."""
        steps = LocalSteps(self.dice, self.memories, changes, None, self.samples, list(self.tables.values()))
        last = self.manifests.last
        number = 0 if last is None else last.batch_id + 1
        done = commit(self.declared, self.manifests, "difference", number, steps, self.policy)
        for view in self.views:
            delta = read_delta(self.declared, self.manifests, done.manifest, view)
            self.told[view].update(signed_multiset(delta.drop_columns(["_commit_version"])))
        self.manifests.finish(number, [])
        self.tries = steps.tries
        return done

    def expected(self, changes: dict[str, pa.Table]) -> list[tuple[Any, ...]]:
        """A batch in the engine: what it left out, each with the reason."""
        found_of = {name: settled(self.whole, self.tables[name], rows) for name, rows in changes.items()}
        unread: list[Refusal] = [one for found in found_of.values() for one in found.refused]
        rest = {name: found.changes for name, found in found_of.items()}
        refused: list[Refusal] = refused_changes(self.whole, rest, "update", lambda _: True)
        left = without(rest, refused)
        if left:
            commit = self.whole.apply(left, on_conflict="update" if "P" in left else "error")
            self.left_out = (commit.ignored, commit.late)
        return [
            (one.table, *came[one.table].slice(one.row, 1).to_pylist()[0].values(), one.reason)
            for came, some in ((changes, unread), (rest, refused))
            for one in some
        ]


def batch(dice: Random) -> dict[str, pa.Table]:
    """Changes of which some are refused."""
    rows = [
        (
            dice.choice([None, *range(7)]),
            dice.choice([None, *range(7)]),
            dice.choice(["x", "yy", "zzz"] * 7 + ["long"]),
            dice.choice(["insert"] * 12 + ["delete"] * 4 + ["remove", None]),
        )
        for _ in range(14)
    ]
    people = [
        (dice.choice([*range(9), *range(9), None]), dice.randrange(9), dice.choice(["upsert", "upsert", "delete"]))
        for _ in range(5)
    ]
    texts = {"c": pa.string(), "_change_type": pa.string()}

    def table(names: list[str], some: list[tuple[Any, ...]]) -> pa.Table:
        columns = zip(names, zip(*some, strict=True), strict=True)
        return pa.table({name: pa.array(list(column), texts.get(name, pa.int64())) for name, column in columns})

    return {"T": table(["a", "b", "c", "_change_type"], rows), "P": table(["k", "v", "_change_type"], people)}


def test_the_same_changes_are_left_out_as_by_one_engine(tmp_path: Path) -> None:
    both, dice = Both(tmp_path, Policy("dead_letter", "dead_letter")), Random(7)
    reasons, ignored = Counter[str](), 0
    for number in range(6 if IS_FUZZ else 3):
        changes = batch(dice)
        done, expected = both.apply(changes), both.expected(changes)
        letters = read_letters(both.declared, both.manifests, done.manifest)
        found = [(name, *row.values()) for name, rows in letters.items() for row in rows.to_pylist()]
        assert Counter(one[:-1] for one in found) == Counter(one[:-1] for one in expected), number
        assert done.refused == dict(Counter(one[0] for one in expected))
        assert (sum(done.ignored.values()), done.late) == both.left_out
        ignored += sum(done.ignored.values())
        reasons.update(one[-1].partition(": ")[0] for one in found)
        for view, told in both.told.items():
            held = Counter(tuple(row.values()) for row in both.whole.views[view].to_arrow().to_pylist())
            assert without_zeros(told) == held, (view, number)
        if number == 1:
            both.memories.clear()
            both.start()
    views = {reason for reason in reasons if reason.startswith("view")}
    assert {"view 'rows'", "view 'pairs'", "view 'joined'", "view 'groups'"} <= views, reasons
    assert {"_change_type is 'remove'", "_change_type is NULL"} <= {reason.partition(";")[0] for reason in reasons}
    assert not any("#" in reason for reason in reasons), reasons
    assert ignored
    assert not list(tmp_path.glob("*.parts")), "they go with their batch"


@pytest.mark.parametrize("view", ["SELECT T.c FROM T JOIN P ON T.a = P.k", "SELECT P.v FROM D JOIN P ON D.v = P.k"])
def test_what_is_late_is_counted_once(tmp_path: Path, view: str) -> None:
    """Where a join brings rows to several cells, one cell owns them, and each cell has all of them."""
    options: dict[str, Any] = {"P": {"sequence_by": "v"}, "T": {"window_range": ("a", 3)}}
    both, dice, late, ignored = Both(tmp_path, Policy(), {"view": view}, options), Random(3), 0, 0
    both.samples = {
        name.lower(): sampled(table, table.arrow.empty_table(), total=10_000 if name == "D" else 100)
        for name, table in both.tables.items()
    }
    for _ in range(3):
        times = pa.array([dice.randrange(9) for _ in range(6)])
        changes = {
            "T": pa.table({"a": times, "b": times, "c": ["x"] * 6, "_change_type": ["insert"] * 6}),
            "P": pa.table({"k": pa.array([dice.randrange(3) for _ in range(6)]), "v": times}),
        }
        changes["P"] = changes["P"].append_column("_change_type", pa.array(["upsert"] * 6))
        done, refused = both.apply(changes), both.expected(changes)
        assert not refused
        assert (sum(done.ignored.values()), done.late) == both.left_out
        assert done.applied == 12 - sum(both.left_out)
        late, ignored = late + done.late, ignored + sum(done.ignored.values())
    assert late
    assert ignored
    route = both.declared.plan.staged.homes["p"][0].route
    assert isinstance(route, Everywhere) is ("D" in view)
    lines = "\n".join(both.declared.lines())
    way = "by a, b, c" if "D" in view else "as T by HyperCube"
    assert f"T {way}, and their newest time to every cell" in lines


def test_a_batch_that_can_be_applied_is_not_tried(tmp_path: Path) -> None:
    both = Both(tmp_path, Policy(on_bad_rows="skip"), {"rows": VIEWS["rows"]})
    good = pa.table({"a": [1, 2], "b": [1, 2], "c": ["x", "y"]})
    good = good.append_column("_change_type", pa.array(["insert", "insert"]))
    assert both.apply({"T": good}).refused == {}
    assert both.tries == 0
    bad = good.set_column(1, "b", pa.array([0, 5]))
    done = both.apply({"T": bad})
    assert (done.by(both.policy, "skip"), done.by(both.policy, "dead_letter")) == ({"T": 1}, {})
    assert not done.manifest.letters
    assert both.tries == 3


def test_what_ends_a_query_all_the_same(tmp_path: Path) -> None:
    changes = pa.table({"a": [1] * 4, "b": [0] * 4, "c": ["x"] * 4, "_change_type": ["insert"] * 4})
    both = Both(tmp_path, Policy(on_conflict="skip"), {"rows": VIEWS["rows"]})
    with pytest.raises(ExpressionError, match=r"^view 'rows': "):
        both.apply({"T": changes})
    both.policy = Policy(on_bad_rows="skip", most=2)
    with pytest.raises(ExpressionError) as failure:
        both.apply({"T": changes})
    assert "it is one of more than 2 changes of this batch that are refused" in failure.value.__notes__
    long = changes.set_column(2, "c", pa.array(["four"] * 4)).set_column(1, "b", pa.array([1] * 4))
    with pytest.raises(ChangeValueError) as refused:
        both.apply({"T": long})
    assert "it is one of more than 2 changes of this batch that are refused" in refused.value.__notes__
    assert both.manifests.last is None


def test_texts_that_are_no_rows(tmp_path: Path) -> None:
    """They are left out of all cells; a conflict of the same batch is told of beside them."""
    both = Both(tmp_path, Policy("dead_letter", "dead_letter"), {"rows": VIEWS["rows"]})
    rows = pa.table({"a": [1, None, 3, 4], "b": [1, None, 1, 1], "c": ["x", None, "y", "z"]})
    rows = rows.append_column("_change_type", pa.array(["insert", None, "delete", "remove"]))
    rows = rows.append_column("_corrupt_record", pa.array([None, '{"a": 2', None, None]))
    done = both.apply({"T": rows})
    letters = read_letters(both.declared, both.manifests, done.manifest)["T"].to_pylist()
    assert done.refused == {"T": 3}
    assert both.told["rows"] == Counter({(10.0, "x"): 1})
    why = {row["_corrupt_record"] or row["_change_type"]: row["_reason"][:20] for row in letters}
    assert why == {'{"a": 2': "what came is no row ", "delete": why["delete"], "remove": "_change_type is 'remo"[:20]}
    assert "not in the table" in next(row["_reason"] for row in letters if row["_change_type"] == "delete")
    both.policy = Policy()
    with pytest.raises(ChangeFormatError, match=r"^table 'T': what came is no row of the table: ") as caught:
        both.apply({"T": rows})
    assert caught.value.__notes__ == ["the change is _corrupt_record = '{\"a\": 2'"]


def test_null_that_a_table_refuses_goes_nowhere() -> None:
    table = parse_columns("P", COLUMNS["P"])
    rows = pa.table({"k": [1, 2], "v": [None, 3], "_change_type": ["delete", "insert"]})
    refuse_null(table, rows)
    with pytest.raises(ChangeValueError, match=r"^table 'P': .*NULL"):
        refuse_null(table, rows.set_column(2, "_change_type", pa.array(["upsert", "insert"])))
