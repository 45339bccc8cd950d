"""Folders of SQL files with ``ref()`` and ``source()``, as dbt has them."""

from __future__ import annotations

from pathlib import Path

import pytest

import livejoin
from livejoin.cli.main import main
from livejoin.errors import PipelineError
from livejoin.pipeline import load
from livejoin.sql import read_models

MODELS = {
    "a_totals": """
        -- the first by name, and the last by what it reads
        select customer, sum(amount) as total from {{ ref('paid') }} group by customer;
    """,
    "staging/paid": """select o.customer, o.amount from {{ source("shop", "orders") }} o
        join {{- ref( 'Flags' ) -}} f on o.id = f.id where f.ok""",
    "staging/flags": "select id, ok from {{source('shop','marks')}}",
}
TABLES = "CREATE TABLE orders (id BIGINT, customer STRING, amount BIGINT); CREATE TABLE marks (id BIGINT, ok BOOLEAN)"


def written(folder: Path, models: dict[str, str]) -> Path:
    """The folder, with these files in it."""
    for name, text in models.items():
        path = folder / "models" / f"{name}.sql"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder / "models"


def test_views_follow_those_that_they_read(tmp_path: Path) -> None:
    found = read_models(written(tmp_path, MODELS))
    assert list(found) == ["flags", "paid", "a_totals"]
    db = livejoin.Database()
    db.execute(TABLES)
    for name, sql in found.items():
        db.create_view(name, sql)
    db.apply({"orders": [(1, "a", 5), (2, "a", 7), (3, "a", 1)], "marks": [(1, True), (2, False), (3, True)]})
    assert db.views["a_totals"].to_pylist() == [{"customer": "a", "total": 6}]


@pytest.mark.parametrize(
    ("models", "says"),
    [
        ({}, "is no folder"),
        (
            {"a": "\nselect * from {{ ref('stagin') }}", "staging": "select 1"},
            r"a.sql:2: .*\(did you mean 'staging'\?\)",
        ),
        (
            {"a": "select 1 from {{ ref('b') }}", "b": "select 1 from {{ ref('a') }}"},
            "circle.*: (a reads b reads a|b reads a reads b)",
        ),
        ({"a": "select 1 from {{ ref('a') }}"}, "circle.*: a reads a"),
        ({"a": "select 1", "x/A": "select 1"}, "give each file a name of its own"),
        ({"a": "{{ config(materialized='view') }} select 1"}, "config.* is not understood: each file is a view"),
        ({"a": "select 1 {% if x %}"}, "if x %} is not understood: understood are .*write the SQL out"),
        ({"a": "select {{ var('x') }}"}, r"a.sql:1: {{ var\('x'\) }} is not understood"),
        ({"a": "select 1 from {{ ref('p', 'x') }}"}, "is not understood"),
        ({"a": "select {# why #} 1"}, "write a comment behind --"),
        ({"a": "select 1 from {{ ref('x'"}, "is not understood"),
        ({"a": "select 1 from {{ reff('x') }}"}, r"reff\('x'\) }} is not understood \(did you mean 'ref'\?\)"),
    ],
)
def test_what_is_not_understood_is_said(models: dict[str, str], says: str, tmp_path: Path) -> None:
    written(tmp_path, models)
    with pytest.raises(PipelineError, match=says):
        read_models(tmp_path / "models")


def test_a_server_takes_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written(tmp_path, MODELS)
    (tmp_path / "tables.sql").write_text(TABLES)
    (tmp_path / "server.toml").write_text('sql = "tables.sql"\nmodels = "models"')
    assert main(["check", str(tmp_path / "server.toml")]) == 0
    assert "a server of 2 tables and 3 views" in " ".join(capsys.readouterr().out.split())


def test_a_pipeline_takes_them(tmp_path: Path) -> None:
    written(tmp_path, MODELS)
    file = tmp_path / "pipeline.toml"
    text = """models = "models"
[tables.orders]
schema = "id BIGINT, customer STRING, amount BIGINT"
format = "json"
path = "orders/*.json"
[tables.marks]
schema = "id BIGINT, ok BOOLEAN"
format = "json"
path = "marks/*.json"
[sink]
kind = "console"
[run]
checkpoint = "checkpoint"
trigger = "1 second"
"""
    file.write_text(text)
    assert list(load(file).views) == ["flags", "paid", "a_totals"]
    file.write_text(text + "[views.paid]\nsql = 'SELECT id FROM orders'")
    with pytest.raises(PipelineError, match=r"1: models: paid.sql is a view that \[views.paid\] is too"):
        load(file)
    file.write_text(text)
    (tmp_path / "models" / "staging" / "flags.sql").write_text("select id from {{ source('shop', 'mrks') }}")
    with pytest.raises(PipelineError, match=r"there is no table 'mrks' \(did you mean 'marks'\?\)"):
        load(file)
    (tmp_path / "models" / "staging" / "flags.sql").write_text("select idd from {{ source('shop', 'marks') }}")
    with pytest.raises(
        PipelineError,
        match=r"1: models: .*flags.sql:1: .*mean 'id'[^|]*idd from {{ source\('shop', 'marks'\) }}",
    ):
        load(file)
    file.write_text(text.replace('models = "models"', ""))
    with pytest.raises(PipelineError, match="views: is missing"):
        load(file)


def test_what_follows_a_reference_stays_where_it_is(tmp_path: Path) -> None:
    text = "SELECT a,\n  {{ source('s',\n  't') }}.b, c FROM {{ ref('x') }} WHERE d;\n"
    found = read_models(written(tmp_path, {"v": text, "x": "SELECT 1 AS a"}))["v"]
    lines, wanted = found.splitlines(), text.splitlines()
    assert found.split() == ["SELECT", "a,", "`t`", ".b,", "c", "FROM", "`x`", "WHERE", "d"]
    assert [line.find("FROM") for line in lines] == [line.find("FROM") for line in wanted]
    assert lines[2].index("WHERE") == wanted[2].index("WHERE")
