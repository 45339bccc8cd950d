"""Columns that data does not have, and those that its table does not, with each ``coerce`` and ``extra_columns``."""

from __future__ import annotations

from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from livejoin.changes import Intake, read_changes
from livejoin.errors import ChangeFormatError, ChangeValueError
from livejoin.sql import parse_columns

JSON, IGNORING = Intake("json"), Intake(extra_columns="ignore")
BOTH = Intake("json", "ignore")
TABLE = parse_columns("t", "id BIGINT NOT NULL, a STRING, b DOUBLE")
KEYED = parse_columns("k", "id BIGINT PRIMARY KEY, a STRING, b DOUBLE NOT NULL")


def read(table: Any, data: Any, intake: Intake) -> list[Any]:
    return [tuple(row.values()) for row in read_changes(table, data, intake=intake).rows.to_pylist()]


ONE_COLUMN = [
    [{"id": 1}, {"id": 2}],
    pa.table({"ID": [1, 2]}),
    pd.DataFrame({"id": [1, 2]}),
    pl.DataFrame({"id": [1, 2]}),
]


@pytest.mark.parametrize("data", ONE_COLUMN, ids=["dicts", "arrow", "pandas", "polars"])
def test_a_column_that_no_row_has(data: Any) -> None:
    assert read(TABLE, data, JSON) == [(1, None, None), (2, None, None)]
    with pytest.raises(ChangeFormatError, match="missing columns 'a', 'b'"):
        read(TABLE, data, Intake())
    with pytest.raises(ChangeFormatError, match=r"missing column 'b'.*NOT NULL"):
        read(KEYED, data, JSON)


def test_dicts_that_have_different_keys() -> None:
    data = [{"id": 1, "A": "x"}, {"b": 2, "Id": 2}, {"id": 3}]
    assert read(TABLE, data, JSON) == [(1, "x", None), (2, None, 2.0), (3, None, None)]
    with pytest.raises(
        ChangeFormatError, match=r"row 1 .* the dict has the keys 'b', 'Id'; the first row has 'id', 'A'"
    ):
        read(TABLE, data, Intake())
    with pytest.raises(ChangeFormatError, match=r"row 2 .* missing column 'id': which is NOT NULL"):
        read(TABLE, [*data[:2], {"a": "x"}], JSON)
    with pytest.raises(ChangeFormatError, match=r"row 1 .* missing column 'b': which is NOT NULL"):
        read(KEYED, [{"id": 1, "a": "x", "b": 1.0}, {"id": 2}], JSON)
    with pytest.raises(ChangeFormatError, match=r"row 1 .* missing column 'a': only an upsert"):
        read(KEYED, [{"id": 1, "a": "x", "b": 1.0}, {"id": 2, "b": 1.0}], Intake())


def test_null_where_it_is_not_allowed_is_no_missing_column() -> None:
    with pytest.raises(ChangeValueError, match=r"row 1 .*NULL in column 'id'"):
        read(TABLE, [{"id": 1}, {"id": None, "a": "x"}], JSON)


@pytest.mark.parametrize("intake", [IGNORING, BOTH], ids=["strict", "json"])
def test_columns_that_the_table_does_not_have(intake: Intake) -> None:
    data = [{"id": 1, "a": "x", "b": 1.0, "c": object()}, {"id": 2, "a": None, "b": None, "d": 1}]
    assert read(TABLE, data[:1], intake) == [(1, "x", 1.0)]
    with pytest.raises(ChangeFormatError, match="unknown column 'c'; the table has id, a, b"):
        read(TABLE, data[:1], Intake(intake.coerce))
    assert read(TABLE, data, intake) == [(1, "x", 1.0), (2, None, None)]
    arrow = pa.table([[1], ["x"], [1.0], [[1]], [2]], ["id", "a", "b", "c", "C"])
    assert read(TABLE, arrow, intake) == [(1, "x", 1.0)]


def test_a_column_twice_is_refused_in_any_case() -> None:
    for intake in (Intake(), BOTH):
        with pytest.raises(ChangeFormatError, match="twice"):
            read(TABLE, pa.table([[1], [2], ["x"], [1.0]], ["id", "ID", "a", "b"]), intake)
    with pytest.raises(ChangeFormatError, match=r"row 1 .* of which two are one name"):
        read(TABLE, [{"id": 1, "a": "x"}, {"id": 2, "ID": 3}], JSON)


def test_extra_columns_do_not_stand_for_missing_ones() -> None:
    with pytest.raises(ChangeFormatError, match="missing column 'a'"):
        read(TABLE, [{"id": 1, "aa": "x", "b": 1.0}], IGNORING)
    with pytest.raises(ChangeFormatError, match=r"row 1 .* missing column 'a'"):
        read(TABLE, [{"id": 1, "a": "x", "b": 1.0}, {"id": 2, "aa": "x", "b": 1.0}], IGNORING)


def test_nothing_at_all() -> None:
    assert read(TABLE, [], BOTH) == read(TABLE, pa.table({"id": pa.array([], pa.int64())}), BOTH) == []
    with pytest.raises(ChangeFormatError, match="'id'"):
        read(TABLE, [{}], BOTH)
    with pytest.raises(ChangeFormatError, match="column names"):
        read(TABLE, [{1: 2, "id": 3}], Intake("json"))
