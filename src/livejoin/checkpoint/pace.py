"""When a snapshot of the tables is due, so that log and snapshots together stay in proportion to the changes.

Laws, unless a run asks for more frequent snapshots. A snapshot begins when the batches in the log since the last one
have at least as many bytes as it; each batch pays for one snapshot. So snapshots write no more than the log. The log
writes as much as the changes, or twice as much for a batch that is written again without refused changes. Together they
write at most twice the changes, three times if every batch is refused once. A restart applies at most about as many
bytes of the log as the tables have, or as come while a snapshot is being written; of small tables some hundred batches,
so that a start takes no longer because a query is old.
"""

from __future__ import annotations

from dataclasses import dataclass

LEAST = 1 << 20  # bytes behind a snapshot that are too few for another one, unless they are many batches
MOST_BATCHES = 200


@dataclass
class SnapshotPace:
    """What the log holds since the newest snapshot; changed in place.

    Args:
        limit: How many seconds applying the log again may take; None for no limit.
        log: Bytes of batches in the log since the snapshot.
        seconds: How long applying these batches took.
        batches: How many batches these are.
    """

    limit: float | None = None
    log: int = 0
    seconds: float = 0.0
    batches: int = 0

    def logged(self, size: int) -> None:
        """Count a batch of ``size`` bytes."""
        self.log += size
        self.batches += 1

    def withdrawn(self, size: int) -> None:
        """Subtract a batch that was removed from the log."""
        self.log -= size
        self.batches -= 1

    def done(self, seconds: float) -> None:
        """Count the time that a batch took."""
        self.seconds += seconds

    def is_due(self, size: int) -> bool:
        """Whether a snapshot of ``size`` bytes is due."""
        too_long = self.limit is not None and self.seconds > self.limit
        return too_long or (self.log >= size and (self.log >= LEAST or self.batches >= MOST_BATCHES))

    def begun(self) -> None:
        """Note that a snapshot of everything so far is being written."""
        self.log, self.seconds, self.batches = 0, 0.0, 0
