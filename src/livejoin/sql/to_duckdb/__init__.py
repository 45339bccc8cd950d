"""Whole queries in DuckDB's dialect, so that DuckDB can recompute what a view should hold."""
