"""From a pipeline file to a pipeline that can run; all errors of the file are reported at once."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from livejoin.catalog import Catalog, tables_beside
from livejoin.errors import (
    LivejoinError,
    PipelineError,
    StateError,
    UnknownNameError,
)
from livejoin.pipeline.file_source import RefusedKey, file_source
from livejoin.pipeline.lines import key_lines, line_of
from livejoin.pipeline.model import (
    AVAILABLE_NOW,
    DeltaTableSource,
    KafkaTableSource,
    ParquetOutput,
    PipelineFile,
    RunSettings,
    ServerTable,
    TableSource,
    ViewText,
    allowed_keys,
    place_of,
)
from livejoin.pipeline.places import Server, delta_of, kafka_of, located, server_of, sink_of
from livejoin.pipeline.reader_options import wrong_zone
from livejoin.pipeline.spark_settings import unknown_settings
from livejoin.pipeline.spark_settings import warnings as misspelled_settings
from livejoin.query.bound_query import Query
from livejoin.schema import Table
from livejoin.shown import meant
from livejoin.spark.own_places import OwnPlace, overlaps
from livejoin.spark.paths import is_remote, local_path, not_local, output_place
from livejoin.spark.run_options import RunOptions
from livejoin.spark.sinks import Sink
from livejoin.spark.sources import FileSource
from livejoin.spark.time_zone import SETTING, depends_on_zone, is_utc
from livejoin.sql import (
    bind_view,
    in_order,
    model_files,
    names_read,
    of_model,
    read_models,
    violations_of,
)
from livejoin.state.objects import SCHEMES, check_url, scheme_of
from livejoin.state.store_folder import Place


@dataclass(frozen=True)
class Pipeline:
    """A pipeline that can run.

    Args:
        file: The pipeline file.
        sources: The tables that come from files, with these files.
        views: The SQL text of each view.
        output: The folder of the deltas, or their place in a store; None if they go elsewhere.
        checkpoint: The folder of the state, or its place in a store.
        trigger: Arguments of Spark's ``trigger``.
        check: Whether the result is compared with DuckDB at the end.
        spark: Settings of the Spark session.
        options: Further options of the run.
        servers: Databases whose tables are streamed.
        tables: All tables in the order of the file; empty if all are in ``sources``.
        sink: The sink of the deltas, if they are not written to ``output`` as Parquet.
        assertions: The condition of each assertion.
    """

    file: Path
    sources: Mapping[str, FileSource]
    views: Mapping[str, str]
    output: Place | None
    checkpoint: Place
    trigger: Mapping[str, Any]
    check: bool
    spark: Mapping[str, str]
    options: RunOptions = field(default_factory=RunOptions)
    servers: tuple[Server, ...] = ()
    tables: Mapping[str, Table] = field(default_factory=dict)
    sink: Sink | None = None
    assertions: Mapping[str, str] = field(default_factory=dict)

    @property
    def declared(self) -> Mapping[str, Table]:
        """All tables by name."""
        return self.tables or {name: source.table for name, source in self.sources.items()}

    @property
    def warnings(self) -> tuple[str, ...]:
        """What may not be meant so: each a sentence."""
        unordered = (
            f"table {name!r} goes by its key, and several files of a batch have no order: of two changes of a key the "
            "older one may win. Say sequence_by, or name a column _seq BIGINT in schema, or let each file be a batch: "
            "options = { maxFilesPerTrigger = 1 }"
            for name, source in self.sources.items()
            if source.has_no_order
        )
        return (*unordered, *misspelled_settings(self.spark))


@dataclass(frozen=True)
class _Problem:
    key: tuple[str, ...]
    message: str


def load(file: str | Path) -> Pipeline:
    """Read a pipeline file.

    Raises:
        PipelineError: The file has errors; the message lists all of them, each with its key and its line.
    """
    path = Path(file)
    text = _text(path)
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        position = re.search(r"\(at line (\d+)", str(error))
        msg = f"this is not valid TOML: {error}"
        raise PipelineError(msg, str(path), line=int(position[1]) if position else 0) from None
    try:
        parsed = PipelineFile.model_validate(values)
    except ValidationError as error:
        raise _report(path, text, [_problem(dict(found)) for found in error.errors()]) from None
    return _resolve(path.absolute(), path, text, parsed)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        msg = f"cannot read the pipeline file: {error.strerror}"
        raise PipelineError(msg, str(path)) from None
    except UnicodeDecodeError as error:
        msg = f"the pipeline file is not UTF-8 text: {error.reason} at byte {error.start}"
        raise PipelineError(msg, str(path)) from None


def _resolve(absolute: Path, path: Path, text: str, parsed: PipelineFile) -> Pipeline:
    folder = absolute.parent
    problems: list[_Problem] = []
    if parsed.run.check and parsed.run.trigger != AVAILABLE_NOW:
        message = f"needs trigger = {AVAILABLE_NOW!r}: a pipeline that goes on has no end to check at"
        problems.append(_Problem(("run", "check"), message))
    if parsed.run.check and not isinstance(parsed.sink, ParquetOutput):
        message = f"adds up the files of sink 'parquet', and this one is {parsed.sink.kind!r}; leave one of the two out"
        problems.append(_Problem(("run", "check"), message))
    zone = parsed.run.spark.get(SETTING, "UTC")
    if said := wrong_zone(zone):
        problems.append(_Problem(("run", "spark"), f"has {SETTING} {zone!r}; {said}"))
    elif parsed.run.check and not is_utc(zone):
        message = f"reads the files in UTC, and {SETTING} is {zone!r}; leave one of the two out"
        problems.append(_Problem(("run", "check"), message))
    if parsed.run.keep_output is not None and not isinstance(parsed.sink, ParquetOutput):
        message = f"is for sink 'parquet', and this one is {parsed.sink.kind!r}; leave it out"
        problems.append(_Problem(("run", "keep_output"), message))
    problems += [_Problem(("run", "spark"), said) for said in unknown_settings(parsed.run.spark)]
    written: dict[tuple[str, ...], str | None] = {
        ("run", name): getattr(parsed.run, name) for name in ("checkpoint", "spill", "dead_letters")
    }
    written["sink", "path"] = getattr(parsed.sink, "path", None)
    of_files = {name: table for name, table in parsed.tables.items() if isinstance(table, TableSource)}
    places = written | {("tables", name, "path"): table.path for name, table in of_files.items()}
    may_be_remote = {("run", "checkpoint"), ("run", "dead_letters")}
    if isinstance(parsed.sink, ParquetOutput):
        may_be_remote.add(("sink", "path"))
    wrong = {
        key: reason
        for key, place in places.items()
        if place and (reason := _wrong_place(place, key in may_be_remote)) is not None
    }
    problems += [_Problem(key, reason) for key, reason in wrong.items()]
    sources: dict[str, FileSource] = {}
    servers, declared = _servers(parsed, folder, problems)
    for name, table in of_files.items():
        if ("tables", name, "path") in wrong:
            continue
        try:
            sources[name] = file_source(name, table, parsed, folder)
            declared[name] = sources[name].table
        except RefusedKey as error:
            problems += [_Problem(("tables", name, error.key), said) for said in error.messages]
        except LivejoinError as error:
            problems.append(_Problem(("tables", name, "schema"), str(error)))
    if not wrong:
        problems += _overlapping(written, sources, parsed, folder)
    if is_remote(parsed.run.checkpoint):
        problems += _beside_a_store(sources)
    views: dict[str, str] = {}
    for name, view in parsed.views.items():
        try:
            views[name] = _sql(view, folder)
        except OSError as error:
            problems.append(_Problem(("views", name, "sql_file"), f"cannot read it: {error.strerror}"))
    _add_models(views, parsed.models, folder, problems)
    views = in_order(views)
    if not parsed.views and parsed.models is None:
        problems.append(_Problem(("views",), "is missing: declare a view in [views.NAME], or give models, a folder"))
    tables = {name: declared[name] for name in parsed.tables if name in declared}
    sink = None
    if not isinstance(parsed.sink, ParquetOutput) and ("sink", "path") not in wrong:
        try:
            sink = sink_of(parsed.sink, folder, views)
        except LivejoinError as error:
            problems.append(_Problem(("sink", "kind"), str(error)))
    if not problems:
        problems = _unbound(parsed, views, tables, folder)
    if problems:
        raise _report(path, text, problems)
    trigger = parsed.run.trigger
    return Pipeline(
        file=absolute,
        sources=sources,
        views=views,
        output=_located(folder, parsed.sink.path, "path") if isinstance(parsed.sink, ParquetOutput) else None,
        checkpoint=_located(folder, parsed.run.checkpoint, "checkpoint"),
        trigger={"availableNow": True} if trigger == AVAILABLE_NOW else {"processingTime": trigger},
        check=parsed.run.check,
        spark=parsed.run.spark,
        options=_run_options(parsed.run, folder),
        servers=servers,
        tables=tables,
        sink=sink,
        assertions=parsed.assertions,
    )


def _located(folder: Path, path: str, key: str) -> Place:
    """A place that a file names: a folder, relative to the file, or one in a store."""
    return output_place(path, key) if is_remote(path) else folder / local_path(path, key)


def _wrong_place(place: str, may_be_remote: bool) -> str | None:
    """Why a place cannot be used; None if it can."""
    if not may_be_remote or scheme_of(place) not in SCHEMES:
        return not_local(place)
    try:
        check_url(place)
    except StateError as error:
        return str(error)
    return None


def _beside_a_store(sources: Mapping[str, FileSource]) -> Iterator[_Problem]:
    """What does not go with a checkpoint in a store."""
    for name, source in sources.items():
        if source.table.static:
            continue
        if source.by_name:
            message = (
                "'by-name' copies files below the checkpoint, which is in a store; leave it out, and say sequence_by "
                "where the order matters, or give a checkpoint in a folder"
            )
            yield _Problem(("tables", name, "arrival"), message)
        elif source.place[0].is_file():
            message = (
                f"{str(source.path)!r} is one file, which would be copied below the checkpoint, that is in a store: "
                "give the file a folder of its own, and name that"
            )
            yield _Problem(("tables", name, "path"), message)


def _overlapping(
    written: Mapping[tuple[str, ...], str | None],
    sources: Mapping[str, FileSource],
    parsed: PipelineFile,
    folder: Path,
) -> Iterator[_Problem]:
    """Folders that are written to and are, or hold, or lie in another place."""
    keys = {".".join(key): key for key in written}
    places = [
        OwnPlace(".".join(key), _located(folder, path, key[-1])) for key, path in written.items() if path is not None
    ]
    for name, source in sources.items():
        path, below = source.place
        places.append(OwnPlace(f"tables.{name}.path", path, below, is_read=True))
        keys[f"tables.{name}.path"] = ("tables", name, "path")
    for name, table in parsed.tables.items():
        if isinstance(table, DeltaTableSource) and isinstance(there := located(folder, table.path), Path):
            places.append(OwnPlace(f"tables.{name}.path", there, is_read=True))
            keys[f"tables.{name}.path"] = ("tables", name, "path")
    for place, why in overlaps(places):
        yield _Problem(keys[place.name], why)


def _add_models(views: dict[str, str], models: str | None, folder: Path, problems: list[_Problem]) -> None:
    """Add the views of a folder of SQL files."""
    if models is None:
        return
    if (reason := not_local(models)) is not None:
        problems.append(_Problem(("models",), reason))
        return
    try:
        found = read_models(folder / local_path(models, "models"))
    except PipelineError as error:
        problems.append(_Problem(("models",), str(error)))
        return
    known = {name.lower() for name in views}
    for name in found:
        if name.lower() in known:
            problems.append(_Problem(("models",), f"{name}.sql is a view that [views.{name}] is too; rename one"))
    views.update(found)


def _run_options(run: RunSettings, folder: Path) -> RunOptions:
    given = {one.name: getattr(run, one.name) for one in fields(RunOptions) if one.name in RunSettings.model_fields}
    if run.spill is not None:
        given["spill"] = folder / local_path(run.spill, "spill")
    if run.dead_letters is not None and not is_remote(run.dead_letters):
        given["dead_letters"] = folder / local_path(run.dead_letters, "dead_letters")
    return RunOptions(**given)


def _servers(
    parsed: PipelineFile, folder: Path, problems: list[_Problem]
) -> tuple[tuple[Server, ...], dict[str, Table]]:
    """The servers that tables come from, and these tables; errors are added to ``problems``."""
    wanted: dict[str, dict[str, ServerTable]] = {}
    makers: list[tuple[tuple[str, ...], Callable[[], Server]]] = []
    for name, table in parsed.tables.items():
        if isinstance(table, DeltaTableSource):
            makers.append((("tables", name, "path"), partial(delta_of, name, located(folder, table.path), table)))
        if isinstance(table, KafkaTableSource):
            makers.append((("tables", name, "schema"), partial(kafka_of, name, table)))
        if not isinstance(table, ServerTable):
            continue
        if table.server in parsed.servers:
            wanted.setdefault(table.server, {})[name] = table
            continue
        known = ", ".join(map(repr, parsed.servers)) or "none"
        message = f"names the server {table.server!r}, which is not among [servers]; it has {known}"
        problems.append(_Problem(("tables", name, "server"), message))
    for name, asked in wanted.items():
        makers.append((("servers", name, "url"), partial(server_of, parsed.servers[name], asked)))
    if makers and parsed.run.check:
        message = "reads files of changes with DuckDB, and some tables come from elsewhere; leave it out"
        problems.append(_Problem(("run", "check"), message))
    servers, tables = [], dict[str, Table]()
    for key, make in makers:
        try:
            server = make()
            tables |= server.look_up()
        except LivejoinError as error:
            problems.append(_Problem(key, str(error)))
            continue
        servers.append(server)
    return tuple(servers), tables


def _sql(view: ViewText, folder: Path) -> str:
    return view.sql if view.sql is not None else (folder / str(view.sql_file)).read_text(encoding="utf-8")


def _unbound(
    parsed: PipelineFile, views: Mapping[str, str], tables: Mapping[str, Table], folder: Path
) -> list[_Problem]:
    """Errors of references between tables and of views; a view that reads a wrong view is not reported again."""
    catalog = Catalog()
    problems = []
    for name, table in tables.items():
        try:
            for one in (table, *tables_beside(table)):
                catalog.add(one)
        except LivejoinError as error:
            problems.append(_Problem(("tables", name, "schema"), str(error)))
    if problems:
        return problems
    bound: dict[str, Query] = {}
    zone = parsed.run.spark.get(SETTING, "UTC")
    wrong: set[str] = set()
    files = {} if parsed.models is None else model_files(folder / local_path(parsed.models, "models"))
    for name, sql in views.items():
        try:
            bound[name.lower()] = bind_view(name, sql, catalog, bound, views, parsed.run.allow_product)
            if said := depends_on_zone(bound[name.lower()], sql, zone):
                problems.append(_Problem(("run", "spark"), f"view {name!r}: {said}"))
        except LivejoinError as error:
            is_first = not (isinstance(error, UnknownNameError) and names_read(sql) & wrong)
            wrong.add(name.lower())
            if not is_first:
                continue
            if name not in parsed.views:
                problems.append(_Problem(("models",), str(of_model(error, files[name.lower()]))))
                continue
            key = "sql" if parsed.views[name].sql is not None else "sql_file"
            problems.append(_Problem(("views", name, key), str(error)))
    for name, condition in parsed.assertions.items():
        try:
            query = violations_of(condition)
            bind_view(name, query, catalog, bound, views, parsed.run.allow_product)
        except LivejoinError as error:
            if not (isinstance(error, UnknownNameError) and names_read(query) & wrong):
                problems.append(_Problem(("assertions", name), str(error)))
    return problems


def _problem(found: Mapping[str, Any]) -> _Problem:
    """One error of pydantic in plain words."""
    key, kind = place_of(found["loc"])
    allowed = ", ".join(allowed_keys(key[:-1], kind))
    match found["type"]:
        case "missing":
            return _Problem(key, "is missing")
        case "extra_forbidden":
            hint = meant(key[-1], allowed_keys(key[:-1], kind))
            return _Problem(key, f"is not a key of this table{hint}; allowed are {allowed}")
        case "model_type":
            message = f"is a table of its own, [{'.'.join(key)}], with {', '.join(allowed_keys(key, kind))}"
            return _Problem(key, f"{message}; found {found['input']!r:.80}")
        case "model_attributes_type" | "dict_type":
            return _Problem(key, f"is a table of its own, [{'.'.join(key)}]; found {found['input']!r:.80}")
        case "union_tag_not_found":
            return _Problem((*key, "kind"), "is missing")
        case "union_tag_invalid":
            context = found["ctx"]
            hint = meant(context["tag"], _quoted(context["expected_tags"]))
            message = f"allowed are {context['expected_tags']}, found {context['tag']!r}{hint}"
            return _Problem((*key, "kind"), message)
        case "literal_error":
            allowed = found["ctx"]["expected"]
            return _Problem(
                key, f"allowed are {allowed}, found {found['input']!r}{meant(found['input'], _quoted(allowed))}"
            )
        case "too_short":
            return _Problem(key, "is empty; at least one is needed")
        case "value_error":
            return _Problem(key, str(found["ctx"]["error"]))
        case _:
            text = str(found["msg"])
            return _Problem(key, f"{text[0].lower()}{text[1:]}, found {found['input']!r}")


def _quoted(text: str) -> list[str]:
    """The words of a text that stand in quotes."""
    return re.findall(r"'([^']*)'", text)


def _report(path: Path, text: str, problems: Sequence[_Problem]) -> PipelineError:
    """One error that shows all problems, each with its key and its line, in the order of the file."""
    lines = key_lines(text)
    placed = sorted(problems, key=lambda problem: line_of(lines, problem.key))
    first, *others = placed
    more = "".join(
        f"\n{PipelineError(other.message, str(path), '.'.join(other.key), line_of(lines, other.key))}"
        for other in others
    )
    return PipelineError(first.message + more, str(path), ".".join(first.key), line_of(lines, first.key))
