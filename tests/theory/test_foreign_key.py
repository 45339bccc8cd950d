"""Foreign-key graphs: the paper's queries by name, and the definitions by brute force."""

from __future__ import annotations

import random
from itertools import permutations

import pytest
from foreign_key_brute import graph_of, natural_join, random_instance
from tpch_joins import JOINS, tpch, tpch_join

from conjunctive import bind
from livejoin.catalog import Catalog
from livejoin.errors import SchemaError
from livejoin.query import ConjunctiveQuery
from livejoin.schema import Column, ForeignKey, SqlType, Table
from livejoin.sql import parse_columns
from livejoin.theory import is_acyclic
from livejoin.theory.keys.digraph import Digraph
from livejoin.theory.keys.foreign_key import (
    ForeignKeyAcyclic,
    ForeignKeyGraph,
    Reference,
    UnkeyedJoin,
    foreign_key_acyclic,
    foreign_key_graph,
    foreign_key_graph_of,
    schema_graph,
)
from strategies import seeds


def edges(graph: ForeignKeyGraph) -> list[tuple[int, int]]:
    return [(edge.parent, edge.child) for edge in graph.references]


def named_edges(query: ConjunctiveQuery) -> set[str]:
    found = foreign_key_graph(query).references
    return {f"{query.atoms[edge.parent].alias} {query.atoms[edge.child].alias}" for edge in found}


def query_of(sql: str, *tables: tuple[str, str]) -> ConjunctiveQuery:
    catalog = Catalog()
    for name, columns in tables:
        catalog.add(parse_columns(name, columns))
    return bind(sql, catalog)


def test_figure_2_the_schema_of_tpch() -> None:
    catalog = tpch()
    names = [table.name for table in catalog]
    graph = schema_graph(catalog)
    assert {names[v]: [names[c] for c in below] for v, below in enumerate(graph.children) if below} == {
        "nation": ["region"],
        "supplier": ["nation"],
        "customer": ["nation"],
        "partsupp": ["supplier", "part"],
        "orders": ["customer"],
        "lineitem": ["supplier", "part", "partsupp", "orders"],
    }
    assert graph.cycle() == ()


def test_figure_3_tpch_q7() -> None:
    assert named_edges(tpch_join("Q7")) == {
        "lineitem supplier",
        "lineitem orders",
        "orders customer",
        "supplier n1",
        "customer n2",
    }


def test_q5_is_foreign_key_acyclic_and_not_alpha_acyclic() -> None:
    query = tpch_join("Q5")
    assert named_edges(query) == {
        "lineitem supplier",
        "lineitem orders",
        "orders customer",
        "supplier nation",
        "customer nation",
        "nation region",
    }
    assert foreign_key_acyclic(foreign_key_graph(query)).holds
    assert not is_acyclic(query.edges)


ROOTS = {"Q2": "partsupp", "Q2b": "partsupp", "Q11": "partsupp", "Q13": "orders", "Q16": "partsupp", "Q22": "orders"}


@pytest.mark.parametrize("name", JOINS)
def test_all_joins_of_tpch_are_foreign_key_acyclic(name: str) -> None:
    query = tpch_join(name)
    graph = foreign_key_graph(query)
    found = foreign_key_acyclic(graph)
    assert found, found
    assert [query.atoms[root].alias for root in found.roots] == [ROOTS.get(name, "lineitem")]
    assert all(edge.declared for edge in graph.references)
    assert is_acyclic(query.edges) == (name != "Q5")


def test_footnote_1_the_part_of_a_line_is_joined_through_the_composite_key() -> None:
    assert named_edges(tpch_join("footnote")) == {"lineitem partsupp", "partsupp part"}
    assert named_edges(tpch_join("Q9")) >= {"lineitem partsupp", "partsupp part", "partsupp supplier"}
    assert "lineitem supplier" not in named_edges(tpch_join("Q9"))


def test_the_lower_bounds_query_of_section_4() -> None:
    assert foreign_key_acyclic(graph_of("xy", "y")).roots == (0,)


def test_figures_4_and_7_are_acyclic() -> None:
    for graph in (graph_of("1", "21", "31", "423"), graph_of("1", "21", "321", "42", "51", "634", "756")):
        found = foreign_key_acyclic(graph)
        assert found == ForeignKeyAcyclic(True, (), (), (len(graph.relations) - 1,))


@pytest.mark.parametrize(
    ("relations", "unkeyed", "cycle", "roots"),
    [
        (["ab", "cb"], [("b", ((0,), (1,)))], (), (0, 1)),
        (["ab", "bc", "dc"], [("c", ((1,), (2,)))], (), (0, 2)),
        (["ab", "bc", "ca"], [], (0, 1, 2), ()),
        (["ab", "ba"], [], (0, 1), ()),
        (["a", "a"], [], (0, 1), ()),
        (["xa", "ab", "bc", "cb"], [], (2, 3), (0,)),
        (["ac", "bc", "c"], [], (), (0, 1)),
        (["ab", "b", "cd", "d"], [], (), (0, 2)),
    ],
)
def test_witnesses(
    relations: list[str], unkeyed: list[tuple[str, object]], cycle: tuple[int, ...], roots: tuple[int, ...]
) -> None:
    found = foreign_key_acyclic(graph_of(*relations))
    assert not found
    assert [(join.variable, join.groups) for join in found.unkeyed] == unkeyed
    assert (found.cycle, found.roots) == (cycle, roots)


def test_a_part_of_a_composite_key_is_no_key() -> None:
    lines = [frozenset("pso"), frozenset("ps")]
    assert edges(foreign_key_graph_of(lines, ["", "ps"])) == [(0, 1)]
    by_part = foreign_key_graph_of([frozenset("po"), frozenset("ps")], ["", "ps"])
    assert foreign_key_acyclic(by_part).unkeyed == (UnkeyedJoin("p", ((0,), (1,))),)


def test_an_attribute_beside_the_key_is_not_joined_by_it() -> None:
    graph = foreign_key_graph_of([frozenset("ab"), frozenset("ab")], ["", "a"])
    assert edges(graph) == [(0, 1)]
    assert foreign_key_acyclic(graph).unkeyed == (UnkeyedJoin("b", ((0,), (1,))),)


def test_a_key_outside_of_its_relation_is_refused() -> None:
    with pytest.raises(SchemaError, match="relation 1 has c in its primary key"):
        foreign_key_graph_of([frozenset("ab"), frozenset("b")], ["", "bc"])


def test_implied_references_go_along_chains_of_composite_keys() -> None:
    relations = [frozenset("abcd"), frozenset("abc"), frozenset("ab"), frozenset("a"), frozenset("d")]
    assert edges(foreign_key_graph_of(relations, ["", "abc", "ab", "a", "d"])) == [(0, 1), (0, 4), (1, 2), (2, 3)]


def test_implied_references_stay_in_cycles() -> None:
    """Relations 0 and 1 reference each other, so that neither joins what both share with 2 in the other's place."""
    graph = foreign_key_graph_of([frozenset("xab"), frozenset("xab"), frozenset("x")], ["xa", "xb", "x"])
    assert edges(graph) == [(0, 1), (0, 2), (1, 0), (1, 2)]
    found = foreign_key_acyclic(graph)
    assert (found.unkeyed, found.cycle) == ((), (0, 1))


@pytest.mark.parametrize(
    ("declared", "found"),
    [
        ([], [(0, 1), (0, 2), (1, 2), (2, 1)]),
        ([(1, 2)], [(0, 1), (1, 2)]),
        ([(2, 1)], [(0, 2), (2, 1)]),
        ([(1, 2), (2, 1)], [(0, 1), (0, 2), (1, 2), (2, 1)]),
    ],
)
def test_declared_foreign_keys_direct_joins_of_equal_keys(
    declared: list[tuple[int, int]], found: list[tuple[int, int]]
) -> None:
    graph = foreign_key_graph_of([frozenset("tx"), frozenset("x"), frozenset("x")], ["t", "x", "x"], declared)
    assert edges(graph) == found
    assert bool(foreign_key_acyclic(graph)) == (len(declared) == 1)
    assert {edge for edge in graph.references if edge.declared} == {Reference(*pair, True) for pair in declared}


def test_equal_keys_that_declarations_leave_apart_stay_a_cycle() -> None:
    three = [frozenset("x")] * 3
    assert foreign_key_acyclic(foreign_key_graph_of(three, "xxx", [(0, 1)])).cycle == (0, 1)
    assert edges(foreign_key_graph_of(three, "xxx", [(0, 1), (0, 2)])) == [(0, 1), (0, 2)]


USERS = [("users", "id INT PRIMARY KEY"), ("profiles", "id INT PRIMARY KEY REFERENCES users, name STRING")]


def test_a_query_finds_its_declarations() -> None:
    query = query_of("SELECT name FROM users JOIN profiles USING (id)", *USERS)
    assert foreign_key_graph(query).references == (Reference(1, 0, True),)
    assert foreign_key_acyclic(foreign_key_graph(query)).roots == (1,)


def test_a_key_that_is_joined_without_a_declaration_is_a_reference_too() -> None:
    query = query_of("SELECT v FROM facts f JOIN users u ON f.who = u.id", *USERS, ("facts", "who INT, v INT"))
    assert foreign_key_graph(query).references == (Reference(0, 1, False),)


def test_only_keys_that_the_query_joins_whole_are_keys() -> None:
    pair = ("pair", "a INT, b INT, c INT, PRIMARY KEY (b, a)")
    fact = ("fact", "x INT, y INT, FOREIGN KEY (y, x) REFERENCES pair (b, a)")
    whole = query_of("SELECT c FROM fact JOIN pair ON a = x AND y = b", pair, fact)
    assert foreign_key_graph(whole).references == (Reference(0, 1, True),)
    crossed = query_of("SELECT c FROM fact JOIN pair ON a = y AND x = b", pair, fact)
    assert foreign_key_graph(crossed).references == (Reference(0, 1, False),)
    part = query_of("SELECT c FROM fact JOIN pair ON a = x", pair, fact)
    assert foreign_key_graph(part).keys == (frozenset(), frozenset())
    assert foreign_key_acyclic(foreign_key_graph(part)).unkeyed == (UnkeyedJoin("x", ((0,), (1,))),)


def test_copies_of_a_table_are_relations_of_their_own() -> None:
    staff = ("staff", "id INT PRIMARY KEY, boss INT REFERENCES staff(id)")
    query = query_of("SELECT c.id FROM staff a, staff b, staff c WHERE a.boss = b.id AND b.boss = c.id", staff)
    assert foreign_key_graph(query).references == (Reference(0, 1, True), Reference(1, 2, True))
    assert foreign_key_acyclic(foreign_key_graph(query))


def test_a_table_that_references_itself_is_a_cycle_of_the_schema() -> None:
    staff = parse_columns("staff", "id INT PRIMARY KEY, boss INT REFERENCES staff(id)")
    assert schema_graph([staff]).cycle() == (0,)


def test_a_schema_graph_needs_all_tables() -> None:
    table = Table("t", (Column("a", SqlType.integer(32)),), foreign_keys=(ForeignKey((0,), "u"),))
    with pytest.raises(SchemaError, match="names a table that is not given"):
        schema_graph([table])


def literally(relations: list[frozenset[str]], keys: list[str]) -> bool:
    """AJU, section 2.2, word by word, for relations with one-attribute keys: by all topological orders."""
    size = range(len(relations))
    shared = {x for i in size for j in size if i != j for x in relations[i] & relations[j]}
    arrows = {(i, j) for i in size for j in size if i != j and keys[j] and keys[j] in relations[i]}
    orders = (dict(zip(order, size, strict=True)) for order in permutations(size))
    return (
        shared <= set(keys)
        and any(all(rank[i] < rank[j] for i, j in arrows) for rank in orders)
        and sum(not any(j == v for _, j in arrows) for v in size) == 1
    )


@pytest.mark.parametrize("seed", seeds(6, 20))
def test_single_keys_against_the_definition(seed: int) -> None:
    generator = random.Random(seed)
    for _ in range(60):
        size = generator.randint(1, 5)
        relations = [frozenset(generator.sample("abcdef", generator.randint(1, 3))) for _ in range(size)]
        keys = [generator.choice([*sorted(r), sorted(r)[0], ""]) for r in relations]
        graph = foreign_key_graph_of(relations, keys)
        assert bool(foreign_key_acyclic(graph)) == literally(relations, keys), (relations, keys)


def test_random_relations_are_of_both_kinds() -> None:
    generator = random.Random(0)
    found = {
        (bool(foreign_key_acyclic(graph)), bool(graph.references))
        for _ in range(300)
        for graph in [random_keyed(generator)]
    }
    assert found == {(True, True), (True, False), (False, True), (False, False)}


def random_keyed(generator: random.Random) -> ForeignKeyGraph:
    """Relations with composite and equal keys, some declared."""
    size = generator.randint(1, 4)
    relations = [frozenset(generator.sample("abcd", generator.randint(1, 3))) for _ in range(size)]
    keys = [generator.sample(sorted(r), generator.randint(0, min(2, len(r)))) for r in relations]
    whole = foreign_key_graph_of(relations, keys)
    declared = [(e.parent, e.child) for e in whole.references if generator.random() < 0.4]
    return foreign_key_graph_of(relations, keys, declared)


@pytest.mark.parametrize("seed", seeds(4, 10))
def test_following_the_references_from_the_root_is_the_natural_join(seed: int) -> None:
    """What makes a foreign-key plan right, composite and equal keys and left-out edges included."""
    generator = random.Random(seed)
    results = 0
    for _ in range(150):
        graph = random_keyed(generator)
        found = foreign_key_acyclic(graph)
        if not found:
            continue
        instance = random_instance(generator, graph, rows=4, values=2)
        followed = []
        for row in instance[found.roots[0]]:
            reached: dict[int, list[dict[str, int]]] = {found.roots[0]: [dict(row)]}
            for vertex in graph.digraph.order:
                for child in graph.digraph.children[vertex]:
                    by_key = (
                        [
                            dict(r)
                            for r in instance[child]
                            if all(r[a] == reached[vertex][0].get(a) for a in graph.keys[child])
                        ]
                        if reached[vertex]
                        else []
                    )
                    assert len(by_key) <= 1
                    old = reached.setdefault(child, by_key)
                    reached[child] = old if old == by_key else []
            if all(reached.values()):
                followed.append({a: v for rows in reached.values() for a, v in rows[0].items()})
        joined = [{a: v for row in rows for a, v in row.items()} for rows in natural_join(instance)]
        assert sorted(map(sorted, map(dict.items, followed))) == sorted(map(sorted, map(dict.items, joined)))
        results += len(joined)
    assert results > 20


def test_digraphs() -> None:
    graph = Digraph.of(6, [(5, 4), (4, 3), (5, 3), (3, 1), (4, 0), (5, 4)])
    assert graph.children == ((), (), (), (1,), (0, 3), (3, 4))
    assert graph.parents == ((4,), (3,), (), (4, 5), (5,), ())
    assert graph.descendants[5] == {0, 1, 3, 4}
    assert (graph.roots, graph.leaves) == ((2, 5), (0, 1, 2))
    assert [graph.order.index(v) for v in (5, 4, 3, 1)] == sorted(graph.order.index(v) for v in (5, 4, 3, 1))
    assert graph.cycle() == ()
    assert Digraph.of(5, [(0, 1), (1, 2), (2, 0), (3, 4), (4, 3), (0, 3)]).cycle() == (3, 4)
    assert Digraph.of(2, [(1, 1)]).cycle() == (1,)
