"""From Spark SQL to DuckDB's: scalars, whole queries, and what Arrow evaluates in its place."""
