"""``livejoin``: the arguments of the command line, and errors without a traceback."""

from __future__ import annotations

import argparse
import importlib.metadata
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from livejoin.errors import LivejoinError, PipelineError, SqlError

OK, FAILED, WRONG_INPUT, INTERRUPTED = 0, 1, 2, 130
_EXIT_CODES = (
    "exit codes: 0 all is well; 1 the run failed, or the check found a difference; "
    "2 the command or the pipeline file is wrong; 130 interrupted"
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        arguments: The words after ``livejoin``; those of this process if None.

    Returns:
        The exit code.
    """
    given = _parser().parse_args(arguments)
    errors = Console(stderr=True)
    try:
        # Imported late: --help and --version need neither Spark nor DuckDB.
        from livejoin.cli.run import run_pipeline  # noqa: PLC0415

        return OK if run_pipeline(given.pipeline, given.fresh, Console(highlight=False)) else FAILED
    except (PipelineError, SqlError) as error:
        _show(errors, error)
        return WRONG_INPUT
    except (LivejoinError, ImportError) as error:
        _show(errors, error)
        return FAILED
    except KeyboardInterrupt:
        errors.print("stopped; the next run continues from here", style="yellow")
        return INTERRUPTED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="livejoin",
        description="Keeps the result of a SQL query over changing tables up to date and says exactly what changed.",
        epilog=_EXIT_CODES,
    )
    parser.add_argument("--version", action="version", version=f"livejoin {_version()}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    run = commands.add_parser(
        "run",
        help="run a pipeline file on Spark",
        description="Run a pipeline file on Spark: its tables, its views and where the deltas go. "
        "A run that was stopped or killed continues from its checkpoint.",
        epilog=_EXIT_CODES,
    )
    run.add_argument("pipeline", type=Path, metavar="PIPELINE.toml", help="the pipeline file")
    run.add_argument("--fresh", action="store_true", help="delete the output and the checkpoint of earlier runs first")
    return parser


def _version() -> str:
    try:
        return importlib.metadata.version("livejoin")
    except importlib.metadata.PackageNotFoundError:
        return "of a source tree that is not installed"


def _show(console: Console, error: BaseException) -> None:
    notes = "".join(f"\n  {note}" for note in getattr(error, "__notes__", ()))
    console.print(Text.assemble(("error: ", "bold red"), (f"{error}{notes}", "red")), soft_wrap=True)
