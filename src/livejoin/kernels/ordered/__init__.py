"""Kernels of ordered multisets: trees of rows, the first rows of an order."""
