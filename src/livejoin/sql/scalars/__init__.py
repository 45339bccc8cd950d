"""Scalar expressions of SQL as typed trees, with Spark's types."""
