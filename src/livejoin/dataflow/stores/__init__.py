"""Stores of rows above joins: groups, set operations, first rows."""
