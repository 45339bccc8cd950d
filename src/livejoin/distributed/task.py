"""What the driver asks of the cells in a batch, and what a cell of a stage answers: data only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

import pyarrow as pa

from livejoin.checkpoint.policy import FAIL, Policy
from livejoin.database.snapshots.carried import Marks
from livejoin.distributed.manifest import Held
from livejoin.state.store_folder import Place


@dataclass(frozen=True)
class Fill:
    """How cells that hold nothing are filled with all rows of the base tables.

    Args:
        marks: The marks of base tables, which they know beside their rows, by names in lower case.
        views: The views whose whole results are told.
    """

    marks: Mapping[str, Marks] = field(default_factory=dict)
    views: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Task:
    """A batch, for the cells.

    Args:
        folder: Where their files are; all hosts see it.
        plan: The digest of the stages.
        batch_id: The batch.
        epoch: The epoch of the driver.
        held: The state of each cell of each stage before the batch.
        fill: How the cells are filled, if it is no batch but what they hold before the first one of theirs.
        policy: The policy for changes that cannot be applied.
        recovery_seconds: How long a cell may take to apply the batches behind its snapshots again; None for no limit.
        is_trial: Whether it is only to be found out if the changes can be applied, without those that conflict.
        time: The time of the batch; None where it has none, or nobody knows it yet.
        asks: For base tables the keys of rows that are asked for, as `livejoin.checkpoint.incoming.moved` asks; then
            the cells do nothing else.
        refreshed: The static tables of which all rows come with the batch, by their names in lower case.
        parquet: For each view whose parts are to be written as Parquet, if they are large, the columns of its delta
            with the time.
        marks: The watermarks of tables before the batch, in microseconds, by their names in lower case.
    """

    folder: Place
    plan: str
    batch_id: int
    epoch: int
    held: Mapping[tuple[int, int], Held]
    fill: Fill | None = None
    policy: Policy = FAIL
    recovery_seconds: float | None = None
    is_trial: bool = False
    time: datetime | None = None
    asks: Mapping[str, pa.Table] = field(default_factory=dict)
    refreshed: frozenset[str] = frozenset()
    parquet: Mapping[str, pa.Schema] = field(default_factory=dict)
    marks: Mapping[str, int] = field(default_factory=dict)

    @property
    def trial(self) -> Task:
        """The same, only to be tried."""
        return replace(self, is_trial=True)

    def of(self, stage: int, cell: int) -> Task:
        """The same for one cell of a stage."""
        return replace(self, held={(stage, cell): self.held.get((stage, cell), Held())})


@dataclass(frozen=True)
class Outcome:
    """What a cell of a stage did.

    Args:
        stage: The stage.
        cell: The cell.
        held: The state of the cell after the batch.
        deltas: For each view whose delta has rows here the file with it, and the rows.
        rows: Rows here of each view whose result is here.
        state_bytes: Bytes in use of its state.
        was_warm: Whether its state was there.
        process: The process that did it.
        refused: For each base table how many of its changes were left out whose home the cell is.
        letters: For each of these tables the file with them, if anybody is told of them.
        changes: Rows that were brought to its tables.
        delta_rows: Rows of the deltas of what the stage shows.
        was_rebuilt: Whether it had a state, which was not there and was made from its files.
        lambda_observed: The most that a change cost in one of its joins, as `View.stats` says it.
        ignored: By reason how many changes had no effect, of the base tables whose home the cell is.
        late: How many changes have a key that has a newer one, or are late for a watermark.
        found: For base tables the file with the rows here that were asked for.
        marks: The watermarks of base tables by the rows here, in microseconds, by their names in lower case.
        bad: For each base table how many of its changes were left out as they are late and its watermark refuses them.
    """

    stage: int
    cell: int
    held: Held
    deltas: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    rows: Mapping[str, int] = field(default_factory=dict)
    state_bytes: int = 0
    was_warm: bool = False
    process: int = 0
    refused: Mapping[str, int] = field(default_factory=dict)
    letters: Mapping[str, str] = field(default_factory=dict)
    changes: int = 0
    delta_rows: int = 0
    was_rebuilt: bool = False
    lambda_observed: float = 0.0
    ignored: Mapping[str, int] = field(default_factory=dict)
    late: int = 0
    found: Mapping[str, str] = field(default_factory=dict)
    marks: Mapping[str, int] = field(default_factory=dict)
    bad: Mapping[str, int] = field(default_factory=dict)
