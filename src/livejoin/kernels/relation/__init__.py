"""Kernels of relations: rows with stable ids, their hash indexes, windows, staging, and counted multisets."""
