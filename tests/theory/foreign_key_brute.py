"""Foreign-key joins by their definitions: paths listed one by one, rows joined one by one.

Nothing here uses the graph's own notion of descendants, dominators or carriers.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import combinations, product

from livejoin.theory.keys.assertion_key import AuxiliaryAttribute
from livejoin.theory.keys.foreign_key import ForeignKeyGraph, foreign_key_graph_of

Row = Mapping[str, int]
Instance = Sequence[Sequence[Row]]


def graph_of(*relations: str) -> ForeignKeyGraph:
    """Relations written as in the paper: one letter an attribute, the first one is the primary key."""
    return foreign_key_graph_of([frozenset(r) for r in relations], [r[:1] for r in relations])


def random_dag(generator: random.Random, relations: int, density: float) -> ForeignKeyGraph:
    """A foreign-key acyclic query: relation r has the key ``x<r>`` and references relations before it; one root."""
    children = [{c for c in range(r) if generator.random() < density} for r in range(relations)]
    for r in range(relations - 1):
        if not any(r in children[p] for p in range(r + 1, relations)):
            children[generator.randint(r + 1, relations - 1)].add(r)
    edges = [frozenset({f"x{r}"} | {f"x{c}" for c in children[r]}) for r in range(relations)]
    return foreign_key_graph_of(edges, [{f"x{r}"} for r in range(relations)])


def children(graph: ForeignKeyGraph, relation: int) -> list[int]:
    return sorted(edge.child for edge in graph.references if edge.parent == relation)


def paths(graph: ForeignKeyGraph, above: int, below: int) -> list[tuple[int, ...]]:
    """All paths of at least one edge, both ends included."""
    found = [(above, below)] if below in children(graph, above) else []
    return found + [(above, *rest) for child in children(graph, above) for rest in paths(graph, child, below)]


def pairs(graph: ForeignKeyGraph) -> set[tuple[int, int]]:
    """Pairs (R_i, R_j) with two paths from R_j to R_i that share nothing between."""
    vertices = range(len(graph.relations))
    return {
        (i, j)
        for i, j in product(vertices, vertices)
        if any(not set(p[1:-1]) & set(q[1:-1]) for p, q in combinations(paths(graph, j, i), 2))
    }


def satisfies_condition_5(graph: ForeignKeyGraph, auxiliary: Collection[tuple[int, int]]) -> bool:
    """AJU, condition 5, word by word; ``auxiliary`` has (relation, relation of the key)."""
    unconstrained = pairs(graph)

    def has(relation: int, i: int) -> bool:
        return (
            graph.keys[i] <= graph.relations[relation] or (i, relation) in unconstrained or (relation, i) in auxiliary
        )

    return all(
        child == i or any(all(has(relation, i) for relation in path) for path in paths(graph, child, i))
        for i, j in unconstrained
        for child in children(graph, j)
        if child == i or paths(graph, child, i)
    )


def least_number_of_auxiliary_attributes(graph: ForeignKeyGraph) -> int:
    """By all sets of attributes, small ones first; only keys of relations that paths lead to help any path."""
    vertices = range(len(graph.relations))
    lowest = {i for i, _ in pairs(graph)}
    options = [
        (r, i) for r in vertices for i in lowest if paths(graph, r, i) and not graph.keys[i] <= graph.relations[r]
    ]
    sizes = range(len(options) + 1)
    return next(
        size for size in sizes if any(satisfies_condition_5(graph, set(c)) for c in combinations(options, size))
    )


def random_instance(generator: random.Random, graph: ForeignKeyGraph, rows: int, values: int) -> Instance:
    """Some rows for each relation, with unique primary keys; foreign keys may refer to nothing."""
    instance: list[list[Row]] = []
    for attributes, key in zip(graph.relations, graph.keys, strict=True):
        made: dict[tuple[int, ...], Row] = {}
        for number in range(rows):
            row = {attribute: generator.randrange(values) for attribute in sorted(attributes)}
            made[tuple(row[a] for a in sorted(key)) if key else (-1, number)] = row
        instance.append(list(made.values()))
    return instance


def natural_join(relations: Sequence[Sequence[Row]]) -> Iterator[tuple[Row, ...]]:
    """All combinations of one row of each relation that agree wherever they share an attribute."""

    def extend(chosen: tuple[Row, ...], values: Row) -> Iterator[tuple[Row, ...]]:
        if len(chosen) == len(relations):
            yield chosen
            return
        for row in relations[len(chosen)]:
            if all(values.get(attribute, value) == value for attribute, value in row.items()):
                yield from extend((*chosen, row), {**values, **row})

    yield from extend((), {})


def live_by_definition(graph: ForeignKeyGraph, instance: Instance, relation: int) -> list[Row]:
    """AJU, definition 1: the rows that join with one row in every descendant."""
    below = [r for r in range(len(graph.relations)) if paths(graph, relation, r)]
    return [row for row in instance[relation] if any(natural_join([[row], *(instance[r] for r in below)]))]


def live_by_assertion_keys(
    graph: ForeignKeyGraph,
    asserted: Sequence[Collection[int]],
    auxiliary: Collection[AuxiliaryAttribute],
    instance: Instance,
) -> list[list[Row]]:
    """AJU, lemma 4: rows alive on every child whose assertion keys have one value; bottom up, by key only.

    An asserted or auxiliary attribute takes its values from the live child rows that carry it (algorithm 1, lines 8 to
    13); a child that does not carry it has no say.
    """
    live: list[dict[tuple[int, ...], tuple[Row, dict[int, tuple[int, ...]]]]] = [{} for _ in graph.relations]
    added = [{a.key_of for a in auxiliary if a.relation == r} | set(asserted[r]) for r in range(len(graph.relations))]
    order = sorted(range(len(graph.relations)), key=lambda r: sum(len(paths(graph, r, i)) for i in range(r + 1)))
    assert all(order.index(e.child) < order.index(e.parent) for e in graph.references)
    for relation in order:
        below = children(graph, relation)
        for number, row in enumerate(instance[relation]):
            found = [live[child].get(_values(row, graph.keys[child])) for child in below]
            joined = [one for one in found if one is not None]
            if len(joined) < len(below):
                continue
            carried: dict[int, tuple[int, ...]] = {}
            agree = True
            for i in added[relation]:
                seen = {
                    values
                    for child, (child_row, extra) in zip(below, joined, strict=True)
                    if (values := _carried(graph, child, child_row, extra, i)) is not None
                }
                agree = agree and len(seen) <= 1
                if len(seen) == 1:
                    (carried[i],) = seen
            if agree:
                own = _values(row, graph.keys[relation]) if graph.keys[relation] else (-1, number)
                live[relation][own] = (row, carried)
    return [[row for row, _ in rows.values()] for rows in live]


def _values(row: Row, key: Collection[str]) -> tuple[int, ...]:
    return tuple(row[attribute] for attribute in sorted(key))


def _carried(
    graph: ForeignKeyGraph, relation: int, row: Row, extra: Mapping[int, tuple[int, ...]], i: int
) -> tuple[int, ...] | None:
    if i in extra:
        return extra[i]
    return _values(row, graph.keys[i]) if graph.keys[i] <= graph.relations[relation] else None
