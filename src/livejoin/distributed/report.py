"""What the cells of a batch did, for people: who had how much to do, and who had to be made anew."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from livejoin.distributed.task import Outcome


@dataclass(frozen=True)
class CellReport:
    """The work of a cell in a batch, in all stages.

    Args:
        cell: The number of the cell.
        changes: Rows that were sent to it, counted for each table of a stage.
        delta_rows: Rows of the deltas of all relations that its stages show, also of those that only later stages read.
        state_bytes: Bytes in use of its state.
        rebuilt: In how many stages its state was missing and was rebuilt from its files.
        lambda_observed: The largest cost of a change in one of its joins, as in `View.stats`, since its state was made.
    """

    cell: int
    changes: int = 0
    delta_rows: int = 0
    state_bytes: int = 0
    rebuilt: int = 0
    lambda_observed: float = 0.0

    def __str__(self) -> str:
        return (
            f"cell {self.cell}: {self.changes:,} changes, {self.delta_rows:,} delta rows, {self.state_bytes:,} bytes, "
            f"lambda {self.lambda_observed:.1f}" + ", made from its files" * bool(self.rebuilt)
        )


def cell_reports(done: Iterable[Outcome], known: Iterable[Outcome], cells: int) -> tuple[CellReport, ...]:
    """The work of each cell.

    Args:
        done: The outcomes of the cells that took part in the batch.
        known: The last outcome of each cell of each stage, in this batch or before.
        cells: How many cells there are.
    """
    found = [CellReport(number) for number in range(cells)]
    for one in done:
        before = found[one.cell]
        found[one.cell] = replace(
            before,
            changes=before.changes + one.changes,
            delta_rows=before.delta_rows + one.delta_rows,
            rebuilt=before.rebuilt + one.was_rebuilt,
        )
    for one in known:
        before = found[one.cell]
        found[one.cell] = replace(
            before,
            state_bytes=before.state_bytes + one.state_bytes,
            lambda_observed=max(before.lambda_observed, one.lambda_observed),
        )
    return tuple(found)


def skew(cells: Iterable[CellReport]) -> float:
    """How many times the changes of a cell on average the busiest one had; 1 where nothing came."""
    changes = [one.changes for one in cells]
    return max(changes) * len(changes) / sum(changes) if any(changes) else 1.0
