"""The construction of appendix A, step by step; that its trees are valid is tested in `test_join_tree`."""

from __future__ import annotations

import random
from itertools import combinations

import pytest
from theory_brute_force import random_acyclic_edges, random_output

from livejoin.theory import construct_tree, is_free_connex, violations
from livejoin.theory.trees.connex_construction import spanning_tree
from strategies import EXAMPLES


def edges_of(*names: str) -> list[frozenset[str]]:
    return [frozenset(name) for name in names]


@pytest.mark.parametrize(
    ("names", "free", "tree", "connex"),
    [
        pytest.param(["ab", "c"], "ab", "0{1}", {0}, id="1: an atom without output comes back below an atom"),
        pytest.param(["ab", "cd", "de"], "ab", "0{1{2}}", {0}, id="1: so does a subtree"),
        pytest.param(["ab", "bc"], "a", "0{1}", {0}, id="1: an atom below one with bound variables stays"),
        pytest.param(["ab", "b", "bc"], "abc", "0{2, 1}", {0, 1, 2}, id="2: b goes into ab"),
        pytest.param(["ab", "abx", "bcy", "cz"], "abc", "0{2{3}, 1}", {0, 1}, id="2: c goes into bc"),
        pytest.param(["abx", "bcy", "cz"], "bc", "1{0, 2}", {0}, id="3: all atoms at their own set"),
        pytest.param(["ab", "ac"], "a", "[a]{0, 1}", {0}, id="4: a set within all its children"),
        pytest.param(["ab", "ac", "d"], "a", "[a]{0{2}, 1}", {0}, id="4: what came back is no child of it"),
        pytest.param(["abx", "ay", "az"], "ab", "0{1, 2}", {0}, id="4: a set that is not within its children"),
        pytest.param(["ab"], "a", "0", {0}, id="4: a set with one child"),
        pytest.param(["a", "b"], "ab", "0{1}", {0, 1}, id="4: sets below sets"),
        pytest.param(["ab", "cd"], "", "[]{0, 1}", {0}, id="no output"),
    ],
)
def test_steps(names: list[str], free: str, tree: str, connex: set[int]) -> None:
    found = construct_tree(edges_of(*names), frozenset(free))
    assert (str(found), set(found.connex)) == (tree, connex)
    assert violations(found, edges_of(*names), frozenset(free)) == []


def test_of_the_roots_the_lowest_is_taken() -> None:
    path = [frozenset((f"x{i}", f"x{i + 1}")) for i in range(7)]
    assert construct_tree(path).height == 4


@pytest.mark.parametrize("seed", range(max(1, EXAMPLES // 10)))
def test_atoms_within_the_output_have_none_below_them_before_the_steps(seed: int) -> None:
    """Why step 3 has nothing to do."""
    generator = random.Random(seed)
    for _ in range(50):
        edges = random_acyclic_edges(generator, atoms=generator.randint(1, 8))
        free = random_output(generator, edges)
        if is_free_connex(edges, free):
            below = spanning_tree([free, *edges])
            assert all(not below[atom + 1] for atom, edge in enumerate(edges) if edge <= free)


@pytest.mark.parametrize("seed", range(max(1, EXAMPLES // 10)))
def test_a_spanning_tree_of_acyclic_sets_keeps_each_variable_connected(seed: int) -> None:
    generator = random.Random(seed)
    for _ in range(50):
        sets = random_acyclic_edges(generator, atoms=generator.randint(1, 10))
        children = spanning_tree(sets)
        parent = {child: position for position, below in enumerate(children) for child in below}
        assert sorted(parent) == list(range(1, len(sets)))

        def path(position: int, parent: dict[int, int] = parent) -> list[int]:
            return [position, *(path(parent[position]) if position else [])]

        for one, other in combinations(range(len(sets)), 2):
            up, down = path(one), path(other)
            meet = next(position for position in up if position in down)
            between = [*up[: up.index(meet)], meet, *down[: down.index(meet)]]
            assert all(sets[one] & sets[other] <= sets[position] for position in between)
