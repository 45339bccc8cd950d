"""Kernels of joins by one comparison, of which aggregates are kept: rows of two sides, and their sums in front of each."""
