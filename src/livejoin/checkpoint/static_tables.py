"""Static tables of a stream at a restart: whether their source has other rows than the checkpoint, and what then.

They are read once a start. The rows that differ come with the first batch of the start, in its commit, so that views
tell what changes by them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping
from typing import Literal, get_args

import pyarrow as pa
import pyarrow.compute as pc

from livejoin.checkpoint.job import Job
from livejoin.checkpoint.row_digest import digest
from livejoin.database import Database
from livejoin.database.base_rows import all_rows
from livejoin.database.refreshing import refreshing
from livejoin.errors import PipelineError, StateError
from livejoin.schema import CHANGE_TYPE, Table

logger = logging.getLogger("livejoin")

OnStaticChange = Literal["refresh", "refuse"]
"""What becomes of a static table whose source has other rows at a restart."""
RowsOf = Callable[[Table], pa.Table]


def check_on_static_change(given: object) -> None:
    """Refuse what is none of the two words.

    Raises:
        PipelineError: It is none.
    """
    if given not in get_args(OnStaticChange):
        allowed = " and ".join(map(repr, get_args(OnStaticChange)))
        msg = f"on_static_change={given!r} is unknown; allowed are {allowed}"
        raise PipelineError(msg, key="on_static_change")


def changed_static(
    database: Database,
    job: Job,
    pending: Mapping[str, pa.Table],
    rows_of: RowsOf,
    fresh: Collection[str],
    on_static_change: OnStaticChange,
) -> dict[str, pa.Table]:
    """What the static tables of a checkpoint differ in from their sources, by table.

    Args:
        database: The tables behind the last batch.
        job: The job.
        pending: The changes of a batch that was taken and comes before, by table.
        rows_of: Reads the rows of a static table.
        fresh: The tables that were read by this start already.
        on_static_change: Whether they may differ.

    Raises:
        StateError: They may not, and do.
        ChangeError: The source has rows that its table does not take.

    Cost: O(rows of the static tables): 0.1 s a million where they are the same, 1.5 s where they are not.
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
    """Why a start is refused, for static tables and how they differ."""
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
