"""Random conjunctive queries with branches of all kinds, nested, over a few small tables."""

from __future__ import annotations

from random import Random

import pyarrow as pa

from livejoin.query import Atom, Branch, ColumnRef, ConjunctiveQuery, EdgeKind, Output
from livejoin.schema import Column, SqlType, Table

_BIGINT = SqlType.integer(64)
_KINDS: tuple[EdgeKind, ...] = ("exists", "not exists", "optional")
TABLES = tuple(
    Table(f"T{i}", tuple(Column(f"c{k}", _BIGINT) for k in range(width))) for i, width in enumerate((2, 2, 3))
)


def random_query(random: Random, branches: int, kinds: tuple[EdgeKind, ...] = _KINDS) -> ConjunctiveQuery:
    """A query whose core and branches have one to three atoms each.

    Args:
        random: Where choices come from.
        branches: Number of its branches.
        kinds: The kinds that they may have.
    """
    atoms: list[Atom] = []
    parts = [_part(random, atoms)]
    found: list[Branch] = []
    for _ in range(branches):
        above = random.randrange(len(parts))
        part = _part(random, atoms)
        outer = list(atoms[random.choice(parts[above])].variables)
        inner = list(atoms[random.choice(part)].variables)
        width = min(random.choice((0, 1, 1, 1, 2)), len(inner))
        key = tuple((random.choice(outer), v) for v in random.sample(inner, width))
        found.append(Branch(random.choice(kinds), tuple(part), key, above - 1 if above else None))
        parts.append(part)
    shown = [atom for i, part in enumerate(parts) if _is_shown(found, i - 1) for atom in part]
    columns = [ColumnRef(atom, column) for atom in shown for column in atoms[atom].columns]
    head = tuple(random.sample(columns, random.randint(1, len(columns))))
    outputs = tuple(Output(f"o{i}", pa.int64(), i) for i in range(len(head)))
    return ConjunctiveQuery("", tuple(atoms), head, outputs, branches=tuple(found))


def _part(random: Random, atoms: list[Atom]) -> list[int]:
    """Atoms that are joined in a tree, with variables of their own."""
    first = len(atoms)
    for i in range(first, first + random.choice((1, 1, 1, 2, 2, 3))):
        table = random.choice(TABLES)
        variables = [f"{i}.{column.name}" for column in table.columns]
        if i > first:
            variables[random.randrange(len(variables))] = random.choice(atoms[random.randrange(first, i)].variables)
        atoms.append(Atom(f"A{i}", table, tuple(range(len(variables))), tuple(variables)))
    return list(range(first, len(atoms)))


def _is_shown(branches: list[Branch], position: int | None) -> bool:
    """Whether the head may have columns of a branch, or of the core (-1 or None)."""
    if position is None or position < 0:
        return True
    return branches[position].kind == "optional" and _is_shown(branches, branches[position].above)
