"""Bound queries: frozen values, independent of the SQL text that they came from."""

from livejoin.query.conjunctive import Atom, Branch, ColumnRef, ConjunctiveQuery, EdgeKind, Factor, Output, Product

__all__ = ["Atom", "Branch", "ColumnRef", "ConjunctiveQuery", "EdgeKind", "Factor", "Output", "Product"]
