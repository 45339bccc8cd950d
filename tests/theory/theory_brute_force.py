"""Exhaustive enumerations that the theory's algorithms are compared with; they use the definitions only."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import chain, combinations, product

from livejoin.theory import JoinTree, is_valid
from livejoin.theory.join_tree import Shape, to_join_tree

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


def traditional_shapes(edges: Edges, atoms: tuple[int, ...]) -> Iterator[Shape]:
    """All rooted trees over the atoms, valid or not."""
    for root in atoms:
        for blocks in partitions(tuple(a for a in atoms if a != root)):
            for children in product(*(tuple(traditional_shapes(edges, block)) for block in blocks)):
                yield Shape(edges[root], root, children)


def general_shapes(edges: Edges, atoms: tuple[int, ...]) -> Iterator[Shape]:
    """All trees with generalized relations, over any variables, above the atoms; valid or not."""
    yield from traditional_shapes(edges, atoms)
    variables = sorted(frozenset[str]().union(*(edges[a] for a in atoms)))
    subsets = chain.from_iterable(combinations(variables, size) for size in range(len(variables) + 1))
    for subset in map(frozenset, subsets):
        for blocks in partitions(atoms):
            if len(blocks) > 1 and all(any(subset <= edges[a] for a in block) for block in blocks):
                for children in product(*(tuple(general_shapes(edges, block)) for block in blocks)):
                    if all(subset <= child.variables for child in children):
                        yield Shape(subset, None, children)


def traditional_trees(edges: Edges) -> Iterator[JoinTree]:
    """All valid rooted join trees without generalized relations."""
    for shape in traditional_shapes(edges, tuple(range(len(edges)))):
        tree = to_join_tree(shape)
        if is_valid(tree, edges):
            yield tree


def general_trees(edges: Edges) -> Iterator[JoinTree]:
    """All valid generalized join trees."""
    for shape in general_shapes(edges, tuple(range(len(edges)))):
        tree = to_join_tree(shape)
        if is_valid(tree, edges):
            yield tree
