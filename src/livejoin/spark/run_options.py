"""How a stream runs, beside what it maintains."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from livejoin.checkpoint.initial import Initial
from livejoin.checkpoint.policy import OnBad, Policy
from livejoin.checkpoint.static_tables import OnStaticChange
from livejoin.database.arguments import check_bytes
from livejoin.database.snapshots.tables import Limits
from livejoin.errors import PipelineError
from livejoin.spark.dead_letters import DeadLetters, Letter
from livejoin.spark.local_folder import local_folder, local_path

Keep = Literal["used", "all"]
Mode = Literal["embedded", "distributed"]


@dataclass(frozen=True)
class RunOptions:
    """What `livejoin.spark.maintain` says of a run; see there for each."""

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
    on_static_change: OnStaticChange = "refresh"

    @property
    def limits(self) -> Limits:
        """The limits of the database."""
        spill = local_path(self.spill, "spill") if isinstance(self.spill, (str, Path)) else self.spill
        return Limits(check_bytes(self.memory_limit, "memory_limit"), spill, self.spill_over)

    @property
    def policy(self) -> Policy:
        """What becomes of changes that cannot be applied."""
        return Policy(self.on_conflict, self.on_bad_rows, self.max_bad_rows)

    @property
    def letters(self) -> DeadLetters | None:
        """Where they go.

        Raises:
            PipelineError: They go to dead letters, and nothing says where these are, or something that is no folder.
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
            return DeadLetters(local_folder(self.dead_letters, "dead_letters"))
        return DeadLetters(self.dead_letters)
