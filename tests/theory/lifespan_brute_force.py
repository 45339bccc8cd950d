"""Lifespans and enclosureness by definition, with all sets enumerated; and strategies for change logs and trees."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import inf

import numpy as np
from hypothesis import strategies as st

from livejoin.theory.logs.lifespans import AFTER, BEFORE, Lifespans
from livejoin.theory.trees.join_tree import JoinTree, Shape, to_join_tree

Change = tuple[int, int, int]
Interval = tuple[float, float]
Tuple = tuple[int, float, float]


def changes(relations: int = 3, most: int = 12) -> st.SearchStrategy[list[Change]]:
    """Any changes (relation, row, sign): rows in several copies, and deletions of rows that only the past inserted."""
    return st.lists(
        st.tuples(st.integers(0, relations - 1), st.integers(0, 2), st.sampled_from((1, -1))), max_size=most
    )


@st.composite
def queues(draw: st.DrawFn, relations: int = 3, most: int = 14, oldest: int = 0) -> list[Change]:
    """Changes that insert fresh rows and delete the one at position ``oldest`` (0 first in, -1 last in) of those left.

    Deletions before the first insertion are of the initial database.
    """
    log: list[Change] = []
    rows: deque[tuple[int, int]] = deque()
    actions = draw(st.lists(st.tuples(st.integers(0, relations - 1), st.booleans()), max_size=most))
    for row, (relation, arrives) in enumerate(actions):
        if arrives:
            rows.append((relation, row))
            log.append((relation, row, 1))
        elif rows:
            gone = rows.popleft() if oldest == 0 else rows.pop()
            log.append((*gone, -1))
        elif not any(sign > 0 for _, _, sign in log):
            log.append((relation, row, -1))
    return log


def tree_of(parents: Sequence[int | None], generalized: bool = False) -> JoinTree:
    """A tree of atoms over one variable, so that any rooted forest is valid; below a generalized root if asked for."""

    def shape(atom: int) -> Shape:
        return Shape(frozenset("a"), atom, tuple(shape(child) for child, p in enumerate(parents) if p == atom))

    roots = tuple(shape(atom) for atom, parent in enumerate(parents) if parent is None)
    return to_join_tree(Shape(frozenset("a"), None, roots) if generalized or len(roots) > 1 else roots[0])


@st.composite
def trees(draw: st.DrawFn, most: int = 5, height: int = 9) -> JoinTree:
    """Trees of up to ``most`` atoms, numbered at random, of at most this height; with a generalized root or without."""
    number = draw(st.integers(1, most))
    numbering = draw(st.permutations(range(number)))
    parents: list[int | None] = [None] * number
    depths: dict[int, int] = {}
    for i, atom in enumerate(numbering):
        above = [other for other in numbering[:i] if depths[other] < height]
        several = draw(st.integers(0, 3)) == 0
        if above and not several:
            parents[atom] = draw(st.sampled_from(above))
        depths[atom] = 1 if (parent := parents[atom]) is None else depths[parent] + 1
    return tree_of(parents, draw(st.booleans()))


def tuples_of(spans: Lifespans) -> list[Tuple]:
    """The lifespans with infinities as floats have them."""

    def time(moment: int) -> float:
        return {BEFORE: -inf, AFTER: inf}.get(moment, moment)

    arrays = (spans.relation.tolist(), spans.start.tolist(), spans.end.tolist())
    return [(relation, time(start), time(end)) for relation, start, end in zip(*arrays, strict=True)]


def spans_of(tuples: Sequence[Tuple]) -> Lifespans:
    """The inverse of `tuples_of`."""

    def time(moment: float) -> int:
        return BEFORE if moment == -inf else AFTER if moment == inf else int(moment)

    rows = [(relation, time(start), time(end)) for relation, start, end in tuples]
    return Lifespans(*np.array(rows, np.int64).reshape(-1, 3).T)


def naive_lifespans(log: Sequence[Change], initial: int = 0) -> list[Tuple]:
    """A queue of copies for each row; the initial copies are as few as the log allows. In no particular order."""
    found: list[Tuple] = []
    for relation, row in dict.fromkeys((r, w) for r, w, _ in log):
        events = [(time, sign) for time, (r, w, sign) in enumerate(log) if (r, w) == (relation, row)]
        for copies in range(len(events) + 1):
            queue = deque([-inf] * copies)
            gone: list[Tuple] = []
            for time, sign in events:
                if sign > 0:
                    queue.append(-inf if time < initial else time)
                elif queue:
                    gone.append((relation, queue.popleft(), time))
                else:
                    break
            else:
                found += gone + [(relation, start, inf) for start in queue]
                break
    return found


def _disjoint(one: Interval, other: Interval) -> bool:
    return one[1] < other[0] or other[1] < one[0]


def _sets(intervals: Sequence[Interval], chosen: tuple[Interval, ...] = ()) -> Iterator[tuple[Interval, ...]]:
    """All sets of pairwise disjoint intervals."""
    yield chosen
    for i, interval in enumerate(intervals):
        if all(_disjoint(interval, other) for other in chosen):
            yield from _sets(intervals[i + 1 :], (*chosen, interval))


def most_disjoint_within(family: Sequence[Interval], outer: Interval) -> int:
    """The size of the largest set of disjoint intervals contained in another."""
    inside = sorted({i for i in family if outer[0] <= i[0] and i[1] <= outer[1]})
    return max(map(len, _sets(inside)))


def naive_enclosureness(tuples: Sequence[Tuple]) -> list[int]:
    """Definition 6.1."""
    family = [(start, end) for _, start, end in tuples]
    return [most_disjoint_within(family, interval) for interval in family]


def atoms_below(tree: JoinTree, position: int) -> list[int]:
    """The atoms below a node."""
    found = []
    for child in tree.nodes[position].children:
        atom = tree.nodes[child].atom
        found += ([] if atom is None else [atom]) + atoms_below(tree, child)
    return found


def naive_effective(tuples: Sequence[Tuple], tree: JoinTree, position: int) -> list[tuple[Interval, Interval]]:
    """Definition 6.3: both effective lifespans of each tuple of a node."""
    below = atoms_below(tree, position)
    found = []
    for atom, start, end in tuples:
        if atom == tree.nodes[position].atom:
            first = min((e for a, _, e in tuples if a in below and e > start), default=inf)
            last = max((s for a, s, _ in tuples if a in below and s < end), default=-inf)
            found.append(((start, min(end, first)), (max(start, last), end)))
    return found


def naive_crossing(tuples: Sequence[Tuple], tree: JoinTree, position: int) -> list[Interval]:
    """From each insertion below one child to each deletion below another that comes after it."""
    children = tree.nodes[position].children
    under = {c: [tree.nodes[c].atom, *atoms_below(tree, c)] for c in children}
    return [
        (start, end)
        for one in children
        for other in children
        if one != other
        for a, start, _ in tuples
        for b, _, end in tuples
        if a in under[one] and b in under[other] and -inf < start < end < inf
    ]


def naive_tree_enclosureness(tuples: Sequence[Tuple], tree: JoinTree, crossing: bool = False) -> list[list[int]]:
    """Definition 6.4 over intervals, for each atom; with the crossing lifespans if asked for."""
    position_of = {node.atom: position for position, node in enumerate(tree.nodes) if node.atom is not None}
    counts = []
    for atom in range(len(position_of)):
        family: list[Interval] = []
        for other in (position_of[a] for a in atoms_below(tree, position_of[atom])):
            family += [interval for both in naive_effective(tuples, tree, other) for interval in both]
            family += naive_crossing(tuples, tree, other) if crossing else []
        counts.append([most_disjoint_within(family, (s, e)) for a, s, e in tuples if a == atom])
    return counts


def naive_tuple_reading(tuples: Sequence[Tuple], tree: JoinTree, atom: int) -> list[int]:
    """Definition 6.4 over tuples, each with one of its two intervals."""
    position_of = {node.atom: position for position, node in enumerate(tree.nodes) if node.atom is not None}
    below = [position_of[a] for a in atoms_below(tree, position_of[atom])]
    pairs = [both for position in below for both in naive_effective(tuples, tree, position)]

    def largest(left: Sequence[tuple[Interval, Interval]], chosen: tuple[Interval, ...], outer: Interval) -> int:
        best = len(chosen)
        for i, both in enumerate(left):
            for interval in both:
                inside = outer[0] <= interval[0] and interval[1] <= outer[1]
                if inside and all(_disjoint(interval, other) for other in chosen):
                    best = max(best, largest(left[i + 1 :], (*chosen, interval), outer))
        return best

    return [largest(pairs, (), (s, e)) for a, s, e in tuples if a == atom]


def random_tuples(generator: random.Random, relations: int, most: int = 12) -> list[Tuple]:
    """Lifespans over few times, so that many are equal, and now and then infinite; empty ones too."""
    times = [-inf, *range(generator.choice((5, 12, 30))), inf]
    number = generator.randint(1, most)
    return [(generator.randrange(relations), *sorted(generator.choices(times, k=2))) for _ in range(number)]


def random_distinct_tuples(generator: random.Random, relations: int, most: int = 12) -> list[Tuple]:
    """Lifespans of a log: distinct times, now and then infinite."""
    number = generator.randint(1, most)
    times: list[float] = [*range(2 * number)]
    generator.shuffle(times)
    tuples = []
    for i in range(number):
        start, end = sorted(times[2 * i : 2 * i + 2])
        kind = generator.randrange(8)
        tuples.append((generator.randrange(relations), -inf if kind == 0 else start, inf if kind == 1 else end))
    return tuples


def random_tree(generator: random.Random, atoms: int) -> JoinTree:
    """A tree of so many atoms, numbered at random: deep, bushy or in between."""
    numbering = generator.sample(range(atoms), atoms)
    reach = generator.choice((1, 2, atoms))
    parents: list[int | None] = [None] * atoms
    for i in range(1, atoms):
        parents[numbering[i]] = numbering[generator.randrange(max(0, i - reach), i)]
    return tree_of(parents, generator.random() < 0.2)


def random_forest(generator: random.Random, nodes: int) -> list[int]:
    """Parents to the right that never step back, as successors of intervals do; ``nodes`` stands for none."""
    parents = sorted(generator.randint(1, nodes) for _ in range(nodes))
    fixed = [max(parent, i + 1) for i, parent in enumerate(parents)]
    assert all(a <= b for a, b in pairwise(fixed))
    return fixed
