"""Kernels of rows that compare with the bound of their key."""
