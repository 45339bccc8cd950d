"""DYN's generalized join trees: laws, simple and compatible ones, and that they represent the query's result."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations, product

import pytest
from brute_trees import connex_subtrees, edges_of, labelled_trees, subsets
from theory_brute_force import random_acyclic_edges, random_edges

from livejoin.errors import UnknownNameError, UnsupportedQueryError
from livejoin.theory.trees.all_trees import all_trees
from livejoin.theory.trees.dyn_tree_laws import dyn_violations, guards, width_one_violations
from livejoin.theory.trees.dyn_trees import Compatible, Simple, check_compatible, check_simple, dyn_tree, simple_tree
from livejoin.theory.trees.join_tree import JoinTree, to_join_tree
from livejoin.theory.trees.shape import Shape
from strategies import seeds

Edges = list[frozenset[str]]
Row = tuple[int, ...]


def atom(edges: Edges, position: int, *children: Shape) -> Shape:
    return Shape(edges[position], position, children)


def hyperedge(variables: str, *children: Shape) -> Shape:
    return Shape(frozenset(variables), None, children)


# Example 4.24's query R(x, y, z) |><| S(x, y, u) |><| T(y, v, w) |><| U(y, v, p), the query of figure 2.
Q = edges_of("xyz", "xyu", "yvw", "yvp")
R, S, T, U = (atom(Q, position) for position in range(4))
# Figure 2 is a picture: T3 is known from examples 4.3 to 4.13; the others have the properties that the text states.
T1 = to_join_tree(atom(Q, 0, S, atom(Q, 2, U)))
T2 = to_join_tree(atom(Q, 0, S, hyperedge("yv", T, U)))
T3 = to_join_tree(hyperedge("y", hyperedge("xyz", R, S), hyperedge("yv", T, U)))
T4 = to_join_tree(hyperedge("y", hyperedge("xy", R, S), hyperedge("yv", T, U)))


def test_figure_2_all_four_are_width_one_decompositions() -> None:
    for tree in (T1, T2, T3, T4):
        assert width_one_violations(tree, Q) == []


def test_figure_2_trees_with_inner_atoms_are_no_generalized_join_trees() -> None:
    assert dyn_violations(T1, Q) == [
        "leaf: node 0 is atom 0 and has children",
        "leaf: node 2 is atom 2 and has children",
    ]
    assert dyn_violations(T2, Q) == ["leaf: node 0 is atom 0 and has children"]


def test_figure_2_t3_and_t4_are_generalized_join_trees_and_t4_is_simple() -> None:
    assert dyn_violations(T3, Q) == []
    assert dyn_violations(T4, Q) == []
    assert check_simple(T3) == Simple(False, child=3, missing=("z",))
    assert check_simple(T4) == Simple(True)


def test_figure_2_guards_of_t3() -> None:
    """Section 3.1: pvar(S) is {x, y} in T3; R guards [x, y, z] and S does not."""
    assert guards(T3, 1) == (2,)
    assert T3.nodes[3].key == ("x", "y")
    assert guards(T3, 0) == (1, 4)


def test_definition_4_17_connex_subsets_of_t3() -> None:
    """[y], [x, y, z], [y, v] are a connex subset; [y] and S alone are none, so ``pi_xyu Q`` needs another tree."""
    assert check_compatible(T3, frozenset("xyzv")).connex == {0, 1, 4}
    assert check_compatible(T3, frozenset("xyu")) == Compatible(False, node=1, bound=("z",), output=("u", "x"))


def test_example_4_24_hierarchical_heads() -> None:
    """Q and ``pi_xy Q`` have simple compatible trees; ``pi_u Q`` has none, for y is not in its head."""
    assert str(simple_tree(Q)) == "[y]{[x, y]{0, 1}, [v, y]{2, 3}}" == str(dyn_tree(T4))
    tree = simple_tree(Q, frozenset("xy"))
    assert check_simple(tree)
    assert check_compatible(tree, frozenset("xy")) == Compatible(True, frozenset({0, 1}))
    with pytest.raises(UnsupportedQueryError, match=r"variables u and (x|y) in atoms"):
        simple_tree(Q, frozenset("u"))


def test_proposition_4_27_simple_trees_need_partial_hyperedges() -> None:
    """Over atoms and full hyperedges alone nothing is simple; with the partial ones [y], [x, y], [y, v] T4 is."""
    full = [frozenset(edge) for edge in Q]
    for size in range(len(full) + 1):
        for chosen in combinations(full, size):
            assert list(simple_trees(Q, list(chosen))) == []
    partial = edges_of("y", "xy", "yv")
    assert str(T4) in [str(tree) for tree in simple_trees(Q, partial)]


def simple_trees(edges: Edges, hyperedges: Edges) -> Iterator[JoinTree]:
    """All simple width-one decompositions with these hyperedges: each node may stand below those that it contains."""
    variables = [*edges, *hyperedges]
    atoms = len(edges)
    options: list[list[int | None]] = [
        [None, *(p for p, above in enumerate(variables) if p != n and above <= edge)]
        for n, edge in enumerate(variables)
    ]
    for parents in product(*options):
        if parents.count(None) == 1:

            def shape(node: int, parents: tuple[int | None, ...] = parents) -> Shape:
                children = tuple(shape(c) for c, parent in enumerate(parents) if parent == node)
                return Shape(variables[node], node if node < atoms else None, children)

            tree = to_join_tree(shape(parents.index(None)))
            if len(tree.nodes) == len(variables) and not width_one_violations(tree, edges):
                assert check_simple(tree)
                yield tree


AB_BC = edges_of("ab", "bc")
AB, BC = atom(AB_BC, 0), atom(AB_BC, 1)


@pytest.mark.parametrize(
    ("shape", "law"),
    [
        (hyperedge("b", AB), "cover: the tree has atoms"),
        (hyperedge("b", AB, Shape(frozenset("b"), 1)), "cover: node 2 is atom 1"),
        (hyperedge("abc", AB, BC), "hyperedge: no atom has all"),
        (hyperedge("b", AB, hyperedge("b", BC)), "hyperedge: nodes 0 and 2"),
        (hyperedge("", AB, BC), "connect: b has tops 1 and 2"),
        (atom(AB_BC, 0, BC), "leaf: node 0 is atom 0"),
        (hyperedge("b", AB, BC, hyperedge("c")), "leaf: leaf 3"),
        (hyperedge("ab", hyperedge("b", AB, BC)), "guard: no child of hyperedge 0"),
    ],
)
def test_each_law_is_checked(shape: Shape, law: str) -> None:
    assert any(message.startswith(law) for message in dyn_violations(to_join_tree(shape), AB_BC))


def test_the_bookkeeping_of_a_tree_is_checked() -> None:
    tree = to_join_tree(hyperedge("b", AB, BC))
    for position, change in [
        (1, {"key": ()}),
        (1, {"parent": 2}),
        (1, {"parent": None}),
        (0, {"children": (1,)}),
        (0, {"parent": 0}),
    ]:
        nodes = list(tree.nodes)
        nodes[position] = replace(nodes[position], **change)
        assert any(m.startswith("form") for m in dyn_violations(replace(tree, nodes=tuple(nodes)), AB_BC)), change


def check_dyn_tree(tree: JoinTree, edges: Edges, free: frozenset[str]) -> JoinTree:
    found = dyn_tree(tree, free)
    assert dyn_violations(found, edges) == [], (edges, str(tree), str(found))
    compatible = check_compatible(found, free)
    assert compatible, (edges, free, str(tree), str(found), compatible)
    assert {v for node in compatible.connex for v in found.nodes[node].variables} == free
    assert all(node == 0 or found.nodes[node].parent in compatible.connex for node in compatible.connex)
    assert 0 in compatible.connex
    if free != frozenset[str]().union(*edges):
        assert found.connex == compatible.connex
    if tree.height == 1:
        assert check_simple(found)
    return found


@pytest.mark.parametrize("seed", seeds(6, 20))
def test_every_free_connex_tree_becomes_a_compatible_one(seed: int) -> None:
    """All valid trees of small queries, redundant generalized relations included, under all heads."""
    generator = random.Random(seed)
    edges = random_edges(generator, atoms=generator.randint(1, 3), variables="abc", widths=(0, 1, 1, 2, 2, 3))
    for tree in [tree for k in range(3) for tree in labelled_trees(edges, k).values()]:
        for free in subsets(frozenset[str]().union(*edges)):
            if connex_subtrees(tree, edges, free):
                check_dyn_tree(tree, edges, free)
            else:
                with pytest.raises(UnsupportedQueryError, match="does not keep the output"):
                    dyn_tree(tree, free)


@pytest.mark.parametrize("seed", seeds(6, 20))
def test_trees_of_larger_queries(seed: int) -> None:
    generator = random.Random(seed)
    for _ in range(10):
        edges = random_acyclic_edges(generator, atoms=generator.randint(4, 9))
        free = frozenset(v for edge in edges for v in edge if generator.random() < 0.7)
        for tree in all_trees(edges, free, limit=15):
            check_dyn_tree(tree, edges, free)


def is_q_hierarchical(edges: Edges, free: frozenset[str]) -> bool:
    """DYN, definition 4.23."""
    at = {v: {n for n, edge in enumerate(edges) if v in edge} for edge in edges for v in edge}
    return all(
        (at[x] <= at[y] or at[y] <= at[x] or not at[x] & at[y]) and not (x in free and at[x] < at[y] and y not in free)
        for x in at
        for y in at
    )


@pytest.mark.parametrize("seed", seeds(6, 20))
def test_proposition_4_25_q_hierarchical_queries_have_simple_compatible_trees(seed: int) -> None:
    generator = random.Random(seed)
    for _ in range(100):
        edges = random_edges(generator, atoms=generator.randint(1, 5))
        variables = sorted(frozenset[str]().union(*edges))
        free = frozenset(generator.sample(variables, generator.randint(0, len(variables))))
        if is_q_hierarchical(edges, free):
            tree = simple_tree(edges, free)
            assert dyn_violations(tree, edges) == []
            assert check_simple(tree)
            assert check_compatible(tree, free)
        else:
            with pytest.raises(UnsupportedQueryError, match="not q-hierarchical"):
                simple_tree(edges, free)


@pytest.mark.parametrize("seed", seeds(6, 20))
def test_proposition_4_26_no_other_query_has_one(seed: int) -> None:
    """All simple trees over up to three hyperedges, under all heads."""
    generator = random.Random(seed)
    edges = random_edges(generator, atoms=generator.randint(2, 3), variables="abc", widths=(1, 2, 2, 3))
    hyperedges = sorted({part for edge in edges for part in subsets(edge)}, key=sorted)
    for size in range(4):
        for chosen in combinations(hyperedges, size):
            for tree in simple_trees(edges, list(chosen)):
                for free in subsets(frozenset[str]().union(*edges)):
                    if not is_q_hierarchical(edges, free):
                        assert not check_compatible(tree, free), (edges, free, str(tree))


def test_a_query_without_simple_tree_says_why() -> None:
    with pytest.raises(UnsupportedQueryError, match="variables b and c in atoms 0, 1, 2: their atoms overlap"):
        simple_tree(edges_of("ab", "bc", "cd"))
    with pytest.raises(UnsupportedQueryError, match="all atoms with a have b, others have it too, and a is output"):
        simple_tree(edges_of("ab", "b"), frozenset("a"))


def test_unknown_output_variables_are_refused() -> None:
    for call in (lambda f: dyn_tree(T4, f), lambda f: check_compatible(T4, f), lambda f: simple_tree(Q, f)):
        with pytest.raises(UnknownNameError):
            call(frozenset("q"))


def test_single_atoms() -> None:
    tree = next(all_trees(edges_of("ab")))
    assert str(dyn_tree(tree)) == "0"
    assert str(dyn_tree(tree, frozenset("a"))) == "[a]{0}"
    assert str(dyn_tree(tree, frozenset())) == "[]{0}"


def join(edges: Edges, database: list[Counter[Row]], free: frozenset[str]) -> Counter[Row]:
    """``pi_free`` of the join of the atoms' multisets, by the definition."""
    result: Counter[Row] = Counter()
    for rows in product(*database):
        binding: dict[str, int] = {}
        count = 1
        for edge, relation, row in zip(edges, database, rows, strict=True):
            count *= relation[row]
            count *= all(binding.setdefault(v, value) == value for v, value in zip(sorted(edge), row, strict=True))
        if count:
            result[tuple(binding[v] for v in sorted(free))] += count
    return result


class Representation:
    """The queries of DYN's definition 4.6 for each node, computed from scratch; rows in the order of the variables."""

    def __init__(self, tree: JoinTree, database: list[Counter[Row]]) -> None:
        self.tree = tree
        self.live: list[Counter[Row]] = [Counter() for _ in tree.nodes]
        self.projected: list[Counter[Row]] = [Counter() for _ in tree.nodes]
        for n in reversed(range(len(tree.nodes))):
            node = tree.nodes[n]
            self.live[n] = database[node.atom] if node.atom is not None else self._hyperedge(n)
            for row, count in self.live[n].items():
                self.projected[n][self.restrict(n, row, node.key)] += count

    def _hyperedge(self, n: int) -> Counter[Row]:
        guard, *_ = guards(self.tree, n)
        candidates = self.projected[guard]
        return Counter({row: count for row in candidates if (count := self._product(n, row))})

    def _product(self, n: int, row: Row) -> int:
        count = 1
        for child in self.tree.nodes[n].children:
            count *= self.projected[child][self.restrict(n, row, self.tree.nodes[child].key)]
        return count

    def restrict(self, n: int, row: Row, key: tuple[str, ...]) -> Row:
        return tuple(row[self.tree.nodes[n].variables.index(v)] for v in key)

    def enumerate(self, connex: frozenset[int], free: frozenset[str]) -> Counter[Row]:
        """Algorithm 3: a nested loop over the nodes in preorder; every binding has to come once."""
        order = sorted(connex)
        nodes = self.tree.nodes
        result: Counter[Row] = Counter()

        def step(depth: int, rows: dict[int, Row], count: int) -> None:
            if depth == len(order):
                binding = {v: x for n, row in rows.items() for v, x in zip(nodes[n].variables, row, strict=True)}
                out = tuple(binding[v] for v in sorted(free))
                assert out not in result, "a row came twice"
                result[out] = count
                return
            n = order[depth]
            parent = nodes[n].parent
            wanted = () if parent is None else self.restrict(parent, rows[parent], nodes[n].key)
            matches = [row for row in self.live[n] if self.restrict(n, row, nodes[n].key) == wanted]
            assert matches, "a dead end"
            for row in matches:
                step(depth + 1, {**rows, n: row}, count * self._factor(n, row, connex))

        if self.live[0]:
            step(0, {}, 1)
        return result

    def _factor(self, n: int, row: Row, connex: frozenset[int]) -> int:
        """A leaf of the connex subset counts with all that is below it, an inner node with its children outside."""
        children = self.tree.nodes[n].children
        if connex.isdisjoint(children):
            return self.live[n][row]
        count = 1
        for child in children:
            if child not in connex:
                count *= self.projected[child][self.restrict(n, row, self.tree.nodes[child].key)]
        return count


@pytest.mark.parametrize("seed", seeds(10, 30))
def test_proposition_4_18_a_compatible_tree_represents_the_result(seed: int) -> None:
    """Constant delay (no dead end, no row twice) and multiplicities, for every tree's T-representation."""
    generator = random.Random(seed)
    for _ in range(4):
        edges = random_acyclic_edges(generator, atoms=generator.randint(1, 4))
        free = frozenset(v for edge in edges for v in edge if generator.random() < 0.7)
        database = [
            Counter(tuple(generator.randint(0, 2) for _ in edge) for _ in range(generator.randint(1, 6)))
            for edge in edges
        ]
        expected = join(edges, database, free)
        for tree in all_trees(edges, free, limit=10):
            found = dyn_tree(tree, free)
            connex = check_compatible(found, free).connex
            assert Representation(found, database).enumerate(connex, free) == expected, (edges, free, str(found))
