"""Which experiments run, by what is asked for and what data there is.

What is named must be possible: an experiment or a query that is asked for by name and lacks its data is refused. What
is only there by default is left out instead, and said to be.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from benchmarks.crown.experiments import EXPERIMENTS
from benchmarks.crown.queries import CrownQuery

GRAPH, SNB = "--graph or --temporal FILE", "--snb PATH"


class SelectionError(Exception):
    """The options ask for what does not exist, or for what has no data; the message names it and what it needs."""


@dataclass(frozen=True)
class Selection:
    """What runs.

    Args:
        experiments: The experiments, in order.
        left_out: What was not asked for by name and has no data, a line for each experiment.
    """

    experiments: tuple[str, ...]
    left_out: tuple[str, ...]


def select(experiments: Sequence[str], queries: Sequence[str], *, graph: bool, snb: bool) -> Selection:
    """The experiments that run.

    Args:
        experiments: Those that are asked for; none: all.
        queries: The queries that are asked for; none: all.
        graph: Whether there is a graph.
        snb: Whether there is the social network.

    Raises:
        SelectionError: There is no such experiment or query, or one that is asked for lacks its data.
    """
    _refuse_unknown("experiment", experiments, EXPERIMENTS)
    _refuse_unknown("query", queries, dict.fromkeys(q.name for e in EXPERIMENTS.values() for q in e.queries))
    given = {GRAPH: graph, SNB: snb, "": True}
    chosen: list[str] = []
    left_out: list[str] = []
    met: set[str] = set()
    for name in experiments or EXPERIMENTS:
        wanted = dict(_wanted(name, queries))
        met |= {query for of_source in wanted.values() for query in of_source}
        if experiments and not wanted:
            there = ", ".join(q.name for q in EXPERIMENTS[name].queries)
            msg = f"experiment {name!r} has none of the queries {', '.join(queries)}; it has {there}"
            raise SelectionError(msg)
        lacking = [f"{source} for {', '.join(found)}" for source, found in wanted.items() if not given[source]]
        possible = len(lacking) < len(wanted)
        needs = f"experiment {name!r} needs {(' and ' if queries else ', or ').join(lacking)}"
        if lacking and (queries or (experiments and not possible)):
            raise SelectionError(needs)
        if lacking:
            left_out.append(f"left out: {needs}")
        if possible:
            chosen.append(name)
    if stray := [query for query in queries if query not in met]:
        msg = f"query {stray[0]!r} is in none of the experiments {', '.join(experiments)}"
        raise SelectionError(msg)
    if left_out and not (graph or snb):
        msg = f"give {GRAPH}, {SNB}, --small or --results FILE; only the experiment 'lambda' needs none"
        raise SelectionError(msg)
    return Selection(tuple(chosen), tuple(left_out))


def _wanted(name: str, queries: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """The queries of an experiment that are asked for, by the option that gives their data; empty: it is generated."""
    experiment = EXPERIMENTS[name]
    sources: tuple[tuple[str, tuple[CrownQuery, ...]], ...] = (
        (GRAPH, experiment.graph),
        (SNB, experiment.snb),
        ("", experiment.generated),
    )
    for source, of_source in sources:
        if found := [query.name for query in of_source if not queries or query.name in queries]:
            yield source, found


def _refuse_unknown(kind: str, named: Sequence[str], known: Collection[str]) -> None:
    for name in named:
        if name not in known:
            msg = f"unknown {kind} {name!r}; there are {', '.join(known)}"
            raise SelectionError(msg)
