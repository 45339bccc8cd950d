"""Joins whose state is one arena: what those of several families have in common."""
