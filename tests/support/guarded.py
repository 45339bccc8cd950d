"""A filled database that proves after each refusal that nothing changed.

Versions, results, counts, tables, subscribers and invariants are what they were, and a good commit still does what
DuckDB says.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import livejoin
from oracle import Oracle, assert_same_rows, difference, multiset, signed_multiset
from scenario import Change, ColumnSpec, QuerySpec, Row, TableSpec
from strategies import type_named

G = TableSpec("G", (ColumnSpec("src", type_named("BIGINT")), ColumnSpec("dst", type_named("BIGINT"))))
P = TableSpec(
    "P",
    (
        ColumnSpec("id", type_named("INT")),
        ColumnSpec("name", type_named("STRING"), not_null=True),
        ColumnSpec("price", type_named("DECIMAL(9, 2)")),
        ColumnSpec("born", type_named("DATE")),
        ColumnSpec("tiny", type_named("TINYINT")),
        ColumnSpec("yes", type_named("BOOLEAN")),
        ColumnSpec("ratio", type_named("DOUBLE")),
        ColumnSpec("at", type_named("TIMESTAMP")),
    ),
    primary_key=(0,),
)
VIEWS = {
    "hop2": QuerySpec(
        "SELECT A.src AS a, B.dst AS b FROM G A JOIN G B ON A.dst = B.src",
        "SELECT A.src, B.dst FROM G A, G B WHERE A.dst = B.src",
    ),
    "named": QuerySpec(
        "SELECT src, name, price FROM G, P WHERE dst = id AND tiny < 100",
        "SELECT src, name, price FROM G, P WHERE dst = id AND tiny < 100",
    ),
    "number": QuerySpec("SELECT CAST(name AS INT) AS n FROM P", "SELECT CAST(name AS INT) FROM P"),
}
EDGES: list[Row] = [(1, 2), (2, 3), (2, 3), (None, 1)]


def person(id: Any = 9, name: Any = "9", price: Any = None, **others: Any) -> dict[str, Any]:
    return {"id": id, "name": name, "price": price, "born": None, "tiny": 1, "yes": None, "ratio": None, "at": None} | (
        others
    )


class Guarded:
    """A filled database with three views and a quiet one, and the oracle beside it."""

    def __init__(self) -> None:
        self.db = livejoin.Database()
        self.oracle = Oracle([G, P])
        for table in (G, P):
            self.db.create_table(table.name, table.column_list)
        self.seen: list[pa.Table] = []
        for name, query in VIEWS.items():
            self.db.create_view(name, query.sql).subscribe(self.seen.append)
        self.db.create_view("quiet", VIEWS["hop2"].sql, deltas=False)
        people = [tuple(person(i, str(i), Decimal("1.50")).values()) for i in (1, 2, 3)]
        self.good([Change("G", "insert", e) for e in EDGES] + [Change("P", "insert", p) for p in people])

    def good(self, changes: list[Change]) -> None:
        before = {name: multiset(self.oracle.result(q.plain)) for name, q in VIEWS.items()}
        names = {"G": [c.name for c in G.columns], "P": [c.name for c in P.columns]}
        data: dict[str, list[dict[str, Any]]] = {}
        for change in changes:
            row = dict(zip(names[change.table], change.row, strict=True)) | {"_change_type": change.kind}
            data.setdefault(change.table, []).append(row)
        commit = self.db.apply(data)
        self.oracle.apply(changes)
        for name, query in VIEWS.items():
            expected = difference(multiset(self.oracle.result(query.plain)), before[name])
            assert_same_rows(signed_multiset(commit[name]), expected, name)
        self.seen.clear()
        self.unchanged()

    def unchanged(self) -> None:
        self.db._check()
        assert not self.seen
        assert list(self.db.tables) == ["G", "P"]
        assert list(self.db.views) == [*VIEWS, "quiet"]
        for name, view in self.db.views.items():
            query = VIEWS["hop2" if name == "quiet" else name]
            assert_same_rows(view.to_arrow(), self.oracle.result(query.plain), name)
            assert view.count() == view.to_arrow().num_rows

    def refuses(self, action: Callable[[livejoin.Database], object], error: type[Exception], *parts: str) -> Exception:
        """The action raises exactly this error, whose message has all the parts, and changes nothing."""
        version = self.db.version
        with pytest.raises(error) as caught:
            action(self.db)
        assert type(caught.value) is error
        for part in parts:
            assert part.lower() in str(caught.value).lower(), f"{part!r} is missing in: {caught.value}"
        assert self.db.version == version
        self.unchanged()
        self.good([Change("G", "insert", (3, 1)), Change("G", "delete", (1, 2))])
        self.good([Change("G", "insert", (1, 2)), Change("G", "delete", (3, 1))])
        assert self.db.version == version + 2
        return caught.value
