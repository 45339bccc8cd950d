"""Relations of a bound query by their definitions, one operator at a time, in plain Python over DuckDB's joins.

Lists keep NULLs and are sorted with NULL last, as the operators of livejoin give them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from decimal import ROUND_HALF_UP, Context, Decimal
from fractions import Fraction
from functools import cmp_to_key
from typing import Any

import duckdb
import pyarrow as pa
from sql_fixtures import by_definition, quoted, typed_text, unscaled

from factors import in_duckdb
from livejoin.query import Atom, Output
from livejoin.query.aggregates import AggregateCall
from livejoin.query.keys import keys
from livejoin.query.relational import Aggregate, Distinct, Join, Numbers, Project, Ranked, Relation, SetOperation, TopK
from livejoin.query.scalar import Constant, Expression
from livejoin.schema import SqlType
from naive_aggregates import result
from naive_branches import heads

Row = tuple[Any, ...]

_PREFIX = "input of "


def evaluate(relation: Relation, connection: duckdb.DuckDBPyConnection) -> list[Row]:
    """The rows of a relation. Every operator's result must have the types and the schema that it declares."""
    match relation:
        case Join() if relation.query.branches:
            rows = _with_branches(relation, connection)
        case Join():
            # DuckDB has no relations without columns.
            one = Output("one", pa.int32(), Expression("1", Constant(1, SqlType.integer(32))))
            query = replace(relation.query, outputs=(*relation.query.outputs, one), atoms=_renamed(relation))
            with _read(relation, connection):
                rows = [row[:-1] for row in _rows(connection.sql(by_definition(query)).to_arrow_table())]
        case Project():
            rows = _project(relation, evaluate(relation.input, connection), connection)
        case Distinct():
            rows = list(dict.fromkeys(evaluate(relation.input, connection)))
        case Aggregate():
            rows = _aggregate(relation, evaluate(relation.input, connection))
        case SetOperation():
            sides = [Counter(evaluate(side, connection)) for side in (relation.left, relation.right)]
            assert relation.left.types == relation.right.types
            rows = list(_combined(relation, *sides).elements())
        case Numbers():
            rows = [(number,) for number in range(relation.count)]
        case TopK():
            rows = _first(relation, evaluate(relation.input, connection))
        case Ranked():
            rows = _ranked(relation, evaluate(relation.input, connection))
    elements = [field.type.value_type if pa.types.is_list(field.type) else field.type for field in relation.schema]
    assert elements == [kind.arrow for kind in relation.types]
    found = _rows(_table(relation.schema.types, rows)) if relation.types else rows
    for key in keys(relation):
        assert len({tuple(row[i] for i in sorted(key)) for row in found}) == len(found), (key, relation)
    return found


def _with_branches(relation: Join, connection: duckdb.DuckDBPyConnection) -> list[Row]:
    query = replace(relation.query, atoms=_renamed(relation))
    with _read(relation, connection):
        names = {atom.table.name for atom in query.atoms}
        tables = {name: _rows(connection.sql(f"SELECT * FROM {quoted(name)}").to_arrow_table()) for name in names}
        rows = heads(query, tables)
    types = [query.atoms[ref.atom].table.arrow.types[ref.column] for ref in query.head]
    below = connection.from_arrow(_table([*types, pa.int32()], [(*row, 1) for row in rows]))
    outputs = [f'"c{o.source}"' if isinstance(o.source, int) else typed_text(o) for o in query.outputs]
    listed = ", ".join(f"{text} AS o{i}" for i, text in enumerate([*outputs, "1"]))
    return [row[:-1] for row in _rows(below.project(listed).to_arrow_table())]


def _renamed(join: Join) -> tuple[Atom, ...]:
    """The atoms; those over inputs read tables whose names no view has."""
    names = {given.table.name for given in join.inputs}
    return tuple(
        replace(atom, table=replace(atom.table, name=_PREFIX + atom.table.name)) if atom.table.name in names else atom
        for atom in join.query.atoms
    )


@contextmanager
def _read(join: Join, connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """The inputs of a join as tables; their declarations and the atoms over them keep their laws."""
    tables = {}
    for given in join.inputs:
        name, relation = given.table.name, given.relation
        assert _PREFIX + name not in tables
        assert [column.type for column in given.table.columns] == list(relation.types)
        atoms = [atom for atom in join.query.atoms if atom.table.name == name]
        assert atoms
        assert all(atom.table == given.table and atom.predicate is None for atom in atoms)
        if relation.schema.names == ["nothing"]:
            assert all(atom.columns == () for atom in atoms)
        assert not given.table.primary_key or frozenset(given.table.primary_key) in keys(relation)
        tables[_PREFIX + name] = _table(relation.schema.types, evaluate(relation, connection)).rename_columns(
            [column.name for column in given.table.columns]
        )
    for name, table in tables.items():
        connection.from_arrow(table).create(quoted(name))
    yield
    for name in tables:
        connection.execute(f"DROP TABLE {quoted(name)}")


def _rows(table: pa.Table) -> list[Row]:
    columns = [[tuple(v) if isinstance(v, list) else v for v in column.to_pylist()] for column in table.columns]
    return list(zip(*columns, strict=True))


def _table(types: Iterable[pa.DataType], rows: list[Row]) -> pa.Table:
    kinds = list(types)
    arrays = [pa.array([row[i] for row in rows], kind) for i, kind in enumerate(kinds)]
    return pa.table(arrays, names=[f"c{i}" for i in range(len(kinds))])


def _project(relation: Project, rows: list[Row], connection: duckdb.DuckDBPyConnection) -> list[Row]:
    below = connection.from_arrow(_table(relation.input.schema.types, rows))
    if relation.predicate is not None:
        below = below.filter(in_duckdb(relation.predicate))
    outputs = [f'"c{o.source}"' if isinstance(o.source, int) else typed_text(o) for o in relation.outputs]
    found = below.project(", ".join(f"{text} AS o{i}" for i, text in enumerate(outputs))).to_arrow_table()
    # DuckDB gives a bare NULL no type, livejoin that of an INT.
    types = [pa.int32() if pa.types.is_null(kind) else kind for kind in found.schema.types]
    assert types == relation.schema.types
    return _rows(found)


def _combined(relation: SetOperation, left: Counter[Row], right: Counter[Row]) -> Counter[Row]:
    if not relation.all:
        left, right = Counter(set(left)), Counter(set(right))
    match relation.kind, relation.all:
        case "union", True:
            return left + right
        case "union", False:
            return left | right
        case "except", _:
            return left - right
        case _:
            return left & right


def _first(relation: TopK, rows: list[Row]) -> list[Row]:
    keys = [(key.column, key.descending, key.nulls_first) for key in relation.keys]
    keys += [(column, False, True) for column in range(len(relation.types))]

    def compared(left: Row, right: Row) -> int:
        for column, descending, nulls_first in keys:
            a, b = left[column], right[column]
            if a is None or b is None:
                if (a is None) != (b is None):
                    return -1 if (a is None) == nulls_first else 1
            elif a != b:
                return -1 if (a < b) != descending else 1
        return 0

    return sorted(rows, key=cmp_to_key(compared))[relation.offset : relation.offset + relation.limit]


def _ranked(relation: Ranked, rows: list[Row]) -> list[Row]:
    found = []
    for part in {tuple(row[i] for i in relation.partition) for row in rows}:
        own = [row for row in rows if tuple(row[i] for i in relation.partition) == part]
        before, rank, dense = None, 0, 0
        for number, row in enumerate(_first(TopK(relation.input, relation.keys, len(own), 0), own), 1):
            values = [row[key.column] for key in relation.keys]
            if before != values:
                before, rank, dense = values, number, dense + 1
            place = {"row_number": number, "rank": rank, "dense_rank": dense}[relation.function]
            if relation.limit is None or place <= relation.limit:
                found.append((*row, place))
    return found


def _aggregate(relation: Aggregate, rows: list[Row]) -> list[Row]:
    groups: dict[Row, list[Row]] = {(): []} if relation.is_global else {}
    for row in rows:
        groups.setdefault(row[: relation.groups], []).append(row)
    return [(*group, *(_call(call, relation, members) for call in relation.calls)) for group, members in groups.items()]


def _call(call: AggregateCall, relation: Aggregate, rows: list[Row]) -> Any:
    if call.argument is None:
        return len(rows)
    if call.function in _OTHERS:
        found = result(call, relation.input.types, rows)
        return tuple(found) if isinstance(found, list) else found
    values = [row[call.argument] for row in rows]
    if call.function == "array_agg":
        return tuple(sorted(v for v in values if v is not None)) + (None,) * values.count(None)
    values = [value for value in values if value is not None]
    values = list(set(values)) if call.distinct else values
    if call.function == "count":
        return len(values)
    functions: dict[str, Callable[[list[Any]], Any]] = {
        "sum": lambda v: math.fsum(v) if call.type.kind == "double" else sum(v),
        "avg": lambda v: _average(v, call.type),
        "var_pop": lambda v: _squares(v) / len(v),
        "var_samp": lambda v: _squares(v) / (len(v) - 1) if len(v) > 1 else None,
        "min": min,
        "max": max,
        "bool_and": all,
        "bool_or": any,
    }
    found = functions[call.function](values) if values else None
    return float(found) if isinstance(found, Fraction) else found


_OTHERS = ("mode", "min_by", "max_by", "list_by", "percentile_cont", "percentile_disc", "covar_pop", "covar_samp")
_OTHERS += ("moment_3", "moment_4", "bit_and", "bit_or", "bit_xor")  # by the naive twin


def _average(values: list[Any], kind: SqlType) -> Any:
    exact = sum(map(Fraction, values)) / len(values)
    if kind.kind == "double":
        return float(exact)
    context = Context(prec=60)
    quotient = context.divide(Decimal(exact.numerator), Decimal(exact.denominator))
    return quotient.quantize(Decimal(1).scaleb(-kind.scale), ROUND_HALF_UP, context)


def _squares(values: list[Any]) -> Fraction:
    """The sum of squared distances from the mean."""
    exact = [Fraction(value) for value in values]
    mean = sum(exact) / len(exact)
    return sum(((value - mean) ** 2 for value in exact), Fraction(0))


def products(relation: Relation) -> list[tuple[AggregateCall, Join]]:
    """The calls of a relation whose argument is a product, with the join that they are over."""
    if isinstance(relation, Join):
        return []
    if isinstance(relation, SetOperation):
        return products(relation.left) + products(relation.right)
    found = []
    if isinstance(relation, Aggregate) and isinstance(relation.input, Join):
        found = [(call, relation.input) for call in relation.calls if call.product is not None]
    return found + products(relation.input)


def check_product(call: AggregateCall, join: Join, connection: duckdb.DuckDBPyConnection) -> int:
    """Compare a product with the argument that it stands for, row by row; returns the number of rows."""
    assert call.product is not None and call.argument is not None
    query = replace(join.query, outputs=(join.query.outputs[call.argument],), atoms=_renamed(join))
    with _read(join, connection):
        for factor in call.product.factors:
            # A factor is evaluated for every row of its table.
            table = quoted(query.atoms[factor.atom].table.name)
            connection.sql(f"SELECT {unscaled(factor)} FROM {table}").fetchall()
        rows = connection.sql(by_definition(query, call.product.factors)).fetchall()
    scale = join.types[call.argument].scale
    for argument, *factors in rows:
        product = None if None in factors else math.prod(factors)
        if call.function == "count":
            assert product == (argument is not None), (call, argument, factors)
        else:
            expected = None if argument is None else int(Decimal(argument).scaleb(scale, Context(prec=60)))
            assert product == expected, (call, argument, factors)
    return len(rows)
