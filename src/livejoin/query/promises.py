"""What tables promise, of relations that are made of them: that they never change, or that no row leaves."""

from __future__ import annotations

from livejoin.query.keys import keys
from livejoin.query.relational import Distinct, Join, Numbers, Project, Relation, SetOperation
from livejoin.schema import Column, Table, TableSettings


def as_table(name: str, columns: tuple[Column, ...], relation: Relation) -> Table:
    """How a join sees a derived relation: as a table with the smallest of its keys, and with what it promises.

    Args:
        name: The table's name.
        columns: Its columns.
        relation: The relation.
    """
    best = min((sorted(key) for key in keys(relation)), key=lambda key: (len(key), key), default=[])
    fixed = never_changes(relation)
    grows = not fixed and only_grows(relation)
    return Table(name, columns, tuple(best), settings=TableSettings(static=fixed, append_only=grows))


def never_changes(relation: Relation) -> bool:
    """Whether a relation is made of static tables alone, so that it is as static as they are."""
    match relation:
        case Join():
            return all(atom.table.static for atom in relation.query.atoms)
        case SetOperation():
            return never_changes(relation.left) and never_changes(relation.right)
        case Numbers():
            return True
        case _:
            return never_changes(relation.input)


def only_grows(relation: Relation) -> bool:
    """Whether rows come to a relation and never leave it, because it is made so of static and append-only tables.

    Joins, selections, DISTINCT, UNION and INTERSECT are monotone: where no row leaves what they read, none leaves them.
    Over outer joins, anti-joins, aggregates and orders a row that comes may take the place of another.
    """
    match relation:
        case Join():
            kept = all(atom.table.static or atom.table.append_only for atom in relation.query.atoms)
            return (
                kept and not relation.query.sums and all(branch.kind == "exists" for branch in relation.query.branches)
            )
        case SetOperation(kind="except"):
            return only_grows(relation.left) and never_changes(relation.right)
        case SetOperation():
            return only_grows(relation.left) and only_grows(relation.right)
        case Project() | Distinct():
            return only_grows(relation.input)
        case _:
            return never_changes(relation)
