"""``create_view(algorithm=)``: every algorithm gives the same answers, is kept in snapshots and named by explain."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import livejoin
from any_join import ANY_JOIN
from livejoin.errors import SchemaError
from strategies import FUZZ

QUERIES = {
    "hop3": (
        "SELECT A.src a, B.src b, C.dst c FROM G A JOIN G B ON A.dst = B.src JOIN G C ON B.dst = C.src "
        "WHERE C.dst % 2 = 0"
    ),
    "distinct": "SELECT DISTINCT B.dst FROM G A JOIN G B ON A.dst = B.src",
    "ends": "SELECT DISTINCT A.src, B.dst FROM G A JOIN G B ON A.dst = B.src",
    "sums": "SELECT A.src, COUNT(*) n, SUM(B.dst) s, AVG(A.dst) v FROM G A JOIN G B ON A.dst = B.src GROUP BY A.src",
    "most": "SELECT A.src, B.dst, COUNT(*) n, MAX(A.dst) m FROM G A, G B WHERE A.dst = B.src GROUP BY A.src, B.dst",
    "all": "SELECT COUNT(*) n, SUM(P.weight) w FROM G, P WHERE G.dst = P.id",
    "keyed": "SELECT src, weight FROM G JOIN P ON dst = id WHERE weight > 0 EXCEPT SELECT dst, src FROM G",
    "triangle": "SELECT A.src x, A.dst y, B.dst z FROM G A, G B, G C WHERE A.dst=B.src AND B.dst=C.src AND C.dst=A.src",
    "corners": (
        "SELECT A.src, COUNT(*) n FROM G A, G B, G C WHERE A.dst = B.src AND B.dst = C.src AND C.dst = A.src "
        "GROUP BY A.src"
    ),
}


def filled(window: int | None = None) -> livejoin.Database:
    """A database with a view of every query by every algorithm; those of odd queries say what changed."""
    db = livejoin.Database()
    db.create_table("G", "src BIGINT, dst BIGINT", window_rows=window)
    db.create_table("P", "id BIGINT PRIMARY KEY, weight INT")
    db.apply("P", [(i, i - 2) for i in range(4)])
    for name, sql in QUERIES.items():
        for algorithm in ANY_JOIN:
            db.create_view(view_name(name, algorithm), sql, deltas=name != "ends", algorithm=algorithm)
    return db


def view_name(name: str, algorithm: str) -> str:
    return f"{name}_{algorithm.replace('-', '_')}"


def rows(table: pa.Table) -> Counter[Any]:
    return Counter(tuple(row.values()) for row in table.to_pylist())


def signed(delta: pa.Table) -> Counter[Any]:
    """A delta as a multiset with signs, by version."""
    total: Counter[Any] = Counter()
    for row in delta.to_pylist():
        kind = row.pop("_change_type")
        total[tuple(row.values())] += 1 if kind in ("insert", "update_postimage") else -1
    return Counter({row: number for row, number in total.items() if number})


def agree(db: livejoin.Database, commit: livejoin.Commit) -> None:
    """All algorithms have the same result, count and delta."""
    for name in QUERIES:
        wanted: Any = None
        for algorithm in ANY_JOIN:
            view = db.views[view_name(name, algorithm)]
            found = (rows(view.to_arrow()), view.count(), signed(commit[view.name]) if view.deltas else None)
            wanted = wanted or found
            assert found == wanted, view.name
    db._check()


edges = st.tuples(st.integers(0, 3), st.integers(0, 3))
steps = st.lists(st.tuples(st.sampled_from(["apply", "replay", "delete"]), st.lists(edges, max_size=5)), max_size=6)


@settings(FUZZ, max_examples=max(5, FUZZ.max_examples // 10))
@given(steps, st.sampled_from([None, 4]))
def test_all_algorithms_agree(changes: list[tuple[str, list[tuple[int, int]]]], window: int | None) -> None:
    db = filled(window)
    for kind, new in changes:
        if kind == "replay":
            log = pa.table({"src": [s for s, _ in new], "dst": [d for _, d in new], "_seq": list(range(len(new)))})
            log = log.cast(pa.schema([(name, pa.int64()) for name in log.column_names]))
            agree(db, db.replay({"G": log}))
            continue
        label = "insert" if kind == "apply" else "delete"
        data = [{"src": s, "dst": d, "_change_type": label} for s, d in new]
        agree(db, db.apply("G", data, on_conflict="ignore"))


def test_snapshots_keep_the_algorithm(tmp_path: Path) -> None:
    db = filled()
    db.apply("G", [(i % 3, i % 4) for i in range(12)])
    db.save(tmp_path)
    again = livejoin.Database.load(tmp_path)
    assert {v.name: v.algorithm for v in again.views.values()} == {v.name: v.algorithm for v in db.views.values()}
    agree(again, again.apply("G", [(1, 2)]))


def test_filled_tables_are_loaded() -> None:
    db = livejoin.Database()
    db.create_table("G", "src BIGINT, dst BIGINT")
    db.apply("G", [(i % 5, (i * i) % 7) for i in range(40)])
    counts = {a: db.create_view(f"v{i}", QUERIES["hop3"], algorithm=a).count() for i, a in enumerate(ANY_JOIN)}
    assert len(set(counts.values())) == 1
    assert counts["dyn"] > 0


def test_stats_show_what_each_costs() -> None:
    """DYN carries every multiplicity to the root, and change propagation keeps the joins."""
    db = filled()
    db.apply("G", [(i % 7, (3 * i) % 11) for i in range(77)])
    crown, dyn, chain = (db.views[view_name("hop3", a)].stats() for a in ANY_JOIN[1:])
    assert crown.keys() == dyn.keys() == chain.keys()
    assert crown["rows"] == dyn["rows"] == chain["rows"] > 0
    assert crown["touched"] < dyn["touched"]
    assert crown["state_bytes"] < dyn["state_bytes"] < chain["state_bytes"]
    for stats in (crown, dyn, chain):
        assert min(stats[name] for name in ("propagated", "touched", "probes")) > 0
        assert stats["stopped"] <= stats["propagated"]


def test_explain_names_the_algorithm() -> None:
    db = filled()
    told = {a: db.views[view_name("hop3", a)].explain() for a in ANY_JOIN}
    assert told["auto"].plan == told["crown"].plan
    assert told["dyn"].plan.kind == "T-representation"
    assert "Proposition 4.16" in told["dyn"].guarantee.source
    assert told["change-propagation"].plan.title.startswith("chain of 2 binary joins, all results kept")
    for algorithm in ("dyn", "change-propagation"):
        assert f"algorithm='{algorithm}'" in str(told[algorithm])
        assert told[algorithm].svg().startswith("<svg")
        assert told[algorithm].json()
    assert db.explain(QUERIES["hop3"], algorithm="dyn").plan == told["dyn"].plan
    assert "across the bags a T-representation" in db.explain(QUERIES["triangle"], algorithm="dyn").plan.title
    simple = "SELECT A.src, A.dst, B.dst AS other FROM G A JOIN G B ON A.src = B.src"
    assert "Theorem 4.15" in db.explain(simple, algorithm="dyn").guarantee.source


@pytest.mark.parametrize("name", ["yannakakis", "DYN", ""])
def test_unknown_algorithms_are_refused(name: Any) -> None:
    db = livejoin.Database()
    db.create_table("G", "src BIGINT, dst BIGINT")
    hint = r"( \(did you mean 'dyn'\?\))?"
    allowed = rf"there is no algorithm '\w*'{hint}; allowed are 'auto', 'crown', 'dyn', 'change-propagation'"
    with pytest.raises(SchemaError, match=allowed):
        db.create_view("v", "SELECT src FROM G", algorithm=name)
    with pytest.raises(SchemaError, match=allowed):
        db.explain("SELECT src FROM G", algorithm=name)
    assert not db.views
