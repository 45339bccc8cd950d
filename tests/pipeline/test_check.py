"""The check at the end of a pipeline: it agrees with the engine, and notices what differs."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest

from livejoin.checkpoint.batch import Arrival
from livejoin.checkpoint.engine import open_engine
from livejoin.checkpoint.job import job_of
from livejoin.checkpoint.written_parts import WrittenParts
from livejoin.pipeline.check import check
from livejoin.pipeline.load import Pipeline
from livejoin.spark.run_options import RunOptions
from livejoin.spark.sinks import ParquetSink, SinkView
from livejoin.spark.sources import FileSource
from livejoin.sql import parse_columns

TIME = datetime(2026, 11, 22, tzinfo=UTC)
ROWS = {"G": [(1, 2), (1, 2), (3, 2), (4, None)], "H": [(7, 2), (8, 2), (9, 5)]}
COLUMNS = {"G": "src BIGINT, dst BIGINT", "H": "src INT, dst BIGINT"}


@pytest.fixture
def pipeline(tmp_path: Path, request: pytest.FixtureRequest) -> Pipeline:
    """A pipeline of one view that has run: input files, checkpoint and deltas are there."""
    sources = {}
    for name, columns in COLUMNS.items():
        file = tmp_path / f"{name}.csv"
        file.write_text("".join(f"{a},{'' if b is None else b}\n" for a, b in ROWS[name]))
        table = parse_columns(name, columns)
        types = tuple((column.name, str(column.type)) for column in table.columns)
        sources[name] = FileSource(table, types, "csv", file, {})
    views = {"v": request.param}
    tables = {name: source.table for name, source in sources.items()}
    engine = open_engine(job_of(tables, views, set(), keep_all=True), tmp_path / "checkpoint" / "livejoin")
    view = engine.database.views["v"]
    sink = ParquetSink(tmp_path / "out")
    sink.open({"v": SinkView(view.schema, view.keys)}, None, WrittenParts(), "run")
    for batch, name in enumerate(ROWS):
        pairs = zip(zip(*ROWS[name], strict=True), tables[name].arrow.types, strict=True)
        columns = [pa.array(values, type) for values, type in pairs]
        rows = pa.Table.from_arrays(columns, schema=tables[name].arrow)
        taken = engine.take(batch, partial(Arrival, {name: rows}, TIME))
        engine.finish(batch, sink.deliver(engine.apply(taken), batch))
    engine.close()
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


@pytest.mark.parametrize("pipeline", ["SELECT * FROM G JOIN H USING (dst)"], indirect=True)
def test_changes_that_were_left_out_are_no_difference(pipeline: Pipeline) -> None:
    """The files have them still: first a row, then a line that is none."""
    leaves_out = replace(pipeline, options=RunOptions(on_bad_rows="skip"))
    assert [(one.identical, one.taken) for one in check(leaves_out)] == [(True, {})]
    for line, said in (
        ("9,2\n", "1 row differs from what its files add up to"),
        ("x,2\n", "DuckDB cannot read its files"),
    ):
        with pipeline.sources["H"].path.open("a") as file:
            file.write(line)
        (found,) = check(leaves_out)
        assert (found.identical, found.recomputed) == (True, 6), found.example
        assert found.taken.keys() == {"H"} and found.taken["H"].startswith(said)
    assert pipeline.output is not None
    ParquetSink(pipeline.output).files("v")[-1].unlink()
    (found,) = check(leaves_out)
    assert (found.identical, found.delta_rows) == (False, 0)
