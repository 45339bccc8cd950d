"""Kernels of the join tree (CROWN): semi-join views, propagation, enumeration."""
