"""Views by ``algorithm="transitions"``: the class C_exp of ICDT 2025 and its extension, run beside DuckDB."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator

import pytest

from livejoin.dataflow.blocks.join import JoinBlock
from livejoin.families.transitions.join import TransitionJoin
from livejoin.theory.static.transition_system import TransitionSystem, transition_system
from static_lives import StaticLife, StaticQuery
from strategies import EXAMPLES

SEED = int(os.environ.get("LIVEJOIN_SEED", "0"))
FORMS = ("rows", "distinct")

ROSTER = StaticQuery(("ab", "a", "b"), "ab", frozenset({1, 2}))  # Q3: has(user, feature), users, features
QUERIES = (
    ROSTER,
    StaticQuery(
        ("ab", "a", "b"), "a", frozenset({1, 2})
    ),  # which users have a feature at all: bound in distinct results
    StaticQuery(("abc", "a", "b", "bc"), "abc", frozenset({1, 2, 3})),
    StaticQuery(("ab", "bc", "cd", "a", "c", "d"), "ad", frozenset({3, 4, 5})),  # a bag of three static tables
    StaticQuery(("ab", "bc", "ca", "a", "b"), "abc", frozenset({3, 4})),  # a static triangle
    StaticQuery(("ab", "xa", "xb"), "xab", frozenset({1, 2})),  # Q4: a state for each x
    StaticQuery(("abc", "xya", "yxbc", "xy"), "xyac", frozenset({1, 2, 3})),
    StaticQuery(("a", "c", "a", "c"), "ac", frozenset({2, 3})),  # a static product
)


def drawn(generator: random.Random) -> StaticQuery:
    """Static atoms, and dynamic ones over some of their variables, with shared ones in each or none."""
    static = ["".join(generator.sample("abcd", generator.choice((1, 2, 2, 3)))) for _ in range(generator.randint(1, 3))]
    known = sorted(set("".join(static)))
    shared = generator.choice(("", "", "", "x", "xy"))
    dynamic = []
    for _ in range(generator.randint(1, 3)):
        own = generator.sample(known, min(len(known), generator.choice((0, 1, 1, 2))))
        dynamic.append("".join(generator.sample([*own, *shared], len(own) + len(shared))) or known[0])
    share = generator.choice((0.3, 0.7, 1.0))
    free = "".join(v for v in known if generator.random() < share) + shared
    edges = [*static, *dynamic]
    order = generator.sample(range(len(edges)), len(edges))
    return StaticQuery(
        tuple(edges[i] for i in order),
        free or known[0],
        frozenset(place for place, i in enumerate(order) if i >= len(static)),
    )


def joins(life: StaticLife) -> Iterator[TransitionJoin]:
    """The transition systems of a life's views."""
    for node in life.database._contents.graph.nodes:
        if isinstance(node.block, JoinBlock) and isinstance(node.block.join, TransitionJoin):
            yield node.block.join


def flips(life: StaticLife, times: int) -> None:
    """Some rows go, and come again, in the same commits over and over."""
    held = {atom: list(life.held[atom]) for atom in sorted(life.query.dynamic)}
    for _ in range(times):
        for atom, rows in held.items():
            life.commit({atom: ([], rows[:2])})
        for atom, rows in held.items():
            life.commit({atom: (rows[:2], [])})


@pytest.mark.parametrize("query", QUERIES, ids=str)
def test_queries_are_right_after_every_commit(query: StaticQuery) -> None:
    for seed in range(2):
        life = StaticLife(query, random.Random(SEED + seed), rows=12, algorithm="transitions")
        life.views(*FORMS)
        for _ in range(6):
            life.commit(life.changes())
            life.database._check()
        flips(life, 2)
        life.refresh(life.generator.choice([atom for atom in life.held if atom not in query.dynamic]))
        life.commit(life.changes())
        life.database._check()


@pytest.mark.parametrize("seed", range(max(6, EXAMPLES // 3)))
def test_random_queries(seed: int) -> None:
    generator = random.Random(SEED + seed)
    while True:
        query = drawn(generator)
        if isinstance(transition_system(query.sets, frozenset(query.free), query.dynamic), TransitionSystem):
            break
    life = StaticLife(query, generator, values=generator.choice((2, 3, 4)), rows=8, algorithm="transitions")
    life.views(*FORMS)
    for _ in range(5):
        life.commit(life.changes())
    flips(life, 1)
    life.refresh(generator.choice([atom for atom in life.held if atom not in query.dynamic]))
    life.commit(life.changes())
    life.database._check()
