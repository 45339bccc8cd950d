"""Which relations are the time of now(), and move by it alone."""

from __future__ import annotations

from livejoin.query.relational import Join, Relation
from livejoin.schema.now import NOW


def is_of_time(relation: Relation) -> bool:
    """Whether a relation reads the table of now() and no other one."""
    if isinstance(relation, Join):
        derived = {one.table.name for one in relation.inputs}
        own = [atom.table.name for atom in relation.query.atoms if atom.table.name not in derived]
        return all(name == NOW for name in own) and all(map(is_of_time, relation.below))
    return bool(relation.below) and all(map(is_of_time, relation.below))
