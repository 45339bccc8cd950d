"""Deltas for somebody who looks on."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass

from livejoin.checkpoint.batch_delta import TIMESTAMP, BatchDelta
from livejoin.checkpoint.written_parts import WrittenParts
from livejoin.schema import CHANGE_TYPE, COMMIT_VERSION
from livejoin.spark.sinks.sink import SinkView

_SIGNS = {"insert": "+", "update_postimage": "+", "delete": "-", "update_preimage": "-"}


@dataclass(frozen=True)
class ConsoleSink:
    """The first rows of each delta as lines on standard output, ``+`` before what comes and ``-`` before what goes.

    A batch that runs again after a failure is shown again.

    Args:
        rows: How many rows of a delta are shown.
    """

    rows: int = 20

    def open(self, views: Mapping[str, SinkView], last_batch: int | None, written: WrittenParts, run: str) -> None:
        """There is nothing to prepare."""

    def deliver(self, deltas: Mapping[str, BatchDelta], batch_id: int) -> list[str]:
        """Show the deltas. Cost: linear in the rows that are shown."""
        for view, delta in deltas.items():
            if not delta.num_rows:
                continue
            lines = [f"batch {batch_id}, {view}: {delta.num_rows:,} rows"]
            first = next(iter(delta.to_batches(self.rows)))
            for row in first.slice(0, self.rows).to_pylist():
                kind = row.pop(CHANGE_TYPE)
                shown = ", ".join(f"{n} = {v!r}" for n, v in row.items() if n not in (COMMIT_VERSION, TIMESTAMP))
                lines.append(f"  {_SIGNS[kind]} {shown}")
            if delta.num_rows > first.num_rows:
                lines.append(f"  ... and {delta.num_rows - first.num_rows:,} more")
            sys.stdout.write("\n".join(lines) + "\n")
        sys.stdout.flush()
        return []
