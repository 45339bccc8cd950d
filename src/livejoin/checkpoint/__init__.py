"""A database that survives its process: a log of batches, and now and then a snapshot of the tables.

Nothing here knows Spark: any source that numbers its batches will do. The entry is `livejoin.checkpoint.engine`.
Workers of Spark take small modules beside it, which need no database.
"""
