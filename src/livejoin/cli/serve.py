"""``livejoin serve`` and ``livejoin token``."""

from __future__ import annotations

import argparse
import gc
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from rich.console import Console

import livejoin
from livejoin.database import Database
from livejoin.errors import LivejoinError, PipelineError, SchemaError, StorageError
from livejoin.server import Server, read_tokens
from livejoin.server.access import Tokens, new_token
from livejoin.server.flight import FlightServer
from livejoin.server.settings import Settings, Tls, read_settings
from livejoin.shown import counted, meant
from livejoin.sql import (
    CreateTable,
    CreateView,
    Statement,
    model_files,
    normal_text,
    of_model,
    parse_statement,
    pieces,
    read_models,
)


def settings_of(given: argparse.Namespace) -> Settings:
    """The settings that the arguments say, over those of the file.

    Raises:
        SchemaError, StorageError: A file is wrong, or cannot be read.
    """
    what: Path | str | None = given.what
    if what is None:
        found = Settings()
    elif isinstance(what, str):
        found = Settings(folder=what)
    elif what.suffix == ".toml":
        found = read_settings(what)
    elif what.is_file():
        msg = f"{str(what)!r} is a file; give the folder of a database, or a file of settings that ends in .toml"
        raise SchemaError(msg)
    else:
        found = Settings(folder=what)
    said = {name: getattr(given, name) for name in ("host", "port", "flight", "tokens", "sql")}
    found = found.model_copy(update={name: value for name, value in said.items() if value is not None})
    if given.certificate is not None or given.key is not None:
        if given.certificate is None or given.key is None:
            msg = "--certificate and --key stand together"
            raise SchemaError(msg)
        found = found.model_copy(update={"tls": Tls(certificate=given.certificate, key=given.key)})
    return found


def serve(given: argparse.Namespace, console: Console) -> None:
    """Serve until Ctrl-C or SIGTERM.

    Raises:
        LivejoinError: The settings are wrong, the folder cannot be opened, or the port is taken.
    """
    settings = settings_of(given)
    if not isinstance(settings.folder, Path):
        _serve(settings, console)
        return
    with _nothing_left_where_refused(settings.folder) as begins:
        _serve(settings, console, begins)


def _serve(settings: Settings, console: Console, begins: Callable[[], None] = lambda: None) -> None:
    """Serve as the settings say; ``begins`` is called when nothing is refused any more."""
    access = None if settings.tokens is None else read_tokens(settings.tokens)
    certificate = None if settings.tls is None else (settings.tls.certificate, settings.tls.key)
    with ExitStack() as ending:
        db = ending.enter_context(_opened(settings))
        _declare(db, settings, console)
        for warning in () if access is None else in_vain(access, db):
            console.print(warning, style="yellow", markup=False)
        server = Server(
            db,
            host=settings.host,
            port=settings.port,
            access=access,
            limits=settings.limits,
            origins=settings.origins,
            tick=settings.tick,
            history=settings.history,
            certificate=certificate,
        )
        where = db.path or db.url
        place = "nothing stays: give a folder to keep it" if where is None else f"kept in {where}"
        has = f"{counted(len(db.views), 'view')}, {counted(len(db.tables), 'table')}, version {db.version}"
        console.print(f"{has}; {place}", markup=False)
        if settings.flight is not None:
            flight = FlightServer(db, settings.flight, access=access, limits=settings.limits, certificate=certificate)
            ending.enter_context(flight)
            console.print(f"serving Flight SQL at {flight.location}", markup=False)
        console.print(f"serving at {server.url}, open it in a browser for the console; Ctrl-C ends it", markup=False)
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        begins()
        with _own_the_process():
            server.run()
    console.print("stopped; all that was answered is kept" if settings.folder else "stopped", markup=False)


@contextmanager
def _nothing_left_where_refused(folder: Path) -> Iterator[Callable[[], None]]:
    """Remove the folder of a database again, if it was made for a server that did not begin.

    Gives what is to be called when serving begins: from then on the folder stays.
    """
    folder = folder.absolute()
    made = [one for one in (folder, *folder.parents) if not one.exists()]
    try:
        yield made.clear
    except BaseException:
        if made:
            shutil.rmtree(folder, ignore_errors=True)
        for above in made[1:]:
            with suppress(OSError):  # somebody else has put something there
                above.rmdir()
        raise


@contextmanager
def _own_the_process() -> Iterator[None]:
    """Settings of the whole process, which serves and does nothing else.

    What is loaded by now stays until serving ends. A collection that walks all of it holds up everybody for 200 to 400
    ms. Behind that it may go: DuckDB tells at the end of a process of each object that has stayed, on standard error.
    """
    sys.setswitchinterval(0.001)
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def _opened(settings: Settings) -> Database:
    options: dict[str, Any] = {"coerce": "json", **settings.database}
    try:
        return Database(**options) if settings.folder is None else livejoin.open(settings.folder, **options)
    except TypeError as error:
        msg = f"database: {error}; the options are those of livejoin.open"
        raise SchemaError(msg) from error


def in_vain(access: Tokens, db: Database) -> Iterator[str]:
    """What tokens may read or write that is not there, which may be a slip; a line each."""
    known = [*db.tables, *db.views]
    for who, name in access.named_in_vain(known):
        yield f"the token {who!r} names {name!r}, which is neither a view nor a table{meant(name, known)}"


def declare(db: Database, settings: Settings) -> None:
    """Run the file of declarations, and make the views of the folder of models.

    Raises:
        LivejoinError: A file cannot be read, or is wrong.
    """
    if settings.sql is not None:
        db.execute(_text(settings.sql))
    for name, query in _models(settings).items():
        try:
            db.create_view(name, query)
        except LivejoinError as error:
            raise _of_file(error, settings, name) from error


def _text(path: Path | None) -> str:
    try:
        return "" if path is None else path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        msg = f"the file {str(path)!r} cannot be read: {error}"
        raise StorageError(msg) from error


def _models(settings: Settings) -> dict[str, str]:
    return {} if settings.models is None else read_models(settings.models)


def _of_file(error: LivejoinError, settings: Settings, view: str) -> PipelineError:
    """The error of a view with the file that it is of; lines and columns are those of the file."""
    assert settings.models is not None
    return of_model(error, model_files(settings.models)[view.lower()])


def _declare(db: Database, settings: Settings, console: Console) -> None:
    """Declare all where the database is new, all of it or nothing; elsewhere say what it has not yet."""
    if settings.sql is None and settings.models is None:
        return
    if not db.tables:
        declare(Database(), settings)  # whatever is wrong is told before anything is declared
        declare(db, settings)
        return
    all_pieces = pieces(_text(settings.sql), None)
    plain = [one for one in all_pieces if not (one.begins_transaction or one.ends_transaction)]
    statements = [parse_statement(piece.text) for piece in plain]
    declared = [*(_declared(statement) for statement in statements), *(models := _models(settings))]
    absent = [name for name in declared if name and name not in db.tables and name not in db.views]
    if absent:
        place = " and ".join(path.name for path in (settings.sql, settings.models) if path is not None)
        console.print(
            f"{place} declares {', '.join(absent)}, which the database does not have: it runs where the database "
            "is new; run what is missing yourself",
            style="yellow",
            markup=False,
        )
    views = {one.name: one.sql for one in statements if isinstance(one, CreateView)} | models
    changed = [name for name, sql in views.items() if name in db.views and not _is_same(db.views[name].sql, sql)]
    if changed:
        console.print(
            f"the text of {', '.join(changed)} has changed, and the database keeps the old query: "
            "CREATE OR REPLACE VIEW moves a view to the new one (livejoin docs guides/change-the-sql)",
            style="yellow",
            markup=False,
        )


def _is_same(before: str, now: str) -> bool:
    return normal_text(before) == normal_text(now)


def _declared(statement: Statement) -> str:
    """The name of the table or view that a statement makes; empty where it makes none."""
    match statement:
        case CreateTable():
            return statement.table.name
        case CreateView():
            return statement.name
        case _:
            return ""


def token(given: argparse.Namespace, console: Console) -> None:
    """Make a token: it is printed once, and its entry is added to the file.

    Raises:
        SchemaError: The token may do nothing, or the file is none of tokens, or has the name already.
        StorageError: The file cannot be written.
    """
    if not (given.read or given.write or given.admin):
        msg = (
            f"the token {given.name!r} may do nothing; say --read VIEW, --write TABLE or --admin (--read '*' reads all)"
        )
        raise SchemaError(msg)
    made, entry = new_token(given.name, given.read, given.write, given.admin)
    path: Path = given.file
    try:
        before = path.read_text(encoding="utf-8") if path.exists() else ""
        if before:
            read_tokens(path)
        joined = f"{before.rstrip()}\n\n{entry}" if before.strip() else entry
        fresh = path.with_name(path.name + ".new")
        fresh.touch(mode=0o600)
        fresh.write_text(joined, encoding="utf-8")
        try:
            read_tokens(fresh)
        except SchemaError:
            fresh.unlink()
            msg = f"the file of tokens {str(path)!r} has one of the name {given.name!r}; give another name"
            raise SchemaError(msg) from None
        fresh.replace(path)
    except OSError as error:
        msg = f"the file of tokens {str(path)!r} cannot be written: {error}"
        raise StorageError(msg) from error
    console.print(f"added {given.name!r} to {path}; the token, which is shown this once:", markup=False)
    print(made)
