"""Assertion keys and auxiliary attributes: when a row of a foreign-key join is alive.

In a foreign-key DAG, a row that is alive on all of its children may still join nothing, because two paths lead to two
different rows of a common descendant (AJU, figure 6). That may happen for *unconstrained pairs* only: (R_i, R_j) is one
if two or more paths from R_j to R_i have no relation between in common. PK(R_i) is then an *assertion key* of R_j
(AJU, section 3.2, definition 3), and

    a row of R_j is alive  <=>  it is alive on every child of R_j, and each assertion key of R_j has one value in it
                                                                                                  (AJU, lemma 4).

The values come from the children's rows. For that, relations in between carry keys too, as *auxiliary attributes*,
until condition 5 holds: for each unconstrained pair (R_i, R_j), a path leads from every child of R_j that has R_i as a
descendant to R_i, on which all relations carry PK(R_i): as an original attribute, an assertion key or an auxiliary
attribute. A composite key counts as one attribute.

The least set of auxiliary attributes falls apart by the key that is carried. For one R_i it is a node-weighted directed
Steiner tree: NP-hard in the size of the query (AJU, section 3.2), small for real ones.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from heapq import heappop, heappush

from livejoin.errors import UnsupportedQueryError
from livejoin.theory.keys.digraph import Digraph
from livejoin.theory.keys.foreign_key import ForeignKeyGraph


@dataclass(frozen=True, order=True)
class UnconstrainedPair:
    """A pair (R_i, R_j) whose paths can lead a row of R_j, the ancestor, to different rows of R_i, the descendant."""

    descendant: int
    ancestor: int


@dataclass(frozen=True, order=True)
class AuxiliaryAttribute:
    """The primary key of one relation, carried by another."""

    relation: int
    key_of: int


@dataclass(frozen=True, order=True)
class MissingPath:
    """A child of the ancestor in an unconstrained pair from which no path carries the descendant's key."""

    pair: UnconstrainedPair
    child: int


@dataclass(frozen=True)
class Condition5:
    """Whether condition 5 holds, and for which children of unconstrained pairs it does not."""

    holds: bool
    missing: tuple[MissingPath, ...]

    def __bool__(self) -> bool:
        return self.holds


@dataclass(frozen=True)
class AuxiliaryAttributes:
    """Auxiliary attributes with which condition 5 holds.

    Args:
        attributes: The attributes, ascending.
        complete: Whether there is no smaller set; False if the search stopped early.
    """

    attributes: tuple[AuxiliaryAttribute, ...]
    complete: bool


def unconstrained_pairs(graph: ForeignKeyGraph) -> tuple[UnconstrainedPair, ...]:
    """The unconstrained pairs, ascending.

    By Menger's theorem, paths without a common relation between R_j and R_i exist if and only if R_j alone dominates
    R_i among its descendants and R_i has two parents there. Cost: relations times references.

    Raises:
        UnsupportedQueryError: The graph has a cycle.

    >>> from livejoin.theory.keys.foreign_key import foreign_key_graph_of
    >>> figure_4 = foreign_key_graph_of([frozenset(r) for r in ("a", "ba", "ca", "dbc")], "abcd")
    >>> unconstrained_pairs(figure_4)
    (UnconstrainedPair(descendant=0, ancestor=3),)
    """
    digraph = _acyclic(graph)
    pairs = []
    for ancestor in range(len(graph.relations)):
        within = digraph.descendants[ancestor] | {ancestor}
        dominators = {ancestor: frozenset({ancestor})}
        for relation in digraph.order:
            parents = [parent for parent in digraph.parents[relation] if parent in within]
            if relation == ancestor or not parents:
                continue
            shared = frozenset.intersection(*(dominators[parent] for parent in parents))
            dominators[relation] = shared | {relation}
            if len(parents) > 1 and shared == {ancestor}:
                pairs.append(UnconstrainedPair(relation, ancestor))
    return tuple(sorted(pairs))


def assertion_keys(graph: ForeignKeyGraph) -> tuple[tuple[int, ...], ...]:
    """For each relation R_j, the relations R_i whose primary key is an assertion key of R_j (AJU, definition 3).

    Cost and errors as `unconstrained_pairs`.

    >>> from livejoin.theory.keys.foreign_key import foreign_key_graph_of
    >>> assertion_keys(foreign_key_graph_of([frozenset(r) for r in ("a", "ba", "ca", "dbc")], "abcd"))
    ((), (), (), (0,))
    """
    pairs = unconstrained_pairs(graph)
    return tuple(tuple(p.descendant for p in pairs if p.ancestor == r) for r in range(len(graph.relations)))


def condition_5(graph: ForeignKeyGraph, auxiliary: Collection[AuxiliaryAttribute] = ()) -> Condition5:
    """Whether condition 5 holds with some auxiliary attributes, and what it lacks.

    Cost: unconstrained pairs times references. Raises as `unconstrained_pairs`.
    """
    pairs = unconstrained_pairs(graph)
    connected: dict[int, set[int]] = {}
    for lowest in {pair.descendant for pair in pairs}:
        carriers = _carriers(graph, pairs, lowest) | {a.relation for a in auxiliary if a.key_of == lowest}
        connected[lowest] = {lowest}
        for relation in reversed(graph.digraph.order):
            if relation in carriers and connected[lowest].intersection(graph.digraph.children[relation]):
                connected[lowest].add(relation)
    missing = [
        MissingPath(pair, child)
        for pair in pairs
        for child in _asked(graph.digraph, pair)
        if child not in connected[pair.descendant]
    ]
    return Condition5(not missing, tuple(sorted(missing)))


def auxiliary_attributes(graph: ForeignKeyGraph, budget: int = 20_000) -> AuxiliaryAttributes:
    """The least set of auxiliary attributes with which condition 5 holds.

    Children of an unconstrained pair that do not carry the key must; every relation that carries it needs a child that
    does. The search adds such children one by one, best first, and is exact.

    Args:
        graph: The foreign-key graph of the query, a DAG.
        budget: Largest number of sets that the search may look at. Their number is exponential in the number of
            relations with several paths to one descendant. Beyond it, shortest paths complete the best set found.

    Raises:
        UnsupportedQueryError: The graph has a cycle.

    >>> from livejoin.theory.keys.foreign_key import foreign_key_graph_of
    >>> figure_7 = [frozenset(r) for r in ("1", "21", "321", "42", "51", "634", "756")]
    >>> auxiliary_attributes(foreign_key_graph_of(figure_7, "1234567"))
    AuxiliaryAttributes(attributes=(AuxiliaryAttribute(relation=3, key_of=0),), complete=True)
    """
    pairs = unconstrained_pairs(graph)
    found: list[AuxiliaryAttribute] = []
    complete = True
    for lowest in sorted({pair.descendant for pair in pairs}):
        carriers = _carriers(graph, pairs, lowest)
        asked = {child for p in pairs if p.descendant == lowest for child in _asked(graph.digraph, p)}
        search = _Search(graph.digraph, lowest, carriers, budget)
        least, exact = search.run(frozenset(asked - carriers))
        budget, complete = search.budget, complete and exact
        found += [AuxiliaryAttribute(relation, lowest) for relation in least]
    return AuxiliaryAttributes(tuple(sorted(found)), complete)


class _Search:
    """Best-first search for the fewest relations that connect given ones to ``lowest`` through carriers of its key."""

    def __init__(self, digraph: Digraph, lowest: int, carriers: frozenset[int], budget: int) -> None:
        self._above = [v for v in digraph.order if lowest in digraph.descendants[v]]
        self._children = {v: [c for c in digraph.children[v] if c == lowest or c in self._above] for v in self._above}
        self._carriers = carriers
        self.budget = budget

    def run(self, required: frozenset[int]) -> tuple[frozenset[int], bool]:
        """A superset of the required relations in which each has a child that carries the key; whether it is least."""
        queue = [(self._bound(required), sorted(required))]
        seen = {required}
        while queue:
            _, members = heappop(queue)
            chosen = frozenset(members)
            relation = next((r for r in self._above if self._is_open(r, chosen)), None)
            if relation is None:
                return chosen, True
            if not self.budget:
                return self._completed(chosen), False
            self.budget -= 1
            for child in self._children[relation]:
                larger = chosen | {child}
                if larger not in seen:
                    seen.add(larger)
                    heappush(queue, (self._bound(larger), sorted(larger)))
        return required, True

    def _is_open(self, relation: int, chosen: frozenset[int]) -> bool:
        """Whether a chosen relation has no child that carries the key or is chosen."""
        return relation in chosen and not (self._carriers | chosen).intersection(self._children[relation])

    def _bound(self, chosen: frozenset[int]) -> int:
        """No smaller set than this contains the chosen relations and is connected: one of them has the longest way."""
        ways = self._ways(chosen)
        return len(chosen) + max((ways[relation][0] for relation in chosen), default=0)

    def _ways(self, chosen: frozenset[int]) -> dict[int, tuple[int, tuple[int, ...]]]:
        """For each relation, a way to a carrier over the fewest relations that are not chosen, and their number."""
        ways: dict[int, tuple[int, tuple[int, ...]]] = dict.fromkeys(self._carriers, (0, ()))
        for relation in reversed(self._above):
            if relation not in ways:
                tails = ((ways[child], child) for child in self._children[relation])
                ways[relation] = min(
                    (length, rest) if child in chosen or child in self._carriers else (length + 1, (child, *rest))
                    for (length, rest), child in tails
                )
        return ways

    def _completed(self, chosen: frozenset[int]) -> frozenset[int]:
        """The chosen relations with a shortest way from each, one after the other."""
        for relation in sorted(chosen):
            chosen |= set(self._ways(chosen)[relation][1])
        return chosen


def _acyclic(graph: ForeignKeyGraph) -> Digraph:
    if cycle := graph.digraph.cycle():
        msg = (
            f"the foreign-key graph has a cycle through the relations {', '.join(map(str, cycle))}; assertion keys are "
            "those of an acyclic one"
        )
        raise UnsupportedQueryError(msg, clause="FROM")
    return graph.digraph


def _asked(digraph: Digraph, pair: UnconstrainedPair) -> Iterator[int]:
    """The children of a pair's ancestor from which paths lead to its descendant, which carries its own key."""
    return (child for child in digraph.children[pair.ancestor] if pair.descendant in digraph.descendants[child])


def _carriers(graph: ForeignKeyGraph, pairs: Collection[UnconstrainedPair], lowest: int) -> frozenset[int]:
    """The relations above ``lowest``, and itself, that have its key as an original attribute or an assertion key."""
    above = [r for r in range(len(graph.relations)) if lowest in graph.digraph.descendants[r]]
    original = {relation for relation in above if graph.keys[lowest] <= graph.relations[relation]}
    asserting = {pair.ancestor for pair in pairs if pair.descendant == lowest}
    return frozenset(original | asserting | {lowest})
