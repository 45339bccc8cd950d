"""The experiments of CROWN's section 8, and some more: each yields its measurements as they are made."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from benchmarks.crown.content import Answers
from benchmarks.crown.enclosing import PATH, enclosing_stream
from benchmarks.crown.measure import Measurement, System, measure
from benchmarks.crown.queries import GRAPH_QUERIES, SNB_QUERIES, CrownQuery
from benchmarks.crown.registry import BATCH, Systems
from benchmarks.crown.snb import Network, lift, snb_stream
from benchmarks.crown.streams import ChangeStream, graph_stream
from livejoin.words import Words

TENTHS = tuple(i / 10 for i in range(1, 11))
STARTS = (0.01, 0.03, 0.1, 0.3, 1.0)
TRIAL = 0.1  # share of a stream by which the order of a peer's joins is chosen
SHARES = tuple(sorted({*TENTHS, *STARTS}))
HOP3, PROJECTED, STAR = (q for q in GRAPH_QUERIES if q.name in ("3-Hop", "4-Hop projected", "star count"))
CHAINS, ACYCLIC = (HOP3, PROJECTED), (HOP3, PROJECTED, STAR)


@dataclass(frozen=True, eq=False)
class Setting:
    """What all experiments are given.

    Args:
        graphs: Edges by name, in their order.
        network: The social network, if there is one.
        systems: The systems.
        limit: Seconds by the clock on the wall for one step of a measurement, from one point to the next.
        window: Share of a graph's edges in the window.
        copies: How many times the social network is scaled up.
        days: How long its rows live.
        most: So many edges of a graph at most.
        names: Queries that are asked for; empty: all.
        answers: The right answers so far.
    """

    graphs: dict[str, Words]
    network: Network | None
    systems: Systems
    limit: float = 60.0
    window: float = 0.2
    copies: int = 10
    days: int = 120
    most: int = sys.maxsize
    names: tuple[str, ...] = ()
    answers: Answers = field(default_factory=Answers)

    @property
    def graph(self) -> tuple[str, Words]:
        """The first graph."""
        return next(iter(self.graphs.items()))

    def edges(self, edges: Words, query: CrownQuery | None = None) -> Words:
        """The edges that a query is given."""
        return edges[: min(self.most, (query and query.most) or sys.maxsize)]

    def window_of(self, edges: Words) -> int:
        """The window in edges."""
        return max(1, round(self.window * len(edges)))

    def stream(self, query: CrownQuery, name: str, edges: Words) -> ChangeStream:
        """A graph's changes for a query."""
        kept = self.edges(edges, query)
        return graph_stream(name, kept, self.window_of(kept)).only(query.tables)

    def wanted(self, queries: Sequence[CrownQuery]) -> list[CrownQuery]:
        """Those of the queries that are asked for."""
        return [query for query in queries if not self.names or query.name in self.names]

    def run(self, system: System, query: CrownQuery, stream: ChangeStream, mode: str, **more: object) -> Measurement:
        """A measurement; without ``points`` there is one, at the end."""
        points = more.pop("points", None) or (stream.events,)
        return measure(system, query, stream, mode, points, self.limit, self.answers, **more)  # type: ignore[arg-type]

    def run_peer(
        self, peer: System, query: CrownQuery, stream: ChangeStream, points: tuple[int, ...] = (), **more: object
    ) -> Measurement:
        """All deltas of a peer in commits of `BATCH`, by that order of joins which is the fastest up to `TRIAL`."""
        points = points or (stream.events,)
        trial = tuple(point for point in points if point <= TRIAL * stream.events) or points[:1]

        def run(one: CrownQuery, until: tuple[int, ...]) -> Measurement:
            return self.run(peer, one, stream, "delta", points=until, commit=BATCH, **more)

        if peer.missing or len(query.orders) == 1:
            return run(query, points)
        tried = [(one, run(one, trial)) for one in query.orders]
        best, found = min(tried, key=lambda each: _progress(each[1]))
        whole = found if trial == points else run(best, points)
        return replace(whole, order=", ".join(atom.alias for atom in best.shape.atoms))


@dataclass(frozen=True)
class Experiment:
    """An experiment and its queries.

    Args:
        run: Makes the measurements of the queries that are asked for.
        graph: Queries over a graph.
        snb: Queries over the social network.
        generated: Queries over data that the experiment makes.
    """

    run: Callable[[Setting], Iterator[Measurement]]
    graph: tuple[CrownQuery, ...] = ()
    snb: tuple[CrownQuery, ...] = ()
    generated: tuple[CrownQuery, ...] = ()

    @property
    def queries(self) -> tuple[CrownQuery, ...]:
        """All of them."""
        return (*self.graph, *self.snb, *self.generated)


def runtime(setting: Setting) -> Iterator[Measurement]:
    """Time and memory of every query: all deltas, or the result after every tenth of the stream (CROWN, figure 7)."""
    for query, stream in _all_queries(setting):
        for system in setting.systems.own:
            yield setting.run(system, query, stream, "delta", points=stream.points(SHARES))
        yield setting.run(setting.systems.main, query, stream, "delta", points=stream.points(SHARES), commit=BATCH)
        for peer in setting.systems.peers:
            yield setting.run_peer(peer, query, stream, stream.points(STARTS))
        for system in (*setting.systems.own, setting.systems.recomputing):
            yield setting.run(system, query, stream, "full", points=stream.points(TENTHS))


def latency(setting: Setting) -> Iterator[Measurement]:
    """What a commit of a single change takes, once half of the stream is there (CROWN, figure 11)."""
    for query, stream in _all_queries(setting):
        half = max(1, stream.events // 2)
        points = (half, min(stream.events, half + 2_000))
        for system in setting.systems.own:
            yield setting.run(system, query, stream.until(points[-1]), "latency", points=points)


def enclosureness(setting: Setting) -> Iterator[Measurement]:
    """Time against lambda, without output (CROWN, figure 9)."""
    small = setting.most < 10_000
    for wished in (1, 10) if small else (1, 10, 100, 1_000, 10_000):
        made = enclosing_stream(1_000 if small else 41_000, wished)
        points = (made.busy, made.stream.events)
        for system in setting.systems.own:
            yield setting.run(system, PATH, made.stream, "quiet", points=points, facts={"lambda": made.found})


def selectivity(setting: Setting) -> Iterator[Measurement]:
    """Time against the share of end points that the filter keeps (CROWN, figure 12)."""
    name, edges = setting.graph
    for original in setting.wanted(CHAINS):
        query = replace(original, most=30_000)
        for modulus in (1000, 100, 30, 10, 3, 1):
            kept = query.keeping(modulus)
            stream = setting.stream(kept, name, edges)
            facts = {"selectivity": 1 / modulus}
            for system in (setting.systems.main, setting.systems.own[-1]):
                yield setting.run(system, kept, stream, "delta", facts=facts)
            for peer in setting.systems.peers:
                yield setting.run_peer(peer, kept, stream, facts=facts)


def scale(setting: Setting) -> Iterator[Measurement]:
    """Cost of a change against the size of the data, all deltas off (CROWN, figure 8)."""
    if setting.graphs:
        name, edges = setting.graph
        whole = setting.edges(edges)
        for share in STARTS:
            part = whole[: max(10, round(share * len(whole)))]
            for query in setting.wanted(ACYCLIC):
                stream = graph_stream(name, part, setting.window_of(part)).only(query.tables)
                for system in (setting.systems.main, setting.systems.own[-1]):
                    yield setting.run(system, query, stream, "quiet", facts={"scale": share})
    if setting.network is not None:
        for copies in sorted({max(1, round(share * setting.copies)) for share in STARTS}):
            for query in setting.wanted(SNB_QUERIES):
                stream = snb_stream(lift(setting.network, copies), setting.days).only(query.tables)
                for system in (setting.systems.main, setting.systems.own[-1]):
                    yield setting.run(system, query, stream, "quiet", facts={"scale": copies / setting.copies})


def batches(setting: Setting) -> Iterator[Measurement]:
    """Cost of a change against the number of changes a commit."""
    name, edges = setting.graph
    for query in setting.wanted(ACYCLIC):
        stream = setting.stream(query, name, edges)
        for commit in (1, 10, 100, 1_000, 10_000, 100_000, 1_000_000):
            part = stream.until(min(stream.events, 2_000 * commit))
            for mode in ("quiet", "delta"):
                yield setting.run(setting.systems.main, query, part, mode, commit=commit)


def threads(setting: Setting) -> Iterator[Measurement]:
    """Time against the number of threads."""
    name, edges = setting.graph
    for query in setting.wanted(CHAINS):
        stream = setting.stream(query, name, edges)
        for number in (1, 2, 4):
            options = {"threads": number}
            facts = {"threads": number}
            yield setting.run(
                setting.systems.main, query, stream, "delta", commit=10 * BATCH, options=options, facts=facts
            )


def counting(setting: Setting) -> Iterator[Measurement]:
    """Counting the result after a change, without a window and a filter, so that it grows without measure."""
    name, edges = setting.graph
    query = HOP3.keeping(1)
    whole = setting.edges(edges)
    stream = graph_stream(name, whole, len(whole)).only(query.tables)
    for system in (setting.systems.main, setting.systems.recomputing):
        yield setting.run(system, query, stream, "count", points=stream.points((0.1, 0.2, 0.3, 0.4, 0.5)), commit=BATCH)


EXPERIMENTS: dict[str, Experiment] = {
    "runtime": Experiment(runtime, GRAPH_QUERIES, SNB_QUERIES),
    "latency": Experiment(latency, GRAPH_QUERIES, SNB_QUERIES),
    "lambda": Experiment(enclosureness, generated=(PATH,)),
    "selectivity": Experiment(selectivity, CHAINS),
    "scale": Experiment(scale, ACYCLIC, SNB_QUERIES),
    "batches": Experiment(batches, ACYCLIC),
    "threads": Experiment(threads, CHAINS),
    "counting": Experiment(counting, (HOP3,)),
}


def _progress(measurement: Measurement) -> tuple[int, float]:
    """How far a measurement came, and how fast; the smallest is the best."""
    if not measurement.points:
        return 0, 0.0
    last = measurement.points[-1]
    return -last.events, last.seconds


def _all_queries(setting: Setting) -> Iterator[tuple[CrownQuery, ChangeStream]]:
    for name, edges in setting.graphs.items():
        for query in setting.wanted(GRAPH_QUERIES):
            yield query, setting.stream(query, name, edges)
    if setting.network is not None:
        whole = snb_stream(lift(setting.network, setting.copies), setting.days, f"SNB x{setting.copies}")
        for query in setting.wanted(SNB_QUERIES):
            yield query, whole.only(query.tables)
