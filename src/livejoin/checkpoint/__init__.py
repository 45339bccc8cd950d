"""A database that survives its process: a log of batches, and now and then a snapshot of the tables.

Nothing in here knows Spark: what brings batches is above, and it may be anything that numbers them.
"""

from livejoin.checkpoint.engine import read_checkpoint

__all__ = ["read_checkpoint"]
