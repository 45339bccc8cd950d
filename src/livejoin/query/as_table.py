"""How a join sees a derived relation: as a table, with a key of the relation and with what the relation promises."""

from __future__ import annotations

from collections.abc import Sequence

from livejoin.query.keys import keys
from livejoin.query.relational import Relation
from livejoin.schema import Column, Table, TableSettings


def relation_columns(names: Sequence[str], relation: Relation) -> tuple[Column, ...]:
    """The columns of a relation under some names, CHAR where they are."""
    described = zip(names, relation.types, relation.char_lengths, strict=True)
    return tuple(Column(name, kind, length=length, is_char=length > 0) for name, kind, length in described)


def as_table(name: str, columns: tuple[Column, ...], relation: Relation) -> Table:
    """How a join sees a derived relation: as a table with the smallest of its keys, and with what it promises.

    Args:
        name: The table's name.
        columns: The columns of the relation.
        relation: The relation.
    """
    best = min((sorted(key) for key in keys(relation)), key=lambda key: (len(key), key), default=[])
    fixed = relation.never_changes
    grows = not fixed and relation.only_grows
    return Table(name, columns, tuple(best), settings=TableSettings(static=fixed, append_only=grows))
