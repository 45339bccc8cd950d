"""How far a change can spread in a join tree, and the bound that follows.

P-UPDATE visits every row of the parent with the key that appeared or vanished (CROWN, Algorithm 3); all else is O(1) a
node. So only the edges count over which one key reaches many rows. An edge from a node c to its parent p is

- *quiet* if no relation below it changes: nothing ever comes up this edge;
- *unique* if p is a generalized relation, whose rows are keys, or if key(c) contains the primary key of p's table:
  what comes up this edge reaches at most one row;
- *once* if no row ever leaves V_s(c): all that changes below it is append-only, and no `not exists` edge stands
  between. Then a key comes up this edge once and never goes, so that each row of p is visited at most once;
- *wide* otherwise.

An edge is *single* if key(c) contains the primary key of c, so that a row of p meets at most one row of c.

Three laws give the bound of a tree, amortised and for a fixed query:

- No wide edge: O(1) for every change sequence, because a change then visits at most one row of each node above it,
  but for edges that are *once*: there many rows may be visited by one change, and each of them is paid for by its own
  coming, so that the bound is amortised over the changes and the rows that are loaded (docs/decisions/0046). Without
  keys, static and append-only relations these are the trees of height 1 (CROWN, Lemma 6.8).
- O(1) for every sequence that is first-in-first-out over the relations that rows leave, if rows leave p too for every
  wide edge, and

  - c is the one relation that changes in its subtree. A row of p is visited when a key of V_p(c) appears or vanishes.
    Between an appearance and the next vanishing, both inside the lifespan of p's row, lies the whole lifespan of a row
    of c, which the sequence forbids. So each row of p is visited O(1) times. Without keys and static relations these
    are the trees of height 2 (CROWN, Lemma 6.9);
  - or the edge is single, and so are those below it that are not quiet. Then the counter of a row of p changes
    O(lambda(t)) times, as in a foreign-key join (AJU, Lemma 7), and lambda(t) = 0 for such a sequence.

Over an ``optional`` edge nothing comes up: its parents depend on nothing, and what a change brings or takes there is in
the delta; it counts as unique. Over a ``not exists`` edge rows of p leave where a key comes, so that lifespans in V_s
are cut into pieces: a row of p is still visited as often as a key of c comes or goes in its lifespan, which is
O(lambda(t)), but a first-in-first-out sequence gives no better bound (docs/decisions/0034).

- Any tree: O(1) for every insertion-only sequence (Lemma 6.10), O(lambda_T) for every sequence (Theorem 6.6, with
  crossing lifespans where they matter, see `livejoin.theory.logs.tree_enclosureness`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from livejoin.search.guarantee import UpdateBound
from livejoin.search.problem import Problem
from livejoin.theory.trees.join_tree import JoinTree

Spread = Literal["quiet", "unique", "once", "wide"]


def spreads(tree: JoinTree, problem: Problem) -> tuple[Spread | None, ...]:
    """How a change spreads from each node to its parent; None for the root. Cost: O(nodes)."""
    changing = dynamic_below(tree, problem)
    leaving = _leaving(tree, problem, changing)
    found: list[Spread | None] = []
    for position, node in enumerate(tree.nodes):
        if node.parent is None:
            found.append(None)
        elif not changing[position]:
            found.append("quiet")
        elif node.edge == "optional":
            found.append("unique")
        else:
            above = tree.nodes[node.parent].atom
            one = above is None or problem.identifies(frozenset(node.parent_key), above)
            found.append("unique" if one else "wide" if leaving[position] else "once")
    return tuple(found)


def dynamic_below(tree: JoinTree, problem: Problem) -> tuple[int, ...]:
    """How many atoms that change stand in the subtree of each node."""
    counts = [int(node.atom in problem.dynamic) for node in tree.nodes]
    for position in range(len(tree.nodes) - 1, 0, -1):
        parent = tree.nodes[position].parent
        assert parent is not None
        counts[parent] += counts[position]
    return tuple(counts)


def is_paid_before(tree: JoinTree, problem: Problem) -> bool:
    """Whether one change may visit many rows even if no edge is wide: what came before has paid for these visits."""
    return "once" in spreads(tree, problem)


def _leaving(tree: JoinTree, problem: Problem, changing: Sequence[int]) -> tuple[bool, ...]:
    """Whether a row may leave ``V_s`` of each node: one of its table, or because of what is below it.

    Over a ``not exists`` edge rows leave where a key comes, over an ``optional`` one nothing comes up.
    """
    found = [node.atom in problem.leaving for node in tree.nodes]
    for position in range(len(tree.nodes) - 1, 0, -1):
        node = tree.nodes[position]
        assert node.parent is not None
        if node.edge != "optional" and changing[position]:
            found[node.parent] = found[node.parent] or found[position] or node.edge == "not exists"
    return tuple(found)


def tree_bound(tree: JoinTree, problem: Problem) -> UpdateBound:
    """The bound on the cost of a change that a tree gives. Cost: O(nodes).

    >>> from livejoin.search.statistics import Statistics
    >>> from livejoin.theory.trees.join_tree import least_height_tree
    >>> edges = tuple(map(frozenset, ("ab", "bc", "cd")))
    >>> three = Problem(edges, frozenset("abcd"), ((),) * 3, frozenset({0, 1, 2}), (1,) * 3, (None,) * 3, ((),) * 3)
    >>> tree_bound(least_height_tree(edges), three).name
    'FIFO'
    """
    kinds = spreads(tree, problem)
    if "wide" not in kinds:
        return UpdateBound.ALWAYS
    if any(node.edge == "not exists" for node in tree.nodes):
        return UpdateBound.LAMBDA
    changing = dynamic_below(tree, problem)
    single = _single_below(tree, problem, kinds)
    for position, (node, kind) in enumerate(zip(tree.nodes, kinds, strict=True)):
        if kind == "wide":
            assert node.parent is not None
            alone = changing[position] == 1 and node.atom in problem.dynamic
            if tree.nodes[node.parent].atom not in problem.leaving or not (alone or single[position]):
                return UpdateBound.LAMBDA
    return UpdateBound.FIFO


def _single_below(tree: JoinTree, problem: Problem, kinds: tuple[Spread | None, ...]) -> tuple[bool, ...]:
    """Whether the edge above each node and those below it are single, but for the quiet ones."""
    single = [
        kind == "quiet" or (node.atom is not None and problem.identifies(frozenset(node.key), node.atom))
        for node, kind in zip(tree.nodes, kinds, strict=True)
    ]
    for position in range(len(tree.nodes) - 1, 0, -1):
        node = tree.nodes[position]
        if kinds[position] != "quiet":
            single[position] = single[position] and all(single[child] for child in node.children)
    return tuple(single)
