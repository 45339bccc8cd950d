"""``livejoin run``: runs a pipeline with a display, from the start of Spark to the check."""

from __future__ import annotations

import shlex
import signal
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.text import Text

from livejoin.cli.display import display_for
from livejoin.cli.meter import Meter, clock_time, size
from livejoin.cli.quiet_interrupt import quiet_interrupt
from livejoin.pipeline import NotYetError, Pipeline, ViewCheck, check, clear, expected_batches, is_begun, load, run
from livejoin.shown import counted
from livejoin.spark.sinks import ParquetSink
from livejoin.spark.sinks.output_files import end_of
from livejoin.state.store_folder import Place


def run_pipeline(
    file: Path, fresh: bool, memory_limit: int | None, spill: Path | None, spill_over: int | None, console: Console
) -> bool:
    """Run a pipeline with a display.

    Args:
        file: The pipeline file.
        fresh: Whether the output and the checkpoint of earlier runs are deleted first.
        memory_limit: The most bytes for the engine; None for the file's setting.
        spill: The folder for large deltas; None for the file's setting.
        spill_over: The size from which on a delta goes to ``spill``; None for the file's setting.
        console: The terminal to write to.

    Returns:
        False if the check found a difference; else True.

    Raises:
        LivejoinError: The file has errors, or a batch failed.
    """
    pipeline = load(file)
    said = pipeline.options
    options = replace(
        said,
        memory_limit=said.memory_limit if memory_limit is None else memory_limit,
        spill=spill or said.spill,
        spill_over=said.spill_over if spill_over is None else spill_over,
    )
    pipeline = replace(pipeline, options=options)
    # Who goes on with a checkpoint was told when it was begun.
    for warning in () if is_begun(pipeline) and not fresh else pipeline.warnings:
        console.print(Text(f"warning: {warning}", "yellow"), soft_wrap=True)
    if fresh:
        clear(pipeline)
    ends = "availableNow" in pipeline.trigger
    for view, sql in pipeline.views.items():
        console.print(Text.assemble((view, "bold green"), (" = ", "dim"), (" ".join(sql.split()), "dim")))
    meter = Meter(expected_batches(pipeline) if ends else None)
    with quiet_interrupt(), display_for(console, _short(pipeline.file), tuple(pipeline.views), meter) as display:

        def flowing() -> None:
            # Spark's own handler cancels the batch that runs, and talks about it.
            signal.signal(signal.SIGINT, signal.default_int_handler)
            meter.flow()
            display.phase("running" if ends else "running, Ctrl-C stops it")

        display.phase("starting Spark, a Java process of its own")
        run(pipeline, display.batch, flowing, display.came_back, display.stage)
        display.phase("done")
    done = ", ".join(
        counted(number, what)
        for number, what in ((meter.batches, "batch"), (meter.changes, "change"), (meter.delta_rows, "delta row"))
    )
    console.print(f"{done} in {clock_time(meter.elapsed)}.")
    if meter.left_out:
        console.print(f"Left out: {meter.left_out}.", soft_wrap=True)
    if meter.batches == 0:
        console.print(
            "Nothing new has arrived since the last run; --fresh starts from the beginning. Of a view that is new or "
            "changed the next batch tells the rows.",
            soft_wrap=True,
        )
    well = not pipeline.check or _is_checked(pipeline, console)
    _show_places(pipeline, console)
    return well


def _is_checked(pipeline: Pipeline, console: Console) -> bool:
    """Whether the check finds no difference, or has nothing to compare yet."""
    try:
        return _show_checks(check(pipeline), console)
    except NotYetError as error:
        console.print(Text(f"\nNot compared yet: {error}.", "yellow"), soft_wrap=True)
        return True


def _show_checks(checks: Sequence[ViewCheck], console: Console) -> bool:
    console.print("\nThe same files, recomputed by DuckDB from scratch:")
    for table, found in {name: found for result in checks for name, found in result.taken.items()}.items():
        message = f"  table {table}: {found}. Changes may be left out, so its rows are taken as livejoin has them."
        console.print(Text(message, "yellow"), soft_wrap=True)
    for result in checks:
        verdict = ("identical", "bold green") if result.identical else ("DIFFERENT", "bold red")
        console.print(
            Text.assemble(
                f"  {result.view}: DuckDB {result.recomputed:,} rows, livejoin {result.maintained:,} rows: ", verdict
            )
        )
        if result.identical:
            console.print(Text(f"  (the sum of the {result.delta_rows:,} delta rows on disk too)", "dim"))
        else:
            message = f"  {result.differing:,} rows differ; for example {result.example}"
            console.print(Text(message, "red"), soft_wrap=True)
    return all(result.identical for result in checks)


def _show_places(pipeline: Pipeline, console: Console) -> None:
    console.print("\nWhere things are:")
    letters = None if pipeline.options.letters is None else pipeline.options.letters.place
    if letters is not None and letters.is_dir():
        console.print(Text(f"  dead letters     {_short(letters)}/   the column _reason says why"), soft_wrap=True)
    if pipeline.output is None:
        console.print(Text(f"  state            {_short(pipeline.checkpoint)}/"), soft_wrap=True)
        return
    sink = ParquetSink(pipeline.output)
    for view in pipeline.views:
        files = sink.files(view)
        there = f"{counted(len(files), 'file')}, {size(sum(end_of(file, 0)[0] for file in files))}"
        console.print(Text(f"  deltas of {view}   {_short(sink.of(view))}/   {there}"), soft_wrap=True)
    console.print(Text(f"  state            {_short(pipeline.checkpoint)}/"), soft_wrap=True)
    view = next(iter(pipeline.views))
    peek = f"duckdb.read_parquet({_short(sink.of(view)) + '/*.parquet'!r}).aggregate('_change_type, count(*)').show()"
    program = shlex.join([_short(Path(sys.executable)), "-c", f"import duckdb; {peek}"])
    called = [_short(Path(sys.argv[0]))]
    if Path(sys.argv[0]).name == "__main__.py":
        called = [_short(Path(sys.executable)), "-m", "livejoin"]
    again = shlex.join([*called, "run", _short(pipeline.file)])
    console.print("\nTry next:")
    peeks = [("What changed, in all?", program)] if isinstance(pipeline.output, Path) else []
    for idea, command in (
        *peeks,
        ("Edit the SQL or the window in the file, and run it from the beginning:", f"{again} --fresh"),
        ("Kill a run half way (kill -9): this continues, nothing lost or repeated:", again),
    ):
        console.print(Text(f"  {idea}", "dim"), soft_wrap=True)
        console.print(Text(f"    {command}"), soft_wrap=True)


def _short(path: Place) -> str:
    """A path relative to the working folder, if it lies below; a URL as it is."""
    if not isinstance(path, Path):
        return str(path)
    absolute = path.absolute()
    here = Path.cwd()
    return str(absolute.relative_to(here)) if absolute.is_relative_to(here) else str(absolute)
