"""A join in cells that are maintained side by side."""
