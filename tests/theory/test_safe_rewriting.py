"""Safe rewritings: the construction, the checker against the definition, and what the properties promise, on data."""

from __future__ import annotations

import random
from collections import Counter
from itertools import chain, combinations

import pytest
from static_dynamic_brute import (
    Query,
    Relation,
    all_rows,
    enumerate_rewriting,
    evaluate,
    materialise,
    query,
    random_database,
    random_well_structured,
)
from static_dynamic_queries import GUARDED_TRIANGLE, Q1_LIKE, Q2, Q3, TRIANGLE

from livejoin.theory.static.least_width_order import least_width_order
from livejoin.theory.static.safe_rewriting import enumeration_views, rewriting_violations
from livejoin.theory.static.static_parts import construct_order
from livejoin.theory.static.view_tree import Rewriting, View, rewrite
from strategies import seeds


def rewriting_of(query: Query) -> Rewriting:
    return rewrite(construct_order(query.edges, query.free, query.dynamic), query.edges, query.free)


def broken(rewriting: Rewriting, query: Query) -> list[str]:
    return rewriting_violations(rewriting, query.edges, query.free, query.dynamic)


def names(texts: list[str]) -> set[str]:
    return {text.split(":")[0] for text in texts}


def leaf(query: Query, atom: int) -> View:
    return View(query.edges[atom], atom)


def joined(*children: View) -> View:
    return View(frozenset().union(*(child.variables for child in children)), None, children)


def projected(variables: str, child: View) -> View:
    return View(frozenset(variables), None, (child,))


def test_example_31() -> None:
    found = rewriting_of(Q2)
    assert str(found) == "(b){1, (b){(a, b){0, (a){(a, d){(a, c, d){2, 3}}}}}}"
    assert broken(found, Q2) == []
    views = [sorted(view.variables) for view in enumeration_views(found.trees[0], Q2.free)]
    assert views == [["b"], ["b"], ["b"], ["a", "b"], ["a", "b"], ["a"], ["a", "d"]]


def test_example_17_first_rewriting() -> None:
    """The root has the bound variable; a dynamic view stands beside one with more variables."""
    dynamic = joined(leaf(Q2, 0), leaf(Q2, 1))
    static = joined(leaf(Q2, 2), leaf(Q2, 3))
    assert broken(Rewriting((joined(dynamic, static),)), Q2) == [
        "update: dynamic (a, b) stands beside (a, c, d), which also has c, d",
        "update: dynamic 1(b) stands beside 0(a, b), which also has a",
        "enumeration: the root (a, b, c, d) has the bound variables c",
    ]


def test_example_17_second_rewriting() -> None:
    """The root is the result; both dynamic atoms stand beside a view with more variables."""
    root = joined(leaf(Q2, 0), leaf(Q2, 1), projected("ad", joined(leaf(Q2, 2), leaf(Q2, 3))))
    assert broken(Rewriting((root,)), Q2) == [
        "update: dynamic 0(a, b) stands beside (a, d), which also has d",
        "update: dynamic 1(b) stands beside 0(a, b), which also has a",
        "update: dynamic 1(b) stands beside (a, d), which also has a, d",
    ]


def test_section_1_q3_has_no_safe_rewriting() -> None:
    """Example 6: whichever two relations are joined first, a change may reach many rows."""
    a, b, ab = (leaf(Q3, atom) for atom in range(3))
    for root in (joined(a, b, ab), joined(joined(a, ab), b), joined(joined(b, ab), a), joined(joined(a, b), ab)):
        assert names(broken(Rewriting((root,)), Q3)) == {"update"}


@pytest.mark.parametrize(
    ("query", "text"),
    [
        (Q1_LIKE, "(b){1, (b){(a, b){0, (a){(a, c){2, (c){3}}}}}}"),
        (TRIANGLE, "(a){(a, b){0, (a, b){(a, b, c){1, 2}}}}"),
        (GUARDED_TRIANGLE, "(a){(a, b){1, (a, b){(a, b, c){0, 2, 3}}}}"),
        (query("", ["a"]), "(){0}"),
        (query("a", ["ab"]), "(a){0}"),
        (query("ab", ["ab"]), "(a){0}"),
        (query("a", ["a", "", "b"]), "1, 0, (){2}"),
    ],
)
def test_small_rewritings(query: Query, text: str) -> None:
    assert str(rewriting_of(query)) == text
    assert broken(rewriting_of(query), query) == []


def test_malformed_trees_are_noticed() -> None:
    small = query("ab", ["ab"], ["b"])
    ab, b = leaf(small, 0), leaf(small, 1)
    assert broken(Rewriting((joined(ab, b),)), small) == []
    for tree, text in [
        (ab, "form: the trees have atoms [0], the query has 2, each once"),
        (joined(ab, b, b), "form: the trees have atoms [0, 1, 1], the query has 2, each once"),
        (joined(ab, View(frozenset("a"), 1)), "form: 1(a) is no leaf with the variables of its atom"),
        (joined(ab, View(frozenset("b"), 1, (View(frozenset()),))), "form: 1(b) is no leaf with the variables of its"),
        (joined(ab, b, View(frozenset("a"))), "form: (a) is a leaf and no atom"),
        (projected("abc", joined(ab, b)), "form: (a, b, c) is a projection of (a, b), which has not all its variables"),
        (View(frozenset("a"), None, (ab, b)), "form: (a) is a join of views with variables a, b"),
    ]:
        assert any(found.startswith(text) for found in broken(Rewriting((tree,)), small)), text


def test_every_property_is_noticed() -> None:
    small = query("a", ["ab"], ["bc"])
    ab, bc = leaf(small, 0), leaf(small, 1)
    assert names(broken(Rewriting((projected("a", joined(ab, projected("b", bc))),)), small)) == set()
    assert broken(Rewriting((projected("a", ab), projected("", bc))), small) == [
        "correctness (1): no tree has all of the connected atoms 0, 1",
        "correctness (2): (a) removes b, which is also in atoms 1",
        "correctness (2): () removes b, which is also in atoms 0",
    ]
    assert names(broken(Rewriting((projected("a", joined(ab, bc)),)), small)) == {"update"}
    assert broken(Rewriting((projected("", joined(ab, projected("b", bc))),)), small) == [
        "enumeration: a cannot be reached from the root ()"
    ]


@pytest.mark.parametrize("seed", seeds(6, 20))
def test_the_construction_is_safe_and_computes_the_query(seed: int) -> None:
    """Propositions 32 and 16: all properties; the result without a dead end; views of at most N^w rows."""
    generator = random.Random(seed)
    for _ in range(12):
        query = random_well_structured(generator)
        best = least_width_order(query.edges, query.free, query.dynamic)
        for rewriting in (rewriting_of(query), rewrite(best.order, query.edges, query.free)):
            assert broken(rewriting, query) == [], query
            database = random_database(generator, query.edges, values=2)
            found = Counter(enumerate_rewriting(rewriting, query, database))
            assert found == Counter(evaluate(query, database)), query
        size = max(map(len, database))
        for tree in rewriting.trees:
            for view, rows in materialise(tree, database).items():
                assert len(rows) <= size ** float(best.width) + 1e-9, (query, view)


@pytest.mark.parametrize("seed", seeds(4, 10))
def test_a_change_of_a_dynamic_relation_changes_one_row_of_a_view(seed: int) -> None:
    generator = random.Random(seed)
    for _ in range(15):
        query = random_well_structured(generator)
        database = random_database(generator, query.edges, values=2)
        for atom in query.dynamic:
            changed = list(database)
            changed[atom] = database[atom] ^ {generator.choice(all_rows(query.edges[atom], 2))}
            assert largest_change(rewriting_of(query), database, changed) <= 1, query


@pytest.mark.parametrize("seed", seeds(6, 20))
def test_the_checker_is_the_definition_and_the_properties_keep_their_promises(seed: int) -> None:
    """On random rewritings, safe and unsafe, against the definition read literally and against data."""
    generator = random.Random(seed)
    seen: Counter[str] = Counter()
    for _ in range(40):
        query = random_well_structured(generator, parts=2, size=4)
        rewriting = rewriting_of(query)
        for _ in range(generator.randint(1, 3)):
            rewriting = mutated(generator, rewriting, query)
        found = names(broken(rewriting, query))
        assert found == literally_broken(rewriting, query), (query, str(rewriting))
        assert ("update" not in found) == changes_stay_single(rewriting, query), (query, str(rewriting))
        if found <= {"update"}:
            database = random_database(generator, query.edges, values=2)
            rows = Counter(enumerate_rewriting(rewriting, query, database))
            assert rows == Counter(evaluate(query, database)), (query, str(rewriting))
        seen.update(found or {"safe"})
    assert len(seen) >= 4, seen


def largest_change(rewriting: Rewriting, before: list[Relation], after: list[Relation]) -> int:
    changes = [0]
    for tree in rewriting.trees:
        old, new = materialise(tree, before), materialise(tree, after)
        changes += [len(old[view] ^ new[view]) for view in old]
    return max(changes)


def changes_stay_single(rewriting: Rewriting, query: Query) -> bool:
    """Whether a first row of any dynamic atom changes no view by two rows, where all other atoms have all rows.

    If a dynamic view stands beside one with another variable, then the join of both gets a row for each value of it.
    """
    full = [frozenset(all_rows(edge, 2)) for edge in query.edges]
    for atom in query.dynamic:
        before, after = list(full), list(full)
        before[atom] = frozenset()
        after[atom] = frozenset(all_rows(query.edges[atom], 2)[:1])
        if largest_change(rewriting, before, after) > 1:
            return False
    return True


def literally_broken(rewriting: Rewriting, query: Query) -> set[str]:
    """The properties of definition 15 that do not hold, by enumeration of whatever the definition quantifies over."""
    found = set()
    edges = query.edges
    for i, j in combinations(range(len(edges)), 2):
        if edges[i] & edges[j] and not any({i, j} <= set(tree.atoms) for tree in rewriting.trees):
            found.add("correctness (1)")
    for tree in rewriting.trees:
        views = list(tree.walk())
        for view in views:
            if len(view.children) == 1:
                removed = view.children[0].variables - view.variables
                if any(edge & removed and atom not in view.atoms for atom, edge in enumerate(edges)):
                    found.add("correctness (2)")
            for left in view.children:
                if query.dynamic & set(left.atoms) and not all(s.variables <= left.variables for s in view.children):
                    found.add("update")
        wanted = query.free & frozenset().union(*(edges[atom] for atom in tree.atoms))
        above = {id(child): view for view in views for child in view.children}
        candidates = [view for view in views if view.variables <= wanted]
        subsets = chain.from_iterable(combinations(candidates, n) for n in range(1, len(candidates) + 1))
        if not any(
            tree in chosen
            and all(view is tree or above[id(view)] in chosen for view in chosen)
            and frozenset().union(*(view.variables for view in chosen)) == wanted
            for chosen in subsets
        ):
            found.add("enumeration")
    return found


def mutated(generator: random.Random, rewriting: Rewriting, query: Query) -> Rewriting:
    """A rewriting that differs in one place; still projections and joins of the atoms, each once."""
    trees = list(rewriting.trees)
    position = generator.randrange(len(trees))
    tree = trees[position]
    match generator.choice(("project", "keep", "swap", "join", "split")):
        case "project":
            gone = frozenset(generator.sample(sorted(tree.variables), min(1, len(tree.variables))))
            trees[position] = View(tree.variables - gone, None, (tree,))
        case "keep":
            trees[position] = rebuilt(tree, {}, query, generator.choice(query.variables))
        case "swap":
            first, second = generator.choice(range(len(query.edges))), generator.choice(range(len(query.edges)))
            swap = {first: second, second: first}
            trees = [rebuilt(tree, swap, query, "") for tree in trees]
        case "join" if len(trees) > 1:
            other = trees.pop((position + 1) % len(trees))
            trees[trees.index(tree)] = joined(tree, other)
        case "split" if tree.children:
            trees[position : position + 1] = tree.children
        case _:
            pass
    return Rewriting(tuple(trees))


def rebuilt(view: View, swap: dict[int, int], query: Query, kept: str) -> View:
    """The same tree with some atoms exchanged, where no projection removes one of the variables any more."""
    if view.atom is not None:
        return leaf(query, swap.get(view.atom, view.atom))
    children = tuple(rebuilt(child, swap, query, kept) for child in view.children)
    below = frozenset().union(*(child.variables for child in children))
    if len(children) > 1:
        return View(below, None, children)
    return View(below & (view.variables | {kept}), None, children)
