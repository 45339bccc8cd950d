"""An option of a table is one field of `TableSettings`, and stands at every door by its name."""

from __future__ import annotations

import datetime as dt
import inspect
import json
from collections.abc import Callable
from typing import Any

import pytest

import livejoin
from livejoin.database.snapshots.declaration import plain_table, read_table
from livejoin.errors import SchemaError
from livejoin.pipeline.model import KafkaTableSource, TableSource
from livejoin.schema import Column, Form, SqlType, Table, TableSettings, form_of, options
from livejoin.spark import stream
from livejoin.sql import parse_columns
from livejoin.sql.tables.declare import parse_create_table

NAMES = {one.name for one in options()}
OF_DATABASES = {"keep", "keep_final", "deletes"}
"""Options that only tables of a database have yet; `Table.refuse_rules` refuses them in pipelines."""
HOUR = dt.timedelta(hours=1)
COLUMNS = "id INT PRIMARY KEY, at TIMESTAMP, day DATE, n BIGINT"
GIVEN: list[tuple[dict[str, Any], dict[str, str]]] = [
    ({"static": True}, {"static": "true"}),
    ({"append_only": True, "retain": "used"}, {"append_only": "true", "retain": "used"}),
    ({"window_rows": 10}, {"window_rows": "10"}),
    ({"window_range": ("AT", HOUR)}, {"window_range": "at 1 HOUR"}),
    ({"window_range": ("day", dt.timedelta(days=7))}, {"window_range": "day 7 DAYS"}),
    ({"window_range": ("n", 5)}, {"window_range": "n 5"}),
    ({"sequence_by": "N", "tombstones": 3}, {"sequence_by": "n", "tombstones": "3"}),
    ({"sequence_by": "at"}, {"sequence_by": "at", "tombstones": "100000"}),
]
WATERMARKS: list[tuple[dict[str, Any], dict[str, str]]] = [
    ({"watermark": ("AT", HOUR)}, {"watermark": "at 1 HOUR"}),
    ({"deletes": "trusted"}, {"deletes": "trusted"}),
    ({"watermark": ("at", 0 * HOUR), "late": "refuse"}, {"watermark": "at 0 HOURS", "late": "refuse"}),
    (
        {"watermark": ("at", HOUR), "keep": "open", "keep_final": 24 * HOUR},
        {"watermark": "at 1 HOUR", "keep": "open", "keep_final": "1 DAY"},
    ),
]


@pytest.mark.parametrize("door", [livejoin.Database.create_table, stream], ids=["create_table", "stream"])
def test_every_option_is_an_argument(door: Callable[..., Any]) -> None:
    """With the default of the field, so that what is not said is the same everywhere."""
    arguments = inspect.signature(door).parameters
    here = [one for one in options() if door is not stream or one.name not in OF_DATABASES]
    assert {one.name: arguments[one.name].default for one in here} == {one.name: one.default for one in here}


def test_every_option_is_a_key_of_pipeline_files() -> None:
    assert NAMES - TableSource.model_fields.keys() == OF_DATABASES
    assert NAMES - KafkaTableSource.model_fields.keys() == {"static", *OF_DATABASES}


@pytest.mark.parametrize(("given", "written"), GIVEN, ids=str)
def test_doors_agree(given: dict[str, Any], written: dict[str, str]) -> None:
    """Python, SQL, a pipeline file and a snapshot: equal tables, however names are spelled."""
    table = parse_columns("T", COLUMNS, TableSettings(**given))
    properties = ", ".join(f"'livejoin.{name}' = '{value}'" for name, value in written.items())
    assert parse_create_table(f"CREATE TABLE T ({COLUMNS}) TBLPROPERTIES ({properties})") == table
    assert read_table(json.loads(json.dumps(plain_table(table)))) == table
    texts: dict[str, Any] = {name: written[name] if form_of(name) is Form.RANGE else given[name] for name in given}
    source = TableSource.model_validate({"schema": COLUMNS, "format": "json", "path": "p", **texts})
    assert parse_columns("T", COLUMNS, source.table_settings) == table
    assert {column.name for column in table.columns if not column.nullable} >= {"id", *_named(table)}


@pytest.mark.parametrize(("given", "written"), WATERMARKS, ids=str)
def test_doors_of_databases_agree(given: dict[str, Any], written: dict[str, str]) -> None:
    columns = COLUMNS.replace(" PRIMARY KEY", "")
    table = parse_columns("T", columns, TableSettings(**given))
    properties = ", ".join(f"'livejoin.{name}' = '{value}'" for name, value in written.items())
    assert parse_create_table(f"CREATE TABLE T ({columns}) TBLPROPERTIES ({properties})") == table
    assert read_table(json.loads(json.dumps(plain_table(table)))) == table
    if not given.keys().isdisjoint(OF_DATABASES):
        with pytest.raises(SchemaError, match=r"has (keep|deletes) = .*, which only tables of a database have yet"):
            table.refuse_rules()
        return
    table.refuse_rules()
    texts: dict[str, Any] = {name: written[name] if form_of(name) is Form.RANGE else given[name] for name in given}
    source = TableSource.model_validate({"schema": columns, "format": "json", "path": "p", **texts})
    assert parse_columns("T", columns, source.table_settings) == table


def _named(table: Table) -> list[str]:
    """The columns that its settings name."""
    window = table.window_range
    places = [table.sequence_by, None if window is None else window.column]
    return [table.columns[place].name for place in places if place is not None]


def test_settings_go_by_names() -> None:
    """A table with other columns keeps them, and one of which a column is gone is refused."""
    table = parse_columns("T", COLUMNS, TableSettings(sequence_by="n"))
    assert table.sequence_by == 3
    fewer = Table("T", (table.columns[3], table.columns[0]), (1,), settings=table.settings)
    assert fewer.sequence_by == 0
    assert table.having(tombstones=5).tombstones == 5
    with pytest.raises(SchemaError, match="sequence_by is 'n'; allowed is one of its columns: id"):
        Table("T", (Column("id", SqlType.integer(32)),), (0,), settings=table.settings)
