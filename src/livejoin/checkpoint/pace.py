"""When a snapshot of the tables is due, so that log and snapshots together stay in proportion to the changes.

Laws, of a run that nobody asks for more frequent snapshots: a snapshot is begun when the batches in the log behind the
one before are at least as many bytes, and these batches pay for no other one. So snapshots write no more than the log
holds, and the log what the changes take, or twice that for a batch that comes back without changes that were refused:
all that is written is at most twice the changes, three times where every batch is refused once. A restart applies at
most about as many bytes of the log as the tables have, or as batches that come while a snapshot is being written.
"""

from __future__ import annotations

from dataclasses import dataclass

LEAST = 1 << 20  # bytes behind a snapshot that are too few for another one


@dataclass
class SnapshotPace:
    """What is behind the newest snapshot; changed in place.

    Args:
        limit: How many seconds applying the log again may take; None for no limit.
        log: Bytes of batches in the log behind the snapshot.
        seconds: How long applying these took.
    """

    limit: float | None = None
    log: int = 0
    seconds: float = 0.0

    def logged(self, size: int) -> None:
        """Count a batch of so many bytes."""
        self.log += size

    def withdrawn(self, size: int) -> None:
        """Count a batch no longer that has left the log."""
        self.log -= size

    def done(self, seconds: float) -> None:
        """Count the time that a batch took."""
        self.seconds += seconds

    def is_due(self, size: int) -> bool:
        """Whether a snapshot of so many bytes is to be written now."""
        too_long = self.limit is not None and self.seconds > self.limit
        return too_long or self.log >= max(size, LEAST)

    def begun(self) -> None:
        """A snapshot of everything so far is being written."""
        self.log, self.seconds = 0, 0.0
