"""A broker of Kafka of its own for tests and campaigns, on the loopback, in a temporary folder.

Kafka is a program for Java that Maven brings, in the versions of ``tests/fixtures/kafka-broker.xml`` (48 MB, once). The
broker is its own controller (KRaft); it can be killed in mid-batch and started again on what it has written.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewTopic

from livejoin.errors import PipelineError
from livejoin.spark.java import ensure_java

ASKED = "LIVEJOIN_TORTURE"
_JARS = Path(__file__).parents[1] / "fixtures" / "kafka-broker.xml"
_PATIENCE = 60.0
_QUICK_START = ("-Xmx512m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
_SETTINGS = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
    "auto.create.topics.enable": "true",
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    # A broker that was killed is one that is gone after a second, not after nine, and is taken back at once.
    "broker.heartbeat.interval.ms": "200",
    "broker.session.timeout.ms": "1000",
    "controller.quorum.election.timeout.ms": "200",
    "controller.quorum.election.backoff.max.ms": "200",
}


class Broker:
    """A broker that runs; mutable."""

    def __init__(self, java: Path, classpath: str, folder: Path) -> None:
        self._java = [str(java), *_QUICK_START, "-cp", classpath]
        self._folder = folder
        port, controller = _free_ports(2)
        self.servers = f"127.0.0.1:{port}"
        settings = {
            **_SETTINGS,
            "log.dirs": str(folder / "data"),
            "listeners": f"PLAINTEXT://{self.servers},CONTROLLER://127.0.0.1:{controller}",
            "controller.quorum.voters": f"1@127.0.0.1:{controller}",
        }
        self._file = folder / "server.properties"
        self._file.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        with self._log() as log:
            format_it = ["kafka.tools.StorageTool", "format", "-t", "bGl2ZWpvaW4tdGVzdHMtMQ", "-c", str(self._file)]
            subprocess.run([*self._java, *format_it], stdout=log, stderr=log, check=True)
        self.start()

    def start(self) -> None:
        """Start it, and wait until it answers."""
        with self._log() as log:
            self._process = subprocess.Popen([*self._java, "kafka.Kafka", str(self._file)], stdout=log, stderr=log)
        deadline = time.monotonic() + _PATIENCE
        while True:
            assert self._process.poll() is None, (self._folder / "log").read_text()
            try:
                self._client().list_topics(timeout=1)
            except KafkaException:
                assert time.monotonic() < deadline, f"the broker does not answer within {_PATIENCE:.0f} seconds"
            else:
                return

    def stop(self, how: signal.Signals = signal.SIGKILL) -> None:
        """Stop it; by SIGKILL it does not get to tidy up."""
        self._process.send_signal(how)
        self._process.wait(_PATIENCE)

    def make(self, topic: str, partitions: int = 1) -> None:
        """Make a topic."""
        client = self._client()
        client.create_topics([NewTopic(topic, partitions, 1)])[topic].result(_PATIENCE)

    def _client(self) -> AdminClient:
        return AdminClient({"bootstrap.servers": self.servers, "log_level": 0})

    @contextmanager
    def _log(self) -> Iterator[int]:
        with (self._folder / "log").open("ab") as file:
            yield file.fileno()


def missing() -> str | None:
    """What is not there that a broker needs; None if all is."""
    try:
        ensure_java()
    except PipelineError as error:
        return str(error)
    return (
        None if shutil.which("mvn") else "Maven, which brings Kafka's broker, is not installed (apt-get install maven)"
    )


@contextmanager
def running() -> Iterator[Broker]:
    """A broker for the duration."""
    place = Path(tempfile.mkdtemp(prefix="livejoin-kafka-"))
    broker = None
    try:
        broker = Broker(ensure_java(), _classpath(place), place)
        yield broker
    finally:
        if broker is not None:
            broker.stop()
        shutil.rmtree(place, ignore_errors=True)


def running_or_skipped() -> Iterator[Broker]:
    """The same for a fixture; its tests are skipped where Java or Maven is missing, or nobody asked for faults.

    To bring the jars and to start and kill the broker takes a minute, which CI has not; there the mock cluster of
    `kafka_cluster` is what is read and written.
    """
    lacks = missing() if os.environ.get(ASKED) else f"a broker of Kafka that is killed is for make torture ({ASKED})"
    if lacks is not None:
        pytest.skip(lacks)
    with running() as broker:
        yield broker


def _classpath(folder: Path) -> str:
    """Kafka's jars, brought by Maven where they are not there yet."""
    found = folder / "classpath"
    goal = ["dependency:build-classpath", f"-Dmdep.outputFile={found}"]
    done = subprocess.run(
        ["mvn", "--batch-mode", "--quiet", "--strict-checksums", "--file", str(_JARS), *goal],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return found.read_text()


def _free_ports(count: int) -> list[int]:
    probes = [socket.socket() for _ in range(count)]
    try:
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [probe.getsockname()[1] for probe in probes]
    finally:
        for probe in probes:
            probe.close()
