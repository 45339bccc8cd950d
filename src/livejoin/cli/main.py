"""``livejoin``: the arguments of the command line, and errors without a traceback."""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import select
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.text import Text

from livejoin.cli.asking_parser import AskingParser
from livejoin.errors import (
    LivejoinError,
    PipelineError,
    SchemaError,
    SqlError,
    StateError,
    StorageError,
    WeakGuaranteeError,
)

FORMATS = ("text", "json", "svg", "html")
SHELLS = ("bash", "fish", "zsh")
BOUNDS = ("O1", "FIFO", "lambda", "linear", "polynomial")
OK, FAILED, WRONG_INPUT, INTERRUPTED = 0, 1, 2, 130
_EXIT_CODES = "exit codes: 0 all is well; 1 %s; 2 %s; 130 interrupted"
_OF_ANY = _EXIT_CODES % ("the command failed", "the command, or a file that it names, is wrong")
_OF_RUN = _EXIT_CODES % (
    "the run failed, or the check found a difference",
    "the command or the pipeline file is wrong",
)
_OF_EXPLAIN = _EXIT_CODES % (
    "the guarantee is weaker than --strict demands",
    "the command, or a file that it names, is wrong",
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        arguments: The words after ``livejoin``; those of this process if None.

    Returns:
        The exit code.
    """
    try:
        try:
            given = parser().parse_args(arguments)
            code: int = given.command(given, Console(stderr=True))
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()  # here, as Python would print a trace at its end
    except KeyboardInterrupt:  # while something is imported
        return INTERRUPTED
    except BrokenPipeError:
        if not _has_no_reader():
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for what Python writes at its end
        return FAILED
    return code


def _has_no_reader() -> bool:
    """Whether standard output is a pipe that nobody reads any more, as that of ``livejoin ... | head``."""
    try:
        place = sys.stdout.fileno()
    except (AttributeError, OSError):  # no standard output, or one of Python alone
        return False
    poll = select.poll()
    poll.register(place, 0)
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))


def _run(given: argparse.Namespace, errors: Console) -> int:
    def work() -> bool:
        # Imported late: --help and --version need neither Spark nor DuckDB.
        from livejoin.cli.run import run_pipeline  # noqa: PLC0415

        limits = (given.memory_limit, given.spill, given.spill_over)
        return run_pipeline(given.pipeline, given.fresh, *limits, Console(highlight=False))

    return _with_pipeline(work, errors, "the next run continues from here")


def _compact(given: argparse.Namespace, errors: Console) -> int:
    def work() -> bool:
        from livejoin.cli.compact import compact_output  # noqa: PLC0415

        for line in compact_output(given.pipeline, given.grace):
            print(line)
        return True

    return _with_pipeline(work, errors, "nothing is lost, and the next compaction goes on")


def _with_pipeline(work: Callable[[], bool], errors: Console, stopped: str) -> int:
    """Do something with a pipeline's file; the exit code.

    Args:
        work: The work; it gives False if it found something wrong.
        errors: The terminal for errors.
        stopped: The words that say how it goes on after an interrupt.
    """
    try:
        return OK if work() else FAILED
    except (PipelineError, SqlError) as error:
        _show(errors, error)
        return WRONG_INPUT
    except ImportError as error:
        _show_absent(errors, error)
        return FAILED
    except LivejoinError as error:
        _show(errors, error)
        return FAILED
    except KeyboardInterrupt:
        errors.print(f"stopped; {stopped}", style="yellow")
        return INTERRUPTED


def _explain(given: argparse.Namespace, errors: Console) -> int:
    from livejoin.cli.explain import Request, explain_files  # noqa: PLC0415

    try:
        options = (given.format, given.out, given.strict, given.allow_product, given.cells, given.terms)
        request = Request(given.query, given.schema, tuple(given.log), *options)
        explain_files(request, Console(highlight=False))
    except WeakGuaranteeError as error:
        _show(errors, error)
        return FAILED
    except LivejoinError as error:
        _show(errors, error)
        return WRONG_INPUT
    except KeyboardInterrupt:
        return INTERRUPTED
    return OK


def _place(text: str) -> Path | str:
    """An argument that is the path of a folder, or the URL of a place in an object store.

    Raises:
        ArgumentTypeError: The text is a URL of something else.
    """
    from livejoin.state.objects import path_or_url  # noqa: PLC0415  # the parser is made without it

    try:
        return path_or_url(text)
    except StateError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _shell(given: argparse.Namespace, errors: Console) -> int:
    from livejoin.cli.shell import Shell, open_database  # noqa: PLC0415

    try:
        asks = given.command_text is None and sys.stdin.isatty()
        with open_database(given.folder, create=given.create, asks=asks) as database:
            return OK if Shell(database, Console(highlight=False), errors).run(given.command_text) else FAILED
    except ImportError as error:  # of stores
        _show_absent(errors, error)
        return FAILED
    except LivejoinError as error:
        _show(errors, error)
        return WRONG_INPUT
    except KeyboardInterrupt:
        return INTERRUPTED


def _served(given: argparse.Namespace, errors: Console) -> int:
    try:
        from livejoin.cli import serve  # noqa: PLC0415
    except ImportError as error:
        _show_absent(errors, error)
        return FAILED
    try:
        (serve.serve if given.is_serve else serve.token)(given, errors)
    except ImportError as error:  # of stores
        _show_absent(errors, error)
        return FAILED
    except (StateError, StorageError) as error:
        _show(errors, error)
        return FAILED
    except LivejoinError as error:
        _show(errors, error)
        return WRONG_INPUT
    except KeyboardInterrupt:
        return INTERRUPTED
    return OK


def _warm(_given: argparse.Namespace, errors: Console) -> int:
    from livejoin.kernels.warm import everything  # noqa: PLC0415

    try:
        with errors.status("kernels") as status:
            done = everything(lambda number, count, name: status.update(f"kernel {number} of {count}: {name}"))
    except KeyboardInterrupt:
        errors.print("stopped; what was compiled is kept", style="yellow")
        return INTERRUPTED
    there = done.kernels - done.compiled
    print(f"{done.kernels} kernels are ready: {there} were there, {done.compiled} compiled, in {done.seconds:.1f} s")
    return OK


def _doctor(_given: argparse.Namespace, errors: Console) -> int:
    from livejoin.cli.doctor import doctor  # noqa: PLC0415

    try:
        is_well = doctor(Console(highlight=False))
    except KeyboardInterrupt:
        return INTERRUPTED
    if not is_well:
        errors.print("something is wrong; what to do stands beside it", style="red")
    return OK if is_well else FAILED


def _check(given: argparse.Namespace, errors: Console) -> int:
    from livejoin.cli.check import check, schema  # noqa: PLC0415

    if given.file is None and not given.schema:
        errors.print("error: give a file, or --schema", style="red")
        return WRONG_INPUT
    try:
        print(schema() if given.file is None else check(given.file))
    except ImportError as error:
        _show_absent(errors, error)
        return FAILED
    except LivejoinError as error:
        _show(errors, error)
        return WRONG_INPUT
    return OK


def _docs(given: argparse.Namespace, errors: Console) -> int:
    from livejoin.cli.docs import docs  # noqa: PLC0415

    try:
        for line in docs(given.words, not given.address):
            print(line)
    except LivejoinError as error:
        _show(errors, error)
        return FAILED
    return OK


def _completion(given: argparse.Namespace, _errors: Console) -> int:
    print((Path(__file__).parent / "completion" / f"livejoin.{given.shell}").read_text(encoding="utf-8"), end="")
    return OK


def _init(given: argparse.Namespace, errors: Console) -> int:
    from livejoin.cli.init import init  # noqa: PLC0415

    try:
        names = init(given.folder, "pipeline" if given.spark else "server")
    except LivejoinError as error:
        _show(errors, error)
        return WRONG_INPUT
    print(f"wrote {', '.join(names)} to {given.folder}; begin with its README.md")
    return OK


def parser() -> argparse.ArgumentParser:
    """The parser of the command line, of which docs/cli.md and completions of shells are made."""
    found = AskingParser(
        prog="livejoin",
        description="Keeps the result of a SQL query over changing tables up to date and says exactly what changed.",
        epilog=_OF_ANY,
    )
    found.add_argument("--version", action="version", version=f"livejoin {_version()}")
    commands = found.add_subparsers(title="commands", required=True, metavar="COMMAND")
    run = commands.add_parser(
        "run",
        help="run a pipeline file on Spark",
        description="Run a pipeline file on Spark: its tables, its views and where the deltas go. "
        "A run that was stopped or killed continues from its checkpoint.",
        epilog=_OF_RUN,
    )
    run.set_defaults(command=_run)
    run.add_argument("pipeline", type=Path, metavar="PIPELINE.toml", help="the pipeline file")
    run.add_argument(
        "--fresh",
        action="store_true",
        help="delete first what earlier runs wrote, the state and deltas; more: livejoin docs pipeline-file",
    )
    run.add_argument(
        "--memory-limit",
        type=partial(_bytes, "memory_limit"),
        metavar="SIZE",
        help="the most memory for tables and the states of views, as 4GB or 4GiB; over run.memory_limit of the file",
    )
    run.add_argument(
        "--spill",
        type=Path,
        metavar="FOLDER",
        help="where deltas are written that take too much memory; over run.spill of the file",
    )
    run.add_argument(
        "--spill-over",
        type=partial(_bytes, "spill_over"),
        metavar="SIZE",
        help="how much memory of a delta is too much, by default 256MB; over run.spill_over of the file",
    )
    compact = commands.add_parser(
        "compact",
        help="make few files of the many that a pipeline has written",
        description="Make few files of the many that a pipeline with the sink parquet has written: one for a range of "
        "batches. The pipeline may run. More: livejoin docs spark.",
        epilog=_OF_ANY,
    )
    compact.set_defaults(command=_compact)
    compact.add_argument("pipeline", type=Path, metavar="PIPELINE.toml", help="the pipeline file")
    compact.add_argument(
        "--grace",
        type=float,
        default=3600.0,
        metavar="SECONDS",
        help="how long old files stay for readers that have listed them; by default 3600",
    )
    _add_explain(
        commands.add_parser(
            "explain",
            help="say what maintaining a query will cost, and why",
            description="Say what maintaining a query will cost, and why: its class with a witness, the plan, what a "
            "change costs, what would make it better. Nothing is loaded or run. How to read it: "
            "livejoin docs explain.",
            epilog=_OF_EXPLAIN,
        )
    )
    shell = commands.add_parser(
        "shell",
        help="type SQL, watch views, import files",
        description="A database in a folder, or in memory without one: type SQL, or pipe a script in. .help says more.",
        epilog=_OF_ANY,
    )
    shell.set_defaults(command=_shell)
    shell.add_argument(
        "folder", nargs="?", type=_place, metavar="FOLDER", help="where it stays: a folder, or s3://bucket/prefix"
    )
    shell.add_argument("--create", action="store_true", help="make a database in FOLDER if there is none")
    shell.add_argument("-c", dest="command_text", metavar="SQL", help="run this, print what it gives, and end")
    serve = commands.add_parser(
        "serve",
        help="serve a database over HTTP, and over Arrow Flight SQL",
        description="Serve a database: read and follow its views, change its tables, by HTTP, server-sent events and "
        "WebSockets. More: livejoin docs server.",
        epilog=_OF_ANY,
    )
    serve.set_defaults(command=_served, is_serve=True)
    serve.add_argument(
        "what",
        nargs="?",
        type=_place,
        metavar="FOLDER|FILE.toml",
        help="the folder of the database, its URL in an object store, or a file of settings",
    )
    serve.add_argument("--host", help="the address to listen at; by default 127.0.0.1")
    serve.add_argument("--port", type=int, help="the port; by default 8000")
    serve.add_argument("--flight", metavar="URL", help="also Arrow Flight SQL there, as grpc://127.0.0.1:31337")
    serve.add_argument("--sql", type=Path, metavar="FILE", help="CREATE statements to run where the database is new")
    serve.add_argument("--tokens", type=Path, metavar="FILE", help="who may do what; needed to listen elsewhere")
    serve.add_argument("--certificate", type=Path, metavar="FILE", help="the certificate chain for TLS, in PEM")
    serve.add_argument("--key", type=Path, metavar="FILE", help="its key, in PEM")
    token = commands.add_parser(
        "token",
        help="make a token for the server",
        description="Make a token, print it once, and add what it may do to a file, which does not hold the token.",
        epilog=_OF_ANY,
    )
    token.set_defaults(command=_served, is_serve=False)
    token.add_argument("file", type=Path, metavar="FILE", help="the file of tokens; made if it is missing")
    token.add_argument("name", help="whose it is")
    token.add_argument("--read", action="append", default=[], metavar="NAME", help="a view or table; '*' for all")
    token.add_argument("--write", action="append", default=[], metavar="NAME", help="a table; '*' for all")
    token.add_argument("--admin", action="store_true", help="may do all, and declare")
    warm = commands.add_parser(
        "warm",
        help="compile all kernels that are not compiled yet, for an image",
        description="Compile into the cache each kernel that neither came with livejoin nor was compiled before, so "
        "that no process compiles later. The cache is below NUMBA_CACHE_DIR, XDG_CACHE_HOME or ~/.cache.",
        epilog=_OF_ANY,
    )
    warm.set_defaults(command=_warm)
    init = commands.add_parser(
        "init",
        help="write a small project that runs",
        description="Write a small project that runs: tables, a view, some changes, and a server's file; with --spark "
        "a pipeline file, which needs Spark and no server.",
        epilog=_OF_ANY,
    )
    init.set_defaults(command=_init)
    init.add_argument(
        "--spark", action="store_true", help="a pipeline on Spark, for livejoin run, in place of a server"
    )
    init.add_argument("folder", type=Path, metavar="FOLDER", help="where to; made if it is missing")
    check = commands.add_parser(
        "check",
        help="say whether a pipeline file or a server's file is right",
        description="Say whether a pipeline file, or a server's file with its statements, is right; nothing runs.",
        epilog=_OF_ANY,
    )
    check.set_defaults(command=_check)
    check.add_argument("file", nargs="?", type=Path, metavar="FILE.toml", help="the file")
    check.add_argument("--schema", action="store_true", help="print the JSON schema of pipeline files, for editors")
    doctor = commands.add_parser(
        "doctor",
        help="say what this machine and installation are, and test them",
        description="Say what this machine and installation are, and whether livejoin does here what it should; ten "
        "seconds. Put the text into a report of an error.",
        epilog=_OF_ANY,
    )
    doctor.set_defaults(command=_doctor)
    completion = commands.add_parser(
        "completion",
        help="print what completes commands and options in a shell",
        description="Print what completes commands and options in a shell. Where it belongs: livejoin docs install.",
        epilog=_OF_ANY,
    )
    completion.set_defaults(command=_completion)
    completion.add_argument("shell", choices=SHELLS, metavar="SHELL", help="bash, fish or zsh")
    docs = commands.add_parser(
        "docs",
        help="open the manual in a browser",
        description="Open the manual that came with livejoin in a browser, and print where it is. With the name "
        "of a page, open that. With other words, print the sections that have them, and open the search for them.",
        epilog=_OF_ANY,
    )
    docs.set_defaults(command=_docs)
    docs.add_argument("words", nargs="*", metavar="WORD", help="what to look for")
    docs.add_argument("--address", action="store_true", help="print where it is, and open nothing")
    return found


def _bytes(name: str, text: str) -> int | None:
    from livejoin.database.arguments import check_bytes  # noqa: PLC0415

    try:
        return check_bytes(int(text) if text.isdecimal() else text, name)
    except SchemaError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _add_explain(explain: argparse.ArgumentParser) -> None:
    explain.set_defaults(command=_explain)
    explain.add_argument("query", type=Path, metavar="QUERY.sql", help="a file with one SELECT; - for standard input")
    explain.add_argument(
        "--schema",
        type=Path,
        required=True,
        metavar="SCHEMA.sql",
        help="a file with the tables' CREATE TABLE statements",
    )
    explain.add_argument(
        "--log",
        action="append",
        default=[],
        metavar="[TABLE=]FILE",
        help="changes of a table, .csv or .parquet, with _change_type and _seq: their enclosureness is computed",
    )
    explain.add_argument("--format", choices=FORMATS, default="text", help="what to write (default: text)")
    explain.add_argument("--out", type=Path, metavar="FILE", help="where to (default: standard output)")
    explain.add_argument(
        "--strict",
        choices=BOUNDS,
        metavar="BOUND",
        help="refuse a weaker guarantee: O1 (always), FIFO, lambda, linear or polynomial",
    )
    explain.add_argument(
        "--allow-product",
        action="store_true",
        help="take a condition over tables that no equality connects, which is checked on each pair of their rows",
    )
    explain.add_argument(
        "--cells",
        type=int,
        metavar="N",
        help="also say where rows go among N cells of a cluster, and what load is expected; --log is the first batch",
    )
    explain.add_argument(
        "--terms",
        action="store_true",
        help="with --format svg: draw the plan in the papers' words, its tree with keys and views, and not the query",
    )


def _version() -> str:
    try:
        return importlib.metadata.version("livejoin")
    except importlib.metadata.PackageNotFoundError:
        return "of a source tree that is not installed"


def _show_absent(console: Console, error: ImportError) -> None:
    """Show that a package is not installed, and the extra that has it."""
    package = (error.name or "").partition(".")[0]
    extra = {"pyspark": "spark", "pandas": "spark", "psycopg": "postgres", "deltalake": "delta"}.get(package)
    extra = extra or {"confluent_kafka": "kafka", "mcp": "mcp"}.get(package, "serve")
    text = f"{error}; pip install 'livejoin[{extra}]'" if package else str(error)
    console.print(Text.assemble(("error: ", "bold red"), (text, "red")), soft_wrap=True)


def _show(console: Console, error: BaseException) -> None:
    notes = "".join(f"\n  {note}" for note in getattr(error, "__notes__", ()))
    console.print(Text.assemble(("error: ", "bold red"), (f"{error}{notes}", "red")), soft_wrap=True)
