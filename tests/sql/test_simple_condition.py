"""Simple conditions are true for exactly the rows for which DuckDB says so."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conjunctive import bind
from livejoin.dataflow.selection import Selector
from livejoin.families.layout.table_use import TableUse
from livejoin.query import Atom, ConjunctiveQuery, Factor
from livejoin.query.condition import holds, table_columns
from livejoin.query.expression import evaluate, select_true
from livejoin.query.relational import Project
from livejoin.schema import Catalog
from livejoin.sql import bind_query, parse_columns
from livejoin.sql.to_duckdb.scalar_text import unscaled
from livejoin.sql.to_duckdb.simple_condition import simple_condition, simple_measure
from livejoin.state.codec import Codec
from strategies import FUZZ

pytestmark = pytest.mark.nojit

INTEGERS = {"tiny": pa.int8(), "plain": pa.int32(), "big": pa.int64()}
TYPES: dict[str, pa.DataType] = {
    **INTEGERS,
    "other": pa.int64(),
    "flag": pa.bool_(),
    "x": pa.float64(),
    "m": pa.decimal128(15, 2),
    "wide": pa.decimal128(38, 4),
    "d": pa.date32(),
    "t": pa.timestamp("us"),
    "s": pa.string(),
    "r": pa.string(),
}
SCHEMA = pa.schema(list(TYPES.items()))
COLUMNS = (
    "tiny TINYINT, plain INT, big BIGINT, other BIGINT, flag BOOLEAN, x DOUBLE, m DECIMAL(15, 2), wide DECIMAL(38, 4), "
    "d DATE, t TIMESTAMP, s STRING, r STRING"
)

_SMALL = st.integers(-12, 12)
_DAY = st.integers(-2, 2).map(lambda days: date(2020, 2, 28) + timedelta(days))
_TIME = st.tuples(_DAY, st.sampled_from([0, 1, 86_399_999_999])).map(
    lambda pair: datetime.combine(pair[0], datetime.min.time()) + timedelta(microseconds=pair[1])
)
_TEXT = st.sampled_from(["", "a", "A", "ab", "é", "it's", "\U0001f600", "\uffff"])
_HUNDREDTHS = st.integers(-300, 300).map(lambda n: Decimal(n) / 100)
_DOUBLE = st.sampled_from([0.0, -0.0, 0.1, 1.0, -1.5, 1e300, float("inf"), float("-inf"), float("nan")])
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "tiny": _SMALL | st.sampled_from([-128, 127]),
    "plain": _SMALL | st.sampled_from([-(2**31), 2**31 - 1]),
    "big": _SMALL | st.sampled_from([-(2**63), 2**63 - 1]),
    "other": _SMALL,
    "flag": st.booleans(),
    "x": _DOUBLE,
    "m": _HUNDREDTHS,
    "wide": _HUNDREDTHS | st.just(Decimal("9999999999999999999999999999999999.9999")),
    "d": _DAY,
    "t": _TIME,
    "s": _TEXT,
    "r": _TEXT,
}


def _written(name: str, value: Any) -> list[str]:
    """The ways in which a constant of a column's type is written."""
    match value:
        case bool():
            return [str(value).upper()]
        case str():
            return [f"'{value.replace(chr(39), chr(39) * 2)}'"]
        case datetime():
            return [f"CAST('{value}' AS TIMESTAMP)", f"'{value}'"]
        case date() if name == "t":
            return [f"CAST('{value}' AS DATE)"]
        case date():
            day = f"CAST('{value}' AS DATE)"
            return [day, f"'{value}'", f"CAST('{value} 00:00:00' AS TIMESTAMP)", f"{day} + INTERVAL 0 DAY"]
        case float():
            return [f"CAST('{value}' AS DOUBLE)"] if abs(value) > 10 else [str(value), f"CAST({value} AS DOUBLE)"]
        case _:
            return [f"({value})", f"{value} + 0"]


CONSTANTS: dict[str, st.SearchStrategy[Any]] = {
    **VALUES,
    **dict.fromkeys(INTEGERS, _SMALL),
    "x": st.sampled_from([0.0, 0.1, 1.0, -1.5, float("inf"), float("-inf")]) | _SMALL,
    "m": _HUNDREDTHS | _SMALL,
    "wide": _HUNDREDTHS | _SMALL,
    "t": _TIME | _DAY,
}
COMPARISON = st.sampled_from(["=", "<>", "<", "<=", ">", ">="])


@st.composite
def constant(draw: st.DrawFn, name: str) -> str:
    return draw(st.sampled_from(_written(name, draw(CONSTANTS[name]))))


@st.composite
def comparison(draw: st.DrawFn) -> str:
    name = draw(st.sampled_from(list(TYPES)))
    term = f'"{name}"'
    if name in INTEGERS and draw(st.booleans()):
        term = f"{term} % {draw(st.sampled_from([1, 3, 10, 1000]))}"
    operator = draw(COMPARISON)
    match draw(st.sampled_from(["compare", "mirrored", "between", "in", "null", "columns", "flag"])):
        case "compare":
            return f"{term} {operator} {draw(constant(name))}"
        case "mirrored":
            return f"{draw(constant(name))} {operator} {term}"
        case "between":
            return f"{term} BETWEEN {draw(constant(name))} AND {draw(constant(name))}"
        case "in":
            if name == "x":
                return f"{term} = {draw(constant(name))}"
            return f"{term} IN ({', '.join(draw(st.lists(constant(name), min_size=1, max_size=3)))})"
        case "null":
            return f'"{name}" IS NULL'
        case "flag":
            return '"flag"'
        case _:
            left, right = draw(st.sampled_from([("big", "other"), ("s", "r"), ("d", "d"), ("m", "m")]))
            return f'"{left}" {operator} "{right}"'


PREDICATES = st.recursive(
    comparison(),
    lambda inner: st.one_of(
        inner.map(lambda p: f"NOT ({p})"),
        st.tuples(inner, inner).map(lambda p: f"({p[0]}) AND ({p[1]})"),
        st.tuples(inner, inner).map(lambda p: f"({p[0]}) OR ({p[1]})"),
    ),
    max_leaves=4,
)
ROWS = st.lists(st.fixed_dictionaries({name: st.none() | values for name, values in VALUES.items()}), max_size=8)


@FUZZ
@given(predicate=PREDICATES, rows=ROWS)
def test_the_rows_are_those_of_duckdb(predicate: str, rows: list[dict[str, Any]]) -> None:
    table = pa.Table.from_pylist(rows, schema=SCHEMA)
    condition = simple_condition(predicate, SCHEMA)
    assert condition is not None
    assert holds(condition, table_columns(table)).tolist() == select_true(predicate, table).tolist()


@pytest.mark.parametrize(
    "predicate",
    [
        'abs("big") > 2',
        '"big" + 1 > 2',
        '"big" = 1.5',
        '"tiny" = 300',
        '"m" = 0.055',
        '"big" % 0 = 1',
        '"big" % -3 = 1',
        '"x" % 3 = 1',
        "\"x\" > CAST('nan' AS DOUBLE)",
        '"x" = "x"',
        '"big" = "plain"',
        '"big" = NULL',
        '"x" IN (1.0, 2.0)',
        " AND ".join(['"flag"'] * 2000),
        "\"s\" LIKE 'a%'",
        '"s" = 5',
        "\"d\" = CAST('2020-01-01 10:00:00' AS TIMESTAMP)",
        "\"d\" = '2020-02-30'",
        '"flag" IS TRUE',
        '"big" IN (1, NULL)',
        "1 = 1",
        '"big"',
        '"nothing" = 1',
    ],
)
def test_what_duckdb_evaluates(predicate: str) -> None:
    assert simple_condition(predicate, SCHEMA) is None


NARROW = [*INTEGERS, "other", "m"]


@st.composite
def factors(draw: st.DrawFn) -> str:
    """A factor as `livejoin.sql.lower.sums_of_products` and the plans write them."""
    name = draw(st.sampled_from(NARROW))
    text = unscaled(f'"{name}"', 2) if name == "m" else f'"{name}"'
    text = draw(st.sampled_from([text, "1", "-1", "0"]))
    for _ in range(draw(st.integers(0, 2))):
        text = f"CASE WHEN {draw(PREDICATES)} THEN {text}{draw(st.sampled_from(['', ' ELSE 0']))} END"
    return text


@FUZZ
@given(factor=factors(), rows=ROWS)
def test_the_values_are_those_of_duckdb(factor: str, rows: list[dict[str, Any]]) -> None:
    table = pa.Table.from_pylist(rows, schema=SCHEMA)
    declared = parse_columns("T", COLUMNS, None)
    present = f"(({factor}) IS NOT NULL)::BIGINT"
    simple = [text for text in (factor, present) if simple_measure(text, SCHEMA)]
    assert factor in simple
    assert present in simple or "ELSE" in factor or not factor.startswith(("CASE", "CAST", '"'))
    use = TableUse("T", (), (), 0, tuple(simple))
    query = ConjunctiveQuery("", (Atom("T", declared, (), ()),), (), ())
    measured = [Factor(0, text, simple_measure(text, SCHEMA), None, tuple(SCHEMA.names)) for text in simple]
    found = Selector(query, measured, use, declared).select(table, Codec().encode(table, declared)).factors
    expected = [evaluate([f"coalesce(({text})::BIGINT, 0)"], table)[0].to_pylist() for text in simple]
    assert found.tolist() == expected


@pytest.mark.parametrize(
    "factor",
    [
        '"big" * 2',
        '"x"',
        '"wide"',
        unscaled('"m"', 3),
        'CASE WHEN "flag" THEN 1 ELSE 2 END',
        "1.5",
        '"flag"',
        '"nothing"',
    ],
)
def test_factors_that_duckdb_evaluates(factor: str) -> None:
    assert simple_measure(factor, SCHEMA) is None


def test_what_a_bound_query_has() -> None:
    catalog = Catalog()
    catalog.add(parse_columns("G", "src BIGINT, dst BIGINT, s STRING", None))
    simple = (
        "SELECT src, count(*) AS n FROM G WHERE dst % 10 = 0 AND s IS NOT NULL AND src = dst GROUP BY src HAVING n > 2"
    )
    query = bind_query(simple, catalog).root
    assert isinstance(query, Project)
    assert query.predicate is not None
    assert query.condition is not None
    (atom,) = bind("SELECT src FROM G WHERE dst % 10 = 0 AND s IS NOT NULL AND src = dst", catalog).atoms
    table = pa.table({"src": [20, 20, 1, 10], "dst": [20, 10, 1, 10], "s": ["x", "y", "z", None]})
    assert atom.condition is not None
    assert holds(atom.condition, table_columns(table)).tolist() == [True, False, False, False]
    (other,) = bind("SELECT src FROM G WHERE dst % 10 = 0 AND upper(s) = 'X'", catalog).atoms
    assert other.predicate is not None
    assert other.condition is None
