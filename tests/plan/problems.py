"""Planning problems for tests: short to write down, or random."""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence

from livejoin.search.problem import Problem


def problem(
    edges: Sequence[Collection[str]],
    free: Collection[str] | None = None,
    keys: Sequence[str | None] | None = None,
    dynamic: Collection[int] | None = None,
    weights: Sequence[float] | None = None,
) -> Problem:
    """A problem over atoms such as ``"ab"``; a key ``None`` is none."""
    number = len(edges)
    atoms = tuple(map(frozenset, edges))
    changing = frozenset(range(number) if dynamic is None else dynamic)
    given = [1.0] * number if weights is None else weights
    return Problem(
        edges=atoms,
        free=frozenset[str]().union(*atoms) if free is None else frozenset(free),
        keys=tuple(() if key is None else (frozenset(key),) for key in (keys or [None] * number)),
        dynamic=changing,
        weights=tuple(float(w) if i in changing else 0.0 for i, w in enumerate(given)),
        rows=(None,) * number,
        distinct=((),) * number,
    )


def path(atoms: int) -> list[list[str]]:
    return [[f"x{i}", f"x{i + 1}"] for i in range(atoms)]


def star(atoms: int) -> list[list[str]]:
    return [["x", f"y{i}"] for i in range(atoms)]


def comb(teeth: int) -> list[list[str]]:
    return [*path(teeth), *([f"x{i}", f"y{i}"] for i in range(teeth))]


def random_acyclic(chance: random.Random, atoms: int, width: int = 3) -> list[list[str]]:
    """Atoms that each share variables with one earlier atom only, so that the query is acyclic."""
    edges = [[f"v{i}" for i in range(chance.randint(1, width))]]
    fresh = width
    while len(edges) < atoms:
        above = chance.choice(edges)
        shared = chance.sample(above, chance.randint(0 if chance.random() < 0.1 else 1, min(2, len(above))))
        own = [f"v{fresh + i}" for i in range(chance.randint(0 if shared else 1, width - 1))]
        fresh += len(own)
        edges.append(shared + own)
    return edges


def random_problem(chance: random.Random, atoms: int, keyed: bool, static: bool) -> Problem:
    """A random problem over an acyclic query, with all variables or some of them as output."""
    edges = random_acyclic(chance, atoms)
    variables = sorted({v for edge in edges for v in edge})
    free = variables if chance.random() < 0.5 else chance.sample(variables, chance.randint(0, len(variables)))
    keys = [chance.sample(edge, chance.randint(1, len(edge))) if chance.random() < 0.6 else None for edge in edges]
    found = problem(
        edges,
        free,
        None,
        [i for i in range(atoms) if not static or chance.random() < 0.6],
        [chance.choice([1, 2, 5, 0.1]) for _ in edges],
    )
    if not keyed:
        return found
    return Problem(
        found.edges,
        found.free,
        tuple(() if key is None else (frozenset(key),) for key in keys),
        found.dynamic,
        found.weights,
        found.rows,
        found.distinct,
    )
