"""Numba kernels over flat buffers; the only package that imports numba."""
