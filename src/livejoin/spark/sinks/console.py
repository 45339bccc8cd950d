"""Deltas on the terminal, for people who watch."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass

from livejoin.checkpoint.batch_delta import TIMESTAMP, BatchDelta
from livejoin.checkpoint.written_parts import WrittenParts
from livejoin.schema import CHANGE_TYPE, COMMIT_VERSION
from livejoin.shown import shown_scalar
from livejoin.spark.sinks.sink import SinkView

_SIGNS = {"insert": "+", "update_postimage": "+", "delete": "-", "update_preimage": "-"}


@dataclass(frozen=True)
class ConsoleSink:
    """Prints the first rows of each delta, ``+`` before insertions and ``-`` before deletions.

    A batch that runs again after a failure is shown again.

    Args:
        rows: How many rows of a delta are printed.
    """

    rows: int = 20

    def open(self, views: Mapping[str, SinkView], last_batch: int | None, written: WrittenParts, run: str) -> None:
        """Do nothing."""

    def deliver(self, deltas: Mapping[str, BatchDelta], batch_id: int) -> list[str]:
        """Print the deltas. Cost: linear in the printed rows."""
        for view, delta in deltas.items():
            if not delta.num_rows:
                continue
            lines = [f"batch {batch_id}, {view}: {delta.num_rows:,} rows"]
            for piece in delta.to_batches(self.rows):
                names = [name for name in piece.schema.names if name not in (CHANGE_TYPE, COMMIT_VERSION, TIMESTAMP)]
                for row, kind in enumerate(piece[CHANGE_TYPE].to_pylist()[: self.rows + 1 - len(lines)]):
                    shown = ", ".join(f"{name} = {shown_scalar(piece[name][row])}" for name in names)
                    lines.append(f"  {_SIGNS[kind]} {shown}")
                if len(lines) > self.rows:
                    break
            if delta.num_rows >= len(lines):
                lines.append(f"  ... and {delta.num_rows - len(lines) + 1:,} more")
            sys.stdout.write("\n".join(lines) + "\n")
        sys.stdout.flush()
        return []
