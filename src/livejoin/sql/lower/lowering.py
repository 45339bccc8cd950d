"""The interface through which a rewrite gets the relation of a nested query that it makes.

A rewrite never calls another rewrite. It gets a `Lowering`, which knows the order of all rewrites
(`livejoin.sql.bind.passes`), and hands a SELECT that it made to the place in that order where the SELECT enters.
"""

from __future__ import annotations

from typing import Protocol

from livejoin.query.relational import Relation
from livejoin.sql.resolved.query import BoundBlock, SelectBlock


class Lowering(Protocol):
    """The rewrites of SELECTs without sub-queries in their expressions, and the making of their relations."""

    @property
    def allow_product(self) -> bool:
        """Whether a condition may compare tables that no equality connects."""

    def merged(self, block: SelectBlock) -> BoundBlock:
        """Merge a SELECT with the plain queries that it reads, and make its relation; raises as binding does."""

    def relation(self, block: SelectBlock) -> Relation:
        """The relation of a SELECT that is not merged with the queries that it reads; raises as binding does."""
