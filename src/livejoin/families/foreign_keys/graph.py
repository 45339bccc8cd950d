"""The graph along whose edges rows are linked: the foreign keys of each part of a query, and the edges between parts.

The core of a query and each of its branches are foreign-key acyclic by themselves (AJU, section 2.2). A branch hangs on
the part above by the key of its root, as a whole, so that a row above meets at most one row of the branch: that is a
foreign key too, over which a row is wanted (``exists``), not wanted, or neither (``optional``). All edges together are
a DAG whose root is that of the core; only within a part has a relation several parents.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Literal

from livejoin.query import Branch, ConjunctiveQuery, EdgeKind
from livejoin.search.problem import Problem
from livejoin.theory.keys.assertion_key import assertion_keys
from livejoin.theory.keys.foreign_key import (
    ForeignKeyAcyclic,
    ForeignKeyGraph,
    foreign_key_acyclic,
    foreign_key_graph,
    foreign_key_graph_of,
)

Path = tuple[int, ...]
"""Relations from a relation down to one of its descendants, both ends included."""

LinkKind = Literal["inner"] | EdgeKind


@dataclass(frozen=True)
class Link:
    """An edge: each row of the parent is linked to the key that it has in the child.

    Args:
        parent: A relation, as the position of its atom in the query.
        child: Another one.
        kind: Whether the parent's row needs a partner in the child (``inner``, ``exists``), must have none, or may have
            one.
        over: The parent's variables that are the child's key.
        key: The child's variables of that key, in the same order.
    """

    parent: int
    child: int
    kind: LinkKind
    over: tuple[str, ...]
    key: tuple[str, ...]


@dataclass(frozen=True)
class Step:
    """A row that results are read from.

    Args:
        relation: The relation of the row.
        source: The step from whose row a link leads to this one; 0 for the root, which is the first step.
        optional: Whether the step stands at or below an optional edge, so that it may be NULL.
    """

    relation: int
    source: int
    optional: bool


@dataclass(frozen=True)
class LinkGraph:
    """The graph of a query.

    Args:
        query: The query.
        links: The edges.
        order: The relations, parents before children; the root is the first.
        asserted: For each relation those whose primary keys are its assertion keys (AJU, definition 3).
    """

    query: ConjunctiveQuery
    links: tuple[Link, ...]
    order: tuple[int, ...]
    asserted: tuple[tuple[int, ...], ...]

    @property
    def root(self) -> int:
        """The relation that none references; its live rows are the results."""
        return self.order[0]

    @cached_property
    def below(self) -> tuple[tuple[Link, ...], ...]:
        """The edges to the children of each relation."""
        return tuple(tuple(link for link in self.links if link.parent == r) for r in range(len(self.order)))

    @cached_property
    def above(self) -> tuple[tuple[Link, ...], ...]:
        """The edges from the parents of each relation."""
        return tuple(tuple(link for link in self.links if link.child == r) for r in range(len(self.order)))

    @cached_property
    def depths(self) -> tuple[int, ...]:
        """The edges on a longest path from the root to each relation."""
        found = [0] * len(self.order)
        for relation in self.order:
            found[relation] = 1 + max((found[link.parent] for link in self.above[relation]), default=-1)
        return tuple(found)

    @property
    def height(self) -> int:
        """Largest number of relations on a path."""
        return 1 + max(self.depths)

    @property
    def line(self) -> str:
        """The edges on one line, with aliases for atoms; of one atom, its alias."""
        names = [atom.alias for atom in self.query.atoms]
        drawn = (f"{names[link.parent]}-{_SIGNS[link.kind]}>{names[link.child]}" for link in self.links)
        return " ".join(drawn) or names[0]

    def reaches(self, above: int, below: int) -> bool:
        """Whether a path leads from a relation to another one, or they are the same."""
        return above == below or any(self.reaches(link.child, below) for link in self.below[above])

    def path(self, above: int, below: int) -> Path:
        """A shortest path between two relations: the ways down from a relation are one tree."""
        ways: dict[int, Path] = {above: (above,)}
        todo = [above]
        for relation in todo:
            for link in self.below[relation]:
                if link.child not in ways:
                    ways[link.child] = (*ways[relation], link.child)
                    todo.append(link.child)
        return ways[below]

    def steps(self, wanted: Collection[int]) -> tuple[Step, ...]:
        """The root, then the relations on a path to each wanted one, each after the one that leads to it."""
        paths = [self.path(self.root, relation) for relation in wanted if relation != self.root]
        order = list(dict.fromkeys([self.root, *(relation for found in paths for relation in found)]))
        source = {below: order.index(above) for found in paths for above, below in pairwise(found)}
        steps: list[Step] = []
        for relation in order:
            at = source.get(relation, 0)
            is_optional = any(link.kind == "optional" for link in self.above[relation])
            steps.append(Step(relation, at, is_optional or bool(steps and steps[at].optional)))
        return tuple(steps)

    def assertions(self, relation: int) -> Iterator[tuple[Path, Path]]:
        """Pairs of paths that must lead a row of a relation to one row of a shared descendant.

        For an assertion key of R, the primary key of a descendant S, these are a path over each child of R from which S
        is reached: over a child that is alive, all paths lead to one row (AJU, Lemma 4). The first of them is compared
        with each of the others.
        """
        for shared in self.asserted[relation]:
            first, *others = (
                (relation, *self.path(link.child, shared))
                for link in self.below[relation]
                if self.reaches(link.child, shared)
            )
            for other in others:
                yield first, other

    def is_shown(self, link: Link) -> bool:
        """Whether what hangs on an optional edge changes results: they have columns of it."""
        return any(self.reaches(link.child, ref.atom) for ref in self.query.head)


_SIGNS: dict[LinkKind, str] = {"inner": "", "exists": "", "not exists": "!", "optional": "?"}


def link_graph(query: ConjunctiveQuery) -> LinkGraph | str:
    """The graph of a query, or why it has none, as a clause."""
    parts = [query.core, *(branch.atoms for branch in query.branches)]
    links: list[Link] = []
    order: list[int] = []
    asserted: dict[int, tuple[int, ...]] = {}
    roots: list[int] = []
    for atoms in parts:
        graph = foreign_key_graph(replace(query, atoms=tuple(query.atoms[a] for a in atoms), head=(), branches=()))
        found = foreign_key_acyclic(graph)
        if found.cycle:
            graph = _directed(graph)
            found = foreign_key_acyclic(graph)
        if not found:
            return _refusal(found, [query.atoms[a].alias for a in atoms])
        links += _inner(graph, atoms)
        order += [atoms[relation] for relation in graph.digraph.order]
        roots.append(atoms[found.roots[0]])
        for relation, keys in enumerate(assertion_keys(graph)):
            asserted[atoms[relation]] = tuple(atoms[other] for other in keys)
    for branch, root in zip(query.branches, roots[1:], strict=True):
        link = _hanging(query, branch, root, order)
        if link is None:
            alias = query.atoms[root].alias
            return f"what is compared with {alias} is not the whole of one of its keys and nothing else"
        links.append(link)
    links.sort(key=lambda link: (link.parent, link.child))
    return LinkGraph(query, tuple(links), tuple(order), tuple(asserted[a] for a in range(len(query.atoms))))


def _directed(graph: ForeignKeyGraph) -> ForeignKeyGraph:
    """A graph in which relations of equal keys, which all reference each other, are referenced by the first of them.

    Each has at most one row with a key, so that any of them may lead; declared foreign keys that connect them do.
    """
    declared = [(edge.parent, edge.child) for edge in graph.references if edge.declared]
    for key in dict.fromkeys(graph.keys):
        first, *others = (i for i, one in enumerate(graph.keys) if one == key)
        if key and not any({first, *others} >= set(edge) for edge in declared):
            declared += [(first, other) for other in others]
    return foreign_key_graph_of(graph.relations, graph.keys, declared)


def _inner(graph: ForeignKeyGraph, atoms: Sequence[int]) -> Iterator[Link]:
    """The references of a part."""
    for edge in graph.references:
        key = tuple(sorted(graph.keys[edge.child]))
        yield Link(atoms[edge.parent], atoms[edge.child], "inner", key, key)


def _hanging(query: ConjunctiveQuery, branch: Branch, root: int, order: Sequence[int]) -> Link | None:
    """The edge that a branch hangs on, from the lowest atom that has what is compared; None if it is no foreign key."""
    over, key = (tuple(pair[side] for pair in branch.key) for side in (0, 1))
    atom = query.atoms[root]
    if not set(key) <= set(atom.variables) or len(set(key)) != len(key):
        return None
    columns = {atom.column_of(variable) for variable in key}
    if not any(set(one) == columns for one in atom.table.keys):
        return None
    part = query.core if branch.above is None else query.branches[branch.above].atoms
    parent = max((a for a in part if set(over) <= query.edges[a]), key=order.index, default=None)
    return None if parent is None else Link(parent, root, branch.kind, over, key)


def _refusal(found: ForeignKeyAcyclic, names: Sequence[str]) -> str:
    """Why a part of a query is not foreign-key acyclic."""
    if found.unkeyed:
        join = found.unkeyed[0]
        sides = " with ".join(", ".join(names[a] for a in group) for group in join.groups)
        return f"{join.variable} joins {sides}, by no key of either that the query uses as a whole"
    if found.cycle:
        return f"{' and '.join(names[a] for a in found.cycle)} reference each other by their keys"
    return (
        f"{' and '.join(names[a] for a in found.roots)} are referenced by none of the others, so that results are pairs"
    )


def propagation(graph: LinkGraph, problem: Problem) -> float:
    """Predicted rows that a change visits, on average over the expected changes. Cost: O(edges).

    Args:
        graph: The graph.
        problem: The planning problem of its query.
    """
    visited = [1.0] * len(problem.edges)
    for relation in graph.order:
        for link in graph.above[relation]:
            visited[relation] += problem.fanout(link.parent, frozenset(link.over)) * visited[link.parent]
    return sum(w * v for w, v in zip(problem.weights, visited, strict=True)) / (sum(problem.weights) or 1.0)
