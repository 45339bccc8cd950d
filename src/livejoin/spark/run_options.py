"""The options of a stream's run, beside the tables and views that it maintains."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from livejoin.checkpoint.initial import Initial
from livejoin.checkpoint.policy import OnBad, Policy
from livejoin.checkpoint.static_tables import OnStaticChange
from livejoin.database.arguments import check_bytes, check_switch
from livejoin.database.snapshots.tables import Limits
from livejoin.errors import PipelineError
from livejoin.shown import meant
from livejoin.spark.dead_letters import DeadLetters, Letter
from livejoin.spark.paths import local_path, output_place

if TYPE_CHECKING:
    from livejoin.checkpoint.recovery import Recovery
    from livejoin.spark.micro_batch import BatchReport

Keep = Literal["used", "all"]
Mode = Literal["embedded", "distributed"]
_WORDS = {
    "keep": get_args(Keep),
    "initial": get_args(Initial),
    "mode": get_args(Mode),
    "on_static_change": get_args(OnStaticChange),
}


@dataclass(frozen=True)
class RunOptions:
    """The options of `livejoin.spark.maintain`, as ``options=RunOptions(memory_limit="4GB", on_bad_rows="skip")``.

    Args:
        name: The name of the query, as ``queryName`` of Spark: its pages show it beside the query and in the
            descriptions of jobs, and ``query.name`` is it. Two queries of a session cannot have the same.
        memory_limit: The most memory for the engine, or for each cell of a stage, as for ``livejoin.Database``. A batch
            beyond it ends the query with `MemoryLimitError`, and nothing of the batch is applied. The next query with
            the same checkpoint begins with that batch, under its own limit.
        spill: A folder on a local disk, as for ``livejoin.Database``. A delta larger than ``spill_over`` is written
            there before its batch is applied, and goes to the Parquet output piece by piece. A function as a sink still
            gets it whole.
        spill_over: The size of a delta from which on it goes to ``spill``, as for ``livejoin.Database``.
        allow_product: Whether conditions of the views may compare tables that no equality connects, as for
            `livejoin.Database.create_view`.
        keep: Which columns are kept of tables with a key or without deletions: those that are ``used`` by a view, or
            ``all``, so that a view that is added later may read any of them.
        initial: The first delta of a view that is new or changed, if the checkpoint has batches: the ``difference``
            between its result and its earlier deltas, its ``whole`` result as insertions, or ``nothing``. At the very
            first start, views tell what they hold unless it is ``nothing``: an aggregate without groups has a row
            before the first change.
        recovery_seconds: How long applying the log again at a start may take; after that much there is another snapshot
            of the tables, of each cell by itself. By default there is one when the log has become as large as the
            tables.
        on_conflict: What happens to the deletion of an absent row and to a second row with a key. ``fail`` ends the
            query, ``skip`` leaves the change out, ``dead_letter`` leaves it out and reports it. In tables with a key a
            new row replaces the old one, so only UNIQUE can conflict.
        on_bad_rows: The same for bad rows: values that do not fit their columns; rows on which an expression of a view
            fails, each of which costs another try of the batch; an unknown or missing ``_change_type``, a missing
            ``_seq``; and unreadable texts, which frames have in ``_corrupt_record``, as Spark calls it.
        max_bad_rows: How many changes of a batch may be left out; more of them end the query.
        dead_letters: A folder, or the URL of a place in an object store, which gets ``<table>/part-<batch>.parquet``
            with the changes as they came and the reason in ``_reason``. Or a function, called with each row as a dict,
            its table, the batch and the reason.
        mode: Where the engine runs. ``embedded``: in this process. ``distributed``: in the processes of Spark's
            executors; each cell has the rows that HyperCube sends there. Views and deltas are the same. All hosts must
            see the checkpoint, in a folder or in an object store whose credentials their environment has, and have
            livejoin installed.
        cells: With ``distributed``: the number of cells, about as many as the cores of the executors. If the number
            changes, the rows move with the first batch.
        reshard: With ``distributed``: choose anew, by the present rows, which rows go to which cells; they move with
            the first batch of this query. The log of this process warns when the busiest cell of a join has more than
            twice the expected rows.
        keep_deltas: With ``distributed``: for how many batches before the newest one the checkpoint keeps deltas for
            `livejoin.spark.read_deltas`.
        keep_versions: For how many batches before the newest one, at least, `livejoin.spark.read_view` finds the rows
            of views. More of them take more of the disk: a snapshot of the tables more, and the log behind it.
        keep_output: With the Parquet output: for how many batches before the newest one its files stay, for an output
            that lives for years; None keeps all. What is left does not add up to the views then: `read_view` has
            their rows.
        on_static_change: What happens if the frame of a static table has other rows at a restart than the checkpoint.
            ``refresh``: the first batch brings the difference, so that the deltas of views include it. ``refuse``: a
            `StateError`.
        on_batch: Called with a ``BatchReport`` after each batch, when the log says that it is done.
        on_recovery: Called with a ``Recovery`` if the checkpoint had a state: how many rows came back, how many batches
            were applied again, and how long that took.

    Raises:
        PipelineError: An argument that must be a function or a number is none, or a word that there is not.
        SchemaError: ``memory_limit`` is no size, or what happens to bad rows is a word that there is not.
    """

    name: str | None = None
    memory_limit: str | int | None = None
    spill: str | Path | None = None
    spill_over: str | int | None = None
    allow_product: bool = False
    keep: Keep = "used"
    initial: Initial = "difference"
    recovery_seconds: float | None = None
    on_conflict: OnBad = "fail"
    on_bad_rows: OnBad = "fail"
    max_bad_rows: int = 1000
    dead_letters: str | Path | Letter | None = None
    mode: Mode = "embedded"
    cells: int | None = None
    reshard: bool = False
    keep_deltas: int = 0
    keep_versions: int = 10
    keep_output: int | None = None
    on_static_change: OnStaticChange = "refresh"
    on_batch: Callable[[BatchReport], object] | None = None
    on_recovery: Callable[[Recovery], object] | None = None

    def __post_init__(self) -> None:
        for name in ("on_batch", "on_recovery"):
            given = getattr(self, name)
            if given is not None and not callable(given):
                msg = f"{name}= is {given!r:.80}; it takes a function of one argument"
                raise PipelineError(msg, key=name)
        seconds = self.recovery_seconds
        if seconds is not None and (isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or seconds < 0):
            msg = f"recovery_seconds= is {seconds!r:.80}; allowed is a number of seconds"
            raise PipelineError(msg, key="recovery_seconds")
        for name, words in _WORDS.items():
            if (given := getattr(self, name)) not in words:
                allowed = " and ".join(map(repr, words)) if len(words) == 2 else ", ".join(map(repr, words))
                msg = f"{name}={given!r:.80} is unknown; allowed are {allowed}{meant(given, words)}"
                raise PipelineError(msg, key=name)
        for name in ("allow_product", "reshard"):
            check_switch(getattr(self, name), name)
        Policy(self.on_conflict, self.on_bad_rows, self.max_bad_rows)
        check_bytes(self.memory_limit, "memory_limit")
        if self.name is not None and (not isinstance(self.name, str) or not self.name.strip()):
            msg = f"name= is {self.name!r:.80}; it takes a text, as 'orders'"
            raise PipelineError(msg, key="name")
        for name in ("keep_deltas", "keep_versions", "keep_output"):
            given = getattr(self, name)
            if name == "keep_output" and given is None:
                continue
            if not isinstance(given, int) or isinstance(given, bool) or given < 0:
                msg = f"{name} is {given!r}; allowed is a number of batches, 0 or more"
                raise PipelineError(msg, key=name)

    @property
    def limits(self) -> Limits:
        """The limits of the database."""
        spill = local_path(self.spill, "spill") if isinstance(self.spill, (str, Path)) else self.spill
        return Limits(check_bytes(self.memory_limit, "memory_limit"), spill, self.spill_over)

    @property
    def policy(self) -> Policy:
        """The policy for changes that cannot be applied."""
        return Policy(self.on_conflict, self.on_bad_rows, self.max_bad_rows)

    @property
    def letters(self) -> DeadLetters | None:
        """The dead letters; None if nothing goes there.

        Raises:
            PipelineError: Changes go to dead letters, and ``dead_letters`` is missing or no folder.
        """
        if self.dead_letters is None:
            if self.policy.has_letters:
                msg = (
                    "dead_letters= is missing: changes that cannot be applied are to go there; give a folder, or a "
                    "function(row, table, batch, reason)"
                )
                raise PipelineError(msg, key="dead_letters")
            return None
        if isinstance(self.dead_letters, (str, Path)):
            return DeadLetters(output_place(self.dead_letters, "dead_letters"))
        return DeadLetters(self.dead_letters)
