"""What a checkpoint of spread tables says of itself: its job, how many cells there are, and where rows go.

Where the rows of each join go is chosen once, from the first changes, and kept: cells hold what came to them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from livejoin.checkpoint.job import Job
from livejoin.database import Database
from livejoin.database.snapshots.declaration import number, value
from livejoin.database.snapshots.tables import NO_LIMITS, Limits
from livejoin.errors import StateError, StorageError
from livejoin.plan.dispatch import Dispatch, TableSample, choose
from livejoin.plan.stages import Staged, stages
from livejoin.query import ConjunctiveQuery
from livejoin.query.relational import Query
from livejoin.state.files import Folder

_FILE = "declared.json"
FORMAT = 1


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


class Declared:
    """The declarations of a checkpoint; mutable: where rows go is chosen once.

    Args:
        path: The folder of the checkpoint, which is there.
        job: The job.
        cells: How many cells there are.
        limits: Of the database of each cell of each stage.

    Attributes:
        bound: A database with the job's tables, empty, and its views.

    Raises:
        StateError: The checkpoint is of another job, or of another number of cells.
        StorageError: The disk refuses.
    """

    def __init__(self, path: Path, job: Job, cells: int, limits: Limits = NO_LIMITS) -> None:
        self.job = job
        self.cells = cells
        self._limits = limits
        self._path = path
        self._dispatches: list[Dispatch] | None = None
        self._read()
        self.bound = Database()
        for table in job.tables.values():
            self.bound._contents.add_table(table)
        for name, sql in job.views.items():
            self.bound.create_view(name, sql, allow_product=job.allow_product)

    @property
    def is_chosen(self) -> bool:
        """Whether it is known where rows go."""
        return self._dispatches is not None

    def choose(self, samples: Mapping[str, TableSample]) -> None:
        """Choose where rows go, and write it down.

        Args:
            samples: What is known of base tables, by name.

        Raises:
            StorageError: The disk refuses.
        """
        found: list[Dispatch] = []
        known = {name.lower(): sample for name, sample in samples.items()}

        def chosen(query: ConjunctiveQuery) -> Dispatch:
            found.append(choose(query, known, self.cells))
            return found[-1]

        stages(self._queries, chosen)
        entry = {
            "format": FORMAT,
            "cells": self.cells,
            "job": self.job.plain(),
            "dispatches": [one.plain() for one in found],
        }
        try:
            with Folder.at(self._path) as folder:
                folder.publish(_FILE, json.dumps(entry).encode())
        except FileExistsError as error:
            msg = f"{self._path / _FILE} was written by another driver in between; this one stops"
            raise StateError(msg) from error
        except OSError as error:
            msg = f"{self._path / _FILE} could not be written: {error}"
            raise StorageError(msg) from error
        self._dispatches = found

    @cached_property
    def plan(self) -> Plan:
        """The plan; where rows go is chosen."""
        assert self._dispatches is not None, "it is chosen where rows go"
        left = iter(self._dispatches)
        staged = stages(self._queries, lambda _: next(left))
        text = json.dumps([self.job.digest, self.cells, [one.digest for one in self._dispatches]])
        return Plan(staged, self.cells, hashlib.sha256(text.encode()).hexdigest()[:16], self._limits)

    def lines(self) -> list[str]:
        """Where rows go and what is expected of it, for people."""
        return [line for one in self._dispatches or () for line in one.lines()]

    @property
    def _queries(self) -> dict[str, Query]:
        return {view.name: view._query for view in self.bound.views.values()}

    def _read(self) -> None:
        file = self._path / _FILE
        try:
            with Folder.at(self._path) as folder:
                entry = json.loads(bytes(folder.read(_FILE)))
            if number(entry, "format") != FORMAT:
                msg = f"it has the format {entry['format']}, and this version of livejoin reads {FORMAT}"
                raise ValueError(msg)
            cells, plain = number(entry, "cells", 1), value(entry, "job", dict)
            dispatches = [Dispatch.from_plain(one) for one in value(entry, "dispatches", list)]
        except FileNotFoundError:
            return
        except OSError as error:
            msg = f"{file} could not be read: {error}"
            raise StorageError(msg) from error
        except (ValueError, KeyError, TypeError) as error:
            msg = f"{file} is damaged: {error}; restore it from a backup, or start over with an empty checkpoint"
            raise StateError(msg) from error
        if _comparable(plain) != _comparable(self.job.plain()):
            msg = (
                f"the checkpoint {self._path.parent} holds the cells of another job, with other tables, views or "
                "columns: jobs that are spread over cells cannot change yet. Go on with the job as it was, or start "
                "over with an empty checkpoint and an empty output"
            )
            raise StateError(msg)
        if cells != self.cells:
            msg = (
                f"the checkpoint {self._path.parent} holds {cells} cells, and the job asks for {self.cells}: go on "
                f"with cells={cells}, or start over with an empty checkpoint and an empty output"
            )
            raise StateError(msg)
        self._dispatches = dispatches


def _comparable(plain: Mapping[str, Any]) -> str:
    return json.dumps(plain, sort_keys=True)
