"""The daemon of Spark's Python workers on the cluster of a campaign; Spark runs it in the place of its own one.

In its workers the rows of the table W come in another order whenever they are read, and in those of one executor of two
what a step leaves is always a file.
"""

from __future__ import annotations

import random

from pyspark import daemon
from stream_child import another_order

from livejoin.distributed import parts
from livejoin.spark import frames

if __name__ == "__main__":
    dice = random.SystemRandom()  # each worker is a fork, and would have the numbers of the others
    frames.unpack = another_order(dice)(frames.unpack)
    if dice.random() < 0.5:
        parts.SMALL = -1
    daemon.manager()
