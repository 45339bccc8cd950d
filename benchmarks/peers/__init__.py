"""Native programs of ours beside livejoin: differential dataflow, DBSP where it is built, and a floor in plain Rust.

All read the same file of changes, are called in the same way and print the same line; every answer is compared with
DuckDB's.
"""
