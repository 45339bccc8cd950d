"""The definitions of static and dynamic relations, executed literally: all paths, all orders, sets of rows."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import combinations, pairwise, permutations, product
from math import prod

from livejoin.theory.static.safe_rewriting import enumeration_views
from livejoin.theory.static.view_tree import Rewriting, View

Row = frozenset[tuple[str, int]]
Relation = frozenset[Row]


@dataclass(frozen=True)
class Query:
    """A query over static and dynamic relations."""

    edges: tuple[frozenset[str], ...]
    free: frozenset[str]
    dynamic: frozenset[int]

    @property
    def variables(self) -> list[str]:
        return sorted(frozenset[str]().union(*self.edges))


def query(free: str, dynamic: Sequence[str], static: Sequence[str] = ()) -> Query:
    """A query written as its head, its dynamic atoms and its static atoms, one letter a variable."""
    return Query(
        tuple(frozenset(edge) for edge in (*dynamic, *static)), frozenset(free), frozenset(range(len(dynamic)))
    )


def random_query(generator: random.Random, atoms: int = 5, variables: str = "abcde") -> Query:
    """Any query: atoms may be empty, repeat, or be apart; any of them dynamic, any variables free."""
    edges = [
        frozenset(generator.sample(variables, generator.choice((0, 1, 1, 2, 2, 2, 3))))
        for _ in range(generator.randint(1, atoms))
    ]
    known = sorted(frozenset[str]().union(*edges))
    share = generator.choice((0.0, 0.3, 0.5, 0.8, 1.0))
    dynamic = frozenset(i for i in range(len(edges)) if generator.random() < generator.choice((0.3, 0.6, 1.0)))
    return Query(tuple(edges), frozenset(v for v in known if generator.random() < share), dynamic)


def random_well_structured(generator: random.Random, parts: int = 3, size: int = 6) -> Query:
    """A query that has a well-structured order by construction: atoms are taken from the paths of a random order."""
    variables = "abcdefghij"[: generator.randint(1, size)]
    parents: dict[str, str | None] = {}
    for variable in variables:
        parents[variable] = generator.choice((None, *parents))
    free: set[str] = set()
    for variable, above in parents.items():
        if (above is None or above in free) and generator.random() < 0.6:
            free.add(variable)
    paths = {variable: path_to(parents, variable) for variable in variables}
    edges = [frozenset(paths[generator.choice(variables)]) for _ in range(generator.randint(0, 2))]
    dynamic = frozenset(range(len(edges)))
    missing = set(variables) - set().union(*edges)
    while missing or generator.random() < parts / (parts + 1):
        path = paths[generator.choice(sorted(missing) or variables)]
        edge = frozenset(generator.sample(path, generator.randint(1, min(3, len(path)))))
        edges.append(edge)
        missing -= edge
    return Query(tuple(edges), frozenset(free), dynamic)


def path_to(parents: dict[str, str | None], variable: str) -> tuple[str, ...]:
    """The variables from the root to a variable."""
    above = parents[variable]
    return (variable,) if above is None else (*path_to(parents, above), variable)


def all_paths(edges: Sequence[frozenset[str]]) -> Iterator[tuple[str, ...]]:
    """All sequences of distinct variables of which every two neighbours share an atom."""
    variables = sorted(frozenset[str]().union(*edges))
    for length in range(1, len(variables) + 1):
        for path in permutations(variables, length):
            if all(any({a, b} <= edge for edge in edges) for a, b in pairwise(path)):
                yield path


def unsafe_pairs(query: Query) -> dict[tuple[int, int | None], int]:
    """The pairs of definition 18 that an unsafe path connects, with the length of a shortest one."""
    shortest: dict[tuple[int, int | None], int] = {}
    atoms = sorted(query.dynamic)
    pairs: list[tuple[int, int | None]] = [*combinations(atoms, 2), *((atom, None) for atom in atoms)]
    for path in all_paths(query.edges):
        for start, end in pairs:
            x, y = query.edges[start], query.free if end is None else query.edges[end]
            for one, other in ((x, y), (y, x)):
                if path[0] in one and path[-1] in other and not set(path) & x & y:
                    shortest.setdefault((start, end), len(path))
    return shortest


def q_hierarchical(edges: Sequence[frozenset[str]], free: frozenset[str]) -> bool:
    """The definition of section 2, in words of sets of atoms."""
    variables = sorted(frozenset[str]().union(*edges))
    atoms = {v: {i for i, edge in enumerate(edges) if v in edge} for v in variables}
    return all(
        (atoms[x] <= atoms[y] or atoms[y] <= atoms[x] or not atoms[x] & atoms[y])
        and not (atoms[x] < atoms[y] and x in free and y not in free)
        for x, y in permutations(variables, 2)
    )


def all_parents(variables: Sequence[str]) -> Iterator[dict[str, str | None]]:
    """All forests over the variables."""
    for above in product((None, *variables), repeat=len(variables)):
        parents = dict(zip(variables, above, strict=True))
        if all(_reaches_root(parents, v) for v in variables):
            yield parents


def _reaches_root(parents: dict[str, str | None], variable: str) -> bool:
    at: str | None = variable
    for _ in parents:
        at = parents[at] if at is not None else None
    return at is None


def well_structured(query: Query, parents: dict[str, str | None]) -> bool:
    """The definition of section 5.1: a variable order that is canonical and free-top."""
    paths = {v: path_to(parents, v) for v in parents}
    for i, edge in enumerate(query.edges):
        fitting = [path for path in paths.values() if edge <= set(path) and path[-1] in edge]
        if edge and (not fitting or (i in query.dynamic and edge != set(min(fitting, key=len)))):
            return False
    return not any(
        v in query.free and above not in query.free for v, path in paths.items() for above in path if above != v
    )


def width_of(query: Query, parents: dict[str, str | None], by_paper: bool = False) -> Fraction:
    """The preprocessing width of an order by its definition, or by that of section 5.1."""
    edges = query.edges
    widths = [Fraction(1)]
    changing = frozenset[str]().union(*(edges[i] for i in query.dynamic))
    for x in parents:
        subtree = {v for v in parents if x in path_to(parents, v)}
        below = [edge for edge in edges if edge and max(edge, key=lambda v: len(path_to(parents, v))) in subtree]
        ancestors = set(path_to(parents, x)) - {x}
        depends = {y for y in ancestors if any(y in edge and edge & subtree for edge in edges)}
        if x not in changing and not by_paper:
            below = [edge for i, edge in enumerate(edges) if i not in query.dynamic]
        parts = {edge & (depends | {x}) for edge in below} - {frozenset()}
        widths.append(cover_number(frozenset(depends | {x}), frozenset(parts)))
    return max(widths)


def least_width(query: Query, by_paper: bool = False) -> Fraction | None:
    """The least width of all well-structured orders, None if there is none."""
    orders = (parents for parents in all_parents(query.variables) if well_structured(query, parents))
    return min((width_of(query, parents, by_paper) for parents in orders), default=None)


@cache
def cover_number(variables: frozenset[str], edges: frozenset[frozenset[str]]) -> Fraction:
    """The fractional edge cover number: the dual program by the simplex method over rationals (Bland's rule)."""
    if not variables:
        return Fraction(0)
    rows = [[Fraction(v in edge) for v in sorted(variables)] for edge in sorted(edges, key=sorted)]
    size, slack = len(variables), len(rows)
    table = [[*row, *(Fraction(i == j) for j in range(slack)), Fraction(1)] for i, row in enumerate(rows)]
    gain = [Fraction(1)] * size + [Fraction(0)] * (slack + 1)
    basis = [size + i for i in range(slack)]
    while (enter := next((j for j in range(size + slack) if gain[j] > 0), None)) is not None:
        leave = min((row[-1] / row[enter], basis[i], i) for i, row in enumerate(table) if row[enter] > 0)[2]
        basis[leave] = enter
        pivot = [value / table[leave][enter] for value in table[leave]]
        table = [
            pivot if i == leave else [a - row[enter] * b for a, b in zip(row, pivot, strict=True)]
            for i, row in enumerate(table)
        ]
        gain = [a - gain[enter] * b for a, b in zip(gain, pivot, strict=True)]
    return -gain[-1]


def random_database(generator: random.Random, edges: Sequence[frozenset[str]], values: int = 3) -> list[Relation]:
    """Random relations, dense enough for joins to have results."""
    return [
        frozenset(row for row in all_rows(edge, values) if generator.random() < generator.choice((0.4, 0.7, 0.95)))
        for edge in edges
    ]


def all_rows(edge: frozenset[str], values: int = 3) -> list[Row]:
    """All rows over some variables."""
    names = sorted(edge)
    return [frozenset(zip(names, chosen, strict=True)) for chosen in product(range(values), repeat=len(names))]


def join(left: Relation, right: Relation) -> Relation:
    """The natural join, pair by pair."""
    return frozenset(a | b for a in left for b in right if _agree(a, b))


def project(relation: Relation, variables: frozenset[str]) -> Relation:
    """The projection as a set."""
    return frozenset(frozenset(cell for cell in row if cell[0] in variables) for row in relation)


def evaluate(query: Query, database: Sequence[Relation]) -> Relation:
    """The result of the query: all of its relations joined, then projected."""
    result: Relation = frozenset({frozenset()})
    for relation in database:
        result = join(result, relation)
    return project(result, query.free)


def materialise(view: View, database: Sequence[Relation]) -> dict[View, Relation]:
    """The contents of a view and of all below it; the atoms of one tree are distinct, so that its views are too."""
    if view.atom is not None:
        return {view: database[view.atom]}
    contents: dict[View, Relation] = {}
    for child in view.children:
        contents |= materialise(child, database)
    rows: Relation = frozenset({frozenset()})
    for child in view.children:
        rows = join(rows, contents[child])
    return {**contents, view: project(rows, view.variables)}


def enumerate_rewriting(rewriting: Rewriting, query: Query, database: Sequence[Relation]) -> Iterator[Row]:
    """The result as proposition 16 reads it: nested loops over the views; a loop that finds no row is a dead end.

    Raises:
        AssertionError: A loop below the root of a tree found no row, so that the delay would not be constant.
    """
    per_tree = []
    for tree in rewriting.trees:
        contents = materialise(tree, database)
        per_tree.append(list(_read(enumeration_views(tree, query.free), contents, frozenset(), True)))
    if prod(map(len, per_tree)):
        for rows in product(*per_tree):
            yield frozenset().union(*rows)


def _read(views: tuple[View, ...], contents: dict[View, Relation], fixed: Row, root: bool) -> Iterator[Row]:
    if not views:
        yield fixed
        return
    fitting = [row for row in sorted(contents[views[0]], key=sorted) if _agree(row, fixed)]
    assert fitting or root, f"nothing in {views[0]} fits {sorted(fixed)}"
    for row in fitting:
        yield from _read(views[1:], contents, fixed | row, False)


def _agree(left: Row, right: Row) -> bool:
    known = dict(left)
    return all(known.get(variable, value) == value for variable, value in right)
