"""Joins by order beside DBSP and Flink: ``python -m benchmarks ordered --peers``."""
