"""Faults of pipelines on Spark at random moments: ``python tests/torture/stream_campaign.py FAULTS [SEED] [KIND]``.

A pipeline runs until a fault ends it, is started again, and so on to its end. In one kind of round
(`stream_files`) it goes from files to files: the process or its JVM is killed, a file is cut, spoilt or taken away, the
disk is full, the sink fails. In the other (`stream_servers`) it goes from PostgreSQL and Kafka to one of them: the
server or the broker is killed too. In both, rows of one table come in another order whenever a batch runs again. Rounds
of the kind ``cells`` (`stream_cells`) have their tables in 1 to 4 cells on a cluster of two executors; these, their
Python workers and the processes of the cells are killed too, and what takes longer than others runs twice meanwhile.
What is damaged has to be an error that names it; it is put back then. At the end of each round the sum of each view's
output has to be its result over the rows that are left, by DuckDB.

So many faults are there of each kind, ``embedded`` and ``cells``, or of the one that is named.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

from stream_cells import Cells
from stream_files import Files
from stream_servers import Servers, Stage
from stream_worker import Workers

import kafka_broker
import postgres_server
from local_cluster import CLUSTER

FAULTS = 10  # of a round

Round = Files | Servers


def rounds_of(dice: random.Random, faults: int, workers: Workers, made: Callable[[Path, int], Round]) -> Counter[str]:
    """Rounds until there were so many faults; how many there were of each."""
    done: Counter[str] = Counter()
    rounds = 0
    while done.total() < faults:
        rounds += 1
        with tempfile.TemporaryDirectory() as temporary:
            one = made(Path(temporary), rounds)
            for _ in range(FAULTS):
                what = dice.choice(one.faults)
                started = time.monotonic()
                told = one.fault(what, workers)
                done[what] += 1
                print(f"{done.total()}: {what}: {told} ({time.monotonic() - started:.1f} s)", flush=True)
            one.finish(workers)
            print("the output is right", flush=True)
    return done


def embedded(faults: int, dice: random.Random) -> Counter[str]:
    """Rounds of one process, from files, and from servers where they are installed."""
    with ExitStack() as stack:
        workers = Workers(dice)
        stack.callback(workers.close)
        lacks = kafka_broker.missing() or postgres_server.missing()
        stage = None
        if lacks is None:
            broker = stack.enter_context(kafka_broker.running())
            stage = Stage(broker, stack.enter_context(postgres_server.running()))
        else:
            print(f"without rounds of servers: {lacks}", flush=True)

        def made(folder: Path, number: int) -> Round:
            return Files(folder, dice) if stage is None or number % 2 else Servers(folder, dice, stage, number)

        return rounds_of(dice, faults, workers, made)


def cells(faults: int, dice: random.Random) -> Counter[str]:
    """Rounds of cells on a cluster."""
    workers = Workers(dice, CLUSTER)
    try:
        return rounds_of(dice, faults, workers, lambda folder, _: Cells(folder, dice))
    finally:
        workers.close()


KINDS = {"embedded": embedded, "cells": cells}


def main(faults: int, seed: int, kinds: Sequence[str]) -> None:
    for kind in kinds:
        began = time.monotonic()
        done = KINDS[kind](faults, random.Random(seed))
        print(f"{kind}: {dict(done)} in {time.monotonic() - began:.0f} s", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1, sys.argv[3:] or list(KINDS))
