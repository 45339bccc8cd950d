"""Kernels of the joins inside the bags of a cyclic query."""
