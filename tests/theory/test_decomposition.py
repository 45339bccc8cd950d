"""Hypertree decompositions: known ones, which of equal ones is chosen, and searches that stop early."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction

import pytest
from hypergraphs import clique_of, cycle_of, described, edges_of, effort
from theory_brute_force import random_edges

from livejoin.errors import UnknownNameError
from livejoin.theory.classes.gyo import is_acyclic
from livejoin.theory.cyclic import bag_search
from livejoin.theory.cyclic.bag_search import BagSearch, inside
from livejoin.theory.cyclic.decomposition import decompose
from livejoin.theory.cyclic.decomposition_laws import decomposition_violations
from livejoin.theory.cyclic.edge_cover import fractional_edge_cover
from livejoin.theory.trees.join_tree import least_height_tree

DUMBBELL = ["ab", "ac", "bc", "ef", "de", "df", "cd"]  # CROWN, figure 5: R1 to R7 with a to f for x1 to x6


def free_of(names: str | None) -> frozenset[str] | None:
    return None if names is None else frozenset(names)


@pytest.mark.parametrize(
    ("names", "free", "width", "integral", "bags"),
    [
        pytest.param(["ab", "bc", "ca"], None, "3/2", 2, ["abc 0,1,2"], id="triangle"),
        pytest.param(["ab", "bc", "ca"], "a", "3/2", 2, ["abc 0,1,2"], id="triangle, one variable returned"),
        pytest.param(["ab", "bc", "ca"], "", "3/2", 2, ["abc 0,1,2"], id="triangle, none returned"),
        pytest.param(["ab", "bc", "cd", "da"], None, "2", 2, ["abc 0,1", "acd 2,3"], id="4-cycle"),
        pytest.param(["ab", "bc", "cd", "da"], "ab", "2", 2, ["abc 0,1", "acd 2,3"], id="4-cycle with projection"),
        pytest.param(["ab", "bc", "cd", "de", "ea"], None, "2", 2, ["abc 0,1", "acde 2,3,4"], id="5-cycle"),
        pytest.param(["ab", "bc", "ca", "cd"], None, "3/2", 2, ["abc 0,1,2", "cd 3"], id="lollipop"),
        pytest.param(["ab", "bc", "ca", "cd"], "cd", "3/2", 2, ["abc 0,1,2", "cd 3"], id="lollipop, free-connex"),
        pytest.param(["ab", "bc", "ca", "cd"], "ad", "2", 2, ["abc 0,1,2", "acd 3/2"], id="lollipop, ends returned"),
        pytest.param(DUMBBELL, None, "3/2", 2, ["abc 0,1,2", "def 3,4,5", "cd 6"], id="dumbbell, CROWN figure 5"),
        pytest.param(DUMBBELL, "cd", "3/2", 2, ["abc 0,1,2", "def 3,4,5", "cd 6"], id="dumbbell, CROWN projection"),
        pytest.param(DUMBBELL, "ce", "2", 2, ["abc 0,1,2", "def 3,5/4", "cde 4,6"], id="dumbbell, c and e returned"),
        pytest.param(clique_of(4), None, "2", 2, ["abcd 0,1,2,3,4,5"], id="K4"),
        pytest.param(["abc", "abd", "acd", "bcd"], None, "4/3", 2, ["abcd 0,1,2,3"], id="Loomis-Whitney 4"),
        pytest.param(["ab", "bc", "ca", "bd", "dc"], None, "3/2", 2, ["abc 0,1,2", "bcd 3,4/1"], id="diamond"),
        pytest.param(["ab", "bc", "ca", "a"], None, "3/2", 2, ["abc 0,1,2", "a 3"], id="triangle and a small atom"),
        pytest.param(["ab", "ab", "bc", "ca"], None, "3/2", 2, ["abc 0,2,3", "ab 1"], id="triangle, one atom twice"),
        pytest.param(
            ["abu", "bcv", "caw"], None, "3/2", 2, ["abu 0", "abc /0,1,2", "bcv 1", "acw 2"], id="triangle with payload"
        ),
        pytest.param(["abu", "bcv", "caw"], "abc", "3/2", 2, ["abu 0", "abc /0,1,2", "bcv 1", "acw 2"], id="payload"),
        pytest.param(["ab", "bc"], "ac", "2", 2, ["abc 0,1"], id="acyclic, not free-connex"),
        pytest.param(
            ["ab", "bc", "cd", "da", "az", "zc"],
            "abcd",
            "2",
            2,
            ["abc 0,1", "acd 2,3", "acz 4,5"],
            id="cycle cut where a bound variable is attached",
        ),
        pytest.param(
            ["ab", "bc", "cd", "da", "bz", "zd"],
            "abcd",
            "2",
            2,
            ["abd 0,3", "bcd 1,2", "bdz 4,5"],
            id="the same, attached to the other corners",
        ),
        pytest.param(["ab", "bc", "cd"], None, "1", 1, ["ab 0", "bc 1", "cd 2"], id="path"),
        pytest.param(["", "a", ""], None, "1", 1, [" 0", "a 1", " 2"], id="atoms without variables"),
        pytest.param([""], None, "0", 0, [" 0"], id="nothing but an atom without variables"),
        pytest.param(["ab", "bc", "ca", "xy", "yz"], "", "3/2", 2, ["abc 0,1,2", "xy 3", "yz 4"], id="disconnected"),
    ],
)
def test_known_decompositions(names: list[str], free: str | None, width: str, integral: int, bags: list[str]) -> None:
    edges = [frozenset(name) for name in names]
    found = decompose(edges, free_of(free))
    assert decomposition_violations(found, edges, free_of(free)) == []
    assert (found.width, found.integral_width, found.complete) == (Fraction(width), integral, True)
    assert described(found) == bags


@pytest.mark.parametrize("length", range(4, 13))
def test_cycles_have_width_two(length: int) -> None:
    found = decompose(cycle_of(length))
    assert decomposition_violations(found, cycle_of(length)) == []
    assert (found.width, found.integral_width, found.complete) == (2, 2, True)


@pytest.mark.parametrize(("size", "width", "integral"), [(3, "3/2", 2), (4, "2", 2), (5, "5/2", 3), (6, "3", 3)])
def test_cliques(size: int, width: str, integral: int) -> None:
    found = decompose(clique_of(size))
    assert (found.width, found.integral_width, len(found.bags)) == (Fraction(width), integral, 1)


def test_dumbbell_by_crown() -> None:
    """Section 7.1: two triangle bags around R7; O(N^2) space by integral covers, O(N^1.5) by Lemma 7.2."""
    edges = edges_of(*DUMBBELL)
    found = decompose(edges)
    assert str(found.tree) == "[c]{0, 2{1}}"
    first = found.bags[0]
    assert first.cover == ((0, Fraction(1, 2)), (1, Fraction(1, 2)), (2, Fraction(1, 2)))
    assert first.integral_cover == (0, 1)
    assert [bag.is_atom for bag in found.bags] == [False, False, True]
    sizes = [100, 100, 100, 9, 10**6, 10**6, 50]
    bounds = [bag.size_bound(edges, sizes).rows for bag in found.bags]
    assert bounds == pytest.approx([1000, 3_000_000, 50])


@pytest.mark.parametrize(
    ("names", "bags", "tree"),
    [
        (["ab", "bc", "cd", "de", "ea", "ex"], ["abe 0,4", "bcde 1,2,3", "ex 5"], "[e]{[b, e]{0, 1}, 2}"),
        (
            ["ab", "bc", "cd", "da", "bx", "xy", "yz", "zb"],
            ["abd 0,3", "bcd 1,2", "bxy 4,5", "byz 6,7"],
            "[b]{[b, d]{0, 1}, [b, y]{2, 3}}",
        ),
    ],
)
def test_ties_go_to_the_lower_tree(names: list[str], bags: list[str], tree: str) -> None:
    """A cycle can be cut anywhere; cut where another part of the query is attached, the tree has height 1 and not 2."""
    found = decompose(edges_of(*names))
    assert described(found) == bags
    assert str(found.tree) == tree


def test_choices_differ() -> None:
    square = cycle_of(4)
    choices = BagSearch(square, frozenset("abcd"), budget=16).choices()
    assert {frozenset(choice) for choice in choices} == {
        frozenset(edges_of("abc", "acd")),
        frozenset(edges_of("abd", "bcd")),
    }
    assert len(choices) == 2


def test_unknown_output_variables_are_refused() -> None:
    with pytest.raises(UnknownNameError, match="output variables y, z"):
        decompose(cycle_of(3), frozenset("ayz"))


def test_free_connex_queries_are_left_as_they_are() -> None:
    generator = random.Random(31)
    seen = Counter[bool]()
    for _ in range(500):
        edges = random_edges(generator, generator.randint(1, 5), "abcd", (0, 1, 2, 2, 2))
        variables = sorted(frozenset[str]().union(*edges))
        free = frozenset(generator.sample(variables, generator.randint(0, len(variables))))
        found = decompose(edges, free)
        free_connex = is_acyclic(edges) and is_acyclic([*edges, free])
        seen[free_connex] += 1
        assert (found.width <= 1) == free_connex
        if free_connex:
            assert [(bag.atoms, bag.filters) for bag in found.bags] == [((a,), ()) for a in range(len(edges))]
            assert found.tree == least_height_tree(edges, free)
    assert min(seen.values()) > 40


def test_a_cycle_of_seven_needs_a_cartesian_product() -> None:
    """Connected arcs of a 7-cycle have width 3; a filter carries a variable through a bag of width 2."""
    found = decompose(cycle_of(7))
    assert described(found) == ["abcd 0,1,2", "ade 3/0", "aefg 4,5,6"]


def test_a_small_budget_is_told_and_stays_valid() -> None:
    generator = random.Random(34)
    wider = 0
    for _ in range(100):
        edges = random_edges(generator, generator.randint(4, 7), "abcdefg", (2, 2, 3))
        exact, greedy = decompose(edges), decompose(edges, budget=1)
        assert decomposition_violations(greedy, edges) == []
        assert greedy.complete == (greedy.width == 1)
        assert (greedy.width, greedy.integral_width) >= (exact.width, exact.integral_width)
        wider += greedy.width > exact.width
    assert wider < 30
    large = [*cycle_of(16), *edges_of("ai", "em", "co")]
    found = decompose(large)
    assert decomposition_violations(found, large) == []
    assert not found.complete
    assert found.width <= 4


def test_the_budget_is_for_pieces() -> None:
    """Pieces end at atoms, and free variables at those that a bound part makes neighbours of each other."""
    assert decompose(edges_of(*DUMBBELL), budget=8).complete
    stars = edges_of("ua", "ub", "uc", "vb", "vc", "vd", "wc", "wd", "we")
    assert decompose(stars, frozenset("abcde"), budget=16).complete
    assert not decompose(stars, frozenset("abcde"), budget=15).complete


def test_twelve_atoms_take_few_covers(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = 0

    def counted(*arguments: object) -> object:
        nonlocal calls
        calls += 1
        return fractional_edge_cover(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(bag_search, "fractional_edge_cover", counted)
    generator = random.Random(35)
    for edges in (cycle_of(12), random_edges(generator, 12, "abcdefghijkl", (2, 2, 3))):
        calls = 0
        assert decompose(edges).complete
        assert 0 < calls < 1_000


def test_the_order_of_the_atoms_does_not_change_the_widths() -> None:
    generator = random.Random(36)
    for _ in range(60):
        edges = random_edges(generator, 6, "abcdef", (2, 2, 3))
        shuffled = generator.sample(edges, len(edges))
        found, other = decompose(edges), decompose(shuffled)
        assert (found.width, found.integral_width) == (other.width, other.integral_width)
        assert effort(edges, found.edges) == effort(shuffled, other.edges)
        assert decompose(edges) == found


def test_atoms_inside_of_a_bag() -> None:
    assert inside(edges_of("abx", "ab", "bc", "b", ""), frozenset("abc")) == (1, 2)
    assert inside(edges_of("abx", "aby", "cz"), frozenset("ab")) == (0,)
