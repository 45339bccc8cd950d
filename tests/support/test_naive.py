"""The naive twin against CROWN's running example, and against nested loops on random trees."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from itertools import product

import pytest

from livejoin.theory.trees.join_tree import JoinTree, Node
from livejoin.theory.trees.join_tree_laws import is_valid
from naive import NaiveView, Row, Weighted

R1, R2, R3, R4 = range(4)
ROOT, NODE_R2, NODE_R1, NODE_R3, NODE_R4 = range(5)

FIGURE_1 = JoinTree(
    (
        Node(("x3",), None, None, (1, 3), ()),
        Node(("x2", "x3"), R2, 0, (2,), ("x3",)),
        Node(("x1", "x2"), R1, 1, (), ("x2",)),
        Node(("x3", "x4"), R3, 0, (4,), ("x3",)),
        Node(("x4", "x5"), R4, 3, (), ("x4",)),
    ),
    frozenset(range(5)),
)


def keys(counts: dict[int, int]) -> dict[Row, int]:
    return {(key,): count for key, count in counts.items()}


@pytest.fixture
def running_example() -> NaiveView:
    view = NaiveView(
        [("x1", "x2"), ("x2", "x3"), ("x3", "x4"), ("x4", "x5")], FIGURE_1, output=("x1", "x2", "x3", "x4")
    )
    tables = {
        R1: [(1, 2), (2, 2), (3, 3)],
        R2: [(1, 2), (2, 2), (4, 3), (1, 1), (2, 4), (1, 4)],
        R3: [(1, 1), (2, 5), (3, 3), (1, 2), (4, 4)],
        R4: [(1, 1), (2, 2), (3, 3), (4, 4)],
    }
    for atom, rows in tables.items():
        for row in rows:
            view.insert(atom, row)
    return view


def test_figure_3a(running_example: NaiveView) -> None:
    view = running_example
    assert view.counters[ROOT] == keys({1: 1, 2: 1, 3: 1, 4: 2})
    assert view.counters[NODE_R2] == {(1, 2): 0, (2, 2): 1, (4, 3): 0, (1, 1): 0, (2, 4): 1, (1, 4): 0}
    assert view.counters[NODE_R3] == {(1, 1): 1, (2, 5): 0, (3, 3): 1, (1, 2): 1, (4, 4): 1}
    assert view.projection_view(NODE_R1) == keys({2: 2, 3: 1})
    assert view.projection_view(NODE_R2) == keys({4: 1, 2: 1})
    assert view.projection_view(NODE_R3) == keys({1: 2, 3: 1, 4: 1})
    assert view.projection_view(NODE_R4) == keys({1: 1, 2: 1, 3: 1, 4: 1})
    assert view.semijoin_view(ROOT) == {(4,)}
    assert view.semijoin_view(NODE_R2) == {(2, 2), (2, 4)}
    assert view.semijoin_view(NODE_R3) == {(1, 1), (3, 3), (1, 2), (4, 4)}
    assert view.live_view(ROOT) == {(4,)}
    assert view.live_view(NODE_R2) == {(2, 4)}
    assert view.live_view(NODE_R3) == {(4, 4)}
    assert view.live_view(NODE_R1) == {(1, 2), (2, 2)}
    assert Counter(dict(view.result())) == {(1, 2, 4, 4): 1, (2, 2, 4, 4): 1}


def test_figure_3b_and_examples_4_3_and_5_8_insertion(running_example: NaiveView) -> None:
    view = running_example
    delta = view.insert(R1, (1, 1))
    assert sorted(delta) == [((1, 1, 1, 1), 1), ((1, 1, 1, 2), 1), ((1, 1, 4, 4), 1)]
    assert view.counters[ROOT] == keys({1: 2, 2: 1, 3: 1, 4: 2})
    assert view.counters[NODE_R2] == {(1, 2): 1, (2, 2): 1, (4, 3): 0, (1, 1): 1, (2, 4): 1, (1, 4): 1}
    assert view.projection_view(NODE_R1) == keys({2: 2, 3: 1, 1: 1})
    assert view.projection_view(NODE_R2) == keys({4: 2, 2: 2, 1: 1})
    assert view.semijoin_view(ROOT) == {(1,), (4,)}
    assert view.semijoin_view(NODE_R2) == {(1, 2), (2, 2), (1, 1), (2, 4), (1, 4)}
    assert view.live_view(NODE_R2) == {(1, 1), (2, 4), (1, 4)}
    assert view.live_view(NODE_R3) == {(1, 1), (1, 2), (4, 4)}
    assert view.live_view(NODE_R1) == {(1, 2), (2, 2), (1, 1)}


def test_figure_3c_and_examples_4_3_and_5_8_deletion(running_example: NaiveView) -> None:
    view = running_example
    view.insert(R1, (1, 1))
    assert view.delete(R4, (1, 1)) == [((1, 1, 1, 1), -1)]
    assert view.counters[ROOT] == keys({1: 2, 2: 1, 3: 1, 4: 2})
    assert view.counters[NODE_R3] == {(1, 1): 0, (2, 5): 0, (3, 3): 1, (1, 2): 1, (4, 4): 1}
    assert view.projection_view(NODE_R4) == keys({2: 1, 3: 1, 4: 1})
    assert view.projection_view(NODE_R3) == keys({1: 1, 3: 1, 4: 1})
    assert view.semijoin_view(NODE_R3) == {(3, 3), (1, 2), (4, 4)}
    assert view.live_view(ROOT) == {(1,), (4,)}
    assert view.live_view(NODE_R3) == {(1, 2), (4, 4)}
    assert view.live_view(NODE_R4) == {(2, 2), (4, 4)}


def test_multiplicities_of_a_row_that_stays(running_example: NaiveView) -> None:
    view = running_example
    assert view.insert(R3, (4, 4), 2) == [((1, 2, 4, 4), 2), ((2, 2, 4, 4), 2)]
    assert view.insert(R3, (2, 5), 5) == []
    assert view.delete(R1, (1, 2)) == [((1, 2, 4, 4), -3)]
    assert view.count() == 3
    assert view.delete(R3, (4, 4)) == [((2, 2, 4, 4), -1)]
    with pytest.raises(KeyError, match="2 times, not 3"):
        view.delete(R3, (4, 4), 3)


@dataclass
class Draft:
    """A node of a random tree before its place in the query is known."""

    variables: tuple[str, ...]
    generalized: bool
    parent: int | None
    children: list[int] = field(default_factory=list)


def random_tree(rng: random.Random) -> tuple[list[tuple[str, ...]], JoinTree]:
    """A random generalized join tree: generalized relations at the top, atoms below, keys of any size."""
    drafts: list[Draft] = []
    fresh = iter(f"v{i}" for i in range(99))

    def grow(parent: int | None, depth: int, below_generalized: bool) -> None:
        position = len(drafts)
        above = () if parent is None else drafts[parent].variables
        generalized = below_generalized and depth < 2 and rng.random() < 0.4
        shared = set(above) if below_generalized else {v for v in above if rng.random() < 0.5}
        new = {next(fresh) for _ in range(rng.randint(0 if generalized or shared else 1, 1 if generalized else 2))}
        drafts.append(Draft(tuple(sorted(shared | new)), generalized, parent))
        if parent is not None:
            drafts[parent].children.append(position)
        least = int(generalized)
        for _ in range(rng.randint(least, 2) if depth < 3 else least):
            grow(position, depth + 1, generalized)

    grow(None, 0, True)
    atoms: list[tuple[str, ...]] = []
    nodes = []
    for draft in drafts:
        above = () if draft.parent is None else drafts[draft.parent].variables
        atom = None if draft.generalized else len(atoms)
        if atom is not None:
            atoms.append(tuple(rng.sample(draft.variables, len(draft.variables))))
        key = tuple(v for v in draft.variables if v in above)
        nodes.append(Node(draft.variables, atom, draft.parent, tuple(draft.children), key))
    tree = JoinTree(tuple(nodes), frozenset(range(len(nodes))))
    assert is_valid(tree, [frozenset(atom) for atom in atoms])
    return atoms, tree


def nested_loops(variables: list[tuple[str, ...]], tables: list[Counter[Row]], output: tuple[str, ...]) -> Counter[Row]:
    """The join by trying all combinations of rows."""
    result: Counter[Row] = Counter()
    for rows in product(*(table.items() for table in tables)):
        assignment: dict[str, int] = {}
        weight = 1
        for names, (row, times) in zip(variables, rows, strict=True):
            weight *= times
            if any(assignment.setdefault(name, value) != value for name, value in zip(names, row, strict=True)):
                break
        else:
            result[tuple(assignment[name] for name in output)] += weight
    return result


def summed(weighted: Weighted) -> Counter[Row]:
    total: Counter[Row] = Counter()
    for row, weight in weighted:
        total[row] += weight
    return Counter({row: weight for row, weight in total.items() if weight})


def check(view: NaiveView) -> None:
    """Every view equals its definition over ``weights``."""
    for i, node in enumerate(view.tree.nodes):
        children = node.children
        for row, counter in view.counters[i].items():
            assert counter == sum(view.parent_key_of[c](row) in view.projection_view(c) for c in children)
            assert (row in view.semijoin_view(i)) == (counter == len(children))
        if view.weights[i] is None:
            assert set(view.counters[i]) == set().union(*(view.projection_view(c) for c in children))
        else:
            assert set(view.counters[i]) == set(view.weights[i] or ())
        for child in children:
            live = view.live_view(i)
            assert {r for group in view.live_parents[child].values() for r in group} == live
            assert all(
                view.parent_key_of[child](r) == k for k, group in view.live_parents[child].items() for r in group
            )


@pytest.mark.parametrize("seed", range(60))
def test_random_trees_against_nested_loops(seed: int) -> None:
    rng = random.Random(seed)
    while True:
        variables, tree = random_tree(rng)
        if len(variables) <= 5:
            break
    view = NaiveView(variables, tree)
    tables: list[Counter[Row]] = [Counter() for _ in variables]
    before: Counter[Row] = Counter()
    for step in range(60):
        atom = rng.randrange(len(variables))
        present = list(tables[atom])
        weight = rng.choice((1, 1, 2))
        if present and rng.random() < (0.4 if step < 45 else 0.9):
            row = rng.choice(present)
            weight = min(weight, tables[atom][row])
            delta = view.delete(atom, row, weight)
            tables[atom][row] -= weight
            tables[atom] = +tables[atom]
        else:
            row = tuple(rng.randrange(2) for _ in variables[atom])
            delta = view.insert(atom, row, weight)
            tables[atom][row] += weight
        after = nested_loops(variables, tables, view.output)
        assert len(delta) == len({row for row, _ in delta}), "a full query's delta has each result once"
        before.update(summed(delta))
        assert Counter({r: w for r, w in before.items() if w}) == after
        assert summed(view.result()) == after
        assert view.count() == after.total()
        check(view)
