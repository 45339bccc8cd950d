"""Hypertree decompositions: known ones, brute force over bags and over partitions, their laws, and data."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import combinations, product

import pytest
from theory_brute_force import partitions, random_edges

from livejoin.errors import UnknownNameError
from livejoin.theory import bag_search
from livejoin.theory.bag_search import BagSearch, inside
from livejoin.theory.decomposition import Bag, Decomposition, decompose
from livejoin.theory.decomposition_laws import violations
from livejoin.theory.edge_cover import fractional_edge_cover, integral_edge_cover
from livejoin.theory.gyo import is_acyclic
from livejoin.theory.hypergraph import Hypergraph
from livejoin.theory.join_tree import least_height_tree

Edges = Sequence[frozenset[str]]
Rows = Counter[tuple[int, ...]]

DUMBBELL = ["ab", "ac", "bc", "ef", "de", "df", "cd"]  # CROWN, figure 5: R1 to R7 with a to f for x1 to x6


def edges_of(*names: str) -> list[frozenset[str]]:
    return [frozenset(name) for name in names]


def cycle_of(length: int) -> list[frozenset[str]]:
    names = "abcdefghijklmnop"[:length]
    return [frozenset((names[i], names[(i + 1) % length])) for i in range(length)]


def clique_of(size: int) -> list[frozenset[str]]:
    return [frozenset(pair) for pair in combinations("abcdef"[:size], 2)]


def free_of(names: str | None) -> frozenset[str] | None:
    return None if names is None else frozenset(names)


def described(found: Decomposition) -> list[str]:
    """Each bag as its variables, the atoms that it joins and those that filter it."""
    return [
        f"{''.join(sorted(bag.variables))} {','.join(map(str, bag.atoms))}"
        + (f"/{','.join(map(str, bag.filters))}" if bag.filters else "")
        for bag in found.bags
    ]


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
        pytest.param(["ab", "bc", "cd"], None, "1", 1, ["ab 0", "bc 1", "cd 2"], id="path"),
        pytest.param(["", "a", ""], None, "1", 1, [" 0", "a 1", " 2"], id="atoms without variables"),
        pytest.param([""], None, "0", 0, [" 0"], id="nothing but an atom without variables"),
        pytest.param(["ab", "bc", "ca", "xy", "yz"], "", "3/2", 2, ["abc 0,1,2", "xy 3", "yz 4"], id="disconnected"),
    ],
)
def test_known_decompositions(names: list[str], free: str | None, width: str, integral: int, bags: list[str]) -> None:
    edges = [frozenset(name) for name in names]
    found = decompose(edges, free_of(free))
    assert violations(found, edges, free_of(free)) == []
    assert (found.width, found.integral_width, found.complete) == (Fraction(width), integral, True)
    assert described(found) == bags


@pytest.mark.parametrize("length", range(4, 13))
def test_cycles_have_width_two(length: int) -> None:
    found = decompose(cycle_of(length))
    assert violations(found, cycle_of(length)) == []
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


@cache
def acyclic_families(variables: str) -> tuple[tuple[frozenset[str], ...], ...]:
    """All acyclic sets of bags over some variables of which none is in another one."""
    subsets = [frozenset(c) for size in range(1, len(variables) + 1) for c in combinations(variables, size)]

    def grow(chosen: tuple[frozenset[str], ...], start: int) -> Iterator[tuple[frozenset[str], ...]]:
        yield chosen
        for index in range(start, len(subsets)):
            if not any(bag <= subsets[index] for bag in chosen):
                yield from grow((*chosen, subsets[index]), index + 1)

    return tuple(family for family in grow((), 0) if is_acyclic(family))


def least_widths(edges: Edges, free: frozenset[str]) -> tuple[Fraction, int]:
    """By the definition: the least widths over all sets of bags that hold the atoms and are free-connex."""

    @cache
    def widths(bag: frozenset[str]) -> tuple[Fraction, int]:
        return fractional_edge_cover(edges, bag).number, integral_edge_cover(edges, bag).number

    best: tuple[Fraction, int] | None = None
    for family in acyclic_families("".join(sorted(frozenset[str]().union(*edges)))):
        if all(any(edge <= bag for bag in family) for edge in edges if edge):
            fractional = max((widths(bag)[0] for bag in family), default=Fraction(0))
            integral = max((widths(bag)[1] for bag in family), default=0)
            if (best is None or (fractional, integral) < best) and is_acyclic([*family, free]):
                best = fractional, integral
    assert best is not None
    return best


@pytest.mark.parametrize("variables", ["abcd", "abcde"])
def test_no_set_of_bags_has_smaller_widths(variables: str) -> None:
    generator = random.Random(variables)
    seen = Counter[Fraction]()
    for _ in range(250 if variables == "abcd" else 150):
        edges = random_edges(generator, generator.randint(2, 7), variables, (1, 2, 2, 2, 3, 3))
        everything = sorted(frozenset[str]().union(*edges))
        free = frozenset(generator.sample(everything, generator.randint(0, len(everything))))
        for output in (free, frozenset(everything)):
            found = decompose(edges, output)
            assert violations(found, edges, output) == []
            assert found.complete
            assert (found.width, found.integral_width) == least_widths(edges, output)
            seen[found.width] += 1
    assert len(seen) >= 4


def effort(edges: Edges, bags: Sequence[frozenset[str]]) -> tuple[int, int]:
    """Cartesian products inside of bags, and pairs of atoms that meet in one."""
    products = pairs = 0
    for bag in bags:
        if not any(bag <= edge for edge in edges) and not any(bag < other for other in bags):
            parts = {edge & bag for edge in edges if edge & bag}
            largest = [part for part in parts if not any(part < other for other in parts)]
            products += len(Hypergraph(tuple(largest)).components()) - 1
            pairs += len(largest) * (len(largest) - 1) // 2
    return products, pairs


def is_connected(edges: Edges) -> bool:
    return len(Hypergraph(tuple(edges)).components()) == 1


def test_no_partition_of_the_atoms_is_better() -> None:
    """Each part of a partition as a bag of its atoms' variables: no smaller width, and no less effort if connected.

    For some queries every partition is wider: parts of atoms are needed as filters.
    """
    generator = random.Random(32)
    seen = Counter[str]()
    for _ in range(200):
        edges = random_edges(generator, generator.choice((4, 5, 5, 6)), "abcdef", (2, 2, 2, 3))
        variables = sorted(frozenset[str]().union(*edges))
        free = frozenset(variables if generator.random() < 0.6 else generator.sample(variables, 2))
        found = decompose(edges, free)
        mine = (found.width, found.integral_width)
        covers = cache(lambda bag, edges=edges: fractional_edge_cover(edges, bag).number)
        least = None
        for blocks in partitions(tuple(range(len(edges)))):
            bags = list(dict.fromkeys(frozenset[str]().union(*(edges[atom] for atom in block)) for block in blocks))
            if not is_acyclic(bags) or not is_acyclic([*bags, free]):
                continue
            width = max(map(covers, bags)), max(integral_edge_cover(edges, bag).number for bag in bags)
            least = width if least is None else min(least, width)
            if width == mine and all(is_connected([edges[atom] for atom in block]) for block in blocks):
                assert effort(edges, found.edges) <= effort(edges, bags)
        assert least is not None
        assert mine <= least
        seen["cyclic" if found.width > 1 else "free-connex"] += 1
        seen["wider"] += mine < least
    assert seen["cyclic"] > 80
    assert seen["wider"] > 2


def test_a_cycle_of_seven_needs_a_cartesian_product() -> None:
    """Connected arcs of a 7-cycle have width 3; a filter carries a variable through a bag of width 2."""
    found = decompose(cycle_of(7))
    assert described(found) == ["abcd 0,1,2", "ade 3/0", "aefg 4,5,6"]


def rows_of(bag: Bag, edges: Edges, tables: Sequence[Rows], domain: int) -> dict[tuple[int, ...], int]:
    """A bag's relation by its definition: rows over its sorted variables with their multiplicities."""
    order = sorted(bag.variables)
    found = {}
    for row in product(range(domain), repeat=len(order)):
        value = dict(zip(order, row, strict=True))
        count = 1
        for atom in bag.atoms:
            count *= tables[atom][tuple(value[v] for v in sorted(edges[atom]))]
        for atom in bag.filters:
            shared = [(i, v) for i, v in enumerate(sorted(edges[atom])) if v in value]
            count *= any(all(kept[i] == value[v] for i, v in shared) for kept in tables[atom])
        if count:
            found[row] = count
    return found


def test_the_join_of_the_bags_is_the_join_of_the_atoms() -> None:
    generator = random.Random(33)
    results = 0
    for _ in range(250):
        edges = random_edges(generator, generator.randint(2, 6), "abcde", (0, 1, 2, 2, 2, 3))
        variables = sorted(frozenset[str]().union(*edges))
        free = frozenset(generator.sample(variables, generator.randint(0, len(variables))))
        found = decompose(edges, free)
        tables = [
            Counter(tuple(generator.randint(0, 1) for _ in edge) for _ in range(generator.randint(1, 6)))
            for edge in edges
        ]
        bags = [rows_of(bag, edges, tables, 2) for bag in found.bags]
        for bag, rows in zip(found.bags, bags, strict=True):
            assert len(rows) <= bag.size_bound(edges, [len(table) for table in tables]).rows + 1e-6
        for row in product(range(2), repeat=len(variables)):
            value = dict(zip(variables, row, strict=True))
            expected = actual = 1
            for edge, table in zip(edges, tables, strict=True):
                expected *= table[tuple(value[v] for v in sorted(edge))]
            for bag, rows in zip(found.bags, bags, strict=True):
                actual *= rows.get(tuple(value[v] for v in sorted(bag.variables)), 0)
            assert actual == expected
            results += expected > 0
    assert results > 500


def test_a_small_budget_is_told_and_stays_valid() -> None:
    generator = random.Random(34)
    wider = 0
    for _ in range(100):
        edges = random_edges(generator, generator.randint(4, 7), "abcdefg", (2, 2, 3))
        exact, greedy = decompose(edges), decompose(edges, budget=1)
        assert violations(greedy, edges) == []
        assert greedy.complete == (greedy.width == 1)
        assert (greedy.width, greedy.integral_width) >= (exact.width, exact.integral_width)
        wider += greedy.width > exact.width
    assert wider < 30
    large = [*cycle_of(16), *edges_of("ai", "em", "co")]
    found = decompose(large)
    assert violations(found, large) == []
    assert not found.complete
    assert found.width <= 4


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


def broken(found: Decomposition, position: int, **changes: object) -> Decomposition:
    bags = list(found.bags)
    bags[position] = replace(bags[position], **changes)  # type: ignore[arg-type]
    return replace(found, bags=tuple(bags))


def test_every_law_can_be_broken() -> None:
    edges = edges_of("ab", "bc", "ca", "bd", "dc")
    found = decompose(edges)
    assert described(found) == ["abc 0,1,2", "bcd 3,4/1"]
    one = Fraction(1)
    cases = [
        (broken(found, 0, atoms=(0, 2)), "once: atom 1 is joined in 0 bags"),
        (broken(found, 1, atoms=(1, 3, 4), filters=()), "once: atom 1 is joined in 2 bags"),
        (broken(found, 1, atoms=(3, 4, 5)), "once: there is no atom 5"),
        (broken(found, 0, variables=frozenset("ab")), "inside: bag 0 joins atom 1"),
        (broken(found, 1, filters=(3,)), "filter: bag 1 cannot be filtered by atom 3"),
        (broken(found, 1, filters=()), "cover: bag 1 is covered by atoms that it does not have"),
        (broken(found, 0, cover=((0, one),)), "cover: bag 0 has c not covered by its fractional cover"),
        (broken(found, 0, integral_cover=(0,)), "cover: bag 0 has c not covered by its integral cover"),
        (broken(found, 0, cover=((0, one), (1, one), (2, -one))), "cover: bag 0 has a weight that is not positive"),
        (broken(found, 0, cover=((0, one), (1, one))), "cover: bag 0 has the fractional width 2, the least is 3/2"),
        (broken(found, 0, integral_cover=(0, 1, 2)), "cover: bag 0 has the integral width 3, the least is 2"),
        (replace(found, width=one), "width: the fractional width is 1"),
        (replace(found, integral_width=1), "width: the integral width is 1"),
        (replace(found, tree=least_height_tree(edges_of("abc", "bc"))), "tree: cover"),
    ]
    for decomposition, message in cases:
        assert any(text.startswith(message) for text in violations(decomposition, edges)), message
    assert any(text.startswith("tree: connex") for text in violations(found, edges, frozenset("ad")))
