"""Faults of pipelines on Spark at random moments: ``python tests/torture/stream_campaign.py FAULTS [SEED] [KIND]``.

A pipeline runs until a fault ends it, is started again, and so on to its end. In one kind of round
(`stream_files`) it goes from files to files: the process or its JVM is killed, a file is cut, spoilt or taken away, the
disk is full, the sink fails. In the other (`stream_servers`) it goes from PostgreSQL and Kafka to one of them: the
server or the broker is killed too. In both, rows of one table come in another order whenever a batch runs again. Rounds
of the kind ``cells`` (`stream_cells`) have their tables in 1 to 4 cells on a cluster of two executors; these, their
Python workers and the processes of the cells are killed too, their disks are full, and what takes longer than others
runs twice at once.
What is damaged has to be an error that names it; it is put back then. At the end of each round the sum of each view's
output has to be its result over the rows that are left, by DuckDB. Behind each fault, what a reader
finds of a view in the checkpoint has to be what its output adds up to by then.

In the kind ``stores`` a database, the engine of a checkpoint and cells lie in an object store behind HTTP. What goes
there and comes back is lost, torn, late, doubled or refused (`faulty_proxy`); ``LIVEJOIN_S3`` may have the address of a
server.

So many faults hit a pipeline that runs, of each kind, ``embedded``, ``cells`` and ``stores``, or of the one that is
named; those that came too late are counted apart. The folder of a round whose output is wrong stays, and is named.
"""

from __future__ import annotations

import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import store_faults
import stored_cells
import stored_streams
from stream_cells import Cells
from stream_files import Files
from stream_servers import Servers, Stage
from stream_worker import Workers

import kafka_broker
import postgres_server
from local_cluster import CLUSTER
from proxied_objects import behind_proxies

FAULTS = 10  # of a round

Round = Files | Servers


@dataclass
class Done:
    """What a campaign has done; changed in place.

    Args:
        hits: How many faults of each sort hit.
        misses: How many found no batch to disturb.
        rounds: How many pipelines came to their ends, each with an output that was compared and right.
        reads: How many views were read from a checkpoint behind a fault, each with the rows that its output adds up to.
        slow: How many tasks Spark attempted a second time meanwhile, since they were slow.
    """

    hits: Counter[str] = field(default_factory=Counter)
    misses: Counter[str] = field(default_factory=Counter)
    rounds: int = 0
    reads: int = 0
    slow: int = 0

    def __str__(self) -> str:
        hits, misses = (", ".join(f"{n} {what}" for what, n in some.most_common()) for some in (self.hits, self.misses))
        return (
            f"{self.hits.total()} faults hit ({hits}), {self.misses.total()} missed ({misses or 'none'}); "
            f"{self.rounds} outputs compared, all right; {self.reads} views read; "
            f"{self.slow} tasks were attempted twice at once"
        )


def rounds_of(dice: random.Random, faults: int, workers: Workers, made: Callable[[Path, int], Round]) -> Done:
    """Rounds until so many faults have hit."""
    done = Done()
    while done.hits.total() < faults:
        folder = Path(tempfile.mkdtemp(prefix="livejoin-round-"))
        print(f"round {done.rounds + 1} in {folder}", flush=True)
        one = made(folder, done.rounds + 1)
        for _ in range(FAULTS):
            what = dice.choice(one.faults)
            started = time.monotonic()
            faults_now = one.fault(what, workers)
            for fault in faults_now:
                (done.hits if fault.hit else done.misses)[fault.what] += 1
                number = str(done.hits.total()) if fault.hit else "missed"
                print(f"{number}: {fault.what}: {fault.told} ({time.monotonic() - started:.1f} s)", flush=True)
            if isinstance(one, Files):
                done.reads += one.check_rows()
            if any(fault.is_over for fault in faults_now):
                break
        one.finish(workers)
        done.rounds += 1
        done.slow = workers.slow()
        print(f"the output is right; so far {done}", flush=True)
        shutil.rmtree(folder)
    return done


def embedded(faults: int, dice: random.Random) -> Done:
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


def cells(faults: int, dice: random.Random) -> Done:
    """Rounds of cells on a cluster."""
    workers = Workers(dice, CLUSTER)
    try:
        return rounds_of(dice, faults, workers, lambda folder, _: Cells(folder, dice))
    finally:
        workers.close()


def stores(faults: int, dice: random.Random) -> str:
    """Faults on the way to an object store."""
    seed = dice.randrange(1 << 30)
    with behind_proxies() as sight:
        database = store_faults.storm(seed, faults, sight)
    with behind_proxies() as sight, stored_streams.hurried_streams():
        checkpoint = stored_streams.storm(seed, (25, faults), sight)
    with behind_proxies() as sight, stored_cells.hurried_cells():
        in_cells = stored_cells.storm(seed, (10, faults), sight)
    told = (", ".join(f"{n} {what}" for what, n in some.most_common()) for some in (database, checkpoint, in_cells))
    return "database: {}; checkpoint: {}; cells: {}".format(*told)


KINDS: dict[str, Callable[[int, random.Random], object]] = {"embedded": embedded, "cells": cells, "stores": stores}


def main(faults: int, seed: int, kinds: Sequence[str]) -> None:
    for kind in kinds:
        began = time.monotonic()
        done = KINDS[kind](faults, random.Random(seed))
        print(f"{kind}: {done}, in {time.monotonic() - began:.0f} s", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1, sys.argv[3:] or list(KINDS))
