"""The layout of plans: a function of query and tree, complete and within bounds."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from conjunctive import bind
from join_driver import JoinDriver
from livejoin.catalog import Catalog
from livejoin.families.crown.compile import compile_plan
from livejoin.families.crown.plan import CrownPlan
from livejoin.kernels.crown import layout as u
from livejoin.kernels.join import layout as q
from livejoin.kernels.memory import layout as k
from livejoin.query import ConjunctiveQuery
from livejoin.search.choose import choose_tree
from livejoin.sql import parse_columns
from strategies import seeds
from test_naive import random_tree

pytestmark = pytest.mark.nojit

CATALOG = Catalog()
for table in (parse_columns("G", "src BIGINT, dst BIGINT, w BIGINT"), parse_columns("H", "id BIGINT")):
    CATALOG.add(table)

HOP3 = "SELECT A.src, C.dst FROM G A JOIN G B ON A.dst = B.src JOIN G C ON B.dst = C.src"


def query_of(sql: str) -> ConjunctiveQuery:
    return bind(sql, CATALOG)


def plan_of(sql: str, live: bool = True) -> CrownPlan:
    query = query_of(sql)
    return compile_plan(query, choose_tree(query), live)


def programs(plan: CrownPlan) -> Iterator[tuple[int | None, int]]:
    """Start node (None for the full enumeration) and offset of each program."""
    yield None, int(plan.words[q.P_FULL])
    for node, at in enumerate(plan.node_offsets):
        yield node, int(plan.words[at + u.N_PROGRAM])


def steps(plan: CrownPlan, program: int) -> list[list[int]]:
    depths, at = int(plan.words[program + u.G_DEPTHS]), int(plan.words[program + u.G_STEPS])
    return plan.words[at : at + (depths - 1) * u.STEP].reshape(-1, u.STEP).tolist()


def test_the_same_query_gives_the_same_plan() -> None:
    """So a snapshot needs no plan, only its digest."""
    first, second = plan_of(HOP3), plan_of(HOP3)
    assert first.words.tolist() == second.words.tolist()
    assert first.digest == second.digest


def test_the_digest_tells_layouts_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    others = [
        HOP3.replace("A.src, C.dst", "C.dst, A.src"),
        HOP3.replace("A.src, C.dst", "A.src, C.dst, C.w"),
        HOP3 + " JOIN H ON H.id = C.dst",
        HOP3.replace("B.dst = C.src", "B.w = C.src"),
    ]
    digests = [plan_of(sql).digest for sql in (HOP3, *others)] + [plan_of(HOP3, live=False).digest]
    monkeypatch.setattr(u, "STATE_FORMAT", u.STATE_FORMAT + 1)
    digests.append(plan_of(HOP3).digest)
    assert len(set(digests)) == len(digests)


def test_records_hold_what_the_query_uses_once() -> None:
    """Two values, and three atoms of which one has a child: STATE and UP each, one LINK."""
    plan = plan_of(HOP3)
    (use,) = plan.tables
    assert (use.name, use.columns, use.atoms) == ("G", (0, 1), (0, 1, 2))
    links = sum(len(node.children) for node in plan.tree.nodes if node.atom is not None)
    assert use.stride == 2 + 3 * 2 + links
    assert [u.columns for u in plan_of("SELECT w FROM G, H").tables] == [(2,), ()]


def opened(plan: CrownPlan, kind: int, source: int | None, where: int) -> int:
    """The node that a step opens from a row of ``source``."""
    if kind == u.STEP_ROOT:
        return 0
    assert source is not None
    node = plan.tree.nodes[source]
    if kind in (u.STEP_UP_LINKED, u.STEP_UP_INLINE):
        assert node.parent is not None
        assert (kind == u.STEP_UP_LINKED) == (plan.tree.nodes[node.parent].atom is not None)
        return node.parent
    assert (kind == u.STEP_DOWN_LINKED) == (node.atom is not None)
    return next(child for child in node.children if offset_of_child(plan, source, child) == where)


def offset_of_child(plan: CrownPlan, node: int, child: int) -> int:
    """Where a row of a node refers to a child's slot."""
    position = plan.tree.nodes[node].children.index(child)
    if plan.tree.nodes[node].atom is None:
        return u.SLOT * position
    return int(plan.words[plan.node_offsets[node] + u.N_LINK]) + position


@pytest.mark.parametrize("seed", seeds(20, 60))
def test_programs_open_every_node_once(seed: int) -> None:
    """Each step starts at a row that an earlier depth holds and opens a neighbour of its node."""
    variables, tree = random_tree(random.Random(seed))
    plan = JoinDriver(variables, tree).join.plan
    for start, program in programs(plan):
        reached: list[int | None] = [start]
        for kind, source, where, state, _, at, null in steps(plan, program):
            assert null == 0  # no edge is optional
            node = opened(plan, kind, reached[source], where)
            assert node not in reached
            assert at == plan.node_offsets[node]
            assert state == (-1 if tree.nodes[node].atom is None else plan.words[plan.node_offsets[node] + u.N_STATE])
            reached.append(node)
        assert sorted(node for node in reached if node is not None) == list(range(len(tree.nodes)))


@pytest.mark.parametrize("seed", seeds(20, 60))
def test_every_head_column_is_written_once(seed: int) -> None:
    variables, tree = random_tree(random.Random(seed))
    plan = JoinDriver(variables, tree).join.plan
    for _, program in programs(plan):
        outer = plan.words[int(plan.words[program + u.G_OUTER_LIST]) :][: 3 * int(plan.words[program + u.G_OUTER])]
        inner = plan.words[int(plan.words[program + u.G_INNER_LIST]) :][: 2 * int(plan.words[program + u.G_INNER])]
        columns = outer[::3].tolist() + inner[::2].tolist()
        assert sorted(columns) == list(range(len(plan.query.head)))
        assert all(0 <= depth < plan.words[program + u.G_DEPTHS] for depth in outer[1::3].tolist())


@pytest.mark.parametrize("seed", seeds(20, 60))
def test_words_of_a_row_do_not_overlap(seed: int) -> None:
    """Values, then STATE, UP and LINKs of each atom, fill a record; directories and tables fill the header."""
    variables, tree = random_tree(random.Random(seed))
    plan = JoinDriver(variables, tree).join.plan
    for position, use in enumerate(plan.tables):
        words = list(range(len(use.columns)))
        for node, at in zip(tree.nodes, plan.node_offsets, strict=True):
            if node.atom in use.atoms:
                words += [int(plan.words[at + u.N_STATE]), int(plan.words[at + u.N_UP])]
                words += [int(plan.words[at + u.N_LINK]) + c for c in range(len(node.children))]
        assert sorted(words) == list(range(use.stride))
        assert int(plan.words[int(plan.words[q.P_FIRST_TABLE]) + position * q.PLAN_TABLE + q.PT_STRIDE]) == use.stride
    tables = [int(plan.words[int(plan.words[q.P_FIRST_TABLE]) + t * q.PLAN_TABLE]) for t in range(len(plan.tables))]
    spans = sorted([(at, q.TABLE) for at in tables] + [(at, k.DIRECTORY) for at in plan.directories])
    end = u.H_STACK + u.FRAME * (2 * len(tree.nodes) + 1)
    for begin, size in spans:
        assert begin == end
        end = begin + size
    assert end == plan.work_at, "what is counted at each node stands last"
    assert plan.header_words == plan.work_at + u.WORK * len(tree.nodes)


def test_children_of_a_generalized_node_share_a_directory() -> None:
    plan = plan_of("SELECT A.src FROM G A JOIN G B ON A.src = B.src JOIN G C ON A.src = C.src")
    assert plan.tree.nodes[0].atom is None
    assert len(plan.directories) == 1


def test_the_filtered_atom_lies_deepest() -> None:
    """Among trees of least height the changes' expected depth decides (CROWN, end of section 6)."""

    def depth(sql: str, alias: str) -> int:
        query = query_of(sql)
        tree = choose_tree(query)
        node = next(i for i, n in enumerate(tree.nodes) if n.atom is not None and query.atoms[n.atom].alias == alias)
        steps = 0
        while (parent := tree.nodes[node].parent) is not None:
            node, steps = parent, steps + 1
        return steps

    assert depth(HOP3 + " WHERE C.w = 1", "C") > depth(HOP3 + " WHERE C.w = 1", "A")
    assert depth(HOP3 + " WHERE A.w = 1", "A") > depth(HOP3 + " WHERE A.w = 1", "C")
