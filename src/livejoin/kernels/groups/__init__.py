"""Kernels of groups: accumulators, ordered indexes, results."""
