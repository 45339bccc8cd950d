"""Stages as an explanation shows them: what comes to the cells and how, and what is expected of where it goes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from livejoin.plan.dispatch import Dispatch
from livejoin.plan.stages.staged import ByColumns, Cube, Everywhere, Exchange, Route, Stage, Staged
from livejoin.schema import Table


@dataclass(frozen=True)
class BroughtOutline:
    """What comes to the cells of a stage.

    Args:
        relation: A table, or what an earlier stage shows, as ``#1``.
        way: How it goes to them.
    """

    relation: str
    way: str

    def __str__(self) -> str:
        return f"{self.relation} {self.way}"


@dataclass(frozen=True)
class StageOutline:
    """A stage.

    Args:
        brought: The rows that come to the cells.
        dispatches: Where the rows of its joins go, with the expected load.
        shown: The relations that the cells show: views, and relations of later stages.
        static: The rows that come to the cells once, before the views.
    """

    brought: tuple[BroughtOutline, ...]
    dispatches: tuple[Dispatch, ...]
    shown: tuple[str, ...]
    static: tuple[str, ...] = ()


@dataclass(frozen=True)
class SpreadOutline:
    """How a query runs where its tables are spread over cells.

    Args:
        cells: How many there are.
        stages: The stages, in order.
    """

    cells: int
    stages: tuple[StageOutline, ...]

    def lines(self) -> Iterator[str]:
        """The same for people."""
        shuffles = "1 stage" if len(self.stages) == 1 else f"{len(self.stages)} stages"
        yield f"{self.cells:,} cells, {shuffles}, and so many exchanges of rows a batch"
        for number, stage in enumerate(self.stages, 1):
            yield f"stage {number}: {'; '.join(map(str, stage.brought)) or 'nothing'}; shows {', '.join(stage.shown)}"
            if len(stage.static) > 1:
                yield (
                    f"static tables are {', '.join(stage.static)}: each cell joins its own rows of them once, where "
                    "that makes few rows by those that are there then"
                )
            for one in stage.dispatches:
                yield from one.lines()
                if one.estimate.rows:
                    load, least = one.estimate.busiest / one.estimate.rows, one.estimate.bound / one.estimate.rows
                    yield f"load expected of the busiest cell: {load:.1%} of all rows; at best {least:.1%}"


def outline(staged: Staged, cells: int) -> SpreadOutline:
    """What is shown of stages.

    Args:
        staged: The stages.
        cells: How many cells there are.
    """
    views: dict[str, list[str]] = {}
    for view, relation in staged.views.items():
        views.setdefault(relation, []).append(view or "the query")
    return SpreadOutline(cells, tuple(_stage(stage, views) for stage in staged.stages))


def _stage(stage: Stage, views: Mapping[str, list[str]]) -> StageOutline:
    dispatches: dict[str, Dispatch] = {}
    for one in stage.exchanges:
        if isinstance(one.route, Cube):
            dispatches.setdefault(one.route.dispatch.digest, one.route.dispatch)
    shown = [name for one in stage.shown for name in views.get(one.relation, [one.relation])]
    brought = tuple(map(_brought, stage.exchanges))
    static = [one.relation for one, exchange in zip(brought, stage.exchanges, strict=True) if _is_static(exchange)]
    return StageOutline(brought, tuple(dispatches.values()), tuple(shown), tuple(dict.fromkeys(static)))


def _is_static(exchange: Exchange) -> bool:
    return exchange.tables[0][0].static


def _brought(exchange: Exchange) -> BroughtOutline:
    route, table = exchange.route, exchange.tables[0][0]
    given = table.name.partition("#")[0]
    relation = given if given.lower() == exchange.relation else exchange.relation  # as the table was declared
    way = _way(route, table, [bit for _, bit in exchange.tables])
    if _is_static(exchange):
        way = f"{way}, once"
    return BroughtOutline(relation, f"{way}, and their newest time to every cell" if exchange.ticks else way)


def _way(route: Route, table: Table, bits: Sequence[int]) -> str:
    match route:
        case Everywhere():
            return "to every cell"
        case ByColumns(()) if table.has_window:
            return "to the first cell, which says what leaves its window"
        case ByColumns(()) if table.primary_key or table.unique:
            return "to the first cell, which sees all of its keys"
        case ByColumns(()):
            return "to the first cell"
        case ByColumns(columns):
            return f"by {', '.join(table.columns[i].name for i in columns)}"
        case Cube():
            aliases = [atom.alias for i, atom in enumerate(route.dispatch.atoms) if 1 << i in bits]
            return f"as {', '.join(aliases)} by HyperCube"
