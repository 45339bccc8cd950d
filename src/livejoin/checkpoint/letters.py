"""What of a batch can be applied, and the rest as those who look after it get it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa

from livejoin.checkpoint.batch import REASON, Arrival
from livejoin.checkpoint.job import Job
from livejoin.checkpoint.leaving import leaving
from livejoin.checkpoint.policy import Policy
from livejoin.checkpoint.settled import Settled, settled
from livejoin.database import Database
from livejoin.database.refusals import Refusal
from livejoin.errors import ChangeValueError
from livejoin.schema import Table


def settle(database: Database, job: Job, policy: Policy, arrival: Arrival) -> tuple[Arrival, dict[str, pa.Table], int]:
    """What comes, in terms of itself, what goes to the dead letters, and how many changes are left out beside.

    Raises:
        ChangeValueError: A text is no value of its column, and that ends the stream.
        StateError: A row lacks a value that nobody has.
    """
    found = {name: _settled(database, job.tables[name], rows) for name, rows in arrival.changes.items()}
    refused = [refusal for one in found.values() for refusal in one.refused]
    if refused and (policy.on_bad_rows == "fail" or len(refused) > policy.most):
        raise ChangeValueError(refused[0].reason, refused[0].table)
    changes = {name: one.changes for name, one in found.items() if one.changes.num_rows}
    posted = [refusal for refusal in refused if policy.of(refusal) == "dead_letter"]
    return Arrival(changes, arrival.time), letters_of(arrival.changes, posted), len(refused) - len(posted)


def _settled(database: Database, table: Table, rows: pa.Table) -> Settled:
    """As `settled`, without the changes that an append-only table does not take."""
    gone = leaving(table, rows)
    if not gone:
        return settled(database, table, rows)
    here = np.setdiff1d(np.arange(rows.num_rows), [one.row for one in gone])
    rest = settled(database, table, rows.take(pa.array(here)))
    moved = (replace(one, row=int(here[one.row])) for one in rest.refused)
    return Settled(rest.changes, (*gone, *moved))


def letters_of(changes: Mapping[str, pa.Table], posted: Iterable[Refusal]) -> dict[str, pa.Table]:
    """The changes that go to the dead letters, as they came, with the reasons."""
    by_table: dict[str, list[tuple[int, str]]] = {}
    for refusal in posted:
        by_table.setdefault(refusal.table, []).append((refusal.row, refusal.reason))
    letters = {}
    for name, rows in by_table.items():
        reasons = pa.array([reason for _, reason in sorted(rows)], pa.string())
        letters[name] = changes[name].take([row for row, _ in sorted(rows)]).append_column(REASON, reasons)
    return letters


def joined(some: Mapping[str, pa.Table], more: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
    """Letters and further ones."""
    both = {name: [letters[name] for letters in (some, more) if name in letters] for name in {**some, **more}}
    return {name: pa.concat_tables(found, promote_options="default") for name, found in both.items()}
