"""Aggregates, groups and windows: from syntax to the calls that stores and joins maintain."""
