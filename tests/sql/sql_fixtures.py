"""A catalog and rows that the tests of the SQL layer share."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import duckdb
import pyarrow as pa

from factors import in_duckdb
from livejoin.catalog import Catalog
from livejoin.query import ConjunctiveQuery, Factor, Output
from livejoin.query.scalar import Expression
from livejoin.schema import Column
from livejoin.sql import parse_columns
from livejoin.sql.to_duckdb.result_types import column_type

TABLES = {
    "G": "src BIGINT, dst BIGINT",
    "H": "src INT, w DOUBLE, s STRING, d DATE, t TIMESTAMP, b BOOLEAN, m DECIMAL(10, 2), dst BIGINT",
    "K": "z INT PRIMARY KEY, src BIGINT, name STRING",
    "Odd": '`a b` BIGINT, `q"x` STRING, `select` INT',
}

_VALUES: dict[str, list[Any]] = {
    "boolean": [True, False, None],
    "integer": [0, 1, 2, 3, None],
    "double": [0.5, 1.0, 2.0, None],
    "decimal": [Decimal("1.00"), Decimal("2.50"), None],
    "date": [date(2024, 1, 31), date(2023, 2, 28), None],
    "timestamp": [datetime(2024, 1, 31, 12, 30), datetime(2020, 1, 1), None],
    "string": ["a", "it's", "", "7", None],
}


def make_catalog() -> Catalog:
    catalog = Catalog()
    for name, columns in TABLES.items():
        catalog.add(parse_columns(name, columns))
    return catalog


def fill(connection: duckdb.DuckDBPyConnection, catalog: Catalog, seed: int, rows: int = 12) -> None:
    """Small random tables of the catalog in DuckDB, with NULLs and duplicates where they are allowed."""
    generator = random.Random(seed)
    for table in catalog:
        drawn = [tuple(generator.choice(_values(column)) for column in table.columns) for _ in range(rows)]
        if table.primary_key:
            drawn = list({tuple(row[i] for i in table.primary_key): row for row in drawn}.values())
        columns = [pa.array([row[i] for row in drawn], column.type.arrow) for i, column in enumerate(table.columns)]
        connection.from_arrow(pa.table(columns, names=table.arrow.names)).create(quoted(table.name))


def _values(column: Column) -> list[Any]:
    values = _VALUES[column.type.kind]
    return values if column.nullable else [value for value in values if value is not None]


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def typed_text(output: Output) -> str:
    """An expression in DuckDB's SQL, cast to its type, which is Spark's."""
    assert isinstance(output.source, Expression)
    kind = None if pa.types.is_list(output.type) else column_type(output.type)
    text = in_duckdb(output.source)
    return text if kind is None else f"CAST({text} AS {kind})"


def unscaled(factor: Factor) -> str:
    """The whole number that a factor is, as DuckDB text."""
    assert factor.expression.scalar is not None
    scale = factor.expression.scalar.type.scale
    return f"CAST(CAST({in_duckdb(factor.expression)} AS DECIMAL(38, {scale})) * {10**scale} AS BIGINT)"


def by_definition(query: ConjunctiveQuery, factors: Sequence[Factor] = ()) -> str:
    """The query as SQL by the definition of its atoms, variables, head and outputs, then factors of its atoms."""
    atoms, equal = [], []
    first: dict[str, str] = {}
    for i, atom in enumerate(query.atoms):
        own = "".join(f", {unscaled(f)} AS f{n}" for n, f in enumerate(factors) if f.atom == i)
        kept = in_duckdb(atom.predicate) if atom.predicate else "TRUE"
        atoms.append(f"(SELECT *{own} FROM {quoted(atom.table.name)} WHERE {kept}) a{i}")
        for variable, column in zip(atom.variables, atom.columns, strict=True):
            term = f"a{i}.{quoted(atom.table.columns[column].name)}"
            if first.setdefault(variable, term) != term:
                equal.append(f"{first[variable]} = {term}")
    head = [
        f"a{ref.atom}.{quoted(query.atoms[ref.atom].table.columns[ref.column].name)} AS c{i}"
        for i, ref in enumerate(query.head)
    ]
    head += [f"a{factor.atom}.f{n}" for n, factor in enumerate(factors)]
    outputs = [f"c{o.source}" if isinstance(o.source, int) else typed_text(o) for o in query.outputs]
    outputs += [f"f{n}" for n in range(len(factors))]
    inner = f"SELECT {', '.join(head) or '1'} FROM {', '.join(atoms)} WHERE {' AND '.join(equal) or 'TRUE'}"
    return f"SELECT {', '.join(f'({o}) AS o{i}' for i, o in enumerate(outputs))} FROM ({inner})"


def bag(table: pa.Table) -> Counter[tuple[Any, ...]]:
    return Counter(zip(*(column.to_pylist() for column in table.columns), strict=True))
