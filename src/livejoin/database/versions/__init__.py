"""Versions that stay readable beside the writer: what a version was, what became of it, and who follows."""
