"""Random views of every kind, views on views among them, under random commits, read without enumeration.

Every life has a few queries by the generators of other tests, and over the views that these make, or over their texts,
all kinds of operators. ``make fuzz`` draws other lives by LIVEJOIN_SEED.
"""

from __future__ import annotations

import os
from random import Random

import pytest

from random_outer_joins import DECLARED, RandomOuterJoins
from sql import random_sub_queries
from strategies import EXAMPLES
from sub_query_views import Lives

FIRST = int(os.environ.get("LIVEJOIN_SEED", "0"))
LIVES = max(1, EXAMPLES // 50)
COMMITS = 4
MOST_ROWS = 300
"""A life ends when a view has more rows."""
_ROW_WINDOWS = (
    "ROWS UNBOUNDED PRECEDING",
    "ROWS BETWEEN 1 PRECEDING AND 2 FOLLOWING",
    "ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING",
    "RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW",
)
KINDS = (
    "rows",
    "distinct",
    "groups",
    "sets of groups",
    "set operation",
    "first rows",
    "rank",
    "running",
    "whole partition",
    "order",
    "join",
    "outer join",
    "sub-query",
)


def over(kind: str, source: str, columns: list[str], draw: Random) -> str:
    """A query of a kind over a source of some columns, which means the same in Spark and in DuckDB."""
    one, other = draw.choice(columns), draw.choice(columns)
    shown = ", ".join(draw.sample(columns, draw.randrange(1, len(columns) + 1)))
    order = ", ".join(f"{column} NULLS FIRST" for column in draw.sample(columns, len(columns)))
    match kind:
        case "rows":
            return f"SELECT {shown}, COALESCE({one}, {one}) AS w FROM {source} p WHERE {other} IS NOT NULL"
        case "distinct":
            return f"SELECT DISTINCT {shown} FROM {source} p"
        case "groups":
            having = f" HAVING COUNT(*) > {draw.randrange(3)}"
            return f"SELECT {one} AS g, COUNT(*) AS n, MAX({other}) AS m FROM {source} p GROUP BY {one}{having}"
        case "sets of groups":
            # DuckDB has a total of no rows, Spark has none.
            shown = f"SELECT {one} AS g, COUNT({other}) AS n FROM {source} p"
            return f"{shown} GROUP BY ROLLUP ({one}) HAVING COUNT(*) > 0"
        case "set operation":
            word = draw.choice(["UNION", "UNION ALL", "EXCEPT", "EXCEPT ALL", "INTERSECT", "INTERSECT ALL"])
            return f"SELECT {shown} FROM {source} p {word} SELECT {shown} FROM {source} q WHERE {other} IS NULL"
        case "first rows":
            return f"SELECT {shown} FROM {source} p ORDER BY {shown_order(shown)} LIMIT 4 OFFSET {draw.randrange(2)}"
        case "rank":
            name = draw.choice(["RANK", "DENSE_RANK"])
            return (
                f"SELECT {shown}, {name}() OVER (PARTITION BY {one} ORDER BY {order}) AS w FROM {source} p"
                f"{draw.choice(['', ' QUALIFY w <= 2'])}"
            )
        case "running":
            call = draw.choice([f"COUNT({other})", f"MIN({other})", f"LAST_VALUE({other})"])
            window = f"PARTITION BY {one} ORDER BY {order} {draw.choice(_ROW_WINDOWS)}"
            return f"SELECT {shown}, {call} OVER ({window}) AS w FROM {source} p"
        case "whole partition":
            return f"SELECT {shown}, COUNT({other}) OVER (PARTITION BY {one}) AS w FROM {source} p"
        case "order":
            return f"SELECT {shown} FROM {source} p ORDER BY {order}"
        case "join":
            return f"SELECT p.{one} AS a, q.{other} AS b FROM {source} p JOIN {source} q ON p.{one} = q.{one}"
        case "outer join":
            return f"SELECT p.{other} AS a, q.{one} AS b FROM {source} p LEFT JOIN {source} q ON p.{other} = q.{other}"
        case _:
            sub_query = f"SELECT {one} FROM {source} q WHERE q.{other} = p.{other}"
            return f"SELECT {shown}, {one} IN ({sub_query}) AS w FROM {source} p"


def shown_order(shown: str) -> str:
    """All shown columns as keys of an order."""
    return ", ".join(f"{column} NULLS FIRST" for column in shown.split(", "))


@pytest.mark.parametrize("generator", ["joins", "sub-queries"])
def test_every_kind_of_view(generator: str) -> None:
    made = dict.fromkeys(KINDS, 0)
    for seed in range(FIRST, FIRST + LIVES):
        draw = Random(seed)
        lives = Lives(
            DECLARED if generator == "joins" else random_sub_queries.TABLES, seed, threads=draw.choice([1, 2])
        )
        joins, texts = RandomOuterJoins(seed), random_sub_queries.Texts(seed)
        for _ in range(2):
            text = joins.select() if generator == "joins" else texts.query()
            if not lives.create(text):
                continue
            name, view = list(lives.views.items())[-1]
            for kind in KINDS:
                source = name if draw.random() < 0.6 else f"({text})"
                made[kind] += lives.create(over(kind, source, view.schema.names, draw))
        above, view = draw.choice(list(lives.views.items()))
        for kind in draw.sample(KINDS, 3):
            lives.create(over(kind, above, view.schema.names, draw))
        for _ in range(COMMITS):
            lives.commit()
            if max(view.count() for view in lives.views.values()) > MOST_ROWS:
                break
    assert min(made.values()) > 0, made
