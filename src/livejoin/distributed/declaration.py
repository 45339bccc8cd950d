"""What is written down of a plan: its job, how many cells there are, and where the rows of each join go.

There is a file for each plan, named by the plan's digest; the newest manifest says which one counts.
"""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from livejoin.checkpoint.checked_json import checked, with_checksum
from livejoin.checkpoint.declaring import declare
from livejoin.checkpoint.job import Job
from livejoin.database import Database
from livejoin.database.snapshots.declaration import number, value
from livejoin.database.snapshots.tables import NO_LIMITS, Limits
from livejoin.errors import StateError, StorageError
from livejoin.plan.dispatch import Dispatch
from livejoin.plan.stages import Staged, owner, stages, with_homes
from livejoin.query.bound_query import Query
from livejoin.state.store_folder import Place, at

FORMAT = 2
FORMAT_OF_WINDOWS = 3
"""That of a job one of whose tables has a window by range without an owner: before, one cell had all of its rows."""
FORMAT_OF_PROMISES = 4
"""That of a job with static or append-only tables: before, stages were made as if they promised nothing."""


@dataclass(frozen=True)
class Plan:
    """What every process knows of a job.

    Args:
        staged: The stages of its views.
        cells: How many cells there are.
        digest: The same for two plans only if they are the same.
        limits: Of the database of each cell of each stage.
    """

    staged: Staged
    cells: int
    digest: str
    limits: Limits = NO_LIMITS


@dataclass(frozen=True)
class Declaration:
    """What says everything of a plan.

    Args:
        job: The job.
        cells: How many cells there are.
        dispatches: Where the rows of its joins go, in the order in which the stages come to them.
        trusts: Whether the stages rest on what tables promise, as those of earlier versions did not.
    """

    job: Job
    cells: int
    dispatches: tuple[Dispatch, ...]
    trusts: bool = True

    @property
    def format(self) -> int:
        """What says by which rules the stages are made of it."""
        tables = self.job.tables.values()
        if self.trusts and any(table.static or table.append_only for table in tables):
            return FORMAT_OF_PROMISES
        is_told = any(table.window_range is not None and owner(table) is None for table in tables)
        return FORMAT_OF_WINDOWS if is_told else FORMAT

    @property
    def bound(self) -> Database:
        """A database with the tables of the job, as the stages see them, empty, and its views.

        Raises:
            LivejoinError: A view does not stand.
        """
        return bound_of(self.job if self.trusts else _unpromised(self.job))

    @cached_property
    def digest(self) -> str:
        """The plan's."""
        text = json.dumps([self.format, self.job.digest, self.cells, [one.digest for one in self.dispatches]])
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def plan(self, bound: Database, limits: Limits) -> Plan:
        """The plan.

        Args:
            bound: A database with the tables and the views of the job, as `bound` makes it.
            limits: Of the database of each cell of each stage.
        """
        left = iter(self.dispatches)
        tables = self.job.tables if self.trusts else _unpromised(self.job).tables
        staged = stages(queries_of(bound), lambda _: next(left), tables.values())
        return Plan(with_homes(staged, tables.values()), self.cells, self.digest, limits)

    def plain(self) -> dict[str, Any]:
        """The same as JSON values."""
        dispatches = [one.plain() for one in self.dispatches]
        return {"format": self.format, "cells": self.cells, "job": self.job.plain(), "dispatches": dispatches}

    def write(self, path: Place) -> None:
        """Write it into a folder, unless it is there.

        Raises:
            StorageError: The disk refuses.
        """
        try:
            with at(path) as folder, suppress(FileExistsError):
                folder.publish(_name(self.digest), with_checksum(self.plain()))
        except OSError as error:
            msg = f"{path / _name(self.digest)} could not be written: {error}"
            raise StorageError(msg) from error


def read_declaration(path: Place, digest: str) -> Declaration:
    """The declaration of a plan.

    Raises:
        StateError: The declaration is missing or damaged.
        StorageError: The disk refuses.
    """
    file = path / _name(digest)
    try:
        with at(path) as folder:
            entry = checked(folder.read(file.name))
        dispatches = tuple(Dispatch.from_plain(one) for one in value(entry, "dispatches", list))
        found = Declaration(Job.from_plain(value(entry, "job", dict)), number(entry, "cells", 1), dispatches)
        if number(entry, "format") < found.format == FORMAT_OF_PROMISES:
            found = replace(found, trusts=False)
        if number(entry, "format") != found.format:
            msg = f"it has the format {number(entry, 'format')}, and this version of livejoin reads {found.format}"
            raise ValueError(msg)
        if found.digest != digest:
            msg = "it does not say what it said"
            raise ValueError(msg)
    except FileNotFoundError as error:
        msg = (
            f"{file} is missing, the plan of the newest manifest: restore it from a backup, or start over with an "
            "empty checkpoint and an empty output"
        )
        raise StateError(msg) from error
    except OSError as error:
        msg = f"{file} could not be read: {error}"
        raise StorageError(msg) from error
    except (ValueError, KeyError, TypeError) as error:
        msg = f"{file} is damaged: {error}; restore it from a backup, or start over with an empty checkpoint"
        raise StateError(msg) from error
    return found


def bound_of(job: Job) -> Database:
    """A database with the tables of a job, empty, its views, and its assertions, which are views there too.

    Raises:
        LivejoinError: A view does not stand.
    """
    found = Database()
    for table in (*job.tables.values(), *job.tables_beside.values()):
        found._contents.add_table(table)
    declare(found, job)
    return found


def _unpromised(job: Job) -> Job:
    """A job whose tables promise nothing."""
    tables = {name: table.having(static=False, append_only=False) for name, table in job.tables.items()}
    return replace(job, tables=tables)


def queries_of(bound: Database) -> dict[str, Query]:
    """The queries of its views, by name."""
    return {view.name: view._query for view in bound.views.values()}


def _name(digest: str) -> str:
    return f"{digest}.plan"
