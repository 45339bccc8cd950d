"""Conjunctive queries of SQL texts that are one join and nothing above it."""

from __future__ import annotations

from livejoin.catalog import Catalog
from livejoin.query import ConjunctiveQuery
from livejoin.query.relational import Join
from livejoin.sql import bind_query


def bind(sql: str, catalog: Catalog) -> ConjunctiveQuery:
    """The conjunctive query of a text over base tables."""
    root = bind_query(sql, catalog).root
    assert isinstance(root, Join), root
    assert not root.inputs
    return root.query
