"""The keys of a pipeline file."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveInt,
    Tag,
    ValidationInfo,
    model_validator,
)
from pydantic.fields import FieldInfo

from livejoin.checkpoint.initial import Initial
from livejoin.checkpoint.policy import OnBad
from livejoin.checkpoint.static_tables import OnStaticChange
from livejoin.database.arguments import check_bytes
from livejoin.errors import SchemaError
from livejoin.schema import Form, TableSettings, form_of, options
from livejoin.spark.run_options import Keep, Mode
from livejoin.sql.tables.window_range import parse_range

Format = Literal["csv", "json", "orc", "parquet"]
IntegerTimes = Literal["milliseconds", "microseconds", "nanoseconds"]
Decimals = Literal["text", "base64"]
Feed = Literal["append", "change-feed", "debezium", "delta", "upsert"]
_INTERVAL = re.compile(r"\d+ *(millisecond|second|minute|hour)s?")
AVAILABLE_NOW = "available-now"


def _trigger(text: str) -> str:
    if text != AVAILABLE_NOW and not _INTERVAL.fullmatch(text):
        msg = f"allowed are 'available-now' and an interval as in '10 seconds', not {text!r}"
        raise ValueError(msg)
    return text


def _range(text: str | None) -> str | None:
    if text is not None and parse_range(text) is None:
        msg = f"allowed are a column and a range, as in 'at 1 HOUR' or 'number 1000', not {text!r}"
        raise ValueError(msg)
    return text


def _bytes(value: object, info: ValidationInfo) -> int | None:
    try:
        return check_bytes(value, str(info.field_name))
    except SchemaError as error:
        raise ValueError(str(error)) from None


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class _Windowed(_Strict):
    """Settings of any table, as in `livejoin.schema.TableSettings`.

    Args:
        watermark: A column of times and a delay, as ``"at 10 MINUTES"``: changes are late whose time is before the
            newest time that the table had after a batch, less the delay. Views with EMIT FINAL tell closed windows.
        late: With ``watermark``: ``skip`` leaves late changes out and counts them; with ``refuse`` they are bad rows
            (``run.on_bad_rows``), so that they may become dead letters.
        window_rows: The table keeps this many rows.
        window_range: A column of times and a range, as ``"at 1 HOUR"``: the table keeps rows that are less than the
            range older than the newest row.
        retain: ``all`` or ``used``, for a table without a key whose rows are also deleted. A deletion has to say which
            row it means, so ``all`` keeps each column. ``used`` keeps only the columns that a view uses, and a deletion
            then takes a row that has the same values in these. Other tables go by ``run.keep``.
        append_only: Rows are inserted only. Deletions and updates are bad rows (``run.on_bad_rows``), and a second row
            with a key is a conflict (``run.on_conflict``).
    """

    watermark: Annotated[str | None, AfterValidator(_range)] = None
    late: Literal["skip", "refuse"] = "skip"
    window_rows: PositiveInt | None = None
    window_range: Annotated[str | None, AfterValidator(_range)] = None
    retain: Literal["all", "used"] = "all"
    append_only: bool = False

    @property
    def table_settings(self) -> TableSettings:
        """The settings of the table."""
        given = {one.name: getattr(self, one.name) for one in options() if one.name in type(self).model_fields}
        ranges = {name: parse_range(text) for name, text in given.items() if text and form_of(name) is Form.RANGE}
        return TableSettings(**{**given, **ranges})


class _Ordered(_Windowed):
    """Settings of a table whose changes go by key.

    Args:
        sequence_by: The column that orders the changes of each key, as a version or a time: a change that is older than
            the row is skipped, however late it comes.
        tombstones: With ``sequence_by``: how many deleted keys are remembered, so that an older row does not bring one
            back; 100,000 by default.
    """

    sequence_by: str | None = None
    tombstones: NonNegativeInt | None = None


class TableSource(_Ordered):
    """One table: files of changes that Spark reads as a stream.

    Args:
        columns: Key ``schema``: the columns of the files in their order, ``_change_type`` and ``_seq`` among them where
            the files have them. With a PRIMARY KEY a new row replaces the row with its key. UNIQUE is checked after
            each batch.
        format: The files' format.
        path: A file, a folder or a pattern, relative to the pipeline file.
        options: Spark's options for reading this format, for example ``maxFilesPerTrigger``.
        feed: ``append``: every row is an insertion. ``change-feed``: ``_change_type`` says what a row is. ``debezium``:
            JSON envelopes with ``op``, ``before`` and ``after``; ``schema`` is that of the rows inside. ``delta``: rows
            of a Delta table's change data feed, as ``table_changes`` and ``readChangeFeed`` give them, each version in
            one file; ``schema`` is that of the table, without ``_change_type`` and ``_commit_version``. ``upsert``:
            every row replaces the row with its key, or deletes it, see ``apply_as_deletes``.
        apply_as_deletes: With feed ``upsert``: a condition in Spark SQL; rows that meet it delete their key.
        integer_times: With feed ``debezium``: what integers in columns of TIMESTAMP count: ``milliseconds``,
            ``microseconds`` or ``nanoseconds``, as the connector's ``time.precision.mode`` has it. Without it such a
            message is no row of the table. Dates count days.
        decimals: With feed ``debezium``: how columns of DECIMAL are written: ``base64`` with the connector's
            ``decimal.handling.mode=precise``, its default, where the scale is that of the column in ``schema``;
            ``text`` with ``string``. Numbers (``double``) are read with both and without it. Without it a text that
            may be either is no row of the table.
        static: The table is read whole at each start, and does not change while the pipeline runs; see
            ``run.on_static_change``.
        arrival: The order in which files are read. ``by-time``: that of their modification times, as always in Spark.
            ``by-name``: that of their names. For that they are copied below the checkpoint first, and ``run.trigger``
            has to be ``available-now``. Where several files are one batch, neither is an order of their rows.
    """

    columns: str = Field(alias="schema")
    format: Format
    path: str
    options: dict[str, str | bool | int | float] = {}
    feed: Feed = "append"
    apply_as_deletes: str | None = None
    integer_times: IntegerTimes | None = None
    decimals: Decimals | None = None
    static: bool = False
    arrival: Literal["by-time", "by-name"] = "by-time"

    @model_validator(mode="after")
    def _feed_fits(self) -> TableSource:
        if self.feed == "debezium" and self.format != "json":
            msg = f"feed 'debezium' is read from json, not from {self.format!r}"
            raise ValueError(msg)
        if self.feed == "delta" and self.format == "csv":
            msg = "feed 'delta' is read from json, orc and parquet, where columns go by name, not from 'csv'"
            raise ValueError(msg)
        if self.apply_as_deletes is not None and self.feed != "upsert":
            msg = f"apply_as_deletes belongs to feed 'upsert', not to {self.feed!r}"
            raise ValueError(msg)
        for name, given in (("integer_times", self.integer_times), ("decimals", self.decimals)):
            if given is not None and self.feed != "debezium":
                msg = f"{name} belongs to feed 'debezium', not to {self.feed!r}"
                raise ValueError(msg)
        if self.append_only and self.feed == "upsert":
            msg = "append_only and feed 'upsert': an upsert takes the place of a row; leave one of the two out"
            raise ValueError(msg)
        if self.static and self.feed != "append":
            msg = f"a static table has rows, which is feed 'append', and no changes, as {self.feed!r} has them"
            raise ValueError(msg)
        return self


class ServerTable(_Windowed):
    """One table of a database whose changes are streamed; it has the columns and keys that it has there.

    Args:
        server: The name of one of the ``servers``.
        name: The table's name on the server, if it differs; also with its schema, as ``shop.orders``.
        columns: New names of columns, each with the name on the server.
    """

    server: str
    name: str | None = None
    columns: dict[str, str] = {}


class DeltaTableSource(_Windowed):
    """One table: a Delta table, read as it is and then by its change data feed.

    Args:
        format: ``delta``.
        path: The folder of the Delta table, relative to the pipeline file.
        keys: The columns of the primary key; changes go by it.
    """

    format: Literal["delta"]
    path: str
    keys: list[str] = []


class KafkaTableSource(_Ordered):
    """One table: the messages of a topic, from the oldest one on.

    Args:
        format: ``kafka``.
        servers: Kafka's ``bootstrap.servers``.
        topic: The topic.
        columns: Key ``schema``: the columns of the rows, with a PRIMARY KEY if changes go by one.
        messages: ``append``: values are JSON objects, each a new row. ``upsert``: a row replaces the row with its key,
            and a message without a value deletes it. ``debezium``: values are envelopes.
        integer_times: With messages ``debezium``: what integers in columns of TIMESTAMP count, as for files.
        decimals: With messages ``debezium``: how columns of DECIMAL are written, as for files.
        settings: Further settings of librdkafka.
        max_messages: The most messages of a batch; without it a batch takes all that are there.
    """

    format: Literal["kafka"]
    servers: str
    topic: str
    columns: str = Field(alias="schema")
    messages: Literal["append", "upsert", "debezium"] = "append"
    integer_times: IntegerTimes | None = None
    decimals: Decimals | None = None
    settings: dict[str, str] = {}
    max_messages: PositiveInt | None = None


class PostgresServer(_Strict):
    """A PostgreSQL database whose tables are streamed by logical replication, as one stream.

    Args:
        url: As for libpq: ``postgresql://user@host/database``; a password is better in ``~/.pgpass``.
        publication: The publication that the tables are in.
        slot: The name of the slot on the server; each pipeline has one of its own.
        max_changes: The most changes of a batch, in whole transactions; without it a batch takes all that are there.
            Also the most rows of a piece of the tables' first copy.
        retry_seconds: How long the server may be unreachable, as during a restart, before the pipeline ends.
    """

    kind: Literal["postgres"]
    url: str
    publication: str
    slot: str
    max_changes: PositiveInt | None = None
    retry_seconds: NonNegativeFloat = 60


class ViewText(_Strict):
    """One view: its SQL text, here or in a file beside.

    Args:
        sql: The query.
        sql_file: A file with the query, relative to the pipeline file.
    """

    sql: str | None = None
    sql_file: str | None = None

    @model_validator(mode="after")
    def _one_of_them(self) -> ViewText:
        if (self.sql is None) == (self.sql_file is None):
            msg = "needs either sql or sql_file"
            raise ValueError(msg)
        return self


class ParquetOutput(_Strict):
    """Deltas go to Parquet files: ``<path>/<view>/part-<batch>.parquet``.

    Args:
        path: The parent folder, relative to the pipeline file; or the URL of a place in an object store.
    """

    kind: Literal["parquet"]
    path: str


class PostgresOutput(_Strict):
    """Deltas go to PostgreSQL: one table for each view, changed by its key in one transaction for each batch.

    Args:
        url: The database, as for libpq.
        schema_name: Key ``schema``: the schema of the tables.
        tables: For a view the name of its table, if it differs.
        history: Views whose deltas are appended as rows, and not applied.
    """

    kind: Literal["postgres"]
    url: str
    schema_name: str = Field("public", alias="schema")
    tables: dict[str, str] = {}
    history: list[str] = []


class DeltaOutput(_Strict):
    """Deltas go to Delta tables: one for each view, merged by its key.

    Args:
        path: The parent folder, relative to the pipeline file.
        history: Views whose deltas are appended as rows, and not applied.
    """

    kind: Literal["delta"]
    path: str
    history: list[str] = []


class TableOutput(_Strict):
    """Deltas go to tables of a catalog of Spark that know MERGE, as Iceberg's: one for each view, merged by its key.

    Args:
        name: The name of the table, as in SQL; ``{view}`` in it stands for the name of each view. Its catalog is one of
            ``run.spark``.
        history: Views whose deltas are appended as rows, and not applied.
        counts: Views without a key: different rows are kept, each with its count.
        provider: The format of tables that are made, as ``USING`` has it; without it the catalog decides.
    """

    kind: Literal["table"]
    name: Annotated[str, Field(min_length=1)]
    history: list[str] = []
    counts: list[str] = []
    provider: str | None = None


class KafkaOutput(_Strict):
    """Deltas go to Kafka: one topic for each view, messages by its key.

    Args:
        servers: Kafka's ``bootstrap.servers``.
        topics: For a view the name of its topic, if it differs.
        settings: Further settings of librdkafka.
    """

    kind: Literal["kafka"]
    servers: str
    topics: dict[str, str] = {}
    settings: dict[str, str] = {}


class ConsoleOutput(_Strict):
    """Show the first rows of each delta on the terminal.

    Args:
        rows: The most rows of a delta that are shown.
    """

    kind: Literal["console"]
    rows: PositiveInt = 20


class RunSettings(_Strict):
    """How the pipeline runs.

    Args:
        checkpoint: The folder of the state, relative to the file; or the URL of a place in an object store, as
            ``s3a://bucket/orders``.
        trigger: ``available-now`` takes all files that are there and ends; an interval goes on until it is stopped.
        name: The name of the query on Spark's pages.
        memory_limit: The most memory for tables and the states of views; without it there is no limit.
        spill: A folder for deltas that are too large for memory, relative to the file; without it all are in memory.
        spill_over: The size of a delta from which on it goes to ``spill``: by default 256MB, or a sixteenth of
            ``memory_limit`` if that is less.
        allow_product: Whether conditions of views may compare tables that no equality connects.
        keep: Which columns are kept of tables with a key and of tables whose rows never leave. ``used``: those that a
            view uses; a view that comes later cannot read others. ``all``: every column. Of other tables all are kept,
            unless their ``retain`` says ``used``.
        initial: The first delta of new and changed views: the difference to their earlier deltas, all of their rows, or
            nothing.
        recovery_seconds: How long applying the log again at a start may take.
        on_conflict: What happens to a deletion of a row that is not there, in a table without a key, and to a second
            row with a UNIQUE value or with the key of an append-only table. ``fail`` ends the run, ``skip`` leaves them
            out, ``dead_letter`` also writes them to ``dead_letters``.
        on_bad_rows: The same for a bad row: a value that does not fit its column, a line that is no row, a word that
            ``_change_type`` does not know, a row on which an expression of a view fails, as ``1 / n`` where ``n`` is 0.
        max_bad_rows: How many changes of a batch may be left out; more of them end the run.
        dead_letters: The folder for changes that are ``dead_letter``, relative to the file; or the URL of a place in an
            object store.
        mode: Where views are kept: ``embedded``, in this process, or ``distributed``, in cells in the processes of
            Spark's executors.
        cells: How many cells, with ``mode = "distributed"``.
        reshard: Whether this start chooses anew which rows go to which cells.
        keep_deltas: For how many batches before the newest one the checkpoint keeps deltas for readers.
        keep_versions: For how many batches before the newest one, at least, the rows of views can be read by
            ``read_view``.
        keep_output: For how many batches before the newest one the files of sink ``parquet`` stay; without it all stay.
        on_static_change: If a static table has other rows at a restart, the first batch brings the difference, or the
            start is refused.
        check: Whether DuckDB recomputes the views from the files at the end and compares the results. For each view a
            line says ``identical``, or ``DIFFERENT`` with an example; then ``livejoin run`` ends with exit code 1. If
            changes of a table were left out, DuckDB takes livejoin's rows of the table, and a line says so. Needs
            ``available-now`` in one process, the sink ``parquet``, a session in UTC, and no table with feed ``upsert``,
            ``window_range``, or a column of ARRAY, STRUCT, MAP or VARIANT.
        spark: Settings of the Spark session.
    """

    checkpoint: str
    trigger: Annotated[str, AfterValidator(_trigger)] = AVAILABLE_NOW
    name: Annotated[str, Field(min_length=1)] | None = None
    memory_limit: Annotated[Any, AfterValidator(_bytes)] = None
    spill: str | None = None
    spill_over: Annotated[Any, AfterValidator(_bytes)] = None
    allow_product: bool = False
    keep: Keep = "used"
    initial: Initial = "difference"
    recovery_seconds: NonNegativeFloat | None = None
    on_conflict: OnBad = "fail"
    on_bad_rows: OnBad = "fail"
    max_bad_rows: NonNegativeInt = 1000
    dead_letters: str | None = None
    mode: Mode = "embedded"
    cells: PositiveInt | None = None
    reshard: bool = False
    keep_deltas: NonNegativeInt = 0
    keep_versions: NonNegativeInt = 10
    keep_output: NonNegativeInt | None = None
    on_static_change: OnStaticChange = "refresh"
    check: bool = False
    spark: dict[str, str] = {}

    @model_validator(mode="after")
    def _has_a_place(self) -> RunSettings:
        if "dead_letter" in (self.on_conflict, self.on_bad_rows) and self.dead_letters is None:
            msg = "changes are to go to dead letters: needs dead_letters, a folder"
            raise ValueError(msg)
        if self.check and self.mode == "distributed":
            msg = "check recomputes from the tables of one process: leave it out with mode = 'distributed'"
            raise ValueError(msg)
        if self.check and self.keep_output is not None:
            msg = "check adds up all files of the output: leave it out with keep_output"
            raise ValueError(msg)
        return self


def _where_from(table: Any) -> str:
    """The kind of a table: one of ``_TABLES``."""
    if not isinstance(table, dict):
        return next(kind for kind, model in _TABLES.items() if isinstance(table, model))
    if "server" in table:
        return "server"
    return table["format"] if table.get("format") in ("delta", "kafka") else "files"


_TABLES: dict[str, type[BaseModel]] = {
    "files": TableSource,
    "server": ServerTable,
    "delta": DeltaTableSource,
    "kafka": KafkaTableSource,
}
AnyTable = Annotated[
    Annotated[TableSource, Tag("files")]
    | Annotated[ServerTable, Tag("server")]
    | Annotated[DeltaTableSource, Tag("delta")]
    | Annotated[KafkaTableSource, Tag("kafka")],
    Discriminator(_where_from),
]
_KINDS: dict[tuple[str, int], dict[str, type[BaseModel]]] = {
    ("tables", 2): _TABLES,
    ("sink", 1): {
        "parquet": ParquetOutput,
        "postgres": PostgresOutput,
        "delta": DeltaOutput,
        "table": TableOutput,
        "kafka": KafkaOutput,
        "console": ConsoleOutput,
    },
}


class PipelineFile(_Strict):
    """A whole pipeline file, as it is written.

    Args:
        servers: Databases whose tables are streamed.
        tables: The tables.
        views: The views.
        models: A folder of SQL files, relative to the file. Each is a view named as the file. ``{{ ref('x') }}`` is the
            view of ``x.sql``, and ``{{ source('shop', 'orders') }}`` is the table ``orders``.
        assertions: Conditions over the tables that hold after every batch, or the batch is refused.
        sink: Where deltas go.
        run: How it runs.
    """

    servers: dict[str, PostgresServer] = {}
    tables: dict[str, AnyTable] = Field(min_length=1)
    views: dict[str, ViewText] = {}
    models: str | None = None
    assertions: dict[str, str] = {}
    sink: Annotated[
        ParquetOutput | PostgresOutput | DeltaOutput | TableOutput | KafkaOutput | ConsoleOutput,
        Field(discriminator="kind"),
    ]
    run: RunSettings


def place_of(location: tuple[Any, ...]) -> tuple[tuple[str, ...], str]:
    """The key that an error of pydantic is about, and the kind of table or sink in its location.

    >>> place_of(("tables", "G", "files", "path")), place_of(("run", "check"))
    ((('tables', 'G', 'path'), 'files'), (('run', 'check'), ''))
    """
    parts = tuple(str(part) for part in location)
    for (first, depth), kinds in _KINDS.items():
        if len(parts) > depth and parts[0] == first and parts[depth] in kinds:
            return parts[:depth] + parts[depth + 1 :], parts[depth]
    return parts, ""


def allowed_keys(location: tuple[Any, ...], kind: str = "") -> tuple[str, ...]:
    """The keys that are allowed in a table of the file.

    Args:
        location: The path of the table in the file.
        kind: The kind of table or sink, as `place_of` says.

    >>> allowed_keys(("sink",), "parquet")
    ('kind', 'path')
    """
    inner: dict[tuple[str, int], type[BaseModel]] = {
        ("servers", 2): PostgresServer,
        ("views", 2): ViewText,
        ("run", 1): RunSettings,
    }
    place = (location[0], len(location)) if location else ("", 0)
    model = _KINDS.get(place, {}).get(kind) or inner.get(place, PipelineFile)
    return tuple(field.alias or name for name, field in own_first(model).items())


def own_first(model: type[BaseModel]) -> dict[str, FieldInfo]:
    """The fields of a model, its own before those of its base models."""
    fields = model.model_fields
    own = {name: field for name, field in fields.items() if name in model.__annotations__}
    return own | fields
