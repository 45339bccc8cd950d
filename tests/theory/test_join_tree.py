"""Free-connex join trees: the construction of appendix A, and the search for the least height against all trees."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from theory_brute_force import general_trees, random_acyclic_edges, random_edges, random_output, traditional_trees

from livejoin.errors import UnknownNameError, UnsupportedQueryError
from livejoin.theory import (
    JoinTree,
    construct_tree,
    is_acyclic,
    is_free_connex,
    least_height_tree,
    search_tree,
    violations,
)
from strategies import EXAMPLES

Cost = tuple[int, float, int]


def edges_of(*names: str) -> list[frozenset[str]]:
    return [frozenset(name) for name in names]


def cost(tree: JoinTree, weights: Sequence[float]) -> Cost:
    depths = sum(weights[n.atom] * d for n, d in zip(tree.nodes, tree.depths, strict=True) if n.atom is not None)
    return tree.height, depths, sum(n.atom is None for n in tree.nodes)


@pytest.mark.parametrize(
    ("names", "tree"),
    [
        (["ab"], "0"),
        ([""], "0"),
        (["ab", "bc"], "[b]{0, 1}"),
        (["ab", "bc", "cd"], "[b]{0, 1{2}}"),
        (["ab", "bc", "cd", "de"], "[c]{1{0}, 2{3}}"),
        (["xa", "xb", "xc", "xd"], "[x]{0, 1, 2, 3}"),
        (["ab", "cd"], "[]{0, 1}"),
        (["ab", "bc", "xy", "yz"], "[]{[b]{0, 1}, [y]{2, 3}}"),
        (["", "", "a"], "[]{0, 1, 2}"),
        (["ab", "ab"], "[a, b]{0, 1}"),
        (["ab", "abc", "b"], "[b]{[a, b]{0, 1}, 2}"),
        (["abc", "a", "b", "c"], "[a]{0{2, 3}, 1}"),
    ],
)
def test_known_trees_of_full_queries(names: list[str], tree: str) -> None:
    assert str(least_height_tree(edges_of(*names))) == tree


@pytest.mark.parametrize(
    ("names", "free", "tree", "connex"),
    [
        (["ab"], "a", "0", {0}),
        (["ab"], "", "0", {0}),
        (["ab", "bc"], "a", "0{1}", {0}),
        (["ab", "bc"], "b", "[b]{0, 1}", {0}),
        (["ab", "bc"], "ab", "[b]{0, 1}", {0, 1}),
        (["ab", "bc"], "", "[b]{0, 1}", {0}),
        (["ab", "cd"], "a", "[]{0, 1}", {0, 1}),
        (["abx", "bcy", "cdz"], "bcd", "[b]{0, 1{2}}", {0, 2, 3}),
        (["ab", "bc", "cd", "d"], "ab", "[b]{0, 1{2{3}}}", {0, 1}),
        (["bcd", "ef", "c", "f", "cdf"], "cdf", "[f]{4{0, 2}, 1, 3}", {0, 1}),  # not [c]{[c, d]{0, 4{1, 3}}, 2}
    ],
)
def test_known_trees_of_projections(names: list[str], free: str, tree: str, connex: set[int]) -> None:
    found = least_height_tree(edges_of(*names), frozenset(free))
    assert (str(found), set(found.connex)) == (tree, connex)
    assert violations(found, edges_of(*names), frozenset(free)) == []


def test_a_component_without_the_separator_hangs_where_its_output_may() -> None:
    """Below [e, f], the first two atoms are best over [b, e, f]; b is not output, so df with its d cannot be there."""
    edges, free = edges_of("bef", "bef", "ef", "ce", "df"), frozenset("cdef")
    found = least_height_tree(edges, free)
    assert str(found) == "[e]{[e, f]{[b, e, f]{0, 1}, 2{4}}, 3}"
    best = min((t.height, *t.cost([1] * 5)) for t in general_trees(edges) if t.is_connex(free))
    assert cost(found, [1] * 5) == best == (2, 6, 3)


def test_keys_and_preorder() -> None:
    tree = least_height_tree(edges_of("ab", "bc", "cd"))
    assert [n.key for n in tree.nodes] == [(), ("b",), ("b",), ("c",)]
    assert [n.parent for n in tree.nodes] == [None, 0, 0, 2]
    assert [n.children for n in tree.nodes] == [(1, 2), (), (3,), ()]


def test_weights_keep_the_heavy_atoms_up() -> None:
    path = edges_of("ab", "bc", "cd")
    assert str(least_height_tree(path, weights=[1, 1, 9])) == "[c]{1{0}, 2}"
    assert str(least_height_tree(path, weights=[9, 1, 1])) == "[b]{0, 1{2}}"


@pytest.mark.parametrize("build", [construct_tree, search_tree])
def test_what_has_no_tree_is_refused_with_the_reason(build: object) -> None:
    assert callable(build)
    with pytest.raises(UnsupportedQueryError, match="atoms 0, 1, 2 form a cycle") as cyclic:
        build(edges_of("ab", "bc", "ca", "cd"))
    assert cyclic.value.clause == "FROM"
    with pytest.raises(UnsupportedQueryError, match=r"not free-connex: .* the output a, c together") as not_connex:
        build(edges_of("ab", "bc"), frozenset("ac"))
    assert not_connex.value.clause == "SELECT"
    with pytest.raises(UnknownNameError, match="output variables x, y occur in no atom; allowed are a, b"):
        build(edges_of("ab"), frozenset("axy"))


@pytest.mark.parametrize(
    ("atoms", "variables", "singles", "queries"), [(3, "abcd", 2, 60), (4, "abcd", 1, 20), (4, "abcde", 0, 150)]
)
@pytest.mark.parametrize("seed", range(max(1, EXAMPLES // 20)))
def test_no_free_connex_tree_is_better(seed: int, atoms: int, variables: str, singles: int, queries: int) -> None:
    """Least height, least weighted depths, fewest generalized relations: over all trees, by trying them."""
    generator = random.Random(seed)
    for _ in range(queries):
        edges = random_edges(generator, generator.randint(1, atoms), variables, widths=(0, 1, 2, 2, 2, 3, 3))
        free = random_output(generator, edges)
        weights = [generator.choice((1, 1, 2, 5)) for _ in edges]
        costs = [(t.height, *t.cost(weights)) for t in general_trees(edges, singles) if t.is_connex(free)]
        assert bool(costs) == is_free_connex(edges, free), (edges, free)
        if costs:
            found = search_tree(edges, free, weights)
            assert found.complete
            assert violations(found.tree, edges, free) == []
            assert cost(found.tree, weights) == min(costs), (edges, free, weights, str(found.tree))


@pytest.mark.parametrize("seed", range(max(1, EXAMPLES // 20)))
def test_no_tree_of_five_atoms_is_better(seed: int) -> None:
    generator = random.Random(seed)
    for _ in range(5):
        edges = random_acyclic_edges(generator, atoms=5)
        free = random_output(generator, edges)
        weights = [generator.choice((1, 2)) for _ in edges]
        costs = [(t.height, *t.cost(weights)) for t in general_trees(edges) if t.is_connex(free)]
        assert bool(costs) == is_free_connex(edges, free), (edges, free)
        if costs:
            assert cost(search_tree(edges, free, weights).tree, weights) == min(costs), (edges, free, weights)


@pytest.mark.parametrize("seed", range(max(1, EXAMPLES // 10)))
def test_the_construction_is_valid_for_every_free_connex_query(seed: int) -> None:
    generator = random.Random(seed)
    valid = 0
    for _ in range(100):
        edges = random_acyclic_edges(generator, atoms=generator.randint(1, 12))
        free = random_output(generator, edges)
        if is_free_connex(edges, free):
            valid += 1
            tree = construct_tree(edges, free)
            assert violations(tree, edges, free) == [], (edges, free, str(tree))
            best = search_tree(edges, free)
            assert best.complete
            assert violations(best.tree, edges, free) == [], (edges, free, str(best.tree))
            assert best.tree.height <= tree.height
    assert valid


def test_a_search_that_stops_early_says_so_and_gives_the_constructed_tree() -> None:
    edges = edges_of("ab", "bc", "cd", "de", "ef")
    whole = search_tree(edges)
    assert whole.complete
    assert search_tree(edges, budget=whole.separations) == whole
    for budget in range(whole.separations):
        found = search_tree(edges, budget=budget)
        assert (found.tree, found.complete, found.separations) == (construct_tree(edges), False, budget)


def path(atoms: int) -> list[frozenset[str]]:
    return [frozenset((f"x{i}", f"x{i + 1}")) for i in range(atoms)]


SHAPES = {
    "path": path(12),
    "star": [frozenset(("x", f"y{i}")) for i in range(12)],
    "comb": [*path(6), *(frozenset((f"x{i}", f"y{i}")) for i in range(6))],
    "snowflake": [frozenset(f"x{i}" for i in range(11)), *(frozenset((f"x{i}", f"y{i}")) for i in range(11))],
    "product": [frozenset((f"x{i}", f"y{i}")) for i in range(12)],
    "binary tree": [frozenset((f"x{i // 2}", f"x{i}")) for i in range(1, 13)],
    "chain of containments": [frozenset(f"x{j}" for j in range(i)) for i in range(1, 13)],
    "wide path": [frozenset(f"x{i + j}" for j in range(4)) for i in range(12)],
    "pairs below one": [frozenset("abcde"), *(frozenset((a, b)) for a in "abcde" for b in "abcde" if a < b)],
}


@pytest.mark.parametrize("name", SHAPES)
def test_twelve_atoms_take_few_separations(name: str) -> None:
    """At 10 to 40 microseconds a separation, this is far below two seconds, whatever the clock of the machine says."""
    edges = SHAPES[name]
    variables = sorted(frozenset[str]().union(*edges))
    for free in (frozenset(variables), *(frozenset(variables[:size]) for size in range(len(variables)))):
        if is_free_connex(edges, free):
            found = search_tree(edges, free)
            assert found.complete
            assert found.separations < 2_000
            assert violations(found.tree, edges, free) == []


@pytest.mark.parametrize("seed", range(max(1, EXAMPLES // 20)))
def test_twelve_random_atoms_take_few_separations(seed: int) -> None:
    generator = random.Random(seed)
    for _ in range(20):
        edges = random_acyclic_edges(generator, atoms=12)
        for free in (None, random_output(generator, edges)):
            if is_free_connex(edges, free):
                found = search_tree(edges, free)
                assert found.complete
                assert found.separations < 2_000


def test_paths_have_half_their_length_as_height() -> None:
    assert [least_height_tree(path(n)).height for n in range(1, 11)] == [1, 1, 2, 2, 3, 3, 4, 4, 5, 5]


@pytest.mark.parametrize("seed", range(max(1, EXAMPLES // 20)))
def test_generalized_relations_never_raise_the_least_height(seed: int) -> None:
    generator = random.Random(seed)
    for _ in range(20):
        edges = random_acyclic_edges(generator, atoms=5)
        assert is_acyclic(edges)
        assert least_height_tree(edges).height <= min(tree.height for tree in traditional_trees(edges))
