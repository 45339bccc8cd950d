"""Kernels of change propagation: a chain of binary joins whose results are kept."""
