"""No change of a table changes more than the verdict says at most: random rows, queries of every kind.

The verdict is of the rows that are there. So each row leaves and comes back, and what its delta has is held against the
most that was told. Whatever is expected is at most that, too.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator

import pytest

from kinds_of_queries import COLUMNS, DECLARED, QUERIES, changed
from livejoin import Database
from livejoin.plan.explain.effects.amount import Amount
from livejoin.plan.explain.effects.effect import Effect

CASES = int(os.environ.get("LIVEJOIN_FUZZ", "4"))
SEED = int(os.environ.get("LIVEJOIN_SEED", "1"))
VIEWS = 8  # of each case, chosen by chance
ROWS = 4  # of each table, that leave and come back

Row = tuple[int | None, ...]


def drawn(chance: random.Random) -> dict[str, list[Row]]:
    """Rows of the tables, with few values or many, and few NULLs or many."""
    values, nulls = chance.choice([2, 3, 5, 8]), chance.choice([0.1, 0.1, 0.5])
    most = chance.choice([3, 8, 15, 30])

    def value() -> int | None:
        return None if chance.random() < nulls else chance.randrange(values)

    def number() -> range:
        return range(chance.randrange(1, most))

    return {
        "r": [(i, value(), value()) for i in number()],
        "s": [(value(), value(), value()) for _ in number()],
        "t": [(chance.randrange(values), chance.randrange(values)) for _ in number()],
        "u": [(i, value()) for i in number()],
    }


def amounts(effect: Effect) -> Iterator[tuple[str, Amount]]:
    yield from (("meets", effect.met), ("looks up", effect.looked_up))
    yield from (("changes", effect.result), ("delta", effect.delta))
    for way in effect.ways:
        for hop in way.reach.hops:
            yield from ((f"{way.alias} to {hop.alias}", hop.rows), (f"{way.alias} to {hop.alias} in all", hop.met))


def holds(chance: random.Random, names: list[str]) -> None:
    """Hold the verdicts of some queries against the deltas of changes."""
    db, there = Database(), drawn(chance)
    db.execute(DECLARED)
    db.apply(there)
    told = {name: db.create_view(f"v_{name}", QUERIES[name], allow_product=True).explain() for name in names}
    effects = {(name, one.table): one for name, found in told.items() for one in found.effects}
    for (name, table), effect in effects.items():
        for what, amount in amounts(effect):
            said = f"{name}: a change of {table}, {what}: {amount} with {there}"
            assert amount.most is not None, said
            assert amount.expected is not None and amount.expected <= amount.most + 1e-9, said
        assert (effect.result.most or 0) <= (effect.delta.most or 0), f"{name}: {effect} with {there}"
    for table, rows in there.items():
        for row in chance.sample(rows, min(ROWS, len(rows))):
            for kind in ("delete", "insert"):
                commit = db.apply(table, [dict(zip(COLUMNS[table], row, strict=True)) | {"_change_type": kind}])
                for name in names:
                    if (name, table) not in effects:
                        continue
                    effect, delta = effects[name, table], commit[f"v_{name}"]
                    said = f"{name}: {kind} of {row} in {table}, {delta.num_rows} rows, {effect.delta} with {there}"
                    assert delta.num_rows <= (effect.delta.most or 0), said
                    assert changed(delta) <= (effect.result.most or 0), said


@pytest.mark.parametrize("case", range(CASES))
def test_no_delta_is_larger_than_the_most_that_is_told(case: int) -> None:
    chance = random.Random(SEED * 100_003 + case)
    holds(chance, chance.sample(sorted(QUERIES), VIEWS))
