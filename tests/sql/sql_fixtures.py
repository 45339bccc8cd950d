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
from livejoin.sql.scalars.result_types import column_type

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
    """The query as SQL by the definition of its atoms, variables, branches, head and outputs, then factors of atoms."""
    head = [f'"{ref.atom}.{ref.column}" AS c{i}' for i, ref in enumerate(query.head)]
    head += [f'"{factor.atom}.f{n}" AS f{n}' for n, factor in enumerate(factors)]
    outputs = [f"c{o.source}" if isinstance(o.source, int) else typed_text(o) for o in query.outputs]
    outputs += [f"f{n}" for n in range(len(factors))]
    inner = f"SELECT {', '.join(head) or '1'} FROM ({_part_text(query, factors, None)})"
    return f"SELECT {', '.join(f'({o}) AS o{i}' for i, o in enumerate(outputs))} FROM ({inner})"


def _part_text(query: ConjunctiveQuery, factors: Sequence[Factor], position: int | None) -> str:
    """The core or a branch, with what hangs on it: column c of atom i is called "i.c", factor n of it "i.fn"."""
    atoms = query.core if position is None else query.branches[position].atoms
    tables, equal = [], []
    first: dict[str, str] = {}
    for i in atoms:
        atom = query.atoms[i]
        listed = [f'{quoted(column.name)} AS "{i}.{c}"' for c, column in enumerate(atom.table.columns)]
        listed += [f'{unscaled(f)} AS "{i}.f{n}"' for n, f in enumerate(factors) if f.atom == i]
        kept = in_duckdb(atom.predicate) if atom.predicate else "TRUE"
        tables.append(f"(SELECT {', '.join(listed)} FROM {quoted(atom.table.name)} WHERE {kept})")
        for variable, column in zip(atom.variables, atom.columns, strict=True):
            term = f'"{i}.{column}"'
            if first.setdefault(variable, term) != term:
                equal.append(f"{first[variable]} = {term}")
    text = f"SELECT * FROM {', '.join(tables)} WHERE {' AND '.join(equal) or 'TRUE'}"
    for child, branch in enumerate(query.branches):
        if branch.above != position:
            continue
        below = _part_text(query, factors, child)
        key = " AND ".join(f"{first[outer]} = {_term(query, branch.atoms, inner)}" for outer, inner in branch.key)
        if branch.kind == "optional":
            text = f"SELECT * FROM ({text}) LEFT JOIN ({below}) ON {key or 'TRUE'}"
        else:
            negation = "NOT " if branch.kind == "not exists" else ""
            found = f"SELECT 1 FROM ({below}) WHERE {key or 'TRUE'}"
            text = f"SELECT * FROM ({text}) WHERE {negation}EXISTS ({found})"
    return text


def _term(query: ConjunctiveQuery, atoms: Sequence[int], variable: str) -> str:
    """A column of some atoms with a variable."""
    atom = next(i for i in atoms if variable in query.atoms[i].variables)
    return f'"{atom}.{query.atoms[atom].column_of(variable)}"'


def bag(table: pa.Table) -> Counter[tuple[Any, ...]]:
    return Counter(zip(*(column.to_pylist() for column in table.columns), strict=True))
