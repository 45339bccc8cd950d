"""Exhaustive enumerations that the theory's algorithms are compared with; they use the definitions only."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product

from livejoin.theory.trees.join_tree import Shape

Edges = Sequence[frozenset[str]]


def random_edges(
    generator: random.Random, atoms: int, variables: str = "abcde", widths: Sequence[int] = (0, 1, 1, 2, 2, 2, 3, 4)
) -> list[frozenset[str]]:
    """Random edges, empty and doubled ones included."""
    return [frozenset(generator.sample(variables, generator.choice(widths))) for _ in range(atoms)]


def random_acyclic_edges(generator: random.Random, atoms: int) -> list[frozenset[str]]:
    """Random edges that have a join tree by construction: every atom takes variables of one atom and fresh ones."""
    edges: list[frozenset[str]] = []
    fresh = iter("abcdefghijklmnopqrstuvwxyz")
    for _ in range(atoms):
        base = sorted(generator.choice(edges)) if edges else []
        kept = generator.sample(base, min(len(base), generator.randint(0, 3)))
        edges.append(frozenset(kept) | {next(fresh) for _ in range(generator.randint(0, 2))})
    generator.shuffle(edges)
    return edges


def random_output(generator: random.Random, edges: Edges) -> frozenset[str]:
    """Some of the variables, from none to all."""
    variables = sorted(frozenset[str]().union(*edges))
    return frozenset(generator.sample(variables, generator.randint(0, len(variables))))


def partitions(items: tuple[int, ...]) -> Iterator[list[tuple[int, ...]]]:
    """All partitions into non-empty blocks."""
    if not items:
        yield []
        return
    first, rest = items[0], items[1:]
    for size in range(len(rest) + 1):
        for block in combinations(rest, size):
            left = tuple(i for i in rest if i not in block)
            for others in partitions(left):
                yield [(first, *block), *others]


@dataclass(frozen=True)
class BruteTree:
    """A tree that keeps the laws cover, connect, guard and above, by construction and by nothing else."""

    variables: frozenset[str]
    atom: int | None
    children: tuple[BruteTree, ...]
    below: frozenset[str]  # the variables of the whole tree

    @property
    def height(self) -> int:
        return (self.atom is not None) + max((child.height for child in self.children), default=0)

    def cost(self, weights: Sequence[float], depth: int = 0) -> tuple[float, int]:
        """Sum of depth times weight, and number of generalized relations."""
        depth += self.atom is not None
        total = 0 if self.atom is None else depth * weights[self.atom]
        generalized = int(self.atom is None)
        for child in self.children:
            costs = child.cost(weights, depth)
            total, generalized = total + costs[0], generalized + costs[1]
        return total, generalized

    def shape(self) -> Shape:
        return Shape(self.variables, self.atom, tuple(child.shape() for child in self.children))

    def is_connex(self, free: frozenset[str]) -> bool:
        """Whether it has a connex subtree: the largest candidate covers the output if any candidate does."""

        def reach(tree: BruteTree) -> frozenset[str]:
            inside = (child for child in tree.children if child.variables & tree.variables <= free)
            return tree.variables.union(*map(reach, inside))

        return free <= reach(self)


def brute_trees(
    edges: Edges, atoms: tuple[int, ...], singles: int, generalized: bool = True
) -> Iterator[tuple[BruteTree, int]]:
    """All generalized join trees over some atoms, with the number of generalized relations that have a single child.

    Every rooted tree over the atoms is tried, and above it every set of variables that is contained in the children
    (guard). At most ``singles`` generalized relations have a single child, which is then another set than theirs.
    """
    for root in atoms:
        for tree, used in _over(edges, atoms, root, edges[root], singles, generalized=False):
            yield tree, used
    if not generalized:
        return
    for blocks in partitions(atoms):
        if len(blocks) == 1 and not singles:
            continue
        left = singles - (len(blocks) == 1)
        for children in product(*(tuple(brute_trees(edges, block, left)) for block in blocks)):
            used = sum(u for _, u in children) + (len(blocks) == 1)
            if used > singles:
                continue
            roots = [tree.variables for tree, _ in children]
            common = sorted(roots[0].intersection(*roots[1:]))
            for size in range(len(common) + 1):
                for variables in map(frozenset, combinations(common, size)):
                    if len(roots) == 1 and children[0][0].atom is None and variables == roots[0]:
                        continue
                    if tree := _tree(variables, None, tuple(tree for tree, _ in children)):
                        yield tree, used


def _over(
    edges: Edges, atoms: tuple[int, ...], root: int, variables: frozenset[str], singles: int, generalized: bool
) -> Iterator[tuple[BruteTree, int]]:
    for blocks in partitions(tuple(a for a in atoms if a != root)):
        for children in product(*(tuple(brute_trees(edges, block, singles, generalized)) for block in blocks)):
            if tree := _tree(variables, root, tuple(tree for tree, _ in children)):
                yield tree, 0


def _tree(variables: frozenset[str], atom: int | None, children: tuple[BruteTree, ...]) -> BruteTree | None:
    """The tree of a root and its children if it keeps the connect law."""
    seen: frozenset[str] = frozenset()
    for child in children:
        if child.below & (variables | seen) - child.variables or child.below & seen - variables:
            return None
        seen |= child.below
    return BruteTree(variables, atom, children, variables | seen)


def general_trees(edges: Edges, singles: int = 0) -> Iterator[BruteTree]:
    """All generalized join trees of a query."""
    for tree, _ in brute_trees(edges, tuple(range(len(edges))), singles):
        yield tree


def traditional_trees(edges: Edges) -> Iterator[BruteTree]:
    """All rooted join trees of a query without generalized relations."""
    for tree, _ in brute_trees(edges, tuple(range(len(edges))), 0, generalized=False):
        yield tree
