"""Kernels of aggregates of joins by one comparison: the rows of both sides in order, and sums in front of each."""
