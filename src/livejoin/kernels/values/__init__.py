"""Kernels of values: strings, their order, the order of rows."""
