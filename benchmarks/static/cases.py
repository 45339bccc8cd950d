"""The queries that are measured, their rows, and the changes that hurt a plan which does not know what is static.

The lower bound of the ICDT 2025 paper (section 7, proposition 39) writes a matrix into the table in the middle and then
toggles rows of the tables at its ends, each beside as many rows as there are. Here the hot values do so: each toggle
meets a number of rows of other tables that grows with N. Where all tables are dynamic, the ends that were static are
toggled too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from livejoin.search.algorithm import Algorithm

Columns = Mapping[str, np.ndarray]
Row = tuple[int, ...]


@dataclass(frozen=True)
class Toggle:
    """Rows of a table that are there, go and come again.

    Args:
        name: What they are, as people read it.
        table: The table.
        rows: The rows, of N.
    """

    name: str
    table: str
    rows: Callable[[int], list[Row]]


@dataclass(frozen=True)
class Case:
    """A query over static and dynamic tables.

    Args:
        name: Its name.
        of_class: Its class by the paper.
        tables: The columns of each table, as in SQL.
        static: The tables that are static.
        sql: The query.
        rows: The rows of each table, of N.
        toggles: The changes, each by itself.
        adverse: Changes of the static tables, where all tables are dynamic.
        families: The algorithms that all-dynamic tables are measured with, each with the most rows it is given.
        most: The most rows that static tables are given.
    """

    name: str
    of_class: str
    tables: Mapping[str, str]
    static: frozenset[str]
    sql: str
    rows: Callable[[int], Mapping[str, pa.Table]]
    toggles: tuple[Toggle, ...]
    adverse: tuple[Toggle, ...]
    families: Mapping[Algorithm, int]
    most: int = 10_000_000


_CAPS: dict[Algorithm, int] = {"auto": 10_000_000, "crown": 1_000_000, "dyn": 1_000_000, "change-propagation": 10_000}


def _table(*columns: tuple[str, np.ndarray]) -> pa.Table:
    return pa.table({name: values.astype(np.int64) for name, values in columns})


def _spread(n: int) -> list[int]:
    """Numbers below n that lie far apart, so that each look-up is at another place."""
    return [int(each) for each in np.random.default_rng(n).choice(n, min(64, n), replace=False)]


def _linear(n: int) -> Mapping[str, pa.Table]:
    """b = 0 has n/2 values of d, d = 0 has n/2 values of a, d = 1 has n/2 values of b."""
    half = n // 2
    number, zeros = np.arange(half), np.zeros(half)
    later = np.arange(1, half + 1)
    matrix = (
        ("b", np.concatenate([zeros, later])),
        ("c", np.concatenate([number % 7, zeros])),
        ("d", np.concatenate([number, np.ones(half)])),
    )
    return {
        "R1": _table(*matrix),
        "R2": _table(*matrix),
        "B": _table(("b", np.arange(half + 1))),
        "S": _table(("d", np.concatenate([zeros, later])), ("a", np.concatenate([number, later]))),
    }


LINEAR = Case(
    "[b]{B, [b, d]{[b, c, d]{R1, R2}, S}}",
    "C_lin",
    {
        "R1": "b BIGINT, c BIGINT, d BIGINT",
        "R2": "b BIGINT, c BIGINT, d BIGINT",
        "B": "b BIGINT",
        "S": "d BIGINT, a BIGINT",
    },
    frozenset({"S"}),
    "SELECT DISTINCT S.a, R1.b, R1.d FROM R1, R2, B, S "
    "WHERE R1.b = R2.b AND R1.c = R2.c AND R1.d = R2.d AND B.b = R1.b AND S.d = R1.d",
    _linear,
    (
        Toggle("B, n/2 rows of R1 and R2 each", "B", lambda n: [(0,)]),
        Toggle("R2, n/2 rows of S", "R2", lambda n: [(0, 0, 0)]),
        Toggle("R2, one row of S", "R2", lambda n: [(0, d % 7, d) for d in _spread(n // 2) if d > 1]),
    ),
    (Toggle("S, n/2 rows of R1 and R2", "S", lambda n: [(1, 1)]),),
    _CAPS,
)


def _polynomial(n: int) -> Mapping[str, pa.Table]:
    """b = 0 has n/2 values of a, a = 0 has n/4 values of c, any other one two; the bag has some 2.5 n rows."""
    half, quarter = n // 2, n // 4
    number, zeros = np.arange(1, half + 1), np.zeros(quarter)
    hot, cold = np.arange(quarter), n + number // 2
    return {
        "R": _table(("a", np.concatenate([number, zeros[:1]])), ("b", np.concatenate([np.zeros(half), [1]]))),
        "P": _table(("b", np.arange(2))),
        "S": _table(("a", np.concatenate([number, zeros])), ("c", np.concatenate([cold, hot]))),
        "T": _table(("c", np.concatenate([hot, cold, cold])), ("d", np.concatenate([hot, number, number + half]))),
    }


POLYNOMIAL = Case(
    "Q2",
    "C_poly",
    {"R": "a BIGINT, b BIGINT", "P": "b BIGINT", "S": "a BIGINT, c BIGINT", "T": "c BIGINT, d BIGINT"},
    frozenset({"S", "T"}),
    "SELECT DISTINCT R.a, R.b, T.d FROM R, P, S, T WHERE R.b = P.b AND R.a = S.a AND S.c = T.c",
    _polynomial,
    (
        Toggle("P, n/2 rows of R", "P", lambda n: [(0,)]),
        Toggle("R, n/4 rows of S and T", "R", lambda n: [(0, 1)]),
        Toggle("R, a few rows of S and T", "R", lambda n: [(a + 1, 0) for a in _spread(n // 2)]),
    ),
    (Toggle("T, one row of S", "T", lambda n: [(0, 0)]),),
    _CAPS,
)


def _triangle(n: int) -> Mapping[str, pa.Table]:
    """a = 0 and b = 0 share n/4 values of c, any others few."""
    quarter = n // 4
    hot, number, zeros = np.arange(quarter), np.arange(1, n - quarter + 1), np.zeros(quarter)
    pairs = (number, n + number // 2)
    values, keys = np.concatenate([zeros, pairs[0]]), np.concatenate([hot, pairs[1]])
    return {
        "R": _table(("a", np.concatenate([zeros[:1], number])), ("b", np.concatenate([zeros[:1], number ^ 1]))),
        "T": _table(("b", values), ("c", keys)),
        "U": _table(("a", values), ("c", keys)),
    }


TRIANGLE = Case(
    "triangle, one table dynamic",
    "C_poly",
    {"R": "a BIGINT, b BIGINT", "T": "b BIGINT, c BIGINT", "U": "a BIGINT, c BIGINT"},
    frozenset({"T", "U"}),
    "SELECT R.a, R.b, T.c FROM R, T, U WHERE R.b = T.b AND R.a = U.a AND T.c = U.c",
    _triangle,
    (
        Toggle("R, n/4 rows of T and U", "R", lambda n: [(0, 0)]),
        Toggle("R, a few rows of T and U", "R", lambda n: [(a + 1, (a + 1) ^ 1) for a in _spread(n // 2)]),
    ),
    (Toggle("T, one row of U", "T", lambda n: [(0, 0)]),),
    _CAPS,
)


def _shops(n: int) -> Mapping[str, pa.Table]:
    """Orders, half of them of shop 0, a quarter of product 0, which is sold by shops of few orders."""
    number = np.arange(n)
    shop = np.where(number % 2 == 0, 0, 1 + number // 4)
    product = np.where(number % 4 == 1, 0, 1 + number)
    return {
        "Orders": _table(("id", number), ("shop", shop), ("product", product)),
        "Shops": _table(("shop", np.arange(n // 4 + 2))),
        "Products": _table(("product", np.arange(n + 1)), ("region", np.arange(n + 1) % 100)),
        "Regions": _table(("region", np.arange(100)), ("country", np.arange(100) % 10)),
    }


SHOPS = Case(
    "orders of open shops, with keys",
    "C_lin",
    {
        "Shops": "shop BIGINT PRIMARY KEY",
        "Regions": "region BIGINT PRIMARY KEY, country BIGINT",
        "Products": "product BIGINT PRIMARY KEY, region BIGINT, FOREIGN KEY (region) REFERENCES Regions",
        "Orders": "id BIGINT PRIMARY KEY, shop BIGINT, product BIGINT, FOREIGN KEY (shop) REFERENCES Shops, "
        "FOREIGN KEY (product) REFERENCES Products",
    },
    frozenset({"Products", "Regions"}),
    "SELECT o.id, o.shop, p.region, r.country FROM Orders o JOIN Shops s ON s.shop = o.shop "
    "JOIN Products p ON p.product = o.product JOIN Regions r ON r.region = p.region",
    _shops,
    (
        Toggle("Shops, n/2 orders", "Shops", lambda n: [(0,)]),
        Toggle("Orders", "Orders", lambda n: [(2 * i, 0, 1 + 2 * i) for i in _spread(n // 2)]),
    ),
    (Toggle("Products, n/4 orders", "Products", lambda n: [(0, 0)]),),
    {**_CAPS, "aju": 1_000_000},
)


def _nested(n: int) -> Mapping[str, pa.Table]:
    """x = 0 has n/2 values of a, a = 0 n/2 of b, and a = -1 n/2 of x, which P has not, and one of b."""
    half = n // 2
    number, zeros = np.arange(1, half + 1), np.zeros(half)
    return {
        "R": _table(("a", np.concatenate([number, [0], zeros - 1])), ("x", np.concatenate([zeros, [1], 1 + number]))),
        "P": _table(("x", np.arange(2)), ("y", np.arange(2))),
        "T": _table(("a", np.concatenate([number, zeros, [-1]])), ("b", np.concatenate([number, number, [0]]))),
    }


NESTED = Case(
    "R(a, x) JOIN (SELECT DISTINCT a, b FROM T) q JOIN P(x, y)",
    "C_lin",
    {"R": "a BIGINT, x BIGINT", "P": "x BIGINT, y BIGINT", "T": "a BIGINT, b BIGINT"},
    frozenset({"T"}),
    "SELECT R.a, R.x, q.b, P.y FROM R JOIN (SELECT DISTINCT a, b FROM T) q ON q.a = R.a JOIN P ON P.x = R.x",
    _nested,
    (
        Toggle("P, n/2 rows of R", "P", lambda n: [(0, 0)]),
        Toggle("R, n/2 rows of q", "R", lambda n: [(0, 1)]),
    ),
    (Toggle("T, n/2 rows of R", "T", lambda n: [(-1, 0)]),),
    {"auto": 100_000},
    100_000,
)


def _between(n: int) -> Mapping[str, pa.Table]:
    """a = 0 has n/2 values of b, b = 0 has n/2 values of a."""
    half = n // 2
    number, zeros = np.arange(1, half + 1), np.zeros(half)
    return {
        "R": _table(("a", np.arange(half + 1))),
        "P": _table(("b", np.arange(half + 1))),
        "T": _table(("a", np.concatenate([number, zeros])), ("b", np.concatenate([zeros, number]))),
    }


BETWEEN = Case(
    "R(a) JOIN (SELECT DISTINCT a, b FROM T) q JOIN P(b)",
    "C_exp, O(lambda)",
    {"R": "a BIGINT", "P": "b BIGINT", "T": "a BIGINT, b BIGINT"},
    frozenset({"T"}),
    "SELECT R.a, P.b FROM R JOIN (SELECT DISTINCT a, b FROM T) q ON q.a = R.a JOIN P ON P.b = q.b",
    _between,
    (Toggle("R, n/2 rows of q", "R", lambda n: [(0,)]), Toggle("P, n/2 rows of q", "P", lambda n: [(0,)])),
    (Toggle("T", "T", lambda n: [(0, 1)]),),
    {"auto": 100_000},
    100_000,
)

PLAIN = Case(
    "R JOIN S, nothing static",
    "for comparison",
    {"R": "a BIGINT, b BIGINT", "S": "a BIGINT, c BIGINT"},
    frozenset(),
    "SELECT R.a, R.b, S.c FROM R JOIN S ON R.a = S.a",
    lambda n: {name: _table(("a", np.arange(n)), (other, np.arange(n))) for name, other in (("R", "b"), ("S", "c"))},
    (Toggle("R, one row of S", "R", lambda n: [(a, a) for a in _spread(n)]),),
    (),
    {},
)

CASES = (LINEAR, SHOPS, POLYNOMIAL, TRIANGLE, NESTED, BETWEEN, PLAIN)
