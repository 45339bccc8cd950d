"""How the records of base rows are laid out: values and factors once a row, then words of each atom over the table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from livejoin.families.layout.annotation import annotation_widths
from livejoin.families.layout.table_use import TableUse
from livejoin.query import ConjunctiveQuery, Factor


@dataclass(frozen=True)
class Records:
    """The layout of a query's records.

    Args:
        tables: The base tables.
        own: For each atom, the offset of its own words.
        table_of: For each atom, the position of its table in ``tables``.
        factors: Where the record has a factor.
    """

    tables: tuple[TableUse, ...]
    own: tuple[int, ...]
    table_of: tuple[int, ...]
    factors: dict[Factor, int]


def lay_out_records(query: ConjunctiveQuery, words: Sequence[int]) -> Records:
    """Lay out the records of a query in which each atom has so many words of its own."""
    atoms_of: dict[str, list[int]] = {}
    for i, atom in enumerate(query.atoms):
        atoms_of.setdefault(atom.table.name, []).append(i)
    tables: list[TableUse] = []
    places: dict[Factor, int] = {}
    own: dict[int, int] = {}
    table_of: dict[int, int] = {}
    for name, atoms in atoms_of.items():
        columns = sorted({column for a in atoms for column in query.atoms[a].columns})
        wanted = [factor for product in query.sums for factor in product.factors if factor.atom in atoms]
        expressions = tuple(dict.fromkeys(factor.expression for factor in wanted))
        places |= {factor: len(columns) + expressions.index(factor.expression) for factor in wanted}
        stride = len(columns) + len(expressions)
        for a in atoms:
            own[a], table_of[a] = stride, len(tables)
            stride += words[a]
        tables.append(TableUse(name, tuple(columns), tuple(atoms), stride, expressions))
    order = range(len(query.atoms))
    return Records(tuple(tables), tuple(own[a] for a in order), tuple(table_of[a] for a in order), places)


def factor_triples(query: ConjunctiveQuery, records: Records, atom: int) -> Sequence[tuple[int, int, int]]:
    """For each factor of an atom the first word and the width of its component, and its place in the record."""
    triples = []
    at = 0
    for product, width in zip(query.sums, annotation_widths(query), strict=True):
        triples += [(at, width, records.factors[factor]) for factor in product.factors if factor.atom == atom]
        at += width
    return triples
