"""Rounds of a campaign over servers: tables of PostgreSQL and a topic of Kafka, to tables or topics.

The server and the broker go away in mid-batch, without tidying up, and come back some time later. Between faults
transactions and messages come.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from stream_child import POINTS
from stream_rounds import (
    W_TABLE,
    W_VIEWS,
    Fault,
    Rows,
    check_w,
    differences,
    failed,
    killed,
    over,
    results,
    to_its_end,
    write_w,
)
from stream_worker import Workers

from kafka_broker import Broker
from kafka_cluster import Cluster
from postgres_server import PostgresServer

ACCOUNTS, VISITS = 12, 40
VIEWS = {
    "spent": "SELECT A.id, A.town, COUNT(*) AS n FROM V JOIN A ON V.account = A.id GROUP BY A.id, A.town",
    "towns": "SELECT town, COUNT(*) AS n, SUM(amount) AS total FROM A GROUP BY town",
    "idle": "SELECT A.id FROM A LEFT ANTI JOIN V ON A.id = V.account",
}
TYPES = {"A": "id INT, town VARCHAR, amount INT", "V": "id INT, account INT"}
_MADE = """
CREATE TABLE "A" (id int PRIMARY KEY, town text NOT NULL, amount int NOT NULL);
CREATE PUBLICATION all_of_it FOR TABLE "A";
"""


@dataclass
class Stage:
    """The servers of all rounds."""

    broker: Broker
    postgres: PostgresServer


class Servers:
    """A round; mutable."""

    faults = ("driver", "driver", "JVM", "broker", "broker", "PostgreSQL", "PostgreSQL", "failing sink")

    def __init__(self, folder: Path, dice: random.Random, stage: Stage, number: int) -> None:
        self._dice = dice
        self._stage = stage
        self._folder = folder
        self._pipeline = folder / "p.toml"
        self._slot = f"round_{number}"
        self._topic = f"V{number}"
        self._source, self._target = (stage.postgres.database(f"{name}_{number}") for name in ("from", "to"))
        self._views = VIEWS | W_VIEWS
        self._topics = {view: f"{view}-{number}" for view in self._views}
        self._to_kafka = dice.random() < 0.5
        self._visits: dict[int, int | None] = {}
        self._files = 0
        (folder / "W").mkdir()
        with psycopg.connect(self._source, autocommit=True) as connection:
            connection.execute(_MADE)
        for topic in (self._topic, *self._topics.values()):
            stage.broker.make(topic, 2)
        self._cluster = Cluster(stage.broker.servers)
        self._write()
        self._feed()

    def _write(self) -> None:
        views = "".join(f'[views.{name}]\nsql = "{sql}"\n' for name, sql in self._views.items())
        servers = self._stage.broker.servers
        if self._to_kafka:
            named = ", ".join(f'"{view}" = "{topic}"' for view, topic in self._topics.items())
            short = '{ "message.timeout.ms" = "3000" }'
            sink = f'kind = "kafka"\nservers = "{servers}"\ntopics = {{ {named} }}\nsettings = {short}\n'
        else:
            sink = f'kind = "postgres"\nurl = "{self._target}"\nhistory = ["held"]\n'
        self._pipeline.write_text(
            f'[servers.bank]\nkind = "postgres"\nurl = "{self._source}"\npublication = "all_of_it"\n'
            f'slot = "{self._slot}"\n[tables.A]\nserver = "bank"\n'
            f'[tables.V]\nformat = "kafka"\nservers = "{servers}"\ntopic = "{self._topic}"\nmessages = "upsert"\n'
            f'schema = "id INT, account INT, PRIMARY KEY (id)"\n{W_TABLE}{views}[sink]\n{sink}'
            '[run]\ncheckpoint = "checkpoint"\nrecovery_seconds = 0.05\n'
        )

    def _feed(self) -> None:
        """Transactions, messages and files come."""
        dice = self._dice
        with psycopg.connect(self._source) as connection:
            for _ in range(3):
                with connection.transaction():
                    for _ in range(6):
                        row = (dice.randrange(ACCOUNTS), dice.choice(["Bern", "Rom", "Ur"]), dice.randrange(90))
                        if dice.random() < 0.7:
                            connection.execute(
                                'INSERT INTO "A" VALUES (%s, %s, %s) ON CONFLICT (id) DO UPDATE '
                                "SET town = excluded.town, amount = excluded.amount",
                                row,
                            )
                        else:
                            connection.execute('DELETE FROM "A" WHERE id = %s', row[:1])
        messages: list[tuple[Any, Any]] = []
        for _ in range(20):
            key = dice.randrange(VISITS)
            account = dice.randrange(ACCOUNTS) if dice.random() < 0.7 else None
            self._visits[key] = account
            messages.append(({"id": key}, None if account is None else {"id": key, "account": account}))
        self._cluster.send(self._topic, messages)
        for _ in range(2):
            write_w(self._folder, self._files, dice)
            self._files += 1

    def fault(self, what: str, workers: Workers) -> list[Fault]:
        """Let something happen; what came of it."""
        self._feed()
        match what:
            case "driver" | "JVM":
                return [killed(workers, self._pipeline, self._dice, what)]
            case "broker" | "PostgreSQL":
                return [self._without(what, workers)]
            case _:
                return [failed(workers, self._pipeline, what, self._dice, ("Input/output error",))]

    def _without(self, what: str, workers: Workers) -> Fault:
        """Let a server be gone for a while, from some time or some point of a batch on."""
        server: Broker | PostgresServer = self._stage.broker if what == "broker" else self._stage.postgres
        point = self._dice.choice(["", *POINTS])
        worker = workers.one
        worker.begin(self._pipeline, point or "none", self._dice.randrange(1, 3))
        event = worker.event()
        if event is not None and event["event"] == "up":
            if point:
                event = worker.event()
            else:
                time.sleep(self._dice.random())
        event = worker.alive(event)
        if event["event"] == "end":
            assert not event["failed"], event["said"]
            return over(what)
        server.stop()
        if event["event"] == "paused":
            worker.go_on()
        time.sleep(self._dice.random() * 5)
        server.start()
        end = worker.alive(worker.end())
        name = "Kafka" if what == "broker" else "PostgreSQL"
        assert not end["failed"] or name in end["said"] or "has sent nothing" in end["said"], end["said"]
        return Fault(what, True, f"{point or 'at some time'}: {str(end['said'])[:160]}")

    def finish(self, workers: Workers) -> None:
        """Run it to its end; what the sink holds is what the views are over what the sources hold."""
        self._feed()
        to_its_end(workers, self._pipeline)
        found = self._in_topics() if self._to_kafka else self._in_tables()
        check_w(found["held"], self._files)
        with psycopg.connect(self._source, autocommit=True) as connection:
            accounts = connection.execute('SELECT id, town, amount FROM "A"').fetchall()
            connection.execute("SELECT pg_drop_replication_slot(%s)", (self._slot,))
        visits = [(key, account) for key, account in self._visits.items() if account is not None]
        tables = {"A": (TYPES["A"], accounts), "V": (TYPES["V"], visits)}
        expected = results(VIEWS, tables) | results(W_VIEWS, {"W": ("id INT, b INT", found["held"].elements())})
        assert not differences(found, expected), differences(found, expected)

    def _in_tables(self) -> dict[str, Rows]:
        with psycopg.connect(self._target) as connection:
            rows = {view: connection.execute(f'SELECT * FROM "{view}"').fetchall() for view in self._views}
        return {view: _summed(of) if view == "held" else Counter(of) for view, of in rows.items()}

    def _in_topics(self) -> dict[str, Rows]:
        found: dict[str, Rows] = {}
        for view, topic in self._topics.items():
            rows = [tuple(row.values()) for row in self._cluster.last(topic).values()]
            found[view] = _summed(rows) if view == "held" else Counter(rows)
        return found


def _summed(deltas: list[tuple[Any, ...]]) -> Rows:
    """Rows of W, of which deltas tell: the id, b and how it changed."""
    total: Rows = Counter()
    for key, b, kind, *_ in deltas:
        total[key, b] += 1 if kind in ("insert", "update_postimage") else -1
    return Counter({row: count for row, count in total.items() if count})
