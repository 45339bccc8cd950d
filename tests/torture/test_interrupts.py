"""Calls that are cut off: a small share of what ``make torture`` does."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from itertools import product
from pathlib import Path

import pytest

import livejoin
from livejoin.dataflow.node import Node
from livejoin.plan.operators import AnyJoin
from oracle import assert_same_rows, multiset
from torture.file_faults import open_files
from torture.interrupts import NEVER, Life, cut_off, cuts, places, points
from torture.one_commit import run

CUTS = int(os.environ.get("LIVEJOIN_TORTURE", "8"))
COMMITS = int(os.environ.get("LIVEJOIN_TORTURE", "5"))
SEED = int(os.environ.get("LIVEJOIN_SEED", "1"))

TWO = "SELECT A.src AS a, COUNT(*) AS n FROM G A JOIN G B ON A.dst = B.src GROUP BY A.src"
ABOVE = "SELECT t.n AS n, P.name AS p FROM two t JOIN P ON t.a = P.id"


def multiplicity(view: livejoin.View) -> None:
    """Ask for the multiplicity of a row, where rows tell enough of themselves."""
    with suppress(livejoin.ReadError):
        view.multiplicity(view.at(0))


READS: dict[str, Callable[[livejoin.View], object]] = {
    "to_arrow": lambda view: view.to_arrow(),
    "batches": lambda view: list(view.batches(2)),
    "count": lambda view: view.count(),
    "at": lambda view: view.at(view.count() // 2) if view.count() else None,
    "sample": lambda view: view.sample(3, seed=1) if view.count() else None,
    "multiplicity": multiplicity,
    "stats": lambda view: view.stats(),
}


@pytest.mark.parametrize(
    ("error", "threads", "algorithm"),
    [
        (KeyboardInterrupt, 1, "auto"),
        (MemoryError, 2, "auto"),
        (KeyboardInterrupt, 1, "dyn"),
        (MemoryError, 1, "change-propagation"),
    ],
)
def test_a_commit_that_is_cut_off_stands_or_does_not(error: type[BaseException], threads: int, algorithm: str) -> None:
    life = Life(SEED, threads, algorithm)
    outcomes: Counter[str] = Counter()
    for at, decided in cuts(life, COMMITS, SEED):
        stands, cut = life.cut(error, at, again=at % 3 == 0, decided=decided)
        outcomes["stands" if stands else "does not"] += bool(cut.where)
        try:
            life.check()
        except BaseException as wrong:
            wrong.add_note(f"cut at point {at}, decided: {decided}, in {cut.where}; the commit stands: {stands}")
            raise
        if at % 2:
            life.commit()
    print(f"commits by {algorithm}, {threads} threads, {error.__name__}: {dict(outcomes)}")
    assert outcomes["stands"] and outcomes["does not"]


@pytest.mark.torture
@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork")
def test_the_same_commit_cut_off_at_each_point_leaves_views_deltas_and_followers_right() -> None:
    outcomes = run(CUTS, SEED)
    print(f"one commit that is cut off: {dict(outcomes)}")
    assert outcomes["stands"] and outcomes["does not"]


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="the system does not list descriptors")
def test_a_commit_that_spills_and_is_cut_off_leaves_no_file(tmp_path: Path) -> None:
    life = Life(SEED, spill=tmp_path)
    life.told.clear()
    total = points(life)
    life.let_go()
    spilled = 0
    for at in places(total, max(2, CUTS // 8), SEED):
        stands, cut = life.cut((KeyboardInterrupt, MemoryError)[at % 2], at, again=at % 3 == 0)
        try:
            life.check()
            life.let_go()
            assert not list(tmp_path.iterdir()) and not open_files(tmp_path)
        except BaseException as wrong:
            wrong.add_note(f"cut at point {at} of about {total}, in {cut.where}; the commit stands: {stands}")
            raise
        spilled += life.commit()
    print(f"commits that spill: {max(2, CUTS // 8)} cuts of {total} points")
    assert spilled


def test_a_read_that_is_cut_off_changes_nothing() -> None:
    life, cuts = Life(SEED), 0
    for name, read in READS.items():
        for view in life.db.views.values():
            total = cut_off(lambda read=read, view=view: read(view), KeyboardInterrupt, NEVER).points
            for at in places(total, max(1, CUTS // 20), SEED):
                cut_off(lambda read=read, view=view: read(view), KeyboardInterrupt, at)
                cuts += 1
        life.check()
        assert name
        life.commit()
    print(f"reads: {cuts} cuts")


def test_a_view_whose_making_is_cut_off_is_there_or_is_not() -> None:
    life = Life(SEED)

    def make() -> None:
        life.db.create_view("two", TWO)
        life.db.create_view("three", ABOVE)

    total = cut_off(make, MemoryError, NEVER).points
    life.db.drop_view("two", cascade=True)
    there = set()
    for at in [*places(total, CUTS // 2, SEED), total - total // 100]:  # both views are there by then
        cut_off(make, MemoryError, at)
        left = [name for name in ("two", "three") if name in life.db.views]
        there.add(len(left))
        life.check()
        life.commit()
        if left:
            counted = multiset(life.db.views["counted"].to_arrow().select(["a", "n"]))
            assert_same_rows(life.db.views["two"].to_arrow(), counted, "a view that is there is right")
            dropping = cut_off(lambda: life.db.drop_view("two", cascade=True), MemoryError, at % 400)
            assert dropping.points and (len(left) == 1 or ("two" in life.db.views) == ("three" in life.db.views))
            if "two" in life.db.views:
                life.db.drop_view("two", cascade=True)
        life.check()
    print(f"views that are made: {CUTS // 2 + 1} cuts of {total} points")
    assert there == {0, 1, 2}


def test_a_save_that_is_cut_off_leaves_the_snapshot_of_before_or_behind_it(tmp_path: Path) -> None:
    life = Life(SEED)
    life.db.save(tmp_path)
    total = cut_off(lambda: life.db.save(tmp_path), KeyboardInterrupt, NEVER).points
    saved = life.db.version
    for at in places(total, CUTS // 4, SEED):
        life.commit()
        cut_off(lambda: life.db.save(tmp_path), KeyboardInterrupt, at)
        found = livejoin.Database.load(tmp_path)
        found._check()
        assert found.version in (saved, life.db.version)
        saved = found.version
        life.check()
    print(f"saves: {CUTS // 4} cuts of {total} points")


def test_a_move_to_another_plan_that_is_cut_off_is_made_or_is_not() -> None:
    life = Life(SEED)
    joins = [node for node in life.db._contents.graph.nodes if node.join is not None]
    assert len(joins) > 4
    for number, node in enumerate(joins):

        def move(node: Node = node) -> None:
            assert isinstance(node.plan, AnyJoin)
            node.move(node.plan, node.statistics)

        before = node.block
        total = cut_off(move, MemoryError, NEVER).points
        assert node.block is not before
        for at in places(total, max(1, CUTS // 20), SEED + number):
            cut_off(move, MemoryError, at)
        life.commit()
    life.check()
    print(f"moves: {max(1, CUTS // 20)} cuts in each of {len(joins)} joins")


def test_a_table_that_is_declared_anew_and_cut_off_promises_the_one_or_the_other() -> None:
    """ALTER TABLE: views go over to other plans all together, and commits go on."""
    life = Life(SEED)
    db, found = life.db, Counter[bool]()

    def alter() -> None:
        db.alter_table("P", static=not db.tables["P"].static)

    total = cut_off(alter, MemoryError, NEVER).points
    where_it_is_decided = [total - 60 * place // max(1, CUTS // 40) for place in range(1, CUTS // 16)]
    for at in [*places(total, max(1, CUTS // 40), SEED), *where_it_is_decided]:
        before = db.tables["P"].static
        cut_off(alter, (KeyboardInterrupt, MemoryError)[at % 2], at)
        now = db.tables["P"].static
        found[now == before] += 1
        life.check()
        for view in db.views.values():
            told = db.explain(view.sql, deltas=view.deltas, algorithm=view.algorithm)
            assert view.explain().guarantee.bound == told.guarantee.bound
        db.alter_table("P", static=False)
        life.commit()
    print(f"tables that are declared anew: {found} of {total} points")
    assert len(found) == 2 or CUTS < 100


def test_a_refresh_that_is_cut_off_leaves_what_the_next_one_needs() -> None:
    """Static tables that are joined once: what a refresh loads for that is there whole, or not at all."""
    db = livejoin.Database()
    db.create_table("R", "a INT, b INT")
    for name, columns in (("S", "b INT, c INT"), ("T", "a INT, c INT")):
        db.create_table(name, columns, static=True)
    rows = {"R": [(i, j) for i in range(5) for j in range(5)]}
    rows |= {name: [(i, j % 3) for i in range(5) for j in range(i, i + 4)] for name in ("S", "T")}
    db.apply(rows)
    view = db.create_view("v", "SELECT R.a, R.b, S.c FROM R JOIN S ON R.b = S.b JOIN T ON T.a = R.a AND T.c = S.c")
    assert view.explain().plan.kind == "view trees"

    def expected() -> Counter[tuple[int, ...]]:
        found = Counter[tuple[int, ...]]()
        for (a, b), (of_s, c), (of_t, d) in product(rows["R"], rows["S"], rows["T"]):
            found[a, b, c] += (b, a, c) == (of_s, of_t, d)
        return +found

    total = cut_off(lambda: db.refresh("S", rows["S"][1:]), MemoryError, NEVER).points
    rows["S"] = rows["S"][1:]
    for number, at in enumerate(places(total, CUTS, SEED)):
        version, new = db.version, [*rows["S"][1:], (number % 5, number % 3)]
        cut_off(lambda new=new: db.refresh("S", new), (KeyboardInterrupt, MemoryError)[at % 2], at)
        rows["S"] = new if db.version > version else rows["S"]
        for name in ("T", "S"):
            rows[name] = [*rows[name][2:], *((i, (number + i) % 3) for i in range(2))]
            db.refresh(name, rows[name])
            assert_same_rows(multiset(view.to_arrow()), expected(), f"cut at {at} of {total}, then {name}")
        db._check()
