"""Kernels of as-of joins: each row with the last row of another relation in front of it."""
