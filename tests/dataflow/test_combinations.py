"""The combinations of rows of a join with their multiplicities are its result, whatever maintains it."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import livejoin
from livejoin.search.algorithm import Algorithm
from oracle import multiset

QUERIES = {
    "one": "SELECT src FROM G",
    "two": "SELECT A.src AS a, B.dst AS b FROM G A JOIN G B ON A.dst = B.src",
    "three": "SELECT A.src AS a, B.src AS b, C.dst AS c FROM G A JOIN G B ON A.dst = B.src JOIN G C ON B.dst = C.src",
    "product": "SELECT A.src AS a, B.dst AS b FROM G A CROSS JOIN H B",
    "projection": "SELECT A.src AS a FROM G A JOIN H B ON A.dst = B.src",
    "computed": "SELECT A.src + B.dst AS s FROM G A JOIN H B ON A.dst = B.src",
    "filtered": "SELECT src + 1 AS p FROM G WHERE src * 2 > 3",
    "both": "SELECT src FROM G UNION ALL SELECT A.dst FROM G A JOIN H B ON A.dst = B.src",
    "grouped": "SELECT src, MAX(dst) AS m FROM G GROUP BY src",
}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("algorithm", ["auto", "dyn", "change-propagation"])
def test_combinations_are_the_result(algorithm: Algorithm, threads: int) -> None:
    chance = np.random.default_rng(threads)
    db = livejoin.Database(threads=threads)
    for table in ("G", "H"):
        db.create_table(table, "src BIGINT, dst BIGINT")
    for name, sql in QUERIES.items():
        db.create_view(name, sql, algorithm=algorithm)
    for copies in (1, 3):  # first each row once, as far as there is one line for it
        for table in ("G", "H"):
            rows = chance.integers(0, 5, (12, 2)).tolist()
            db.apply(table, [tuple(row) for row in rows for _ in range(copies)])
        for name in QUERIES:
            view = db.views[name]
            for capacity in (1, 3, 1000):
                found: Counter[tuple[object, ...]] = Counter()
                for given, weights in view._kept.combinations(capacity):
                    assert given.length == weights.shape[0] <= capacity
                    assert (weights > 0).all()
                    columns = [given.arrow(i).to_pylist() for i in range(len(given.types))]
                    for *row, weight in zip(*columns, weights.tolist(), strict=True):
                        found[tuple(row)] += weight
                assert found == multiset(view.to_arrow()), (name, capacity)
