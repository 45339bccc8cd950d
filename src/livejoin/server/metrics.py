"""Figures for Prometheus: https://prometheus.io/docs/instrumenting/exposition_formats/"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

if TYPE_CHECKING:
    from livejoin.server.service import Service

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)


class Metrics:
    """The figures of a server.

    Args:
        service: The server.
    """

    def __init__(self, service: Service) -> None:
        self._registry = CollectorRegistry()
        self.requests = Counter(
            "livejoin_requests", "Requests, by route and status.", ("route", "status"), registry=self._registry
        )
        self.seconds = Histogram(
            "livejoin_request_seconds",
            "Seconds from a request to its answer; of those who follow, to the end of the connection, left out.",
            ("route",),
            registry=self._registry,
            buckets=_SECONDS,
        )
        self.changes = Counter("livejoin_changes", "Changes that requests brought.", registry=self._registry)
        self.bad_rows = Counter("livejoin_bad_rows", "Changes that were left out.", registry=self._registry)
        self._registry.register(_Present(service))

    @property
    def bad_rows_so_far(self) -> int:
        """How many changes were left out."""
        return int(self._registry.get_sample_value("livejoin_bad_rows_total") or 0)

    def text(self) -> bytes:
        """All figures, as text."""
        return generate_latest(self._registry)


class _Present(Collector):
    """What is read when it is asked for."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def describe(self) -> list[object]:
        """Nothing: what it has is known only when it is asked."""
        return []

    def collect(self) -> Iterator[GaugeMetricFamily | CounterMetricFamily]:
        """The figures of the database and of those who follow."""
        service = self._service
        stats, hub = service.db.stats(), service.hub
        yield CounterMetricFamily("livejoin_version", "The version of the last commit.", stats["version"])
        yield GaugeMetricFamily("livejoin_memory_bytes", "Memory of tables and views.", stats["memory_bytes"])
        rows = GaugeMetricFamily("livejoin_table_rows", "Rows of a table.", labels=("table",))
        for name, table in stats["tables"].items():
            rows.add_metric((name,), table["rows"])
        yield rows
        seconds = CounterMetricFamily(
            "livejoin_block_seconds", "Seconds in which a block took changes.", labels=("block", "kind")
        )
        size = GaugeMetricFamily("livejoin_block_bytes", "Memory of a block.", labels=("block", "kind"))
        for block in stats["blocks"]:
            label = (str(block["number"]), block["kind"])
            seconds.add_metric(label, block["seconds"])
            size.add_metric(label, block["capacity_bytes"])
        yield seconds
        yield size
        followers = GaugeMetricFamily("livejoin_followers", "Connections that follow a view.", labels=("view", "form"))
        for feed in list(hub.feeds.values()):
            followers.add_metric((feed.view, feed.form), len(feed.followers))
        yield followers
        yield CounterMetricFamily("livejoin_messages", "Messages that were sent to them.", hub.counts.messages)
        yield CounterMetricFamily("livejoin_followers_lost", "How often too much waited for one.", hub.counts.lost)
        yield GaugeMetricFamily("livejoin_waiting_bytes", "Bytes of messages that wait.", hub.waiting)
