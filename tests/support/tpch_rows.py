"""The queries of `examples/tpch`, and random lives of its tables: few keys, values that every condition tells apart.

Rows come in any order, so that many refer to what is not there, or not yet. A step inserts, deletes and replaces rows
of some tables, empties a table, or brings back what was in one before.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

from livejoin.catalog import Catalog
from livejoin.schema import Column
from livejoin.sql import parse_schema

FOLDER = Path(__file__).parents[2] / "examples" / "tpch"
QUERIES = {file.stem: file.read_text() for file in sorted((FOLDER / "queries").glob("q*.sql"))}

_KEYS = {"r_regionkey": 3, "n_nationkey": 6, "s_suppkey": 4, "c_custkey": 6, "p_partkey": 5, "o_orderkey": 9}
_REFERENCES = {
    "n_regionkey": "r_regionkey",
    "s_nationkey": "n_nationkey",
    "c_nationkey": "n_nationkey",
    "ps_partkey": "p_partkey",
    "ps_suppkey": "s_suppkey",
    "o_custkey": "c_custkey",
    "l_orderkey": "o_orderkey",
    "l_partkey": "p_partkey",
    "l_suppkey": "s_suppkey",
}
_LINES = 6
_NULLS = 0.08
_VALUES: dict[str, list[Any]] = {
    "r_name": ["EUROPE", "AMERICA", "ASIA"],
    "n_name": ["GERMANY", "FRANCE", "BRAZIL", "CANADA", "SAUDI ARABIA", "INDIA"],
    "s_acctbal": [Decimal("-9.50"), Decimal("100.00")],
    "s_comment": ["slow Customer deals, Complaints", "Complaints of a Customer", "quick"],
    "c_phone": ["13-555", "31-555", "99-555"],
    "c_acctbal": [Decimal("-1.00"), Decimal("2.50"), Decimal("9.75"), Decimal("0.00")],
    "c_mktsegment": ["BUILDING", "BUILDING", "MACHINERY"],
    "p_name": ["forest green", "green", "forest", "blue"],
    "p_mfgr": ["Manufacturer#1"],
    "p_brand": ["Brand#12", "Brand#23", "Brand#34", "Brand#45"],
    "p_type": ["ECONOMY ANODIZED STEEL", "SMALL BRASS", "PROMO BRASS", "MEDIUM POLISHED TIN"],
    "p_size": [1, 3, 15, 49],
    "p_container": ["MED BOX", "SM BOX", "LG BOX"],
    "ps_availqty": [1, 40, 900],
    "ps_supplycost": [Decimal("1.00"), Decimal("1.00"), Decimal("2.50"), Decimal("99999.99")],
    "o_orderstatus": ["F", "F", "O"],
    "o_totalprice": [Decimal("10.00"), Decimal("10.00"), Decimal("500000.01")],
    "o_orderdate": [date(1993, 7, 1), date(1993, 12, 31), date(1994, 6, 1), date(1995, 3, 14), date(1996, 3, 1)],
    "o_orderpriority": ["1-URGENT", "2-HIGH", "5-LOW"],
    "o_comment": ["special packages requests", "requests, special", "special requests"],
    "l_quantity": [Decimal("1.00"), Decimal("10.00"), Decimal("23.00"), Decimal("24.00"), Decimal("290.00")],
    "l_extendedprice": [Decimal("0.01"), Decimal("901.00"), Decimal("104949.50")],
    "l_discount": [Decimal("0.00"), Decimal("0.05"), Decimal("0.07"), Decimal("0.10")],
    "l_tax": [Decimal("0.00"), Decimal("0.08")],
    "l_returnflag": ["R", "A", "N"],
    "l_linestatus": ["O", "F"],
    "l_shipdate": [date(1994, 1, 1), date(1995, 9, 30), date(1996, 2, 1), date(1996, 12, 31), date(1998, 9, 3)],
    "l_commitdate": [date(1994, 5, 1), date(1996, 3, 1)],
    "l_receiptdate": [date(1994, 1, 1), date(1994, 6, 1), date(1996, 12, 31)],
    "l_shipinstruct": ["DELIVER IN PERSON", "DELIVER IN PERSON", "NONE"],
    "l_shipmode": ["AIR", "AIR REG", "MAIL", "SHIP"],
}

Row = tuple[Any, ...]


def schema(nullable: bool) -> str:
    """The schema; on request all columns but those of primary keys may be NULL."""
    text = (FOLDER / "schema.sql").read_text()
    return text.replace(" NOT NULL", "") if nullable else text


def statements(text: str) -> Iterator[str]:
    """The statements of a schema."""
    return (one.strip() for one in re.sub("--.*", "", text).split(";") if one.strip())


class Tables:
    """Tables that change at random; mutable.

    Attributes:
        catalog: Their declarations.
        rows: For each table the row of each key.
    """

    def __init__(self, generator: random.Random, nullable: bool) -> None:
        self.catalog: Catalog = parse_schema(schema(nullable))
        self.rows: dict[str, dict[Row, Row]] = {table.name: {} for table in self.catalog}
        self._before: dict[str, list[Row]] = {}
        self._generator, self._nulls = generator, _NULLS if nullable else 0.0

    def step(self) -> dict[str, list[tuple[str, Row]]]:
        """Change some tables; for each of them the changes, net, as a kind and a row."""
        draw = self._generator
        some = draw.sample(list(self.rows), draw.randint(1, len(self.rows)))
        return {name: changes for name in some if (changes := self._changed(name))}

    def _changed(self, name: str) -> list[tuple[str, Row]]:
        draw, rows, old = self._generator, self.rows[name], dict(self.rows[name])
        match draw.choices(["some", "empty", "back"], [12, 1, 2])[0]:
            case "empty":
                self._before[name] = list(rows.values())
                rows.clear()
            case "back":
                rows.update({self._key(name, row): row for row in self._before.pop(name, [])})
            case _:
                for _ in range({"lineitem": 14, "partsupp": 8}.get(name, 4)):
                    row = self._row(name)
                    rows[self._key(name, row)] = row
                for key in draw.sample(sorted(rows), len(rows) // 5):
                    del rows[key]
        gone = [("delete", row) for key, row in old.items() if rows.get(key) != row]
        return [*gone, *(("insert", row) for key, row in rows.items() if old.get(key) != row)]

    def _key(self, name: str, row: Row) -> Row:
        return tuple(row[i] for i in self.catalog[name].primary_key)

    def _row(self, name: str) -> Row:
        table = self.catalog[name]
        return tuple(self._value(column, i in table.primary_key) for i, column in enumerate(table.columns))

    def _value(self, column: Column, is_key: bool) -> Any:
        draw = self._generator
        if not is_key and draw.random() < self._nulls:
            return None
        if (keys := _KEYS.get(_REFERENCES.get(column.name, column.name))) is not None:
            return draw.randrange(keys)
        if column.name == "l_linenumber":
            return draw.randrange(_LINES)
        if column.name in _VALUES:
            return draw.choice(_VALUES[column.name])
        if column.type.kind == "string":
            return draw.choice(["x", "y"])
        return 0 if column.type.kind == "integer" else Decimal(0)
