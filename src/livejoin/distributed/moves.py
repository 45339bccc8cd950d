"""Rows that get another key and keep a large value, in cells: the value is asked of the cell that has the row.

Who reads a batch says which keys have to be known; the cells that have their rows leave these in files, and the batch
is read once more with them. That costs a batch without such rows nothing, and one with them a look at each cell.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from livejoin.checkpoint.incoming.moved import moved
from livejoin.distributed.cells import home_of
from livejoin.distributed.declaration import Plan
from livejoin.distributed.files import delta_of
from livejoin.distributed.task import Outcome, Task
from livejoin.plan.stages import Everywhere
from livejoin.schema import Table
from livejoin.state.store_folder import Place

Known = Mapping[str, Sequence[str]]
"""For base tables whose rows were asked for the files that have them."""


@dataclass(frozen=True)
class Asked:
    """Keys that have to be known, by base table."""

    keys: Mapping[str, pa.Table]


def with_values(table: Table, changes: pa.Table, known: Known | None, folder: Place) -> tuple[pa.Table, Asked | None]:
    """Changes of a base table with the values that rows keep under another key, or what has to be known for that.

    Args:
        table: The table.
        changes: All of its changes that one task reads.
        known: The values found so far; None if nothing was asked yet.
        folder: Where the files are.

    Raises:
        StateError: A file is missing or damaged, or as `livejoin.checkpoint.incoming.moved`.
        StorageError: The disk refuses.
    """
    rows = None
    if known is not None:
        files = [delta_of(folder, file) for file in known.get(table.name, ())]
        rows = pa.concat_tables(files) if files else table.arrow.empty_table()
    found = moved(table, changes, rows)
    return found.changes, None if found.asks is None else Asked({table.name: found.asks})


def together(asked: Iterable[Asked]) -> Asked:
    """What several tasks ask."""
    keys: dict[str, list[pa.Table]] = {}
    for one in asked:
        for name, some in one.keys.items():
            keys.setdefault(name, []).append(some)
    return Asked({name: pa.concat_tables(some) for name, some in keys.items()})


def who_is_asked(plan: Plan, task: Task) -> dict[int, list[int]]:
    """By stage the cells that may have rows that a task asks for, and that hold something."""
    found: dict[int, list[int]] = {}
    for name in task.asks:
        home = home_of(plan.staged, name)
        cells = range(1 if isinstance(home.route, Everywhere) else plan.cells)
        mine = [cell for cell in cells if (home.stage, cell) in task.held]
        found[home.stage] = sorted({*found.get(home.stage, ()), *mine})
    return found


def known_of(answers: Iterable[Outcome]) -> Known:
    """What cells have found."""
    found: dict[str, list[str]] = {}
    for one in answers:
        for name, file in one.found.items():
            found.setdefault(name, []).append(file)
    return found
