"""Faults of pipelines on Spark at random moments: ``python tests/torture/stream_campaign.py FAULTS [SEED]``.

A pipeline runs until a fault ends it, is started again, and so on to its end. In one kind of round
(`stream_files`) it goes from files to files: the process or its JVM is killed, a file is cut, spoilt or taken away, the
disk is full, the sink fails. In the other (`stream_servers`) it goes from PostgreSQL and Kafka to one of them: the
server or the broker is killed too. In both, rows of one table come in another order whenever a batch runs again. What
is damaged has to be an error that names it; it is put back then. At the end of each round the sum of each view's output
has to be its result over the rows that are left, by DuckDB.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

from stream_files import Files
from stream_servers import Servers, Stage
from stream_worker import Workers

import kafka_broker
import postgres_server

FAULTS = 10  # of a round


def main(faults: int, seed: int) -> None:
    dice = random.Random(seed)
    done: Counter[str] = Counter()
    began = time.monotonic()
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
        rounds = 0
        while done.total() < faults:
            rounds += 1
            with tempfile.TemporaryDirectory() as temporary:
                folder = Path(temporary)
                one = Files(folder, dice) if stage is None or rounds % 2 else Servers(folder, dice, stage, rounds)
                for _ in range(FAULTS):
                    what = dice.choice(one.faults)
                    started = time.monotonic()
                    told = one.fault(what, workers)
                    done[what] += 1
                    print(f"{done.total()}: {what}: {told} ({time.monotonic() - started:.1f} s)", flush=True)
                one.finish(workers)
                print("the output is right", flush=True)
    print(f"{dict(done)} in {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1)
