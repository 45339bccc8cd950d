"""A query after its names are resolved: columns, items, parts, and the one recursive type of a query. Data only.

The other packages of `livejoin.sql` read and rewrite these values. So this package imports none of them except the
positions and forms of `livejoin.sql.parse`.
"""
