"""Hierarchical and q-hierarchical queries: the answer against the definition and against all trees of height 1."""

from __future__ import annotations

import random

import pytest
from theory_brute_force import Edges, general_trees, random_edges, random_output

from livejoin.errors import UnknownNameError
from livejoin.theory import check_hierarchical, check_q_hierarchical, violations
from strategies import EXAMPLES


def edges_of(*names: str) -> list[frozenset[str]]:
    return [frozenset(name) for name in names]


def offending(edges: Edges, free: frozenset[str]) -> dict[int, set[tuple[str, str]]]:
    """The pairs of variables that break condition 1 and condition 2 of the definition, word for word."""
    names = frozenset[str]().union(*edges)
    at = {x: {i for i, e in enumerate(edges) if x in e} for x in names}
    crossing = {(x, y) for x in names for y in names if not (at[x] <= at[y] or at[y] <= at[x] or not at[x] & at[y])}
    hidden = {(x, y) for x in names for y in names if x in free and at[x] < at[y] and y not in free}
    return {1: crossing, 2: hidden}


@pytest.mark.parametrize(
    ("names", "free", "tree"),
    [
        (["ab"], "a", "0"),
        (["ab", "bc"], "abc", "[b]{0, 1}"),
        (["ab", "bc"], "", "[b]{0, 1}"),
        (["abc", "abd", "ae", "af"], "abcd", "[a]{[a, b]{0, 1}, 2, 3}"),
        (["a", "b"], "a", "[]{0, 1}"),
        (["ab", "ab", "a"], "a", "[a]{[a, b]{0, 1}, 2}"),
    ],
)
def test_known_trees_of_height_one(names: list[str], free: str, tree: str) -> None:
    found = check_q_hierarchical(edges_of(*names), frozenset(free))
    assert found
    assert str(found.tree) == tree
    assert (found.condition, found.variables, found.atoms) == (0, (), ())


@pytest.mark.parametrize(
    ("names", "free", "condition", "variables", "atoms"),
    [
        (["a", "ab", "b"], "ab", 1, "ab", (0, 1, 2)),
        (["ab", "bc", "cd"], "", 1, "bc", (0, 1, 2)),
        (["ab", "b"], "a", 2, "ab", (0, 1)),
        (["b", "bc", "bd"], "c", 2, "cb", (1, 0)),
    ],
)
def test_known_offending_variables(
    names: list[str], free: str, condition: int, variables: str, atoms: tuple[int, ...]
) -> None:
    found = check_q_hierarchical(edges_of(*names), frozenset(free))
    assert not found
    assert found.tree is None
    assert (found.condition, found.variables, found.atoms) == (condition, tuple(variables), atoms)
    assert check_hierarchical(edges_of(*names)).holds == (condition == 2)


def test_an_output_variable_that_no_atom_has_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="output variables z occur in no atom"):
        check_q_hierarchical(edges_of("ab"), frozenset("z"))


@pytest.mark.parametrize("seed", range(max(1, EXAMPLES // 10)))
def test_the_answer_is_that_of_the_definition_and_the_witness_shows_it(seed: int) -> None:
    generator = random.Random(seed)
    for _ in range(150):
        edges = random_edges(generator, generator.randint(1, 6))
        free = random_output(generator, edges)
        found = check_q_hierarchical(edges, free)
        wrong = offending(edges, free)
        assert found.holds == (not wrong[1] and not wrong[2])
        assert check_hierarchical(edges).holds == (not wrong[1])
        if found.holds:
            assert found.tree is not None
            assert violations(found.tree, edges, free) == []
            assert found.tree.height == 1
            continue
        a, b = found.variables
        shown = [(a in edges[atom], b in edges[atom]) for atom in found.atoms]
        if found.condition == 1:
            assert (a, b) in wrong[1]
            assert shown == [(True, False), (True, True), (False, True)]
        else:
            assert not wrong[1]
            assert (a, b) in wrong[2]
            assert shown == [(True, True), (False, True)]


@pytest.mark.parametrize("seed", range(max(1, EXAMPLES // 10)))
def test_q_hierarchical_if_and_only_if_some_tree_has_height_one(seed: int) -> None:
    generator = random.Random(seed)
    counts = [0, 0]
    for _ in range(100):
        edges = random_edges(generator, generator.randint(1, 4), widths=(0, 1, 2, 2, 2, 3, 3))
        free = random_output(generator, edges)
        lowest = any(tree.height == 1 and tree.is_connex(free) for tree in general_trees(edges))
        counts[lowest] += 1
        assert check_q_hierarchical(edges, free).holds == lowest, (edges, free)
    assert all(counts)
