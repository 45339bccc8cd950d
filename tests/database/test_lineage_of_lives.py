"""Why and why not over random nested queries: every row has a why that is sound and complete, every other one a reason.

Laws, each against DuckDB. Over the rows that a why names alone, and nothing else, the row is there too (where nothing
that is absent counts). Each combination of a join does it by itself. The combinations of a join are as many as the row
is often there. A row that is not there has a reason, and one that is there has none.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from math import prod

import pytest

from livejoin import Database, ReadError, View, errors
from livejoin.database.lineage.found import Absence, Combination, DerivedRow, SourceRow, Why
from livejoin.query.relational import (
    Aggregate,
    Join,
    Project,
    Ranked,
    Relation,
    Running,
    SetOperation,
    TopK,
)
from nested_lives import Commit, Create, Replay, State, life, possible
from oracle import Oracle, multiset
from scenario import Row, arrow_rows, canonical_row
from strategies import EXAMPLES, IS_FUZZ

FIRST = int(os.environ.get("LIVEJOIN_SEED", "0"))
LIVES = max(2, EXAMPLES // 4)
OFTEN = 0.5 if IS_FUZZ else 0.3  # of all steps those behind which a view is asked
MOST_ROWS = 400
LIMIT = 400


def relations(relation: Relation) -> Iterator[Relation]:
    """A relation and those below it."""
    yield relation
    for one in relation.below:
        yield from relations(one)


def is_monotone(relation: Relation) -> bool:
    """Whether a row stays when rows go that are no part of its why: nothing absent or in an order counts."""
    found = list(relations(relation))
    branches = [branch.kind for one in found if isinstance(one, Join) for branch in one.query.branches]
    joins = all(kind == "exists" for kind in branches)
    sides = all(not isinstance(one, SetOperation) or one.kind != "except" for one in found)
    return joins and sides and not any(isinstance(one, TopK | Ranked | Running) for one in found)


def is_join(relation: Relation) -> bool:
    """Whether combinations are copies of the row: a join and projections."""
    while isinstance(relation, Project):
        relation = relation.input
    return isinstance(relation, Join) and not any(branch.kind == "exists" for branch in relation.query.branches)


def sources(why: Why) -> Iterator[SourceRow]:
    for combination in why.combinations:
        yield from sources_of(combination)


def sources_of(combination: Combination) -> Iterator[SourceRow]:
    for part in combination.parts:
        if isinstance(part, SourceRow):
            yield part
        elif isinstance(part, DerivedRow):
            yield from sources(part.why)


def is_complete(why: Why) -> bool:
    parts = [part for one in why.combinations for part in one.parts]
    return why.is_complete and all(is_complete(part.why) for part in parts if isinstance(part, DerivedRow))


def restricted(oracle: Oracle, rows: Iterator[SourceRow]) -> Oracle:
    """The same tables with some rows alone."""
    kept: dict[str, dict[Row, tuple[Row, int]]] = {name: {} for name in oracle.rows}
    for one in rows:
        row = tuple(one.row.values())
        kept[one.table][canonical_row(row)] = (row, one.copies)
    other = oracle.copy()
    other.rows = {name: [row for row, copies in some.values() for _ in range(copies)] for name, some in kept.items()}
    return other


def check(view: View, oracle: Oracle, plain: str, dice: random.Random) -> int:
    """Hold some rows of a view to the laws; how many were asked for."""
    rows = view.to_pylist()
    there = multiset(view.to_arrow())
    root = view._query.root
    sample = dice.sample(rows, min(3, len(rows)))
    for row in sample:
        why = view.why(row, limit=LIMIT)
        mine = canonical_row(tuple(row.values()))
        said = f"{view.sql}\n{why}"
        assert canonical_row(tuple(why.row.values())) == mine, said
        if is_complete(why):
            if is_monotone(root):
                assert mine in multiset(restricted(oracle, sources(why)).result(plain)), said
            if is_join(root):
                copies = [
                    prod(part.copies for part in one.parts if not isinstance(part, Absence)) for one in why.combinations
                ]
                assert sum(copies) == there[mine], said
        if is_monotone(root) and not any(isinstance(one, Aggregate) for one in relations(root)):
            for one in why.combinations[:2]:
                assert mine in multiset(restricted(oracle, sources_of(one)).result(plain)), said
        with pytest.raises(ReadError, match="has a row with"):
            view.why_not(row)
    for _ in range(2):
        if rows:
            mixed = {name: dice.choice(rows)[name] for name in rows[0]}
            if canonical_row(tuple(mixed.values())) not in there:
                assert view.why_not(mixed).reason
                with pytest.raises(ReadError, match="has no row with"):
                    view.why(mixed)
    return len(sample)


def lived(seed: int) -> int:
    whole, dice = life(seed), random.Random(seed)
    state, db = State.of(whole.tables), Database()
    for table in whole.tables:
        db.create_table(table.name, table.column_list, window_rows=table.window_rows, window_range=table.window_range)
    plain: dict[str, str] = {}
    cases = 0
    for step in whole.steps:
        if isinstance(step, Create) and step.fragile is None:
            done = possible(step, state)
            if done is None:
                continue
            try:
                db.create_view(step.view.name, step.view.sql, algorithm=step.view.algorithm)
            except errors.LivejoinError:
                return cases
            state.oracle.define(step.view.name, step.view.plain)
            plain[step.view.name] = step.view.plain
        elif isinstance(step, Commit | Replay):
            done = possible(Commit(step.changes), state)
            assert isinstance(done, Commit)
            names = sorted({one.table for one in done.changes})
            tables = state.oracle.tables
            db.apply({name: arrow_rows(tables[name], [c for c in done.changes if c.table == name]) for name in names})
        else:
            continue
        for name, sql in plain.items():
            if dice.random() < OFTEN and state.oracle.count(sql) <= MOST_ROWS:
                cases += check(db.views[name], state.oracle, sql, dice)
    return cases


def test_lives() -> None:
    cases = sum(lived(FIRST + seed) for seed in range(LIVES))
    assert cases >= 4 * LIVES
