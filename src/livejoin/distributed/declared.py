"""The job of a checkpoint of spread tables: as it is asked for now, and as the newest manifest has it.

Where the rows of each join go is chosen from the rows that are there when a plan begins, and kept as long as the plan:
cells hold what came to them. Another plan begins where tables, views or the number of cells are others than before, or
where somebody asks for other places; formatting of SQL is no change. What may change is what an embedded checkpoint may
(`livejoin.checkpoint.change`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from livejoin.checkpoint.change import ViewChanges, goes_on, merged, view_changes
from livejoin.checkpoint.job import Job
from livejoin.checkpoint.static_tables import OnStaticChange, refused_change, tell_refresh
from livejoin.database import Database, View
from livejoin.database.snapshots.tables import NO_LIMITS, Limits
from livejoin.distributed.declaration import Declaration, Plan, bound_of, queries_of, read_declaration
from livejoin.distributed.deltas import ViewFiles, views_of, write_views
from livejoin.distributed.manifest import Manifest
from livejoin.errors import StateError
from livejoin.plan.dispatch import Dispatch, TableSample, choose
from livejoin.plan.stages import outline, stages
from livejoin.query import ConjunctiveQuery
from livejoin.schema import Table
from livejoin.state.store_folder import Place


@dataclass(frozen=True, eq=False)
class Before:
    """The plan of the newest manifest, when another one begins.

    Args:
        job: The job of that plan.
        bound: The tables of the job, empty, and its views.
        plan: The plan.
        changes: Which views are new, changed or dropped.
    """

    job: Job
    bound: Database
    plan: Plan
    changes: ViewChanges


class Declared:
    """The declarations of a checkpoint; mutable: where rows go is chosen when a plan begins.

    Args:
        path: The folder of the checkpoint, which is there.
        job: The job that is asked for.
        cells: How many cells are asked for.
        limits: Of the database of each cell of each stage.
        last: The newest manifest; None before the first.
        anew: Whether it is to be chosen anew where rows go, also if nothing else changes.

    Attributes:
        job: The job that goes on: tables keep the columns that they have.
        bound: A database with the job's tables, empty, and its views.
        before: The plan before, if another one begins with the next batch; None if there was none.
        unfilled: Static tables whose rows are to be read, as they are there for the first time.
        refreshed: Static tables whose sources have other rows than the cells, which the next batch brings.

    Raises:
        StateError: The checkpoint cannot go on as this job; the message has all reasons. Or it is damaged.
        StorageError: The disk refuses.
        LivejoinError: A view does not stand.
    """

    def __init__(
        self,
        path: Place,
        job: Job,
        cells: int,
        limits: Limits = NO_LIMITS,
        last: Manifest | None = None,
        anew: bool = False,
    ) -> None:
        self.job = job
        self.cells = cells
        self.before: Before | None = None
        self._limits = limits
        self._path = path
        self._declaration: Declaration | None = None
        self._written = ""
        self._views: dict[str, dict[str, ViewFiles]] = {}
        if last is not None:
            self._go_on(read_declaration(path, last.plan), last, anew)
        self.bound = bound_of(self.job)
        begins = not self.is_chosen
        static = {name: table for name, table in self.job.tables.items() if table.static and begins}
        self.unfilled = tuple(table for name, table in static.items() if name.lower() not in self.kept)
        self.refreshed: tuple[Table, ...] = ()
        self._digests = {} if last is None else dict(last.static)

    def begun(self) -> None:
        """A batch of the plan is committed: what was before it is gone."""
        self.before = None
        self.unfilled = self.refreshed = ()

    @property
    def held_static(self) -> tuple[Table, ...]:
        """The static tables whose rows the cells have."""
        unfilled = {table.name for table in self.unfilled}
        return tuple(table for name, table in self.job.tables.items() if table.static and name not in unfilled)

    def compare(self, digests: Mapping[str, str], on_static_change: OnStaticChange) -> None:
        """Mark static tables to be refreshed whose sources have other rows than the newest manifest says.

        Args:
            digests: The digests of the sources of `held_static`, by names in lower case.
            on_static_change: Whether static tables may differ.

        Raises:
            StateError: A static table differs, and may not.
        """
        what = "its source has other rows than the cells, or other columns"
        told = {
            table.name: what if table.name.lower() in self._digests else "nothing says which rows the cells have of it"
            for table in self.held_static
            if self._digests.get(table.name.lower()) != digests[table.name.lower()]
        }
        if told and on_static_change == "refuse":
            raise StateError(refused_change(told))
        for name, why in told.items():
            tell_refresh(name, why)
        self.refreshed = tuple(table for table in self.held_static if table.name in told)

    def _go_on(self, old: Declaration, last: Manifest, anew: bool) -> None:
        """Go on with the plan of the newest manifest if it is that of the job, or let another one begin."""
        rows = {name: int(name.lower() in last.filled) for name in old.job.tables}
        self.job = merged(old.job, self.job, rows, self._path.parent)
        changes = view_changes(old.job, self.job)
        are_same = changes == ViewChanges() and dict(old.job.tables) == dict(self.job.tables)
        are_same &= dict(old.job.assertions) == dict(self.job.assertions)
        if are_same and old.cells == self.cells and old.trusts and not anew:
            self.job = replace(self.job, views=old.job.views)
            self._declaration = Declaration(self.job, self.cells, old.dispatches)
            return
        bound = old.bound
        self.before = Before(old.job, bound, old.plan(bound, self._limits), changes)

    @property
    def is_chosen(self) -> bool:
        """Whether it is known where rows go."""
        return self._declaration is not None

    def choose(self, samples: Mapping[str, TableSample]) -> None:
        """Choose where rows go.

        Args:
            samples: Statistics of base tables, by name.
        """
        found: list[Dispatch] = []
        known = {name.lower(): sample for name, sample in samples.items()}

        def chosen(query: ConjunctiveQuery) -> Dispatch:
            found.append(choose(query, known, self.cells))
            return found[-1]

        stages(queries_of(self.bound), chosen, self.job.tables.values())
        self._declaration = Declaration(self.job, self.cells, tuple(found))

    def write(self) -> None:
        """Write down what is chosen, and how deltas are read, if it is not; before a manifest names the plan.

        Raises:
            StorageError: The disk refuses.
        """
        assert self._declaration is not None, "it is chosen where rows go"
        if self._written != self._declaration.digest:
            self._declaration.write(self._path)
            write_views(self._path, self._declaration.digest, self.views(self._declaration.digest))
            self._written = self._declaration.digest

    @cached_property
    def plan(self) -> Plan:
        """The plan; where rows go is chosen."""
        assert self._declaration is not None, "it is chosen where rows go"
        return self._declaration.plan(self.bound, self._limits)

    def views(self, digest: str) -> dict[str, ViewFiles]:
        """How the deltas of views are read in batches of a plan: the one before, or that of now.

        Args:
            digest: The digest of the plan.
        """
        if digest not in self._views:
            of: Before | Declared = self
            if self.before is not None and self.before.plan.digest == digest:
                of = self.before
            self._views[digest] = views_of(of.bound, of.plan.staged)
        return self._views[digest]

    def marks(self, last: Manifest | None) -> dict[str, int]:
        """The watermarks that go on from the newest manifest: those of the same column as before."""
        old = {name.lower(): table for name, table in (self.before.job if self.before else self.job).tables.items()}
        now = {name.lower(): table for name, table in self.job.tables.items()}
        found = {} if last is None else last.marks
        return {name: time for name, time in found.items() if name in now and goes_on(old[name], now[name])}

    @property
    def asserted(self) -> tuple[View, ...]:
        """The views that must have no rows."""
        return tuple(view for view in self.bound.views.values() if view.assertion is not None)

    @property
    def kept(self) -> dict[str, Table]:
        """The base tables whose rows another plan takes over, as they are now, by their names in lower case."""
        old = {} if self.before is None else self.before.job.tables
        return {name.lower(): table for name, table in self.job.tables.items() if name in old}

    def lines(self) -> list[str]:
        """Where rows go and what is expected of it, for people."""
        return [*outline(self.plan.staged, self.cells).lines()] if self.is_chosen else []
