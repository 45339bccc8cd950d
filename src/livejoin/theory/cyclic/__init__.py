"""Cyclic queries: edge covers and decompositions."""
