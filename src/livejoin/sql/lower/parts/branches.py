"""Parts in normal form as the branches of a conjunctive query: the conditions of each level, and the keys.

Columns are equal only within a level: across an edge they differ if there is no match.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from livejoin.query.conjunctive import Atom, Branch, ColumnRef
from livejoin.sql.lower.conditions.split import Conditions, column_equality, split_conditions
from livejoin.sql.resolved.part import Equality, Part
from livejoin.sql.resolved.query import SelectBlock


@dataclass(frozen=True)
class Edge:
    """An edge between columns.

    Args:
        part: The part below.
        pairs: The equal columns, the one above on the left.
        above: The position of the edge that this one hangs below; None for the core.
    """

    part: Part
    pairs: tuple[Equality, ...]
    above: int | None


def split_parts(block: SelectBlock, allow_product: bool) -> tuple[Conditions, tuple[Edge, ...]]:
    """The conditions of all levels, and the edges between them.

    Args:
        block: A SELECT in normal form (`livejoin.sql.lower.parts.normal_parts`).
        allow_product: Whether a residual may compare occurrences that no equality connects.

    Raises:
        SqlError: A condition whose types do not fit, or a residual over occurrences that no equality connects.
    """
    edges = []
    found = []
    scope = block.scope
    for part in block.parts:
        pairs = [pair for one in part.conditions if (pair := _pair(column_equality(one, 0), part))]
        own = [one for one in part.conditions if _pair(column_equality(one, 0), part) is None]
        edges.append(Edge(part, tuple(pairs), part.above))
        found.append(split_conditions(own, (), scope, block.source, block.start, among=part.atoms))
        scope = found[-1].scope
    links: list[tuple[ColumnRef, ...]] = [(pair.left, pair.right) for edge in edges for pair in edge.pairs]
    links += [members for one in found for members in one.joins]
    core = split_conditions(
        block.conditions,
        block.equalities,
        scope,
        block.source,
        block.start,
        allow_product,
        among=block.core,
        links=tuple(links),
    )
    levels = (core, *found)
    for one in levels:
        if one.unconnected is not None:
            raise one.unconnected.error()
    joins = tuple(members for one in levels for members in one.joins)
    equal = tuple(members for one in levels for members in one.equal)
    predicates = {atom: bound for one in levels for atom, bound in one.predicates.items()}
    return Conditions(core.scope, joins, equal, predicates, core.residuals), tuple(edges)


def _pair(equality: Equality | None, part: Part) -> Equality | None:
    if equality is None or (equality.left.atom in part.atoms) == (equality.right.atom in part.atoms):
        return None
    if equality.left.atom in part.atoms:
        return Equality(equality.right, equality.left, equality.offset)
    return equality


def key_columns(edges: Sequence[Edge]) -> tuple[ColumnRef, ...]:
    """The columns of all keys, each once."""
    return tuple(dict.fromkeys(ref for edge in edges for pair in edge.pairs for ref in (pair.left, pair.right)))


def make_branches(edges: Sequence[Edge], atoms: Sequence[Atom]) -> tuple[Branch, ...]:
    """The branches of a query.

    Args:
        edges: The edges.
        atoms: The atoms over all columns of their occurrences, including the columns of keys.
    """

    def variable(ref: ColumnRef) -> str:
        atom = atoms[ref.atom]
        return atom.variables[atom.columns.index(ref.column)]

    return tuple(
        Branch(
            edge.part.kind,
            edge.part.atoms,
            tuple(dict.fromkeys((variable(pair.left), variable(pair.right)) for pair in edge.pairs)),
            edge.above,
        )
        for edge in edges
    )
