"""Where the cells have all rows of a base table: what another job, or another number of cells, starts from.

A join's tables have of a base table what can take part: rows with NULL where something has to equal it are nowhere, and
others are in several cells. A base table that no view reads is nowhere at all.

Law: for each base table, the rows of its homes, each taken where `Home` says, are its rows, each as often as it is
there. Cells keep more than views need only where they need it for that: the rows with NULL, and tables that no view
reads.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from livejoin.plan.stages.staged import ByColumns, Cube, Exchange, Home, Stage, Staged
from livejoin.schema import Table


def owner(table: Table) -> ByColumns | None:
    """Who decides in a stage before all others which rows of a base table are there; None if all rows stay.

    Args:
        table: The base table.

    Returns:
        Where its rows go: with one key they are spread by it; with several keys, a window by rows, or a window and a
        key, where the order of the changes of all keys counts, one cell has them all. Nobody does where only the
        newest time says what leaves, which every cell is told, nor for a static table: its rows do not change, and
        their keys are checked where they are read. With a watermark a row has an owner that says whether it is late:
        without a key they are spread by all of their values.
    """
    keys = [columns for columns in (table.primary_key, *table.unique) if columns]
    if table.watermark is not None and not keys:
        return ByColumns(_comparable(table))
    if table.static or (not keys and table.window_rows is None):
        return None
    return ByColumns(() if table.has_window or len(keys) > 1 else keys[0])


def with_homes(staged: Staged, tables: Iterable[Table]) -> Staged:
    """Stages in which all rows of all base tables are.

    Args:
        staged: The stages of some views.
        tables: The base tables of the job, also those that no view reads.

    Cost: O(base tables * exchanges).
    """
    more: list[Exchange] = []
    first = len(staged.stages[0].exchanges) if staged.stages else 0
    homes: dict[str, tuple[Home, ...]] = {}
    for table in tables:
        found = list(_found(staged, table))
        if found and not (nulls := _lost(found[0], table)):
            homes[table.name.lower()] = (found[0],)
            continue
        route = owner(table)
        own = replace(table, foreign_keys=())
        if route is None:
            route, own = ByColumns(_comparable(table)), replace(own, name=f"{table.name}#", primary_key=(), unique=())
        if found:
            route = replace(route, nulls=nulls)
        there = Home(0, first + len(more), own.name)
        homes[table.name.lower()] = (*found[:1], there)
        more.append(Exchange(table.name.lower(), route, ((own, -1),)))
    if not more:
        return replace(staged, homes=homes)
    begin = staged.stages[0] if staged.stages else Stage((), ())
    whole = Stage((*begin.exchanges, *more), begin.shown)
    return Staged((whole, *staged.stages[1:]), staged.views, homes)


def _found(staged: Staged, table: Table) -> Iterator[Home]:
    """Where rows of a base table are, first where the fewest of them are lost."""
    found = []
    for stage, place in staged.readers(table.name.lower()):
        exchange = staged.stages[stage].exchanges[place]
        route = None if isinstance(exchange.route, ByColumns) else exchange.route
        found += [Home(stage, place, own.name, route, bits) for own, bits in exchange.tables]
    yield from sorted(found, key=lambda home: (len(_lost(home, table)), home.route is not None))


def _lost(home: Home, table: Table) -> tuple[int, ...]:
    """The columns of a base table in which rows have NULL that are not in a home."""
    if not isinstance(home.route, Cube):
        return ()
    (atom,) = (atom for i, atom in enumerate(home.route.dispatch.atoms) if home.bits == 1 << i)
    return tuple(column for column in atom.required if table.columns[column].nullable)


def _comparable(table: Table) -> tuple[int, ...]:
    return tuple(i for i, column in enumerate(table.columns) if not column.type.is_payload)
