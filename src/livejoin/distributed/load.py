"""Whether rows come to cells as it was expected when their places were chosen.

Places are chosen from the rows of that time. When the values that are frequent have become others, the views are still
right, and one cell has more to do than the others: a plan that begins anew chooses other places.
"""

from __future__ import annotations

from collections.abc import Iterator

from livejoin.distributed.declaration import Plan
from livejoin.distributed.manifest import Manifest
from livejoin.plan.dispatch import Dispatch
from livejoin.plan.stages import Cube, Stage

OFF = 2.0
"""So many times the expected load of the busiest cell are worth a word."""
LEAST_ROWS = 1 << 12
"""Rows that a cell has on average before anything is said: chance makes more of fewer."""


def joins(stage: Stage) -> dict[str, tuple[Dispatch, tuple[str, ...]]]:
    """The joins of a stage: by the digest of each dispatch the dispatch, and the tables that it fills."""
    found: dict[str, tuple[Dispatch, tuple[str, ...]]] = {}
    for exchange in stage.exchanges:
        if isinstance(exchange.route, Cube):
            dispatch = exchange.route.dispatch
            names = tuple(table.name for table, _ in exchange.tables)
            _, before = found.get(dispatch.digest, (dispatch, ()))
            found[dispatch.digest] = (dispatch, (*before, *names))
    return found


def off_load(plan: Plan, manifest: Manifest) -> Iterator[tuple[str, str]]:
    """The joins whose busiest cell has `OFF` times the rows that were expected of it, and what to do.

    Args:
        plan: The plan.
        manifest: The newest manifest, which is of this plan.

    Yields:
        The digest of a dispatch, and a sentence.
    """
    for number, stage in enumerate(plan.staged.stages):
        for digest, (dispatch, _) in joins(stage).items():
            loads = [one.loads.get(digest, 0) for (where, _), one in manifest.cells.items() if where == number]
            mean = sum(loads) / plan.cells
            if mean < LEAST_ROWS or max(loads) < OFF * dispatch.skew * mean:
                continue
            names = ", ".join(f"{atom.table} {atom.alias}" for atom in dispatch.atoms)
            yield (
                digest,
                (
                    f"of the join of {names} the busiest cell has {max(loads):,} rows, {max(loads) / mean:.1f} times "
                    f"the mean, where {dispatch.skew:.1f} times was expected when it was chosen where rows go: one "
                    "start with reshard=True chooses anew"
                ),
            )
