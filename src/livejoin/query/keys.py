"""shim"""

from livejoin.query.relational import Relation


def keys(relation: Relation) -> tuple[frozenset[int], ...]:
    return ()
