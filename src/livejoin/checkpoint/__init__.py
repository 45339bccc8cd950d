"""A database that survives its process: a log of batches, and now and then a snapshot of the tables.

Nothing here knows Spark. Any source that numbers its batches will do.
"""

from livejoin.checkpoint.engine import read_checkpoint

__all__ = ["read_checkpoint"]
