"""Kernels of Dynamic Yannakakis: T-representations, their deltas and enumeration."""
