"""The report of a start: what the checkpoint held, and how long the recovery took."""

from __future__ import annotations

from dataclasses import dataclass

from livejoin.checkpoint.history import Recovered
from livejoin.shown import counted


@dataclass(frozen=True)
class Recovery:
    """A state that was recovered.

    Args:
        last_batch: The last done batch; None if a batch was taken and none is done.
        rows: Rows of all tables.
        batches: How many batches of the log were applied to the newest snapshot.
        changes: How many changes these batches have.
        replay_seconds: How long reading the snapshot and applying the batches took.
        view_seconds: How long loading the views from the tables took.
    """

    last_batch: int | None
    rows: int
    batches: int
    changes: int
    replay_seconds: float
    view_seconds: float

    @property
    def seconds(self) -> float:
        """How long the whole recovery took."""
        return self.replay_seconds + self.view_seconds

    def __str__(self) -> str:
        behind = "" if self.last_batch is None else f" behind batch {self.last_batch}"
        return (
            f"{counted(self.rows, 'row')}{behind} came back in {self.seconds:.1f} seconds: "
            f"{counted(self.batches, 'batch')} with {counted(self.changes, 'change')} applied again, "
            f"{self.replay_seconds:.1f} seconds with the snapshot, and views loaded, {self.view_seconds:.1f} seconds"
        )


def recovery_of(found: Recovered, view_seconds: float) -> Recovery | None:
    """The report of a state that was found; None if there was none."""
    if found.last_batch is None and found.pending is None:
        return None
    rows = sum(table["rows"] for table in found.database.stats()["tables"].values())
    return Recovery(found.last_batch, rows, found.batches, found.changes, found.seconds, view_seconds)
