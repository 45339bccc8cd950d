"""Splitting a batch: changes that can be applied, and dead letters with the reasons."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pyarrow as pa

from livejoin.checkpoint.batch import REASON, Arrival
from livejoin.checkpoint.incoming.malformed import line_of, without_file
from livejoin.checkpoint.incoming.settled import settled
from livejoin.checkpoint.job import Job
from livejoin.checkpoint.policy import Policy
from livejoin.database import Database
from livejoin.database.refusals import Refusal
from livejoin.errors import ChangeError
from livejoin.schema import ORIGIN, REFUSED
from livejoin.shown import shown_row

_COLUMNS = 8  # of a change that are shown


def settle(database: Database, job: Job, policy: Policy, arrival: Arrival) -> tuple[Arrival, dict[str, pa.Table], int]:
    """The changes that can be applied, the dead letters, and how many changes are skipped without a letter.

    Raises:
        ChangeFormatError: A row is no valid change, and the policy is to fail.
        ChangeValueError: A text is no value of its column, and the policy is to fail.
        StateError: A row lacks a value that nobody has.
    """
    found = {name: settled(database, job.tables[name], rows) for name, rows in arrival.changes.items()}
    refused = [refusal for one in found.values() for refusal in one.refused]
    if refused and (policy.on_bad_rows == "fail" or len(refused) > policy.most):
        error = told(refused[0], arrival.changes[refused[0].table])
        if policy.on_bad_rows != "fail":
            error.add_note(f"{len(refused):,} changes of this batch are refused, and max_bad_rows is {policy.most:,}")
        raise error
    changes = {name: one.changes for name, one in found.items() if one.changes.num_rows}
    posted = [refusal for refusal in refused if policy.of(refusal) == "dead_letter"]
    return Arrival(changes, arrival.time), letters_of(arrival.changes, posted), len(refused) - len(posted)


def letters_of(changes: Mapping[str, pa.Table], posted: Iterable[Refusal]) -> dict[str, pa.Table]:
    """The changes that become dead letters, as they came, with the reasons."""
    by_table: dict[str, list[tuple[int, str]]] = {}
    for refusal in posted:
        by_table.setdefault(refusal.table, []).append((refusal.row, refusal.reason))
    letters = {}
    for name, rows in by_table.items():
        reasons = pa.array([reason for _, reason in sorted(rows)], pa.string())
        letters[name] = as_letters(changes[name].take([row for row, _ in sorted(rows)]), reasons)
    return letters


def as_letters(changes: pa.Table, reasons: pa.Array) -> pa.Table:
    """Changes as they came, with the reasons why they are left out."""
    came = changes.drop_columns([REFUSED]) if REFUSED in changes.column_names else changes
    if ORIGIN in changes.column_names and changes.column(ORIGIN).null_count < changes.num_rows:
        told = zip(reasons.to_pylist(), changes.column(ORIGIN).to_pylist(), strict=True)
        reasons = pa.array([without_file(reason, file) for reason, file in told], pa.string())
    return came.append_column(REASON, reasons)


def told(refusal: Refusal, changes: pa.Table) -> ChangeError:
    """The error of a refused change, which shows the change as it came.

    Args:
        refusal: The refusal.
        changes: The changes that were given for the table.
    """
    row = changes.slice(refusal.row, 1)
    there = [name for name in row.column_names if name not in (ORIGIN, REFUSED) and row.column(name)[0].is_valid]
    assert issubclass(refusal.kind, ChangeError), "it stands beside no expression"
    error = refusal.kind(refusal.reason, refusal.table, refusal.row)
    error.add_note(f"the change is {shown_row(row.select(there), _COLUMNS) or 'of NULLs alone'}")
    if line := line_of(row):
        error.add_note(f"it is line {line:,} of {row.column(ORIGIN)[0].as_py()}")
    return error


def joined(some: Mapping[str, pa.Table], more: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
    """Dead letters of two sources together, by table."""
    both = {name: [letters[name] for letters in (some, more) if name in letters] for name in {**some, **more}}
    return {name: pa.concat_tables(found, promote_options="default") for name, found in both.items()}
