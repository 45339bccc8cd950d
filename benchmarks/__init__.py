"""Measurements, each beside the check of its answer and the floor that the machine sets: ``python -m benchmarks``."""
