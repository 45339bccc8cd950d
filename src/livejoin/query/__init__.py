"""Bound queries: frozen values, independent of the SQL text that they came from."""

from livejoin.query.conjunctive import Atom, ColumnRef, ConjunctiveQuery, Factor, Output, Product

__all__ = ["Atom", "ColumnRef", "ConjunctiveQuery", "Factor", "Output", "Product"]
