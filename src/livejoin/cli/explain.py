"""``livejoin explain``: the cost of maintaining a query, from files alone."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.text import Text

from livejoin.changes import ChangeBatch, read_changes, read_file
from livejoin.dataflow.measured import samples_of_log
from livejoin.errors import ChangeFormatError, LivejoinError, SqlError
from livejoin.plan import Explanation, Statistics, UpdateBound, describe_query, require
from livejoin.plan.explain.describing.query import Present
from livejoin.plan.explain.describing.spread import with_cells
from livejoin.plan.explain.suggestions.not_null import with_not_null
from livejoin.query.bound_query import Query
from livejoin.sql import SchemaText, bind_query, parse_schema_text

_NARROWEST, _WIDEST = 60, 120
_IN_PYTHON = "allow_product=True"
_HEADINGS = re.compile(r"(?m)^[a-z][-\w]*(?: [a-z_]+)*(?=$|;|,|  )")


@dataclass(frozen=True)
class Request:
    """The arguments of ``livejoin explain``.

    Args:
        query: A file with a SELECT, ``-`` for standard input.
        schema: A file with CREATE TABLE statements, and CREATE VIEW statements of views that the query reads.
        logs: Files of changes, each as ``FILE`` or ``TABLE=FILE``.
        form: The output format: ``text``, ``json``, ``svg`` or ``html``.
        out: The output file, None for standard output.
        strict: The weakest bound that is accepted, as `UpdateBound` writes it, None for any.
        allow_product: Whether conditions may compare tables that no equality connects.
        cells: The number of cells for which the answer says where rows go, None for none.
        terms: Whether a picture shows the plan in the papers' words, not the query.
    """

    query: Path
    schema: Path
    logs: tuple[str, ...] = ()
    form: str = "text"
    out: Path | None = None
    strict: str | None = None
    allow_product: bool = False
    cells: int | None = None
    terms: bool = False


def explain_files(request: Request, console: Console) -> None:
    """Explain a query and write the explanation.

    Args:
        request: The query and the options.
        console: Standard output.

    Raises:
        LivejoinError: A file cannot be read or has an error.
        WeakGuaranteeError: The guarantee is weaker than ``strict``; the explanation was written nevertheless.
    """
    explanation = _explanation(request)
    _write(explanation, request, console)
    if request.strict is not None:
        require(explanation, next(bound for bound in UpdateBound if str(bound) == request.strict))


def _explanation(request: Request) -> Explanation:
    schema = _schema(request)
    sql = _read(request.query, "query")
    try:
        query = bind_query(sql.rstrip().rstrip(";"), schema.catalog, schema.views, request.allow_product)
    except SqlError as error:
        if _IN_PYTHON in error.message:
            error.move(error.message.replace(_IN_PYTHON, "--allow-product"), error.sql, error.line, error.column)
        error.add_note(f"in the query {_shown(request.query)}")
        raise
    logs = _logs(request.logs, query)
    found = with_not_null(
        describe_query(query, Statistics(), log=logs or None, present=Present(samples=samples_of_log(query, logs))),
        query,
        schema.catalog,
        lambda catalog: bind_query(query.sql, catalog, schema.views, request.allow_product),
        lambda other: describe_query(other, Statistics()),
    )
    return found if request.cells is None else with_cells(found, query, logs, request.cells, schema.catalog)


def _schema(request: Request) -> SchemaText:
    text = _read(request.schema, "schema")
    try:
        return parse_schema_text(text, request.allow_product)
    except LivejoinError as error:
        error.add_note(f"in the schema {_shown(request.schema)}")
        raise


def _read(path: Path, what: str) -> str:
    if path == Path("-"):
        return sys.stdin.read()
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        msg = f"cannot read the {what} {path}: {error.strerror}"
        raise SqlError(msg) from error
    except UnicodeDecodeError as error:
        msg = f"the {what} {path} is not UTF-8 text: {error.reason} at byte {error.start}"
        raise SqlError(msg) from error


def _logs(given: Sequence[str], query: Query) -> tuple[ChangeBatch, ...]:
    """The changes of each table that the query reads, from files."""
    tables = {table.name.lower(): table for table in query.tables}
    files: dict[str, Path] = {}
    for text in given:
        name, equals, file = text.rpartition("=")
        if not equals and len(tables) > 1:
            names = ", ".join(table.name for table in tables.values())
            msg = f"--log {text}: the query reads {names}; say of which table these are the changes: --log TABLE=FILE"
            raise ChangeFormatError(msg)
        key = name.lower() if equals else next(iter(tables))
        if key not in tables:
            names = ", ".join(table.name for table in tables.values())
            msg = f"--log {text}: the query reads no table {name!r}; it reads {names}"
            raise ChangeFormatError(msg)
        if key in files:
            msg = f"--log {text}: the table has a log already, {files[key]}; put all of its changes into one file"
            raise ChangeFormatError(msg)
        files[key] = Path(file)
    return tuple(
        read_changes(tables[key], read_file(path, tables[key]), len(files) > 1, "never") for key, path in files.items()
    )


def _write(explanation: Explanation, request: Request, console: Console) -> None:
    if request.out is None and request.form == "text":
        width = min(max(console.width, _NARROWEST), _WIDEST) if console.is_terminal else None
        text = Text(explanation.text(width) if width else explanation.text())
        text.highlight_regex(_HEADINGS, "bold cyan")
        console.print(text, soft_wrap=True)
        return
    forms = {
        "text": explanation.text,
        "json": explanation.json,
        "svg": lambda: explanation.svg(request.terms),
        "html": explanation.html,
    }
    written = forms[request.form]().rstrip("\n") + "\n"
    if request.out is None:
        console.file.write(written)
        return
    try:
        request.out.write_text(written, encoding="utf-8")
    except OSError as error:
        msg = f"cannot write {request.out}: {error.strerror}"
        raise SqlError(msg) from error


def _shown(path: Path) -> str:
    return "on standard input" if path == Path("-") else str(path)
