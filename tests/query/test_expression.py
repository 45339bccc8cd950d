"""Expressions over Arrow tables: values, types, order, NULLs, errors and threads."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from datetime import date, datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from livejoin.errors import ExpressionError
from livejoin.query.expression import evaluate
from livejoin.query.functions import find_not_scalar
from livejoin.schema import SqlType

ALL_TYPES = {
    "boolean": (SqlType("boolean"), True),
    "tiny": (SqlType.integer(8), 7),
    "small": (SqlType.integer(16), 7),
    "plain": (SqlType.integer(32), 7),
    "big": (SqlType.integer(64), 2**62),
    "double": (SqlType("double"), 0.1),
    "decimal": (SqlType.decimal(38, 4), Decimal("12345678901234567890.1234")),
    "date": (SqlType("date"), date(1969, 12, 31)),
    "timestamp": (SqlType("timestamp"), datetime(2024, 2, 29, 1, 2, 3, 456789)),
    "string": (SqlType("string"), "héé€"),
}
SCHEMA = pa.schema([(name, sql_type.arrow) for name, (sql_type, _) in ALL_TYPES.items()])
ROWS = pa.table({name: pa.array([value, None], t.arrow) for name, (t, value) in ALL_TYPES.items()}, schema=SCHEMA)


def test_every_type_passes_through() -> None:
    columns = [f'"{name}"' for name in ALL_TYPES]
    assert [values.type for values in evaluate(columns, SCHEMA.empty_table())] == SCHEMA.types
    assert [values.to_pylist() for values in evaluate(columns, ROWS)] == [[v, None] for _, v in ALL_TYPES.values()]


def test_result_types_do_not_depend_on_the_rows() -> None:
    expressions = ["big + 1", "small / 2", "decimal * 2", "date + INTERVAL 1 DAY", "string || '!'", "NULL", "1.50"]
    expressions += ["CASE WHEN boolean THEN tiny END", "coalesce(plain, big)", "length(string)"]
    inferred = [values.type for values in evaluate(expressions, SCHEMA.empty_table())]
    for rows in (ROWS, ROWS.slice(0, 1), ROWS.slice(1), ROWS.slice(0, 0)):
        assert [values.type for values in evaluate(expressions, rows)] == inferred


def test_rows_keep_their_order() -> None:
    order = np.random.default_rng(1).permutation(400_000)
    chunks = [pa.array(part) for part in np.array_split(order, 17)]
    rows = pa.table({"a": pa.chunked_array(chunks), "s": pa.array([f"s{i % 97}" for i in order])})
    numbers, texts, mask = evaluate(["a * 2", "s || a", "a % 3 = 0"], rows)
    assert np.array_equal(numbers.to_numpy(), order * 2)
    assert texts.to_pylist()[::5000] == [f"s{i % 97}{i}" for i in order[::5000]]
    assert np.array_equal(mask.to_numpy(), order % 3 == 0)


def test_no_expressions_and_no_columns() -> None:
    assert evaluate([], ROWS) == []
    without_columns = ROWS.select([])
    assert [values.to_pylist() for values in evaluate(["1 + 1", "'x'"], without_columns)] == [[2, 2], ["x", "x"]]


def test_awkward_column_names() -> None:
    rows = pa.table({'a"b': [1], "select": [2], "ä ö": [3]})
    assert evaluate(['"a""b" + "select" + "ä ö"'], rows)[0].to_pylist() == [6]


def test_the_failing_row_and_expression_are_named() -> None:
    rows = pa.table({"k": range(5000), "s": ["1"] * 3210 + ["bad"] + ["2"] * 1789})
    with pytest.raises(ExpressionError) as caught:
        evaluate(["k + 1", "CAST(s AS INT)"], rows)
    message = str(caught.value)
    assert "'CAST(s AS INT)' for the row (k = 3210, s = 'bad')" in message
    assert "Could not convert string 'bad' to INT32" in message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("a + ", "syntax error"),
        ("nope", "Referenced column"),
        ("a || upper(a, a)", "No function matches"),
        ("sum(a)", "one value a row"),
        ("(SELECT rows FROM rows)", "rows"),
        ("read_text('/etc/hostname')", "read_text"),
    ],
)
def test_expressions_that_do_not_bind(expression: str, message: str) -> None:
    with pytest.raises(ExpressionError, match=re.escape(message)) as caught:
        evaluate([expression], pa.schema([("a", pa.int64())]).empty_table())
    assert expression in str(caught.value)


def test_overflow_is_an_error_and_the_session_goes_on() -> None:
    rows = pa.table({"a": [1, 2**62]})
    with pytest.raises(ExpressionError, match="Overflow"):
        evaluate(["a * 4"], rows)
    assert evaluate(["a"], rows)[0].to_pylist() == [1, 2**62]


def test_threads_have_sessions_of_their_own() -> None:
    results: dict[int, bool] = {}

    def work(seed: int) -> None:
        values = np.arange(20_000) + seed
        rows = pa.table({"a": values})
        results[seed] = all(np.array_equal(evaluate(["a + 1"], rows)[0].to_numpy(), values + 1) for _ in range(10))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == dict.fromkeys(range(4), True)


FORKING = """
import multiprocessing

import pyarrow as pa

from livejoin.query.expression import evaluate


def double(value):
    return evaluate(["a * 2"], pa.table({"a": [value]}))[0].to_pylist()[0]


assert double(1) == 2
with multiprocessing.get_context("fork").Pool(1) as pool:
    print(pool.apply_async(double, (21,)).get(timeout=60))
"""


def test_a_forked_process_opens_its_own_session() -> None:
    """In a process of its own: the test run has threads (Spark's, Arrow's) that a fork would break."""
    run = subprocess.run([sys.executable, "-c", FORKING], capture_output=True, text=True, timeout=120, check=False)
    assert run.stdout.strip() == "42", run.stderr


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        ("abs(a) + length(upper(s)) % 3", None),
        ("CASE WHEN a IN (1, 2) THEN nullif(a, 1) ELSE coalesce(a, b) END", None),
        ("list_sum([a, b])", None),
        ("sum(a)", ("sum", "aggregate")),
        ("count(*)", ("count_star", "aggregate")),
        ("geomean(a)", ("geomean", "aggregate")),
        ("row_number() OVER ()", ("row_number", "window")),
        ("sum(a) OVER (ORDER BY b)", ("sum", "window")),
        ("unnest([a])", ("unnest", "table")),
        ("a + random()", ("random", "volatile")),
        ("upper(uuid())", ("uuid", "volatile")),
        ("now()", ("now", "volatile")),
        ("CURRENT_DATE", ("current_date", "volatile")),
        ("current_timestamp", ("current_timestamp", "volatile")),
        ("ago(INTERVAL 1 DAY)", ("ago", "volatile")),
        ("(SELECT 1)", ("SELECT", "sub-query")),
        ("len(range(a))", ("range", "unbounded")),
        ("repeat(s, 60000) || repeat(s, a)", None),
        ("repeat(lower(repeat(s, 60000)), 60000)", ("repeat", "unbounded")),
        ("repeat(lpad(s, a, 'x'), 17)", ("repeat", "unbounded")),
        ("replace(replace(s, 'ab', 'xyz'), 'x', '')", None),
        ("replace(replace(replace(s, 'a', repeat('b', 9)), a, b), 'x', 'y')", None),
        ("regexp_replace(repeat(s, 60000), '.', '\\0 and more than ten')", ("regexp_replace", "unbounded")),
        ("replace(" * 9 + "s" + ", 'a', 'aaaaa')" * 9, ("replace", "unbounded")),
        ("printf('%08.2f %s', a, s) || format('{:>20}', s)", None),
        ("printf('%.100000f', a)", ("printf", "unbounded")),
        ("printf(s, a)", ("printf", "unbounded")),
        ("format('{:{}}', s, a)", ("format", "unbounded")),
        ("upper(COLUMNS('c0'))", ("columns", "naming")),
        ("upper(alias(a))", ("alias", "naming")),
        ("a IN (SELECT 1)", ("SELECT", "sub-query")),
    ],
)
def test_functions_that_are_not_of_their_row(expression: str, found: tuple[str, str] | None) -> None:
    assert find_not_scalar(expression) == found


def test_a_column_may_be_called_like_a_clock() -> None:
    assert find_not_scalar('"current_date"', frozenset({"current_date"})) is None
