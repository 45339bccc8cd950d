"""A query with its names resolved and its relation: what reads it, and how it was written.

The relation is what is maintained. How it was written is kept beside it for DuckDB, which computes the same from a text
that went through none of the rewrites (see `livejoin.sql.to_duckdb.query_text`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from livejoin.query.relational import Numbers, Relation, SetKind
from livejoin.sql.lower.select_block import SelectBlock
from livejoin.sql.names.nested import NestedQuery
from livejoin.sql.names.order import Order
from livejoin.sql.parse.source import Source


@dataclass(frozen=True, eq=False)
class BoundBlock:
    """A SELECT.

    Args:
        block: The SELECT as it is written.
        merged: The SELECT with plain queries in FROM merged into it.
        relation: What it gives.
    """

    block: SelectBlock
    merged: SelectBlock
    relation: Relation

    @property
    def columns(self) -> tuple[str, ...]:
        """What its columns are called; a name may occur twice."""
        return tuple(item.written for item in self.block.outputs)

    @property
    def plain(self) -> SelectBlock | None:
        """The merged SELECT if a reader can take its place, None otherwise."""
        computes = self.block.groups is not None or self.block.distinct or self.block.order is not None
        computes = computes or self.block.has_windows
        return None if computes else self.merged


@dataclass(frozen=True, eq=False)
class BoundNumbers:
    """The numbers of constant rows."""

    relation: Numbers

    plain = None
    columns = ("number",)


@dataclass(frozen=True, eq=False)
class BoundCombined:
    """Two queries under a set operation, or those that a FULL JOIN is."""

    kind: SetKind
    all: bool
    left: Bound
    right: Bound
    relation: Relation
    is_full_join: bool = False

    plain = None

    @property
    def columns(self) -> tuple[str, ...]:
        """What its columns are called: as on the left."""
        return self.left.columns


@dataclass(frozen=True, eq=False)
class BoundSorted:
    """A query in parentheses or a set operation with ORDER BY, mostly with LIMIT; the keys are over its columns."""

    input: Bound
    order: Order
    source: Source
    relation: Relation

    plain = None

    @property
    def columns(self) -> tuple[str, ...]:
        """What its columns are called."""
        return self.input.columns


@dataclass(frozen=True, eq=False)
class BoundWith:
    """A query behind a WITH clause."""

    definitions: tuple[NestedQuery, ...]
    query: Bound

    @property
    def relation(self) -> Relation:
        """What it gives."""
        return self.query.relation

    @property
    def columns(self) -> tuple[str, ...]:
        """What its columns are called."""
        return self.query.columns

    @property
    def plain(self) -> SelectBlock | None:
        """The SELECT behind the WITH clause, as of a `BoundBlock`."""
        return self.query.plain


Bound: TypeAlias = BoundBlock | BoundCombined | BoundSorted | BoundWith | BoundNumbers
