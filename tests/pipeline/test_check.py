"""The check at the end of a pipeline: it agrees with the engine, and notices what differs."""

from __future__ import annotations

from pathlib import Path

import pytest

import livejoin
from livejoin.pipeline.check import check
from livejoin.pipeline.load import Pipeline
from livejoin.spark.sinks import ParquetSink, SinkView
from livejoin.spark.sources import FileSource
from livejoin.spark.written_parts import WrittenParts
from livejoin.sql import parse_columns

ROWS = {"G": [(1, 2), (1, 2), (3, 2), (4, None)], "H": [(7, 2), (8, 2), (9, 5)]}
COLUMNS = {"G": "src BIGINT, dst BIGINT", "H": "src INT, dst BIGINT"}


@pytest.fixture
def pipeline(tmp_path: Path, request: pytest.FixtureRequest) -> Pipeline:
    """A pipeline of one view that has run: input files, engine and deltas are there."""
    database = livejoin.Database()
    sources = {}
    for name, columns in COLUMNS.items():
        database.create_table(name, columns)
        file = tmp_path / f"{name}.csv"
        file.write_text("".join(f"{a},{'' if b is None else b}\n" for a, b in ROWS[name]))
        table = parse_columns(name, columns)
        types = tuple((column.name, str(column.type)) for column in table.columns)
        sources[name] = FileSource(table, types, "csv", file, {})
    view = database.create_view("v", request.param)
    sink = ParquetSink(tmp_path / "out")
    sink.open({"v": SinkView(view.schema, view.keys)}, None, WrittenParts(), "run")
    for batch, name in enumerate(ROWS):
        sink.deliver({"v": database.apply(name, ROWS[name])["v"]}, batch)
    database.save(tmp_path / "checkpoint" / "livejoin")
    views = {"v": request.param}
    return Pipeline(tmp_path / "p.toml", sources, views, sink.folder, tmp_path / "checkpoint", {}, True, {})


@pytest.mark.parametrize(
    "pipeline",
    [
        "SELECT * FROM G JOIN H USING (dst)",
        "SELECT *, H.src + 1 AS n FROM H JOIN G ON G.dst = H.dst",
        "SELECT G.src AS `a b`, date_add(DATE '2024-01-01', H.src) AS d FROM G JOIN H ON G.dst = H.dst",
    ],
    indirect=True,
)
def test_engine_deltas_and_duckdb_agree(pipeline: Pipeline) -> None:
    (found,) = check(pipeline)
    assert found.identical, found.example
    assert found.recomputed == found.maintained == 6


@pytest.mark.parametrize("pipeline", ["SELECT * FROM G JOIN H USING (dst)"], indirect=True)
def test_a_row_that_the_files_do_not_have_is_noticed(pipeline: Pipeline) -> None:
    with pipeline.sources["H"].path.open("a") as file:
        file.write("9,2\n")
    (found,) = check(pipeline)
    assert not found.identical
    assert (found.recomputed, found.maintained, found.differing) == (9, 6, 2)
    assert "times in DuckDB" in found.example
