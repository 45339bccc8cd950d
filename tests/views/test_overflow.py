"""Counts, sums and multiplicities that no word holds are refused, by every algorithm; against Python's integers."""

from __future__ import annotations

from collections import Counter
from itertools import product
from typing import Any

import numpy as np
import pytest

import livejoin
from livejoin.errors import CapacityError

ALGORITHMS = ["crown", "dyn", "change-propagation"]
FEW = [(0, 1), (0, 2), (1, 3)]
MANY = [(0, i) for i in range(3, 257)]  # 256 rows of group 0 with those of FEW


def self_join(select: str, atoms: int, group: str = "") -> str:
    tables = ", ".join(f"T t{i}" for i in range(atoms))
    on = " AND ".join(f"t{i}.g = t{i + 1}.g" for i in range(atoms - 1))
    return f"SELECT {select} FROM {tables} WHERE {on} {group}"


def filled(rows: list[tuple[int, int]], threads: int = 1) -> livejoin.Database:
    database = livejoin.Database(threads=threads)
    database.create_table("T", "g INT, x BIGINT")
    if rows:
        database.apply("T", rows)
    return database


def deleted(rows: list[tuple[int, int]]) -> list[dict[str, Any]]:
    return [{"g": g, "x": x, "_change_type": "delete"} for g, x in rows]


def rows_of(view: livejoin.View) -> list[tuple[Any, ...]]:
    return sorted(tuple(row.values()) for row in view.to_arrow().to_pylist())


@pytest.mark.parametrize("threads", [1, pytest.param(2, marks=pytest.mark.torture)])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("group", ["", "GROUP BY t0.g"])
@pytest.mark.parametrize("select", ["COUNT(*) AS n", "AVG(t3.x) AS a", "t0.g, SUM(t0.x * t1.x) AS s"])
def test_what_128_bits_do_not_hold_fails_the_commit(select: str, group: str, algorithm: str, threads: int) -> None:
    """16 atoms of 256 rows each have 2**128 results, which is 0 for words that wrap."""
    if not group and "t0.g" in select:
        select = select.partition(", ")[2]
    assert len(FEW[:2] + MANY) ** 16 == 1 << 128
    database = filled(FEW, threads)
    view = database.create_view("v", self_join(select, 16, group), algorithm=algorithm)
    before, version = rows_of(view), database.version
    with pytest.raises(CapacityError, match=r"view 'v': a count or a sum over the join of t0, .*not fit 128 bits"):
        database.apply("T", MANY)
    assert (rows_of(view), database.version) == (before, version)
    database._check()
    database.apply("T", deleted(FEW[1:2]))
    total = {"COUNT(*) AS n": [1, 1], "AVG(t3.x) AS a": [1, 3]}.get(select, [1, 9])
    if group:
        expected = [(g, v) for g, v in enumerate(total)] if "t0.g" in select else [(v,) for v in total]
        assert rows_of(view) == expected
    else:
        assert rows_of(view) == [(sum(total) / (2 if "AVG" in select else 1),)]
    database._check()


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_without_deltas_it_fails_too(algorithm: str, threads: int) -> None:
    """The commit fails if the state has the product, and reading if only a result has it; nothing else is shown."""
    database = filled(FEW, threads)
    view = database.create_view(
        "v", self_join("t0.g, COUNT(*) AS n", 16, "GROUP BY t0.g"), algorithm=algorithm, deltas=False
    )
    with pytest.raises(CapacityError, match="does not fit 128 bits"):
        database.apply("T", MANY)
        view.to_arrow()
    if database.version > 1:
        with pytest.raises(CapacityError, match="does not fit 128 bits"):
            view.at(0)
        with pytest.raises(CapacityError, match="does not fit 128 bits"):
            view.multiplicity((0, 0))
        assert view.count() == 2
        database.apply("T", deleted(MANY))
    assert rows_of(view) == [(0, 1 << 16), (1, 1)]
    database._check()


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_view_over_too_much_is_not_made(algorithm: str) -> None:
    database = filled(FEW + MANY)
    with pytest.raises(CapacityError, match="does not fit 128 bits"):
        database.create_view("v", self_join("COUNT(*) AS n", 16), algorithm=algorithm)
    fine = database.create_view("v", self_join("COUNT(*) AS n", 7), algorithm=algorithm)
    assert rows_of(fine) == [(256**7 + 1,)]


def test_a_view_is_loaded_as_it_is_maintained(tmp_path: Any) -> None:
    """A snapshot whose state is not taken over is loaded anew, with the same bounds."""
    database = filled(FEW)
    database.create_view("v", self_join("COUNT(*) AS n", 16))
    database.save(tmp_path / "here")
    again = livejoin.Database.load(tmp_path / "here")
    with pytest.raises(CapacityError, match=r"view 'v': a count over the join of .* has more than 38 digits"):
        again.apply("T", MANY)
    assert rows_of(again.views["v"]) == [((1 << 16) + 1,)]
    again._check()


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("copies", [512, 1024])
def test_copies_of_a_row(copies: int, algorithm: str) -> None:
    """512 equal rows in each of 7 tables give one row 2**63 times, below 0 for words that wrap; 1024 give 0."""
    database = livejoin.Database()
    names = [f"T{i}" for i in range(7)]
    for name in names:
        database.create_table(name, "g INT")
    for name in names[:-1]:
        database.apply(name, [(5,)] * copies)
    on = " AND ".join(f"{name}.g = T6.g" for name in names[:-1])
    view = database.create_view("v", f"SELECT T0.g FROM {', '.join(names)} WHERE {on}", algorithm=algorithm)
    with pytest.raises(CapacityError, match=r"view 'v': .*more often in the join of T0, .*T6 than 64 bits count"):
        database.apply("T6", [(5,)] * copies)
    assert rows_of(view) == []
    database._check()


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_copies_of_a_row_that_nobody_writes_out(algorithm: str) -> None:
    columns = ", ".join(f"t{i}.g AS g{i}, t{i}.x AS x{i}" for i in range(7))
    database = filled([])
    view = database.create_view("v", self_join(columns, 7), algorithm=algorithm, deltas=False)
    database.apply("T", [(5, 5)] * 500)
    assert view.count() == view.multiplicity((5, 5) * 7) == 500**7
    if algorithm == "change-propagation":  # which keeps every row with its multiplicity
        with pytest.raises(CapacityError, match="64 bits count"):
            database.apply("T", [(5, 5)] * 12)
        assert view.count() == 500**7
    else:
        database.apply("T", [(5, 5)] * 12)
        for read in (view.count, lambda: view.multiplicity((5, 5) * 7), lambda: next(iter(view.batches()))):
            with pytest.raises(CapacityError, match="64 bits count"):
                read()
    database._check()


def test_the_sides_of_a_union_are_added_up() -> None:
    """Each side has 5 * 10**18 rows, which 64 bits count; both together they do not."""
    columns = ", ".join(f"t{i}.g AS g{i}, t{i}.x AS x{i}" for i in range(6))
    side = self_join(columns, 6)
    database = filled([])
    view = database.create_view("v", f"{side} UNION ALL {side}", deltas=False)
    half = database.create_view("half", side, deltas=False)
    database.apply("T", [(5, 5)] * 1200)
    assert view.count() == view.multiplicity((5, 5) * 6) == 2 * 1200**6 > 1 << 62
    database.apply("T", [(5, 5)] * 108)
    assert half.count() == half.multiplicity((5, 5) * 6) == 1308**6
    assert 1 << 63 < 2 * 1308**6 < 1 << 64
    for read in (view.count, lambda: view.multiplicity((5, 5) * 6), lambda: view.at(0), lambda: view.sample(1)):
        with pytest.raises(CapacityError, match="64 bits count"):
            read()


Row = tuple[int, int, int]
Tables = dict[str, Counter[Row]]


def products(tables: Tables) -> list[tuple[int, int]]:
    """The group and the value of each result of A and B, with its copies."""
    return [
        (g, a * b * times * more)
        for ((g, k, a), times), ((_, other, b), more) in product(tables["A"].items(), tables["B"].items())
        if k == other
    ]


def sums(tables: Tables) -> dict[int, int]:
    found: dict[int, int] = {}
    for g, value in products(tables):
        found[g] = found.get(g, 0) + value
    return found


def random_changes(rng: np.random.Generator, tables: Tables) -> list[tuple[str, Row, int]]:
    """Pairs of large numbers that cancel, which all meet large ones, single small ones, and deletions of either."""
    changes = []
    for name in ("A", "B"):
        present = list(tables[name].elements())
        pairs = {(g, k, abs(v)) for g, k, v in present if k == 0 and name == "A"}
        singles = [row for row in present if row[1] == 1 or (name == "B" and rng.random() < 0.3)]
        gone = [(g, k, sign * v) for g, k, v in sorted(pairs)[: rng.integers(0, 3)] for sign in (1, -1)]
        gone += [singles[i] for i in rng.permutation(len(singles))[:1]]
        changes += [(name, row, -1) for row in gone]
    large = [(int(rng.integers(0, 2)), 0, (1 << 62) - int(rng.integers(0, 9))) for _ in range(rng.integers(0, 5))]
    changes += [("A", (g, k, sign * v), 1) for sign in (1, -1) for g, k, v in large]
    changes.append(("A", (int(rng.integers(0, 2)), 1, int(rng.integers(-9, 9))), 1))
    changes.append(("B", (0, 1, int(rng.integers(-9, 9))), 1))
    if rng.random() < 0.4:
        changes.append(("B", (0, 0, (1 << 62) - int(rng.integers(0, 9))), 1))
    return changes


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("seed", range(2))
def test_sums_of_large_products(algorithm: str, seed: int) -> None:
    """Each commit of a random history gives the exact sums, or is refused and changes nothing.

    It is refused only if a sum does not fit BIGINT, or some order of adding its products up passes 127 bits.
    """
    rng = np.random.default_rng(seed)
    database = livejoin.Database()
    for name in "AB":
        database.create_table(name, "g INT, k INT, v BIGINT")
    sql = "SELECT A.g, SUM(A.v * B.v) AS s, COUNT(*) AS n FROM A JOIN B ON A.k = B.k GROUP BY A.g"
    view = database.create_view("v", sql, algorithm=algorithm)
    kept: Tables = {"A": Counter(), "B": Counter()}
    outcomes = Counter[str]()
    for _ in range(60):
        trial = {name: Counter(rows) for name, rows in kept.items()}
        changes: dict[str, list[dict[str, Any]]] = {"A": [], "B": []}
        for name, (g, k, v), weight in random_changes(rng, kept):
            trial[name][(g, k, v)] += weight
            kind = "insert" if weight > 0 else "delete"
            changes[name].append({"g": g, "k": k, "v": v, "_change_type": kind})
        both = {name: kept[name] | trial[name] for name in kept}
        trial = {name: +rows for name, rows in trial.items()}
        shown = all(-(1 << 63) <= total < 1 << 63 for total in sums(trial).values())
        held = sum(abs(value) for _, value in products(both)) < 1 << 127
        try:
            database.apply(changes)
        except CapacityError as error:
            assert not (shown and held)
            outcomes["a sum" if "BIGINT" in str(error) else "on the way"] += 1
        else:
            assert shown
            kept = trial
            outcomes["done"] += 1
        assert {g: s for g, s, _ in rows_of(view)} == sums(kept)
        database._check()
    assert outcomes["done"] > 5
    assert outcomes["on the way"] > 0 or algorithm == "change-propagation"  # which adds a batch up before it multiplies
