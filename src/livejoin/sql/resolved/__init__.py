"""What a query is once its names are resolved: columns, items, parts, and the one recursive type of a query. Data only.

Everything else in `livejoin.sql` reads and rewrites these values, so that this package imports nothing of it but the
positions and the forms of `livejoin.sql.parse`.
"""
