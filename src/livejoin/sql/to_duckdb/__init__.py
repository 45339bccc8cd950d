"""Whole queries in DuckDB's dialect, so that DuckDB computes by itself what a view should hold."""
