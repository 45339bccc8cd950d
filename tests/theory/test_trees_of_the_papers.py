"""The queries that CROWN and its slides name, with the classes, trees and heights that they say."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from theory_brute_force import general_trees, traditional_trees

from livejoin.errors import UnsupportedQueryError
from livejoin.theory import (
    check_free_connex,
    check_hierarchical,
    check_q_hierarchical,
    construct_tree,
    least_height_tree,
    search_tree,
    violations,
)
from livejoin.theory.trees.join_tree import Shape, to_join_tree


@dataclass(frozen=True)
class Query:
    """Atoms, each a string of one-letter variables, and the output; None for a full query."""

    atoms: tuple[str, ...]
    output: str | None = None

    @property
    def edges(self) -> list[frozenset[str]]:
        return [frozenset(atom) for atom in self.atoms]

    @property
    def free(self) -> frozenset[str]:
        return frozenset[str]().union(*self.edges) if self.output is None else frozenset(self.output)


FIGURE_1 = Query(("12", "23", "34", "45"), "1234")
FIGURE_2 = Query(("12", "23"))
THEOREM_6_2 = Query(("1", "12", "23", "34", "4"))
THEOREM_6_7 = Query(("12", "2"), "1")
DUMBBELL = Query(("12", "13", "23", "56", "45", "46", "34"))  # figure 5
SLIDES_Q_HIERARCHICAL = Query(("123", "124", "15", "16"), "1234")
SLIDES_NO_HEIGHT_2 = Query(("12", "23", "3"), "1")

THREE_HOP = Query(("ab", "bc", "cd"))
THREE_HOP_PROJECT = Query(("ab", "bc", "cd"), "bc")
FOUR_HOP = Query(("ab", "bc", "cd", "de"))
FOUR_HOP_PROJECT = Query(("ab", "bc", "cd", "de"), "bcd")
TWO_COMB = Query(("ab", "bc", "cd", "a", "d"))
STAR = Query(("xa", "xb", "xc", "xd"), "x")
DUMBBELL_PROJECT = Query(DUMBBELL.atoms, "34")
# SNB, appendix D: p person, f and l its names, m message, k the other person of knows; g and n id and name of a tag
SNB_1 = Query(("pfl", "mp", "kp"))
SNB_2_AS_PRINTED = Query(("g", "mp", "mg", "ko", "op"))
SNB_4 = Query(("ng", "mp", "mg", "kp"), "ng")


@pytest.mark.parametrize(
    ("query", "height", "tree", "connex"),
    [
        pytest.param(FIGURE_1, 2, "[3]{1{0}, 2{3}}", {0, 1, 2, 3}, id="figure 1"),
        pytest.param(FIGURE_2, 1, "[2]{0, 1}", {0, 1, 2}, id="figure 2"),
        pytest.param(Query(FIGURE_2.atoms, "2"), 1, "[2]{0, 1}", {0}, id="figure 2, projected"),
        pytest.param(THEOREM_6_2, 3, "[2]{1{0}, 2{3{4}}}", {0, 1, 2, 3, 4, 5}, id="theorem 6.2"),
        pytest.param(Query(THEOREM_6_2.atoms, ""), 3, "[2]{1{0}, 2{3{4}}}", {0}, id="theorem 6.2, Boolean"),
        pytest.param(THEOREM_6_7, 2, "0{1}", {0}, id="theorem 6.7"),
        pytest.param(SLIDES_Q_HIERARCHICAL, 1, "[1]{[1, 2]{0, 1}, 2, 3}", {0, 1, 2, 3}, id="slides, q-hierarchical"),
        pytest.param(SLIDES_NO_HEIGHT_2, 3, "0{1{2}}", {0}, id="slides, no height 2"),
        pytest.param(THREE_HOP, 2, "[b]{0, 1{2}}", {0, 1, 2, 3}, id="3-Hop"),
        pytest.param(THREE_HOP_PROJECT, 2, "[b]{0, 1{2}}", {0, 2}, id="3-Hop join-project"),
        pytest.param(FOUR_HOP, 2, "[c]{1{0}, 2{3}}", {0, 1, 2, 3, 4}, id="4-Hop"),
        pytest.param(FOUR_HOP_PROJECT, 2, "[c]{1{0}, 2{3}}", {0, 1, 3}, id="4-Hop join-project"),
        pytest.param(TWO_COMB, 3, "[b]{0{3}, 1{2{4}}}", {0, 1, 2, 3, 4, 5}, id="2-Comb"),
        pytest.param(STAR, 1, "[x]{0, 1, 2, 3}", {0}, id="Star"),
        pytest.param(SNB_1, 1, "[p]{0, 1, 2}", {0, 1, 2, 3}, id="SNB Q1"),
        pytest.param(SNB_4, 3, "[g]{0, 2{1{3}}}", {0, 1}, id="SNB Q4"),
    ],
)
def test_least_height_and_tree(query: Query, height: int, tree: str, connex: set[int]) -> None:
    found = search_tree(query.edges, query.free)
    assert found.complete
    assert (found.tree.height, str(found.tree), set(found.tree.connex)) == (height, tree, connex)
    assert violations(found.tree, query.edges, query.free) == []
    assert violations(construct_tree(query.edges, query.free), query.edges, query.free) == []
    assert min(t.height for t in general_trees(query.edges) if t.is_connex(query.free)) == height
    assert check_q_hierarchical(query.edges, query.free).holds == (height == 1)


def test_figure_1_needs_a_generalized_relation_for_height_2() -> None:
    """CROWN, section 6: "any standard join tree has height at least 3"."""
    assert min(t.height for t in traditional_trees(FIGURE_1.edges) if t.is_connex(FIGURE_1.free)) == 3


def test_figure_1_has_the_tree_that_is_drawn() -> None:
    edges = FIGURE_1.edges
    drawn = Shape(
        frozenset("3"),
        None,
        (Shape(edges[1], 1, (Shape(edges[0], 0),)), Shape(edges[2], 2, (Shape(edges[3], 3),))),
    )
    tree = to_join_tree(drawn, FIGURE_1.free)
    assert violations(tree, edges, FIGURE_1.free) == []
    assert tree == least_height_tree(edges, FIGURE_1.free)
    assert [n.key for n in tree.nodes] == [(), ("3",), ("2",), ("3",), ("4",)]


def test_figure_2_has_three_trees_full_and_projected() -> None:
    """Example 6.5 measures these three."""
    first, second = FIGURE_2.edges
    shapes = [
        (Shape(first, 0, (Shape(second, 1),)), 2),
        (Shape(second, 1, (Shape(first, 0),)), 2),
        (Shape(frozenset("2"), None, (Shape(first, 0), Shape(second, 1))), 1),
    ]
    for shape, height in shapes:
        full, projected = to_join_tree(shape), to_join_tree(shape, frozenset("2"))
        assert full.height == projected.height == height
        assert violations(full, FIGURE_2.edges) == []
        assert violations(projected, FIGURE_2.edges, frozenset("2")) == []
        assert (set(full.connex), set(projected.connex)) == (set(range(len(full.nodes))), {0})
    assert {tree.shape() for tree in general_trees(FIGURE_2.edges)} == {shape for shape, _ in shapes}


def test_the_projection_of_section_7_1_is_not_free_connex_until_its_join_variable_is_output() -> None:
    found = check_free_connex(FIGURE_2.edges, frozenset("13"))
    assert found.path is not None
    assert (found.path.variables, found.path.atoms) == (("1", "2", "3"), (0, 1))
    assert found.additions == {"2"}
    assert check_free_connex(FIGURE_2.edges, frozenset("123"))


@pytest.mark.parametrize("query", [DUMBBELL, DUMBBELL_PROJECT])
def test_the_dumbbell_is_cyclic(query: Query) -> None:
    found = check_free_connex(query.edges, query.free)
    assert not found
    assert found.cycle in ((0, 1, 2), (3, 4, 5))
    with pytest.raises(UnsupportedQueryError, match="form a cycle"):
        least_height_tree(query.edges, query.free)


def test_theorem_6_7_is_hierarchical_and_not_q_hierarchical() -> None:
    assert check_hierarchical(THEOREM_6_7.edges)
    found = check_q_hierarchical(THEOREM_6_7.edges, THEOREM_6_7.free)
    assert (found.condition, found.variables, found.atoms) == (2, ("1", "2"), (0, 1))


def test_four_hop_and_snb_4_have_one_hypergraph_and_not_one_height() -> None:
    """CROWN, section 8.1. Returning the message too, which is counted anyway, would make it 2 for SNB Q4."""
    rename = dict(zip("nghmpk", "abxcde", strict=True))
    snb = [frozenset(rename[v] for v in edge) for edge in SNB_4.edges]
    assert set(snb) == set(FOUR_HOP.edges)
    assert least_height_tree(FOUR_HOP.edges).height == 2
    assert least_height_tree(SNB_4.edges, SNB_4.free).height == 3
    assert least_height_tree(SNB_4.edges, SNB_4.free | {"m"}).height == 2


def test_snb_2_and_3_have_one_hypergraph_of_height_3() -> None:
    """Section 8.1 gives SNB Q2 height 2; the SQL that appendix D prints for it is that of Q3 but for a filter."""
    edges = SNB_2_AS_PRINTED.edges
    found = least_height_tree(edges)
    assert found.height == min(tree.height for tree in general_trees(edges)) == 3
    assert violations(found, edges) == []


def test_example_4_24_of_dyn() -> None:
    """DYN, example 4.24: Q is hierarchical, its projection on x, y is q-hierarchical, the one on u is not."""
    edges = [frozenset(atom) for atom in ("xyz", "xyu", "yvw", "yvp")]
    assert check_hierarchical(edges)
    projected = check_q_hierarchical(edges, frozenset("xy"))
    assert str(projected.tree) == "[y]{[x, y]{0, 1}, [v, y]{2, 3}}"
    wrong = check_q_hierarchical(edges, frozenset("u"))
    assert (wrong.condition, wrong.variables[0]) == (2, "u")
    assert check_q_hierarchical(edges, frozenset("yu")).variables == ("u", "x")
