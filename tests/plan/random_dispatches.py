"""Random joins, and random ways to send their rows to cells: boxes that are halved by any values, with any shares."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np

from livejoin.plan.dispatch import Dispatch, Estimate
from livejoin.plan.dispatch.atoms import routed_atoms, variables_to_share
from livejoin.plan.dispatch.hashing import value_hashes
from livejoin.query import ColumnRef, ConjunctiveQuery
from livejoin.schema import SqlType
from livejoin.theory.hypercube.grid import Box, Grid, narrowed
from random_branches import random_query

VALUES = (None, 0, 1, 2, 3)
_BIGINT = SqlType.integer(64)


def random_join(random: Random) -> ConjunctiveQuery:
    """A join with branches of all kinds, self-joins, and now and then a cycle; its head shows the rows of the core."""
    query = random_query(random, random.choice((0, 0, 1, 1, 2, 3)))
    if random.random() < 0.5:
        query = _with_a_cycle(random, query)
    core = [ColumnRef(atom, column) for atom in query.core for column in query.atoms[atom].columns]
    return replace(query, head=tuple(dict.fromkeys([*core, *query.head])))


def _with_a_cycle(random: Random, query: ConjunctiveQuery) -> ConjunctiveQuery:
    """The query with two variables of the core made one, if no atom has both."""
    own = sorted({v for atom in query.core for v in query.atoms[atom].variables})
    one, other = random.choice(own), random.choice(own)
    if one == other or any({one, other} <= edge for edge in query.edges):
        return query
    atoms = tuple(replace(a, variables=tuple(one if v == other else v for v in a.variables)) for a in query.atoms)
    branches = tuple(
        replace(b, key=tuple((one if outer == other else outer, inner) for outer, inner in b.key))
        for b in query.branches
    )
    return replace(query, atoms=atoms, branches=branches)


def random_dispatch(random: Random, query: ConjunctiveQuery) -> Dispatch:
    """Boxes that are halved up to five times by some values, NULL among them, of some variable; two shares or three."""
    variables = variables_to_share(query)
    hashes = value_hashes(_array(VALUES), _BIGINT)[0]
    boxes: list[Box] = [{}]
    for _ in range(random.randrange(6)):
        box = boxes.pop(random.randrange(len(boxes)))
        chosen = tuple(sorted(int(h) for h in random.sample(list(hashes), random.randint(1, 2))))
        variable = random.choice(variables)
        boxes += [narrowed(box, variable, inside, chosen) for inside in (True, False)]
    grids: list[Grid] = []
    for box in boxes:
        shared = random.sample(variables, min(len(variables), random.randrange(4)))
        first = sum(grid.cells for grid in grids)
        grids.append(Grid(first, {v: random.randint(2, 3) for v in shared}, box))
    cells = sum(grid.cells for grid in grids)
    salt = random.randrange(5)
    return Dispatch(cells, variables, routed_atoms(query), tuple(grids), salt, Estimate(0, 0, 0, 0, 0))


def _array(values: tuple[int | None, ...]) -> object:
    import pyarrow as pa  # noqa: PLC0415

    return pa.array(values, pa.int64())


def random_rows(random: Random, width: int) -> list[tuple[int | None, ...]]:
    """Some rows, with duplicates and NULLs, and values that are more frequent than others."""
    weights = (1, 6, 3, 1, 1)
    return [tuple(random.choices(VALUES, weights, k=width)) for _ in range(random.randrange(9))]


def counted(values: np.ndarray) -> dict[int, int]:
    """How often each number stands in an array."""
    found, counts = np.unique(values, return_counts=True)
    return dict(zip(found.tolist(), counts.tolist(), strict=True))
