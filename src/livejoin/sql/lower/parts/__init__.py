"""Outer joins and sub-queries as parts of a SELECT: from what is written to the branches of a join."""
