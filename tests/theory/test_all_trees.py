"""The enumeration of all free-connex join trees, against every labelled tree and against known counts."""

from __future__ import annotations

import random
from itertools import islice

import pytest
from brute_trees import (
    atom_depths,
    canonical,
    connex_subtrees,
    edges_of,
    labelled_trees,
    redundant_node,
    subsets,
    without,
)
from theory_brute_force import random_acyclic_edges, random_edges

from livejoin.errors import UnknownNameError
from livejoin.theory.classes.gyo import is_acyclic
from livejoin.theory.trees.all_trees import all_trees
from livejoin.theory.trees.join_tree import JoinTree, least_height_tree
from livejoin.theory.trees.join_tree_laws import violations
from strategies import seeds

Edges = list[frozenset[str]]


def names(edges: Edges, free: str | None = None) -> list[str]:
    return [str(tree) for tree in all_trees(edges, None if free is None else frozenset(free))]


def irredundant(tree: JoinTree) -> JoinTree:
    while (node := redundant_node(tree)) is not None:
        tree = without(tree, node)
    return tree


def compare_with_labelled_trees(edges: Edges, most_generalized: int) -> None:
    """For every head: the enumerated trees are the irredundant valid ones, and every valid one comes down to them."""
    valid = [tree for k in range(most_generalized + 1) for tree in labelled_trees(edges, k).values()]
    everything = frozenset[str]().union(*edges)
    for free in subsets(everything):
        found = list(all_trees(edges, free))
        connex = {canonical(tree): {canonical(tree, node) for node in tree.connex} for tree in found}
        assert len(connex) == len(found), "a tree came twice"
        expected = {}
        for tree in valid:
            if subtrees := connex_subtrees(tree, edges, free):
                kept = irredundant(tree)
                assert canonical(kept) in connex, (edges, free, str(tree))
                assert atom_depths(kept) == atom_depths(tree)
                if redundant_node(tree) is None:
                    nodes = range(len(tree.nodes)) if free == everything else frozenset.intersection(*subtrees)
                    expected[canonical(tree)] = {canonical(tree, node) for node in nodes}
        assert connex == expected, (edges, free)


@pytest.mark.parametrize("seed", seeds(8, 25))
def test_the_trees_are_all_valid_ones_up_to_symmetry_and_redundancy(seed: int) -> None:
    generator = random.Random(seed)
    edges = random_edges(generator, atoms=generator.randint(1, 3), variables="abc", widths=(0, 1, 1, 2, 2, 3))
    compare_with_labelled_trees(edges, most_generalized=2)


@pytest.mark.parametrize("query", ["ab ab abc", "ab bc bd", "a ab abc", "abc abd a"])
def test_three_atoms(query: str) -> None:
    compare_with_labelled_trees(edges_of(*query.split()), most_generalized=2)


@pytest.mark.parametrize(
    "query", ["ab bc c b", *(pytest.param(one, marks=pytest.mark.torture) for one in ("ab ac a b", "abc ab bc b"))]
)
def test_four_atoms(query: str) -> None:
    compare_with_labelled_trees(edges_of(*query.split()), most_generalized=2)


def test_a_product_with_an_atom_without_variables() -> None:
    compare_with_labelled_trees(edges_of("ab", "cd", ""), most_generalized=2)


@pytest.mark.torture
def test_three_generalized_relations() -> None:
    compare_with_labelled_trees(edges_of("a", "a", "b", "b"), most_generalized=3)


@pytest.mark.parametrize("seed", seeds(6, 20))
def test_there_is_a_tree_if_and_only_if_the_query_is_free_connex(seed: int) -> None:
    generator = random.Random(seed)
    for _ in range(60):
        edges = random_edges(generator, atoms=generator.randint(1, 6))
        variables = sorted(frozenset[str]().union(*edges))
        free = frozenset(generator.sample(variables, generator.randint(0, len(variables))))
        trees = list(islice(all_trees(edges, free), 20))
        assert bool(trees) == (is_acyclic(edges) and is_acyclic([*edges, free])), (edges, free)
        for tree in trees:
            assert violations(tree, edges, free) == []
            assert redundant_node(tree) is None


@pytest.mark.parametrize("seed", seeds(4, 10))
def test_the_least_height_tree_is_the_best_of_all(seed: int) -> None:
    generator = random.Random(seed)
    for _ in range(5):
        edges = random_acyclic_edges(generator, atoms=5)
        free = frozenset(v for edge in edges for v in edge if generator.random() < 0.8)
        weights = [generator.choice((1.0, 2.0, 5.0)) for _ in edges]
        costs = [cost(tree, weights) for tree in all_trees(edges, free)]
        if costs:
            assert cost(least_height_tree(edges, free, weights), weights) == min(costs), (edges, free, weights)


def cost(tree: JoinTree, weights: list[float]) -> tuple[int, float, int]:
    depths = sum(weights[atom] * depth for atom, depth in atom_depths(tree).items())
    return tree.height, depths, sum(node.atom is None for node in tree.nodes)


def path(atoms: int) -> Edges:
    return [frozenset((f"x{i}", f"x{i + 1}")) for i in range(atoms)]


def star(atoms: int) -> Edges:
    return [frozenset(("x", f"y{i}")) for i in range(atoms)]


def snowflake(atoms: int) -> Edges:
    arms = range(atoms - 1)
    return [frozenset(f"x{i}" for i in arms), *(frozenset((f"x{i}", f"y{i}")) for i in arms)]


@pytest.mark.parametrize("atoms", range(1, 6))
def test_a_star_has_as_many_trees_as_there_are_rooted_forests(atoms: int) -> None:
    """Cayley: (n + 1)^(n - 1) forests; those of one tree are traditional, the others get ``[x]`` as their root."""
    forests = (atoms + 1) ** (atoms - 1)
    assert sum(1 for _ in all_trees(star(atoms))) == forests
    assert sum(1 for _ in all_trees(star(atoms), free=frozenset("x"))) == forests
    assert sum(1 for _ in all_trees([frozenset("ab")] * atoms)) == forests
    assert sum(1 for _ in all_trees([frozenset(f"{i}") for i in range(atoms)])) == forests


@pytest.mark.parametrize("atoms", range(1, 13))
def test_a_path_and_a_snowflake_have_a_tree_for_each_atom_and_each_join(atoms: int) -> None:
    assert sum(1 for _ in all_trees(path(atoms))) == 2 * atoms - 1
    assert sum(1 for _ in all_trees(snowflake(atoms))) == 2 * atoms - 1


def test_figure_2_of_crown() -> None:
    """The three trees of ``R1(x1, x2) |><| R2(x2, x3)``; with output x2 the connex subtree of the third is [x2]."""
    query = edges_of("ab", "bc")
    assert names(query) == ["[b]{0, 1}", "0{1}", "1{0}"]
    assert names(query, "b") == ["[b]{0, 1}", "0{1}", "1{0}"]
    assert [tree.connex for tree in all_trees(query, frozenset("b"))] == [frozenset({0})] * 3


def test_figure_1_of_crown() -> None:
    """Output x1 to x4 of the 4-hop query: height 2 with [x3] as the root, at least 3 without generalized relations."""
    trees = list(all_trees(path(4), frozenset(("x0", "x1", "x2", "x3"))))
    assert min(trees, key=lambda tree: tree.height).height == 2
    assert "[x2]{1{0}, 2{3}}" in map(str, trees)
    assert min(tree.height for tree in trees if all(node.atom is not None for node in tree.nodes)) == 3


def test_the_query_of_theorem_6_7_has_one_join_tree() -> None:
    """``pi_x1 (R1(x1, x2) |><| R2(x2))``; [x1] could be added on top, which section 6.2 says makes no difference."""
    assert names(edges_of("ab", "b"), "a") == ["0{1}"]


def test_the_query_of_theorem_6_2_has_a_long_path_in_every_tree() -> None:
    """Appendix C: R1 below R2 below R3, or R5 below R4 below R3, in every tree of figure 13's query."""
    trees = list(all_trees(edges_of("a", "ab", "bc", "cd", "d")))
    assert min(tree.height for tree in trees) == 3
    for tree in trees:
        parents = {n.atom: None if n.parent is None else tree.nodes[n.parent].atom for n in tree.nodes}
        assert (parents[0], parents[1]) == (1, 2) or (parents[4], parents[3]) == (3, 2)


def test_4_hop_with_output_in_the_middle_and_snb_query_4() -> None:
    """Section 8: the same hypergraph, but only the output of the 4-hop query leaves a tree of height 2."""
    assert min(tree.height for tree in all_trees(path(4), frozenset(("x1", "x2", "x3")))) == 2
    snb_4 = edges_of("tn", "tm", "mp", "pk")
    assert min(tree.height for tree in all_trees(snb_4, frozenset("tn"))) == 3


def test_a_bound_key_with_fresh_output_below_rules_a_root_out() -> None:
    assert names(edges_of("ab", "bc", "cd"), "ab") == ["[b]{0, 1{2}}", "0{1{2}}", "1{0, 2}"]
    assert names(edges_of("ab", "bc"), "ac") == []
    assert names(edges_of("ab", "ad", "ac"), "c") == ["2{0, 1}", "2{0{1}}", "2{1{0}}"]


def test_without_output_every_tree_counts_and_its_root_is_the_connex_subtree() -> None:
    trees = list(all_trees(path(4), frozenset()))
    assert len(trees) == 7
    assert {tree.connex for tree in trees} == {frozenset({0})}


def test_no_trees() -> None:
    assert names(edges_of("ab", "bc", "ca")) == []
    assert names([]) == []
    assert all_trees(edges_of("ab", "bc", "ca")).complete is False
    cyclic = all_trees(edges_of("ab", "bc", "ca"))
    assert list(cyclic) == []
    assert cyclic.complete


def test_an_unknown_output_variable_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="z occur in no atom"):
        all_trees(edges_of("ab"), frozenset("az"))


@pytest.mark.parametrize(("limit", "given", "complete"), [(0, 0, False), (6, 6, False), (7, 7, True), (8, 7, True)])
def test_a_limit_says_whether_it_held_trees_back(limit: int, given: int, complete: bool) -> None:
    trees = all_trees(path(4), limit=limit)
    assert sum(1 for _ in trees) == given
    assert trees.complete is complete
    assert list(trees) == []
    assert trees.complete is complete


@pytest.mark.parametrize(
    "edges", [path(40), star(40), snowflake(40), [frozenset("ab")] * 40], ids=["path", "star", "snowflake", "equal"]
)
def test_the_first_trees_of_large_queries_come_at_once(edges: Edges) -> None:
    """No search in vain: exhaustive steps over 40 atoms would never end."""
    trees = list(all_trees(edges, limit=20))
    assert len(trees) == 20
    for tree in trees:
        assert violations(tree, edges) == []


def hub(keys: str, arms: int) -> Edges:
    """An atom over ``k0``, ``k1``, ... and more; two equal atoms below each k: 2 to the power of ``arms`` trees."""
    pairs = [frozenset((f"k{i}", f"p{i}")) for i in range(arms) for _ in range(2)]
    return [frozenset([f"k{i}" for i in range(arms)]) | frozenset(keys), *pairs]


@pytest.mark.timeout(60)
def test_what_no_tree_can_have_is_ruled_out_before_the_trees_of_the_rest() -> None:
    """Otherwise each of these would run through all trees of the forty arms before it gives up one choice."""
    arms = hub("k", 40)
    everything = frozenset("kf").union(*arms)
    below = [*arms, *edges_of("kb", "kbf")]
    assert len(list(all_trees(below, everything, limit=5))) == 5
    assert list(all_trees([*arms, *edges_of("kb", "bf")], everything)) == []
    root = list(all_trees([*hub("z", 40), *edges_of("zf")], frozenset("f"), limit=5))
    assert {tree.nodes[0].atom for tree in root} == {81}
