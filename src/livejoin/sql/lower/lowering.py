"""What a rewrite asks for where it makes a nested query: its relation, from the later rewrites on.

A rewrite never calls another one by itself. It is given a `Lowering`, which knows the order of all rewrites
(`livejoin.sql.bind.passes`), and hands a SELECT that it made to the place in that order from which on it is to go.
"""

from __future__ import annotations

from typing import Protocol

from livejoin.query.relational import Relation
from livejoin.sql.resolved.query import BoundBlock, SelectBlock


class Lowering(Protocol):
    """The rewrites of SELECTs without sub-queries in their expressions, and what makes relations of them."""

    @property
    def allow_product(self) -> bool:
        """Whether a condition may be over tables that no equality connects."""

    def merged(self, block: SelectBlock) -> BoundBlock:
        """A SELECT, merged with the plain queries that it reads, and its relation; raises as binding it does."""

    def relation(self, block: SelectBlock) -> Relation:
        """The relation of a SELECT that is not merged with what it reads; raises as binding it does."""
