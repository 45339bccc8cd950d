"""``livejoin shell``: SQL, typed or piped in, with what each statement does to the views that are watched.

A statement ends with a semicolon and may go over several lines. A line that begins with a dot is a command of the shell
(``.help``). Ctrl-C gives up what is being typed, or cuts off what runs; Ctrl-D ends.
"""

from __future__ import annotations

import contextlib
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
from rich.console import Console
from rich.table import Table
from rich.text import Text

import livejoin
from livejoin.changes.files import csv_options
from livejoin.database.durable.home import is_home
from livejoin.database.transactions.staging import OnConflict
from livejoin.database.view import where_it_begins
from livejoin.errors import LivejoinError, SchemaError, StateError, StorageError
from livejoin.own_folders import cache_folder
from livejoin.shown import meant
from livejoin.sql import is_complete, statements
from livejoin.state.objects import open_objects

_MOST_ROWS = 50
_MOST_BESIDE = 8  # databases that are named
_MOST_HISTORY = 2000
_ON_CONFLICT: dict[str, OnConflict] = {"error": "error", "ignore": "ignore", "update": "update"}
_PROMPT, _MORE = "livejoin> ", "     ...> "
_WORDS = (
    *(
        "SELECT",
        "FROM",
        "WHERE",
        "GROUP BY",
        "HAVING",
        "ORDER BY",
        "LIMIT",
        "JOIN",
        "LEFT JOIN",
        "ON",
        "AS",
        "AND",
        "OR",
    ),
    *(
        "INSERT INTO",
        "VALUES",
        "UPDATE",
        "SET",
        "DELETE FROM",
        "MERGE INTO",
        "USING",
        "WHEN MATCHED THEN",
        "BEGIN",
        "COMMIT",
    ),
    *("CREATE TABLE", "CREATE VIEW", "DROP TABLE", "DROP VIEW", "ALTER TABLE", "PRIMARY KEY", "EXPLAIN", "NOT NULL"),
)


def open_database(folder: Path | str | None, *, create: bool, asks: bool) -> livejoin.Database:
    """The database of a folder, or one in memory.

    Args:
        folder: The folder, or the URL of a place in an object store; None for a database in memory.
        create: Whether one is made where there is none.
        asks: Whether that may be asked, as somebody types.

    Raises:
        StateError: There is no database, and none is to be made; or as `livejoin.open`, which raises others too.
    """
    if folder is None:
        return livejoin.Database()
    if not create and _is_free(folder):
        near = _databases_beside(folder) if isinstance(folder, Path) else []
        known = f"; beside it are {', '.join(map(repr, near))}{meant(Path(folder).name, near)}" if near else ""
        msg = f"there is no database in {str(folder)!r}{known}"
        if not asks:
            raise StateError(f"{msg}. livejoin shell --create {shlex.quote(str(folder))} makes one")
        if input(f"{msg}. Make one? [y/N] ").strip().lower() not in ("y", "yes"):
            raise StateError("no database was made")
    return livejoin.open(folder)


def _is_free(folder: Path | str) -> bool:
    """Whether opening a folder or a place would make a database in it.

    Raises:
        StorageError: The store refuses.
    """
    if isinstance(folder, str):
        try:
            return not open_objects(folder).listed("log/")
        except OSError as error:
            msg = f"{folder!r} could not be looked at: {error}; try again when that is mended"
            raise StorageError(msg) from error
    return not folder.exists() or (folder.is_dir() and not any(folder.iterdir()))


def _databases_beside(folder: Path) -> list[str]:
    """The names of folders beside one that look like databases, the first of them."""
    above = folder.absolute().parent
    found = (one.name for one in sorted(above.iterdir()) if is_home(one)) if above.is_dir() else iter(())
    return list(islice(found, _MOST_BESIDE))


class Shell:
    """A shell over a database; mutable.

    Args:
        database: The database.
        console: Where results go.
        errors: Where errors go.
    """

    def __init__(self, database: livejoin.Database, console: Console, errors: Console) -> None:
        self._database = database
        self._console = console
        self._errors = errors
        self._watched: dict[str, tuple[livejoin.View, Callable[[], None]]] = {}
        self._unshown: list[Exception] = []
        self._commands: dict[str, tuple[str, str, Callable[..., None]]] = {
            ".help": ("", "this list", self._help),
            ".tables": ("", "the tables, with their rows", self._tables),
            ".views": ("", "the views, with their queries", self._views),
            ".schema": ("NAME", "the columns of a table or a view", self._schema),
            ".watch": ("VIEW", "print what each statement changes in a view", self._watch),
            ".unwatch": ("VIEW", "no longer", self._unwatch),
            ".import": ("FILE TABLE [update]", "rows of a .csv, .parquet or .jsonl file; update replaces, ignore keeps",
                        self._import),
            ".read": ("FILE", "run the statements of a file", self._read),
            ".quit": ("", "end; so does Ctrl-D", self._help),
        }  # fmt: skip

    def run(self, text: str | None = None) -> bool:
        """Run a text, or what is typed or piped in, to its end.

        Returns:
            Whether all went well; a text or a pipe ends with the first error.
        """
        if text is not None:
            return all(map(self._tried, _split(text.splitlines(keepends=True))))
        if not sys.stdin.isatty():
            return all(map(self._tried, _split(sys.stdin)))
        where = self._database.path or self._database.url
        at = f"in {str(where)!r}" if where else "in memory, nothing stays"
        self._console.print(f"livejoin {livejoin.__version__}, {at}; .help says what can be typed")
        with _history(self._complete):
            while (given := self._typed()) is not None:
                if given.strip() in (".quit", ".exit"):
                    break
                self._tried(given)
        return True

    def _typed(self) -> str | None:
        """The next statement or command that is typed; None at the end."""
        lines: list[str] = []
        while True:
            try:
                lines.append(input(_MORE if lines else _PROMPT))
            except EOFError:
                self._console.print()
                return None
            except KeyboardInterrupt:
                self._console.print()
                lines = []
                continue
            text = "\n".join(lines)
            if not text.strip():
                lines = []
            elif text.lstrip().startswith(".") or is_complete(text):
                return text

    def _tried(self, text: str) -> bool:
        """Run a statement or a command; whether it went well, and else its error is shown."""
        self._unshown.clear()
        try:
            self._one(text.strip())
            if self._unshown:
                raise self._unshown[0]
        except (LivejoinError, OSError, pa.ArrowException) as error:
            self._errors.print(Text.assemble(("error: ", "bold red"), (str(error), "red")), soft_wrap=True)
            return False
        except KeyboardInterrupt:
            self._errors.print("cut off; the statement stands or it does not: its tables say which", style="yellow")
            return False
        return True

    def _one(self, text: str) -> None:
        if text.startswith("."):
            self._command(text)
            return
        pieces = statements(text)
        if len(pieces) > 1 and not any(piece.upper().startswith(("BEGIN", "START")) for piece in pieces):
            for piece in pieces:
                self._one(piece)
            return
        word = text.split(maxsplit=1)[0].upper() if pieces else ""
        body = text.rstrip(";").rstrip()
        if word in ("SELECT", "WITH", "FROM", "TABLE") or word.startswith("("):
            self._show(self._database.sql(body))
        elif word == "EXPLAIN":
            lines = self._database.sql(body)["explanation"].to_pylist()
            self._console.print(Text("\n".join(lines)), soft_wrap=True)
        elif body:
            before = dict(self._database.views)
            commit = self._database.execute(text)
            self._watch_on()
            for name, view in self._database.views.items():
                if view.begins is not None and before.get(name) is not view:
                    self._console.print(Text(f"{name}: {where_it_begins(view)}", "yellow"), soft_wrap=True)
            if commit is None:
                self._console.print("done", style="dim")
                return
            rows = {name: commit.rows(name) for name in commit.views if commit.rows(name)}
            changed = "; ".join(f"{name}: {_counted(number, 'delta row')}" for name, number in rows.items())
            self._console.print(
                f"{_counted(commit.changes, 'change')}, version {commit.version}{'; ' + changed if changed else ''}",
                style="dim",
            )

    def _command(self, text: str) -> None:
        name, *given = shlex.split(text)
        if name not in self._commands:
            msg = f"there is no command {name}; .help lists them"
            raise SchemaError(msg)
        arguments, _, function = self._commands[name]
        words = arguments.split()
        if not sum(not word.startswith("[") for word in words) <= len(given) <= len(words):
            msg = f"{name} takes {arguments or 'nothing'}, and {len(given)} were given; quote names with spaces"
            raise SchemaError(msg)
        function(*given)

    def _help(self) -> None:
        table = Table(box=None, show_header=False)
        table.add_row(
            "SQL;", "SELECT, INSERT, UPDATE, DELETE, MERGE INTO, CREATE, DROP, ALTER TABLE, BEGIN; ... COMMIT;"
        )
        table.add_row("EXPLAIN SELECT ...;", "what maintaining a query would cost")
        table.add_row("EXPLAIN ANALYZE VIEW;", "what a view really costs; it is counted from the first time on")
        for name, (arguments, about, _) in self._commands.items():
            table.add_row(f"{name} {arguments}", about)
        self._console.print(table)

    def _tables(self) -> None:
        figures = self._database.stats()["tables"]
        for name, table in self._database.tables.items():
            rows = figures[name]["rows"]
            self._console.print(f"{name}: {_counted(rows, 'row')} ({', '.join(c.name for c in table.columns)})")

    def _views(self) -> None:
        for name, view in self._database.views.items():
            watched = " [watched]" if name.lower() in self._watched else ""
            self._console.print(Text(f"{name}{watched}: {' '.join(view.sql.split())}"), soft_wrap=True)

    def _schema(self, name: str) -> None:
        views, tables = self._database.views, self._database.tables
        if name in views:
            for field in views[name].schema:
                self._console.print(Text(f"{field.name} {field.type}"))
            return
        table = tables[name]
        for place, column in enumerate(table.columns):
            notes = " PRIMARY KEY" * (place in table.primary_key) or " NOT NULL" * (not column.nullable)
            notes += "" if column.default is None else f" DEFAULT {column.default}"
            notes += "" if column.generated is None else f" GENERATED ALWAYS AS ({column.generated})"
            self._console.print(Text(f"{column.name} {column.type}{notes}"))
        for check in table.checks:
            self._console.print(Text(str(check)))

    def _watch(self, name: str) -> None:
        view = self._database.views[name]
        if name.lower() not in self._watched:
            show = partial(self._show_delta, view.name)
            self._watched[name.lower()] = view, view.subscribe(show, on_error=self._unshown.append)
        self._show(view.to_arrow())

    def _watch_on(self) -> None:
        """Say which watched views are gone, and watch those on that have the name of another one."""
        views = self._database.views
        for name, (watched, end) in list(self._watched.items()):
            if views.get(name) is watched:
                continue
            end()
            del self._watched[name]
            if name not in views:
                self._console.print(Text(f"{watched.name} is gone, and watched no more", "yellow"), soft_wrap=True)
                continue
            about = "is another view now, with columns of other names or types; the watch goes on with it"
            self._console.print(Text(f"{views[name].name} {about}", "yellow"), soft_wrap=True)
            self._watch(name)

    def _unwatch(self, name: str) -> None:
        found = self._watched.pop(name.lower(), None)
        if found is None:
            msg = f"{name!r} is not watched"
            raise SchemaError(msg)
        found[1]()

    def _import(self, file: str, name: str, on_conflict: str = "error") -> None:
        if on_conflict not in _ON_CONFLICT:
            msg = f"{on_conflict!r} is no word for rows that are there already; write update or ignore, or nothing"
            raise SchemaError(msg)
        table = self._database.tables.get(name)
        texts = [column.name for column in table.columns if column.type.kind == "string"] if table is not None else []
        try:
            rows = _rows_of(Path(file).expanduser(), texts)
        except FileNotFoundError:
            msg = f"there is no file {file!r}"
            raise SchemaError(msg) from None
        except (OSError, pa.ArrowException) as error:
            msg = f"cannot read {file!r}: {error}"
            raise SchemaError(msg) from error
        if table is None:
            self._database.create_table(name, rows.schema)
        commit = self._database.apply(name, rows, on_conflict=_ON_CONFLICT[on_conflict], coerce="json")
        self._console.print(f"{_counted(commit.changes, 'row')} into {name}", style="dim")

    def _read(self, file: str) -> None:
        for text in _split(Path(file).expanduser().read_text().splitlines(keepends=True)):
            self._one(text.strip())

    def _show_delta(self, name: str, delta: pa.Table) -> None:
        if delta.num_rows:
            shown = delta.drop_columns(["_commit_version"])
            kinds = shown.column_names.index("_change_type")
            order = [kinds, *(place for place in range(shown.num_columns) if place != kinds)]
            self._show(shown.select(order), name)

    def _show(self, rows: pa.Table, title: str | None = None) -> None:
        more = max(0, rows.num_rows - _MOST_ROWS)
        caption = f"{_counted(rows.num_rows, 'row')}{f', of which {_MOST_ROWS} are shown' if more else ''}"
        table = Table(title=title, title_justify="left", caption=caption, caption_justify="left")
        for field in rows.schema:
            number = (
                pa.types.is_integer(field.type) or pa.types.is_floating(field.type) or pa.types.is_decimal(field.type)
            )
            table.add_column(Text(field.name), justify="right" if number else "left")
        few = rows.slice(0, _MOST_ROWS)
        columns = [column.cast(pa.string()) if _is_time(column.type) else column for column in few.columns]
        for values in zip(*(column.to_pylist() for column in columns), strict=True):
            table.add_row(*(Text("NULL", "dim") if value is None else Text(str(value)) for value in values))
        self._console.print(table)

    def _complete(self, text: str) -> list[str]:
        """The words that begin so: of SQL, of the shell, and the names of tables, views and columns."""
        names = {*self._database.tables, *self._database.views}
        names |= {column.name for table in self._database.tables.values() for column in table.columns}
        words = self._commands if text.startswith(".") else [*sorted(names), *_WORDS]
        return [word for word in words if word.lower().startswith(text.lower())]


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _is_time(kind: pa.DataType) -> bool:
    return bool(pa.types.is_temporal(kind))


def _split(lines: Any) -> Iterator[str]:
    """The statements and commands of lines, in order; what stands behind the last semicolon is one too."""
    text = ""
    for line in lines:
        text += line if line.endswith("\n") else f"{line}\n"
        if (text.lstrip().startswith(".") and text.endswith("\n")) or is_complete(text):
            yield text
            text = ""
    if text.strip():
        yield text


def _rows_of(file: Path, texts: Sequence[str] = ()) -> pa.Table:
    """The rows of a file, by its ending. In a CSV an empty field is NULL, and ``""`` is the empty text.

    Args:
        file: The file.
        texts: The columns that are texts, whatever their values look like.

    Raises:
        SchemaError: The ending is none that is known.
        OSError, pa.ArrowException: The file cannot be read.
    """
    match file.suffix.lower():
        case ".csv":
            from pyarrow import csv  # noqa: PLC0415  # only who imports needs it

            return csv.read_csv(file, convert_options=csv_options(dict.fromkeys(texts, pa.string())))
        case ".parquet":
            from pyarrow import parquet  # noqa: PLC0415

            return parquet.read_table(file)
        case ".jsonl" | ".ndjson" | ".json":
            from pyarrow import json  # noqa: PLC0415

            return json.read_json(file)
    msg = f"{str(file)!r} ends with none of .csv, .parquet and .jsonl"
    raise SchemaError(msg)


@contextlib.contextmanager
def _history(complete: Callable[[str], list[str]]) -> Iterator[None]:
    """Lines of before come back by the arrow keys, and Tab completes words, where Python has readline."""
    try:
        import readline  # noqa: PLC0415
    except ImportError:
        yield
        return
    folder = cache_folder()
    file = None if folder is None else folder / "shell-history"
    found: list[str] = []

    def completer(text: str, state: int) -> str | None:
        nonlocal found
        if state == 0:
            found = complete(text)
        return found[state] if state < len(found) else None

    readline.set_completer(completer)
    readline.set_completer_delims(" \t\n,;()=<>")
    readline.parse_and_bind("tab: complete")
    readline.set_history_length(_MOST_HISTORY)
    if file is not None:
        with contextlib.suppress(OSError):
            readline.read_history_file(file)
    try:
        yield
    finally:
        if file is not None:
            with contextlib.suppress(OSError):
                readline.write_history_file(file)
