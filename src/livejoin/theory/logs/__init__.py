"""Logs of changes: lifespans, enclosureness, sequence classes."""
