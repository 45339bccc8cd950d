"""A plan as people see it: nodes, edges and words, which text, JSON and pictures are made from.

A family draws its plans as `PlanOutline`; whoever shows them needs to know nothing else of the family. All atoms are
named by their aliases, all columns by the query's variables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from livejoin.query import ConjunctiveQuery


@dataclass(frozen=True)
class AtomOutline:
    """An atom of the query.

    Args:
        alias: The atom's alias in the query.
        table: The atom's table.
        variables: The atom's variables.
        predicate: The condition on the atom's rows, None for all rows.
        static: Whether the table never changes.
        append_only: Whether rows are only inserted into the table.
    """

    alias: str
    table: str
    variables: tuple[str, ...]
    predicate: str | None
    static: bool = False
    append_only: bool = False

    @property
    def name(self) -> str:
        """Table and alias as in FROM."""
        return self.alias if self.alias == self.table else f"{self.table} {self.alias}"


@dataclass(frozen=True)
class BagOutline:
    """A join of static tables that is made once.

    Args:
        title: The name of the join in the plan, as ``static bag {t, i}``.
        expected: The expected number of rows; None if the tables' rows are not known.
        rows: The number of rows; None if the join is not made.
    """

    title: str
    expected: float | None
    rows: int | None = None


@dataclass(frozen=True)
class MergedOutline:
    """Static tables that are one relation of a plan, because that takes less memory.

    Args:
        title: The name of the relation in the plan.
        tables: The aliases of the tables; the first one refers to the others.
        instead: The rows of these tables.
        expected: The most rows that the relation may have.
        rows: The number of rows; None if the relation is not made.
    """

    title: str
    tables: tuple[str, ...]
    instead: float
    expected: float
    rows: int | None = None


@dataclass(frozen=True)
class StaticOutline:
    """What is made of the static tables of a plan before changes come (ICDT 2025).

    Args:
        tractability: The query's class, ``C_lin`` or ``C_poly``.
        order: The variable order on one line: each variable, behind it in braces the atoms and variables below it.
        width: The power of N that bounds the rows of the bags, as text.
        bags: The bags, those that another one reads before it.
        limit: The most rows that a bag may have; None if that was not asked for.
    """

    tractability: str
    order: str
    width: str
    bags: tuple[BagOutline, ...]
    limit: int | None


@dataclass(frozen=True)
class NodeOutline:
    """A node of a plan.

    Args:
        label: The label of the node: the atom as in FROM, ``[x, y]`` for a generalized relation, ``bag 1 (A, B, C)``,
            or a view's name.
        variables: The variables of the node.
        atoms: Aliases of its atoms: one for an atom, none for a generalized relation, several for a bag.
        key: ``key(e)``: the variables that it shares with its parent; with the first parent if it has several.
        connex: Whether it is in the connex subtree, over which results are enumerated.
        views: The views kept there, of ``V_s``, ``V_p``, ``V_l``; for other plans a description.
        indexes: The indexes kept there, each in words such as ``by (x), for the parent``.
        predicate: The condition on the node's rows.
        depth: Atoms above it, generalized relations not counted.
        changes: Expected share of the changes that reach it; None where nothing is known of any table.
        promise: ``static`` if nothing there ever changes, ``append-only`` if rows only come; else empty.
    """

    label: str
    variables: tuple[str, ...]
    atoms: tuple[str, ...]
    key: tuple[str, ...]
    connex: bool
    views: tuple[str, ...]
    indexes: tuple[str, ...]
    predicate: str | None
    depth: int
    changes: float | None = None
    promise: Literal["", "static", "append-only"] = ""


@dataclass(frozen=True)
class EdgeOutline:
    """An edge of a plan.

    Args:
        parent: Position of the parent among the plan's nodes.
        child: Position of the child.
        key: The variables that both have; over an edge that is not inner, as ``a = b`` those of the parent and the
            child that are equal.
        unique: Whether ``key`` identifies at most one row of the parent, so that a change of the child reaches no
            more than one.
        kind: ``inner``, or what a row of the parent wants of the child: that rows ``exists`` with its key, that they do
            ``not exists``, or nothing (``optional``).
    """

    parent: int
    child: int
    key: tuple[str, ...]
    unique: bool
    kind: Literal["inner", "exists", "not exists", "optional"] = "inner"


@dataclass(frozen=True)
class StatesOutline:
    """What the states of a transition system are made of, as far as that is known before it is made.

    Args:
        joined: Rows that the static tables are joined to; None if that is not known.
        matter: For each dynamic atom, by its alias, its rows that matter, without the variables that are shared; None
            if that is not known.
        shared: The variables that have a state for each of their values.
        most_bytes: Bytes that states and transitions take at most.
    """

    joined: float | None
    matter: Mapping[str, float | None]
    shared: tuple[str, ...]
    most_bytes: int

    @property
    def rows(self) -> float | None:
        """Rows that matter of all dynamic atoms: there are two to this power states."""
        known = [rows for rows in self.matter.values() if rows is not None]
        return sum(known) if len(known) == len(self.matter) else None


@dataclass(frozen=True)
class PlanOutline:
    """A plan to be drawn: a rooted tree, several for view trees, an acyclic graph with one root for foreign keys.

    Args:
        kind: How the query is maintained, in one or two words, for example ``join tree``.
        title: The same in words, for example ``join tree of height 2, change propagation without joins (CROWN)``.
        nodes: In preorder; where a node has several parents, it stands below the first.
        edges: From parents to children.
        height: Largest number of atoms (or bags, or views) from a leaf to a root.
        static: The relations that are made of static tables before changes come; None if the plan needs none.
        states: A description of the plan's states; None if it has none.
        merged: Static tables that are one relation.
    """

    kind: str
    title: str
    nodes: tuple[NodeOutline, ...]
    edges: tuple[EdgeOutline, ...]
    height: int
    static: StaticOutline | None = None
    states: StatesOutline | None = None
    merged: tuple[MergedOutline, ...] = ()

    def children(self, node: int) -> tuple[int, ...]:
        """Children of a node."""
        return tuple(edge.child for edge in self.edges if edge.parent == node)

    def parents(self, node: int) -> tuple[int, ...]:
        """Parents of a node."""
        return tuple(edge.parent for edge in self.edges if edge.child == node)

    @property
    def roots(self) -> tuple[int, ...]:
        """Nodes without parents."""
        below = {edge.child for edge in self.edges}
        return tuple(node for node in range(len(self.nodes)) if node not in below)


def with_promises(plan: PlanOutline, atoms: Sequence[AtomOutline]) -> PlanOutline:
    """The plan with what is promised of the relations at its nodes."""
    static = {atom.alias for atom in atoms if atom.static}
    lasting = static | {atom.alias for atom in atoms if atom.append_only}

    def node(found: NodeOutline) -> NodeOutline:
        if not found.atoms or found.promise or not lasting.issuperset(found.atoms):
            return found
        return replace(found, promise="static" if static.issuperset(found.atoms) else "append-only")

    return replace(plan, nodes=tuple(map(node, plan.nodes)))


def with_rows(plan: PlanOutline, rows: Mapping[str, int]) -> PlanOutline:
    """The plan with the rows that its static bags have, by their titles."""
    plan = replace(plan, merged=tuple(replace(one, rows=rows.get(one.title)) for one in plan.merged))
    if plan.static is None:
        return plan
    bags = tuple(replace(bag, rows=rows.get(bag.title)) for bag in plan.static.bags)
    return replace(plan, static=replace(plan.static, bags=bags))


def atom_outlines(query: ConjunctiveQuery) -> tuple[AtomOutline, ...]:
    """The atoms of a query."""
    return tuple(
        AtomOutline(
            atom.alias,
            atom.table.name,
            atom.variables,
            None if atom.predicate is None else atom.predicate.text,
            atom.table.static,
            atom.table.append_only,
        )
        for atom in query.atoms
    )
