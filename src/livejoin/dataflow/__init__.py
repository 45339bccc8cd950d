"""Operators that maintain results: they own state, apply changes and give deltas."""
