"""How peers are timed and planned: from their first change to their last, by the order of joins that suits them."""

from __future__ import annotations

import importlib
import sys
import threading
import time
from dataclasses import replace
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from benchmarks.crown import command, experiments, report
from benchmarks.crown.content import recomputed
from benchmarks.crown.enclosing import PATH
from benchmarks.crown.experiments import Setting
from benchmarks.crown.job import Clock, Job
from benchmarks.crown.measure import Measurement, Point, System
from benchmarks.crown.queries import GRAPH_QUERIES, SNB_QUERIES, CrownQuery
from benchmarks.crown.registry import systems
from benchmarks.crown.snb import lift, snb_stream
from benchmarks.crown.streams import ChangeStream
from benchmarks.crown.systems.flink_clock import Sampler, Task, Thread, clock_of

QUERIES = {query.name: query for query in (*GRAPH_QUERIES, *SNB_QUERIES, PATH)}
STREAM = snb_stream(lift(command.little_network(), 2), 30)


def test_a_job_is_timed_from_its_first_change_to_its_last() -> None:
    tasks = [
        Task("Source: rows of knows", 10.0, 11.0),
        Task("Source: rows of tags", 10.5, 11.0),
        Task("Join", 10.2, 13.0),
    ]
    threads = [
        Thread("Source: rows of", [(9.8, 4.0), (10.4, 4.5), (11.0, 5.0)]),
        Thread("Source: rows of", [(10.4, 0.25), (10.9, 0.5)]),
        Thread("Join", [(10.1, 1.0), (12.9, 3.0)]),
        Thread("GC Thread#0", [(10.0, 0.0), (12.0, 9.0)]),
    ]
    clock = clock_of(tasks, threads)
    assert clock.processor == pytest.approx(1.0 + 0.5 + 2.0), (
        "a start before 10.0 s, and the collector, are not counted"
    )
    assert clock.wall == pytest.approx(3.0)
    alone = clock_of(tasks, [])
    assert alone.seconds == alone.wall == pytest.approx(3.0), "where threads cannot be read"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="threads are read from /proc")
def test_threads_that_start_are_read() -> None:
    import os  # noqa: PLC0415

    def work() -> None:
        until = time.thread_time() + 0.1
        while time.thread_time() < until:
            pass

    with Sampler(os.getpid()) as sampler:
        worker = threading.Thread(target=work)
        worker.start()
        worker.join()
    used = max(thread.since(0.0) for thread in sampler.threads)
    assert 0.03 < used < 1.0
    assert Sampler(2**22 + 1).threads == [], "a process that is not there"


class Flink(ModuleType):
    """A pyflink that cannot do anything."""

    get_gateway = None


def test_tasks_are_what_the_cluster_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyflink", Flink("pyflink"))
    monkeypatch.setitem(sys.modules, "pyflink.java_gateway", Flink("pyflink.java_gateway"))
    flink = importlib.import_module("benchmarks.crown.systems.flink")
    said = {
        "jobs/7": {"vertices": [{"id": "v", "name": "Join[3]"}]},
        "jobs/7/vertices/v": {
            "subtasks": [
                {"start-time": 500, "end-time": 4_000, "status-duration": {"DEPLOYING": 900, "RUNNING": 2_500}}
            ]
        },
    }
    cluster = flink.Cluster.__new__(flink.Cluster)
    monkeypatch.setattr(flink.Cluster, "_ask", lambda _, what: said[what])
    assert list(cluster._tasks("7")) == [Task("Join[3]", 1.5, 4.0)]
    monkeypatch.delitem(sys.modules, "benchmarks.crown.systems.flink")


def test_building_the_graph_of_pathway_is_not_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    def spin(seconds: float) -> None:
        until = time.process_time() + seconds
        while time.process_time() < until:
            pass

    class Runner:
        def __init__(self, graph: object, **_: object) -> None: ...

        def run_outputs(self, *, after_build: Any) -> None:
            spin(0.3)
            after_build("state", "graph")
            spin(0.05)

    graph = SimpleNamespace(G=SimpleNamespace(clear=lambda: None))
    null = SimpleNamespace(write=lambda _: None)
    parts = {
        "internals": SimpleNamespace(parse_graph=graph),
        "io": SimpleNamespace(null=null),
        "MonitoringLevel": SimpleNamespace(NONE=0),
    }
    fake, runner = ModuleType("pathway"), ModuleType("pathway.internals.graph_runner")
    fake.__dict__.update(parts)
    runner.__dict__.update({"GraphRunner": Runner})
    for name, module in {
        "pathway": fake,
        "pathway.internals": ModuleType("pathway.internals"),
        "pathway.internals.graph_runner": runner,
    }.items():
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.delenv("PATHWAY_THREADS", raising=False)
    pathway = importlib.import_module("benchmarks.crown.systems.pathway")
    monkeypatch.setattr(pathway, "build", lambda *_: None)
    clock = Clock()
    pathway._run(Job("q", "", PATH.shape, {}, {}, 1, (1,)), {}, 1, clock, None)
    assert 0.05 <= clock.processor < 0.25
    monkeypatch.delitem(sys.modules, "benchmarks.crown.systems.pathway")


@pytest.mark.parametrize("name", [name for name in QUERIES if name.startswith("SNB")])
def test_all_orders_of_a_query_mean_the_same(name: str) -> None:
    query = QUERIES[name]
    stream = STREAM.only(query.tables)
    assert len(query.orders) >= 2
    found = []
    for point in stream.points((0.3, 0.6)):
        right = recomputed(query.sql, query, stream, point)
        found.append(right.rows)
        for one in query.orders:
            assert recomputed(one.sql, one, stream, point) == right
    assert any(found), "a result without rows shows nothing"


@pytest.mark.parametrize(
    ("name", "orders"),
    [
        ("3-Hop", ["G1 G2 G3", "G3 G2 G1"]),
        ("3-Hop projected", ["G1 G2 G3", "G3 G2 G1"]),
        ("SNB Q2", ["k1 k2 m mt t", "t mt m k2 k1"]),
        ("dumbbell", ["G1 G2 G3 G4 G5 G6 G7", "G4 G2 G1 G3 G5 G6 G7", "G7 G6 G5 G4 G3 G2 G1"]),
    ],
)
def test_orders_begin_with_filters_or_at_the_end(name: str, orders: list[str]) -> None:
    query = QUERIES[name]
    assert [" ".join(atom.alias for atom in one.shape.atoms) for one in query.orders] == orders
    for one in query.orders:
        known = set(one.shape.atoms[0].columns.values())
        for atom in one.shape.atoms[1:]:
            assert known & set(atom.columns.values()), "no cross product"
            known |= set(atom.columns.values())


def test_a_peer_is_measured_by_its_fastest_order(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[tuple[str, tuple[int, ...]]] = []

    def measured(
        system: System, query: CrownQuery, stream: ChangeStream, mode: str, points: Any, *_: Any, **more: Any
    ) -> Any:
        order = "".join(atom.alias for atom in query.shape.atoms)
        ran.append((order, points))
        seconds = 1.0 if order == "G3G2G1" else 2.0
        reached = tuple(Point(point, seconds, 1, 1, {}) for point in points)
        return Measurement(system.name, query.name, stream.name, mode, stream.events, "right", reached, **more)

    monkeypatch.setattr(experiments, "measure", measured)
    setting = Setting({}, None, systems())
    peer, query = System("peer", "peer", peer=True), QUERIES["3-Hop"]
    stream = replace(STREAM, events=1_000)
    found = setting.run_peer(peer, query, stream, (10, 100, 1_000))
    assert (found.order, found.seconds, found.commit) == ("G3, G2, G1", 1.0, 1_000)
    assert ran == [("G1G2G3", (10, 100)), ("G3G2G1", (10, 100)), ("G3G2G1", (10, 100, 1_000))]
    ran.clear()
    assert setting.run_peer(peer, query, stream).order == "G3, G2, G1"
    assert ran == [("G1G2G3", (1_000,)), ("G3G2G1", (1_000,))], "a trial over the whole stream is the measurement"
    ran.clear()
    missing = replace(peer, needs="no_such_package")
    assert setting.run_peer(missing, query, stream).order == ""
    assert len(ran) == 1


def test_tables_tell_the_ratio_of_the_last_changes_too() -> None:
    def one(system: str, *seconds: float) -> Measurement:
        points = tuple(Point(10 ** (i + 1), spent, 5, 2_000_000, {}) for i, spent in enumerate(seconds))
        return Measurement(system, "3-Hop", "edges", "delta", 1_000, "right", points)

    screen = Console(record=True, width=300)
    found = [
        one("livejoin", 0.1, 0.2, 0.4),
        replace(one("Flink", 1.0, 1.1, 2.0), commit=1_000),
        one("DYN", 0.2, 0.4, 0.8),
    ]
    report.show({"runtime": found}, screen)
    text = " ".join(screen.export_text().split())
    assert "2 s x5 (x4.5 from 10% on)" in text
    assert "0.8 s x2 (x2 from 10% on)" in text
    assert "0.4 s x" not in text


def test_flink_in_mini_batches_is_a_system_of_its_own() -> None:
    plain, other = systems(None, "python-of-flink", mini_batch=True).peers[1:]
    assert (plain.name, other.name) == ("Flink", "Flink in mini-batches")
    assert plain.options == {}
    assert other.options["set"]["table.exec.mini-batch.size"] == "1000"
