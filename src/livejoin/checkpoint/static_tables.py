"""Static tables at a restart: whether their source has other rows than the checkpoint, and what happens then.

Sources are read once a start. Rows that differ come with the first batch, in its commit, so that the deltas of views
include their effect.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc

from livejoin.checkpoint.job import Job
from livejoin.checkpoint.row_digest import digest
from livejoin.database import Database
from livejoin.database.base_rows import all_rows
from livejoin.database.refreshing import refreshing
from livejoin.errors import StateError
from livejoin.schema import CHANGE_TYPE, Table

logger = logging.getLogger("livejoin")

OnStaticChange = Literal["refresh", "refuse"]
"""What becomes of a static table whose source has other rows at a restart."""
RowsOf = Callable[[Table], pa.Table]


def changed_static(
    database: Database,
    job: Job,
    pending: Mapping[str, pa.Table],
    rows_of: RowsOf,
    fresh: Collection[str],
    on_static_change: OnStaticChange,
) -> dict[str, pa.Table]:
    """The changes from the rows of static tables in a checkpoint to those of their sources, by table.

    Args:
        database: The tables after the last batch.
        job: The job.
        pending: The changes of a batch that was taken and comes first, by table.
        rows_of: Reads the rows of a static table.
        fresh: The tables that this start has read already.
        on_static_change: Whether static tables may differ.

    Raises:
        StateError: A static table differs, and may not.
        ChangeError: The source has rows that do not fit its table.

    Cost: O(rows of the static tables): 0.1 s a million if they are the same, 1.5 s if they are not.
    """
    found: dict[str, pa.Table] = {}
    for name, table in job.tables.items():
        if table.static and name not in fresh:
            before, now = all_rows(database, name), rows_of(table)
            taken = [pending[name]] if name in pending else []
            if not taken and digest(table, before) == digest(table, now):
                continue
            net = refreshing(table, before, taken, now)
            if net.num_rows:
                found[name] = net
    told = {name: _differences(net) for name, net in found.items()}
    if told and on_static_change == "refuse":
        raise StateError(refused_change(told))
    for name, what in told.items():
        tell_refresh(name, what)
    return found


def refused_change(told: Mapping[str, str]) -> str:
    """The message of a refused start, with the static tables and how they differ."""
    listed = "; ".join(f"static table {name!r}: {what}" for name, what in told.items())
    return (
        f"{listed}. on_static_change='refuse' asks for the rows that the checkpoint has: give the source as it was, or "
        "say on_static_change='refresh', which brings what differs with the next batch"
    )


def tell_refresh(name: str, what: str) -> None:
    """A line of the log for a static table that the next batch refreshes."""
    logger.info("static table %r: %s; the next batch brings what differs", name, what)


def _differences(net: pa.Table) -> str:
    come = int(pc.sum(pc.equal(net.column(CHANGE_TYPE), "insert")).as_py())
    return f"its source has other rows than the checkpoint ({come:,} came, {net.num_rows - come:,} went)"
