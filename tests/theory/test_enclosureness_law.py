"""The engine's work against the enclosureness of what it is given (CROWN, lemma C.1 and theorem 6.6)."""

from __future__ import annotations

import random

import numpy as np
import pytest

from join_driver import JoinDriver
from livejoin.theory.logs.change_sequences import enclosing_sequence_for
from livejoin.theory.logs.enclosureness import Enclosureness, enclosureness
from livejoin.theory.logs.lifespans import lifespans
from livejoin.theory.logs.sequence_class import first_in_first_out
from livejoin.theory.logs.tree_enclosureness import crossing_enclosureness, has_inner_branch, tree_enclosureness
from livejoin.theory.trees.join_tree import JoinTree, Shape, least_height_tree, to_join_tree
from strategies import seeds

Log = list[tuple[int, tuple[int, ...], int]]


def run(variables: list[list[str]], tree: JoinTree, log: Log) -> dict[str, int]:
    driver = JoinDriver(variables, tree, live=False)
    for atom, row, sign in log:
        driver.change(atom, row, sign)
    return driver.join.counters()


def numbered(log: Log) -> np.ndarray:
    number: dict[tuple[int, ...], int] = {}
    return np.array([(atom, number.setdefault(row, len(number)), sign) for atom, row, sign in log]).T


def allowed(tree: JoinTree, found: Enclosureness) -> int:
    """How many counters may change.

    A child changes the counter of a tuple 2 (lambda(t) + 1) times. A row enters and leaves its view with these and with
    its own insertion and deletion; above atoms, each of that changes one counter of every generalized relation.
    """
    steps = {node.atom: len(node.children) for node in tree.nodes if node.atom is not None}
    atoms = sum(2 * steps[atom] * int((counts + 1).sum()) for atom, counts in enumerate(found.counts))
    levels = [0]
    for node in tree.nodes[1:]:
        assert node.parent is not None
        levels.append(levels[node.parent] + (tree.nodes[node.parent].atom is None))
    return atoms + max(levels) * (atoms + 2 * found.tuples)


def random_case(generator: random.Random) -> tuple[list[list[str]], JoinTree]:
    """Atoms that share variables along a random tree, with a generalized root or without one."""
    number = generator.randint(2, 5)
    edges: list[frozenset[str]] = [frozenset("a" if generator.random() < 0.5 else "ab")]
    parents: list[int | None] = [None]
    for atom in range(1, number):
        parent = generator.choice(range(max(0, atom - 3), atom))
        kept = generator.sample(sorted(edges[parent]), generator.randint(1, len(edges[parent])))
        edges.append(frozenset(kept) | frozenset(generator.sample([f"v{atom}", f"w{atom}"], generator.randint(0, 2))))
        parents.append(parent)

    def shape(atom: int) -> Shape:
        return Shape(edges[atom], atom, tuple(shape(child) for child in range(number) if parents[child] == atom))

    tree = shape(0)
    if generator.random() < 0.3:
        top = generator.choice(sorted(edges[0]))
        edges.append(frozenset({top, "z"}))
        tree = Shape(frozenset({top}), None, (tree, Shape(edges[number], number)))
    return [sorted(edge) for edge in edges], to_join_tree(tree)


def random_log(generator: random.Random, variables: list[list[str]], length: int) -> Log:
    """Rows over few values that come and go; some relations change often, some seldom."""
    weights = [generator.choice((1, 1, 5)) for _ in variables]
    present: set[tuple[int, tuple[int, ...]]] = set()
    log: Log = []
    for _ in range(length):
        (atom,) = generator.choices(range(len(variables)), weights)
        row = tuple(generator.randint(0, 1) for _ in variables[atom])
        log.append((atom, row, -1 if (atom, row) in present else 1))
        present ^= {(atom, row)}
    return log


@pytest.mark.parametrize("seed", seeds(20, 60))
def test_the_work_is_bounded_on_random_trees_and_logs(seed: int) -> None:
    generator = random.Random(seed)
    variables, tree = random_case(generator)
    log = random_log(generator, variables, 120)
    spans = lifespans(*numbered(log))
    assert run(variables, tree, log)["touched"] <= allowed(tree, crossing_enclosureness(spans, tree))
    if not has_inner_branch(tree):
        assert run(variables, tree, log)["touched"] <= allowed(tree, tree_enclosureness(spans, tree))


@pytest.mark.parametrize("names", [["ab", "bc", "cd"], ["ab", "bc", "cd", "de", "ef"], ["abc", "a", "b", "c"]])
def test_the_work_of_generated_sequences_grows_with_their_enclosureness(names: list[str]) -> None:
    tree = least_height_tree([frozenset(name) for name in names])
    fixed = {node.atom: {v for child in node.children for v in tree.nodes[child].key} for node in tree.nodes}
    shares = []
    for wished in (1, 2, 4, 8, 16, 32):
        sequence = enclosing_sequence_for(tree, 200, wished)
        log: Log = []
        for atom, row, sign in zip(
            sequence.relation.tolist(), sequence.row.tolist(), sequence.sign.tolist(), strict=True
        ):
            shared = fixed[atom] if fixed[atom] else set(names[atom])
            log.append((atom, tuple(0 if v in shared else 1 + row for v in names[atom]), sign))
        found = tree_enclosureness(sequence.lifespans, tree)
        work = run([list(name) for name in names], tree, log)
        assert work["touched"] <= allowed(tree, found)
        shares.append(work["touched"] / (found.average * len(log)))
    assert max(shares) < 1.5 * min(shares)


def fifo_and_branching(n: int) -> tuple[list[list[str]], JoinTree, Log]:
    """R(a, w) over S(a, b, c) over T(b) and U(c); each tuple of T comes as one of U leaves; first in, first out."""
    tree = to_join_tree(
        Shape(
            frozenset("aw"),
            0,
            (Shape(frozenset("abc"), 1, (Shape(frozenset("b"), 2), Shape(frozenset("c"), 3))),),
        )
    )
    first = [(3, (i,)) for i in range(n)] + [(1, (0, i, i)) for i in range(n)] + [(0, (0, i)) for i in range(n)]
    log: Log = [(*row, 1) for row in first]
    for i in range(n):
        log += [(2, (i,), 1), (3, (i,), -1)]
    log += [(*row, -1) for row in [*first[n:], *((2, (i,)) for i in range(n))]]
    return [["a", "w"], ["a", "b", "c"], ["b"], ["c"]], tree, log


def test_theorem_6_6_needs_crossing_lifespans_where_a_lower_atom_branches() -> None:
    """Enclosureness 1 by both definitions of the paper, and yet work that grows with the square of the log."""
    for n in (4, 8, 16):
        variables, tree, log = fifo_and_branching(n)
        spans = lifespans(*numbered(log))
        assert first_in_first_out(spans)
        assert enclosureness(spans).largest == 1
        assert tree_enclosureness(spans, tree).largest <= 1
        assert crossing_enclosureness(spans, tree).counts[0].tolist() == [n] * n
        touched = run(variables, tree, log)["touched"]
        assert touched >= 2 * n * n - n
        assert touched <= allowed(tree, crossing_enclosureness(spans, tree))
    assert touched > allowed(tree, tree_enclosureness(spans, tree))
