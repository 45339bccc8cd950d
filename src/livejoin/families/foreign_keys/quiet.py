"""Quiet edges of a foreign-key graph: below them nothing changes, so that no parents are listed there.

Rows that are there are loaded table by table. A row below a quiet edge that came after one above it would not be heard
of; so static tables are loaded first, and among them a table after those that it refers to, also where something that
changes is below it too.
"""

from __future__ import annotations

from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

from livejoin.families.foreign_keys.graph import Link, LinkGraph


@dataclass(frozen=True)
class QuietLinks:
    """Which edges are quiet.

    Args:
        links: The quiet edges.
        first: The names of the static tables in the order in which they are loaded, before all others.
    """

    links: frozenset[Link]
    first: tuple[str, ...]


def quiet_links(graph: LinkGraph) -> QuietLinks:
    """The edges of a graph below which all tables are static. Cost: O(edges).

    An edge from a table to itself is none, and where static tables refer to each other in a circle no edge among them
    is. Rows of a root that stands for several base rows are found by the widest of its edges when results are read by
    their values: that one is not quiet either.
    """
    atoms = graph.query.atoms
    fixed = [atom.table.static for atom in atoms]
    for relation in reversed(graph.order):
        fixed[relation] = fixed[relation] and all(fixed[link.child] for link in graph.below[relation])
    quiet = [link for link in graph.links if fixed[link.child]]
    below = graph.below[graph.root]
    if below and not graph.query.is_distinct(graph.root):
        widest = max(below, key=lambda link: len(link.over))
        quiet = [link for link in quiet if link != widest]

    def name(relation: int) -> str:
        return atoms[relation].table.name

    among = [link for link in quiet if atoms[link.parent].table.static and name(link.parent) != name(link.child)]
    after: dict[str, set[str]] = {atom.table.name: set() for atom in atoms if atom.table.static}
    for link in among:
        after[name(link.parent)].add(name(link.child))
    try:
        first = tuple(TopologicalSorter(after).static_order())
    except CycleError:
        among, first = [], tuple(after)
    return QuietLinks(frozenset([*among, *(link for link in quiet if not atoms[link.parent].table.static)]), first)
