"""Aggregates, groups and windows: from what is written to the calls that stores and joins keep."""
