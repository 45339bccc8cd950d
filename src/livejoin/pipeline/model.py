"""What a pipeline file may say."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveInt,
    ValidationInfo,
    model_validator,
)

from livejoin.checkpoint.initial import Initial
from livejoin.checkpoint.policy import OnBad
from livejoin.database.arguments import check_bytes
from livejoin.errors import SchemaError
from livejoin.spark.run_options import Keep

Format = Literal["csv", "json", "orc", "parquet"]
Feed = Literal["append", "change-feed", "debezium", "delta"]
_INTERVAL = re.compile(r"\d+ *(millisecond|second|minute|hour)s?")
AVAILABLE_NOW = "available-now"


def _trigger(text: str) -> str:
    if text != AVAILABLE_NOW and not _INTERVAL.fullmatch(text):
        msg = f"allowed are 'available-now' and an interval as in '10 seconds', not {text!r}"
        raise ValueError(msg)
    return text


def _bytes(value: object, info: ValidationInfo) -> int | None:
    try:
        return check_bytes(value, str(info.field_name))
    except SchemaError as error:
        raise ValueError(str(error)) from None


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class TableSource(_Strict):
    """One table: files of changes that Spark reads as a stream.

    Args:
        columns: Key ``schema``: the columns of the files in their order, ``_seq`` and ``_change_type`` among them; with
            a PRIMARY KEY changes go by it, so that what comes takes the place of the row with its key; UNIQUE is
            checked behind each batch.
        format: The files' format.
        path: A file, a folder or a pattern, relative to the pipeline file.
        options: Spark's options for reading this format, for example ``maxFilesPerTrigger``.
        feed: ``append``: every row is an insertion. ``change-feed``: ``_change_type`` says what it is. ``debezium``:
            JSON envelopes with ``op``, ``before`` and ``after``; ``schema`` is that of the rows inside. ``delta``: rows
            of a Delta table's change data feed, as ``table_changes`` and ``readChangeFeed`` give them, those of one
            version in one file; ``schema`` is that of the table, ``_change_type`` and ``_commit_version`` stand beside.
        window_rows: The table keeps this many rows.
        sequence_by: The column that orders the changes of each key: older ones than what is there are skipped.
        tombstones: With ``sequence_by`` how many deleted keys are remembered.
        retain: ``used`` lets only the columns be kept that a view or a key uses: rows that differ in others alone are
            equal, also where one is deleted.
        arrival: ``by-time``: files arrive in the order of their modification times, as always in Spark. ``by-name``: in
            the order of their names; for that they are copied below the checkpoint first.
    """

    columns: str = Field(alias="schema")
    format: Format
    path: str
    options: dict[str, str | bool | int | float] = {}
    feed: Feed = "append"
    window_rows: PositiveInt | None = None
    sequence_by: str | None = None
    tombstones: NonNegativeInt | None = None
    retain: Literal["all", "used"] = "all"
    arrival: Literal["by-time", "by-name"] = "by-time"

    @model_validator(mode="after")
    def _feed_fits(self) -> TableSource:
        if self.feed == "debezium" and self.format != "json":
            msg = f"feed 'debezium' is read from json, not from {self.format!r}"
            raise ValueError(msg)
        if self.feed == "delta" and self.format == "csv":
            msg = "feed 'delta' is read from json, orc and parquet, where columns go by name, not from 'csv'"
            raise ValueError(msg)
        return self


class ViewText(_Strict):
    """One view: its SQL text, here or in a file beside."""

    sql: str | None = None
    sql_file: str | None = None

    @model_validator(mode="after")
    def _one_of_them(self) -> ViewText:
        if (self.sql is None) == (self.sql_file is None):
            msg = "needs either sql or sql_file"
            raise ValueError(msg)
        return self


class ParquetOutput(_Strict):
    """Where the deltas go: ``<path>/<view>/part-<batch>.parquet``."""

    kind: Literal["parquet"]
    path: str


class RunSettings(_Strict):
    """How the pipeline runs.

    Args:
        checkpoint: The folder of the state.
        trigger: ``available-now`` takes all files that are there and ends; an interval goes on until it is stopped.
        memory_limit: The most memory for the engine, as for ``livejoin.Database``: ``"4GB"``.
        spill: A folder for deltas that take too much memory, as for ``livejoin.Database``, relative to the file.
        spill_over: How much that is.
        allow_product: Whether conditions of views may be over tables that no equality connects.
        keep: ``used`` or ``all``: which columns are kept where the rows can be told apart without the others.
        initial: ``difference``, ``whole`` or ``nothing``: what the first batch tells of new and changed views.
        recovery_seconds: How long applying the log again at a start may take.
        on_conflict: ``fail``, ``skip`` or ``dead_letter``: what becomes of deletions of absent rows and second rows.
        on_bad_rows: The same for values and rows that cannot be, as for `livejoin.spark.maintain`.
        max_bad_rows: How many changes of a batch may be left out.
        dead_letters: The folder for those that are ``dead_letter``, relative to the file.
        check: At the end, compare with a recomputation in DuckDB.
        spark: Settings of the Spark session.
    """

    checkpoint: str
    trigger: Annotated[str, AfterValidator(_trigger)] = AVAILABLE_NOW
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
    check: bool = False
    spark: dict[str, str] = {}

    @model_validator(mode="after")
    def _has_a_place(self) -> RunSettings:
        if "dead_letter" in (self.on_conflict, self.on_bad_rows) and self.dead_letters is None:
            msg = "changes are to go to dead letters: needs dead_letters, a folder"
            raise ValueError(msg)
        return self


class PipelineFile(_Strict):
    """A whole pipeline file, as it is written."""

    tables: dict[str, TableSource] = Field(min_length=1)
    views: dict[str, ViewText] = Field(min_length=1)
    sink: ParquetOutput
    run: RunSettings


def allowed_keys(location: tuple[Any, ...]) -> tuple[str, ...]:
    """The keys that may stand in a table of the file.

    >>> allowed_keys(("sink",))
    ('kind', 'path')
    """
    inner: dict[tuple[str, int], type[BaseModel]] = {
        ("tables", 2): TableSource,
        ("views", 2): ViewText,
        ("sink", 1): ParquetOutput,
        ("run", 1): RunSettings,
    }
    model = inner.get((location[0], len(location)), PipelineFile) if location else PipelineFile
    return tuple(field.alias or name for name, field in model.model_fields.items())
