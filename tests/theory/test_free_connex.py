"""Free-connex queries: the answer against all trees, the free path and the additions against all sets of variables."""

from __future__ import annotations

import random
from itertools import combinations, permutations

import pytest
from theory_brute_force import Edges, general_trees, random_edges, random_output

from livejoin.errors import UnknownNameError
from livejoin.theory import check_free_connex, free_path, is_acyclic, is_free_connex, violations
from strategies import EXAMPLES


def edges_of(*names: str) -> list[frozenset[str]]:
    return [frozenset(name) for name in names]


def free_paths(edges: Edges, free: frozenset[str]) -> set[tuple[str, ...]]:
    """All free paths, by trying all sequences of variables (Bagan, Durand and Grandjean, 2007)."""
    variables = sorted(frozenset[str]().union(*edges))

    def beside(a: str, b: str) -> bool:
        return any({a, b} <= edge for edge in edges)

    return {
        path
        for size in range(3, len(variables) + 1)
        for path in permutations(variables, size)
        if {path[0], path[-1]} <= free and not free & set(path[1:-1])
        if all(beside(path[i], path[j]) == (j == i + 1) for i, j in combinations(range(size), 2))
    }


@pytest.mark.parametrize(
    ("names", "free", "variables", "atoms", "additions"),
    [
        (["ab", "bc"], "ac", "abc", (0, 1), "b"),
        (["ab", "bc", "cd", "de"], "ae", "abcde", (0, 1, 2, 3), "bcd"),
        (["ab", "bc", "cd", "de"], "ace", "abc", (0, 1), "bd"),
        (["xz", "yz"], "xy", "xzy", (0, 1), "z"),
        (["az", "bz", "cz", "zw"], "abc", "azb", (0, 1), "z"),
        (["ab", "bc", "ad", "ae"], "cd", "cbad", (1, 0, 2), "ab"),
        (["bac", "bcd", "x"], "adx", "abd", (0, 1), "bc"),
        (["ab", "bc", "cd", "xy", "yz"], "adxz", "xyz", (3, 4), "bcy"),
        (["ab", "am", "mz", "cz"], "az", "amz", (1, 2), "m"),
    ],
)
def test_known_free_paths(names: list[str], free: str, variables: str, atoms: tuple[int, ...], additions: str) -> None:
    found = check_free_connex(edges_of(*names), frozenset(free))
    assert not found
    assert found.tree is None
    assert found.cycle == ()
    assert found.path is not None
    assert (found.path.variables, found.path.atoms) == (tuple(variables), atoms)
    assert found.additions == frozenset(additions)


def test_a_cyclic_query_has_its_cycle_as_the_witness() -> None:
    found = check_free_connex(edges_of("ab", "bc", "ca", "cd"), frozenset("d"))
    assert (found.holds, found.cycle, found.tree, found.path, found.additions) == (False, (0, 1, 2), None, None, set())


def test_a_free_connex_query_has_its_tree_as_the_witness() -> None:
    found = check_free_connex(edges_of("ab", "bc", "cd"), frozenset("bc"))
    assert found
    assert found.tree is not None
    assert violations(found.tree, edges_of("ab", "bc", "cd"), frozenset("bc")) == []
    assert (found.cycle, found.path, found.additions) == ((), None, set())


def test_an_output_variable_that_no_atom_has_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="output variables z occur in no atom"):
        check_free_connex(edges_of("ab"), frozenset("az"))


@pytest.mark.parametrize("seed", range(max(1, EXAMPLES // 10)))
def test_free_connex_if_and_only_if_some_tree_has_a_connex_subtree(seed: int) -> None:
    """The definition by two acyclic hypergraphs, the trees of definition 3.2, and the free paths agree."""
    generator = random.Random(seed)
    for _ in range(100):
        edges = random_edges(generator, generator.randint(1, 4), widths=(0, 1, 2, 2, 2, 3, 3))
        free = random_output(generator, edges)
        holds = any(tree.is_connex(free) for tree in general_trees(edges))
        assert is_free_connex(edges, free) == holds, (edges, free)
        assert check_free_connex(edges, free).holds == holds, (edges, free)


@pytest.mark.parametrize("seed", range(max(1, EXAMPLES // 10)))
def test_free_paths_are_the_shortest_and_additions_the_least(seed: int) -> None:
    generator = random.Random(seed)
    for _ in range(40):
        edges = random_edges(generator, generator.randint(2, 5), widths=(1, 2, 2, 2, 3))
        free = random_output(generator, edges)
        if not is_acyclic(edges):
            continue
        paths = free_paths(edges, free)
        found = check_free_connex(edges, free)
        assert found.holds == (not paths), (edges, free)
        if not found.holds:
            assert found.path is not None
            assert found.path == free_path(edges, free)
            assert found.path.variables in paths
            assert len(found.path.variables) == min(map(len, paths))
            for atom, *pair in zip(found.path.atoms, found.path.variables, found.path.variables[1:], strict=False):
                assert set(pair) <= edges[atom]
            bound = sorted(frozenset[str]().union(*edges) - free)
            every = [set(c) for n in range(len(bound) + 1) for c in combinations(bound, n) if _mends(edges, free, c)]
            assert found.additions in every
            assert all(found.additions <= added for added in every), (edges, free)


def _mends(edges: Edges, free: frozenset[str], added: tuple[str, ...]) -> bool:
    return is_acyclic([*edges, free.union(added)])
