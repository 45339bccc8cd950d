"""Snapshots: a database in files, and back."""
