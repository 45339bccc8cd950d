"""Whether a join runs in cells: as long as commits are small it is in one piece, which costs them least.

In cells a commit costs calls for each of them, and the events of replicated atoms cost as often as there are cells;
what is enumerated is shared out. Each commit says how long it took, of what, and so about how long it would have taken
in the other form: at a predicted pace, or, if the join was in that form before, at the pace measured there, whichever
speaks for one piece. What the form in use cost more is *rent*; it adds up, and falls again, to zero at least. The join
goes over to the other form once the rent has reached what loading it anew costs: rent or buy, as of
`livejoin.dataflow.moving.adaptive`, with processor time for visits. Each time the price doubles, so that a join for
which the prediction is wrong comes to rest.

Law: the form changes no result and no delta. It changes between two commits.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass

from livejoin.families.cells.partition import Partition
from livejoin.families.cells.task_runner import Spent
from livejoin.query import ConjunctiveQuery

logger = logging.getLogger("livejoin")

WHOLE_AT_FIRST = True
"""Whether joins are in one piece before their commits have said more; otherwise they are in cells from the start."""

MARGIN = 1.15  # how many times as fast the other form must be expected to be, to be worth anything
LOAD = 0.1e-6  # seconds that a row of an atom takes to be loaded
HANDED_OVER = 300e-6  # seconds that a commit takes more in cells, whatever is in it: calls for each, and waking threads
# What an event costs more in cells, as a share of what it costs in one piece: it is routed, and has another id there.
ROUTED = 0.2
ROUTED_ANNOTATED = 0.05  # of an event that changes annotations, which costs more by itself
RISE = 1.5  # how many times as slow as the commits before it a commit can say that its form is
# What takes the time of a commit, in nanoseconds, of which only the ratios count: an event in an atom, a word of a
# result, and a row among which what cancels is looked for.
_EVENT = 85.0
_WORD = 1.5
_NETTED = 30.0


@dataclass(frozen=True)
class Work:
    """The work of a join in a commit.

    Args:
        seconds: Processor time of the caller's thread.
        events: Changes of base rows.
        rows: Rows of the delta.
        netted: Whether rows that cancel in the delta are looked for, by the cells if there are some, else afterwards.
        spent: The time of the cells, if there are some.
    """

    seconds: float
    events: int
    rows: int
    netted: bool
    spent: Spent | None


class Spreading:
    """The rent of one join; mutable.

    Args:
        partition: The cells of the join, if it is split.
        query: The query of the join.

    Attributes:
        partition: The cells of the join; updated when the join moves to another plan.
        moves: How often the join went over to the other form.
    """

    def __init__(self, partition: Partition, query: ConjunctiveQuery) -> None:
        self.partition = partition
        self.moves = 0
        self._query = query
        self._rent = 0.0
        self._paces: dict[bool, float] = {}

    def plan_anew(self, partition: Partition) -> None:
        """Take note that the join has another plan now: how it is split, and that nothing was measured of it."""
        self.partition = partition
        self._paces.clear()

    def note_small(self) -> None:
        """Take a commit into account that took less, in one piece, than handing it over would."""
        self._rent = max(0.0, self._rent - HANDED_OVER)

    def note(self, work: Work) -> None:
        """Take a commit into account."""
        now, other = (self._if_split if work.spent is None else self._if_whole)(work)
        if not other < now < MARGIN * other:
            self._rent = max(0.0, self._rent + now - other)

    def is_due(self, rows: int) -> bool:
        """Whether the other form has come to be worth its loading.

        Args:
            rows: Rows of atoms in the state.
        """
        return self._rent > LOAD * (rows + 1) * 2.0**self.moves

    def move(self, rows: int, is_split: bool) -> None:
        """Take note that the form is another one now, or cannot be: the rent begins anew."""
        form = f"in {self.partition.cells} cells by {self.partition.variable}" if is_split else "in one piece"
        logger.debug("a join of %d rows is %s now", rows, form)
        self.moves += 1
        self._rent = 0.0

    def told(self, is_split: bool) -> str:
        """What an explanation says of it."""
        cells = f"{self.partition.cells} cells by {self.partition.variable}"
        if is_split:
            return f"It runs in {cells}, as its commits take long enough."
        return f"It runs in one piece so far: its commits have not taken long enough for {cells} to pay."

    def _if_split(self, work: Work) -> tuple[float, float]:
        """Seconds of a commit as it was, in one piece, and as it would have been in cells."""
        events, enumerated, _ = self._parts(work)
        whole, cells = self._units(work)
        pace = self._believed(False, work.seconds / (events + enumerated or 1.0))
        return pace * whole, max(pace, self._paces.get(True, pace)) * cells + HANDED_OVER

    def _if_whole(self, work: Work) -> tuple[float, float]:
        """Seconds of a commit as it was, in cells, and as it would have been in one piece."""
        spent = work.spent
        assert spent is not None
        events, enumerated, netted = self._parts(work)
        whole, cells = self._units(work)
        around = max(0.0, work.seconds - spent.own)
        now = around + spent.longest
        now = min(now, HANDED_OVER + self._believed(True, max(0.0, now - HANDED_OVER) / (cells or 1.0)) * cells)
        pace = spent.total / (self.partition.cells * self._busiest * events + enumerated + netted or 1.0)
        predicted = max(0.0, around - HANDED_OVER) + pace * whole
        return now, min(predicted, self._paces.get(False, float("inf")) * whole)

    def _units(self, work: Work) -> tuple[float, float]:
        """What a commit costs in one piece, and in the busiest cell."""
        events, enumerated, netted = self._parts(work)
        return events + enumerated + netted, events * self._busiest + (enumerated + netted) / self.partition.cells

    def _believed(self, is_split: bool, measured: float) -> float:
        """How long a unit takes in a form, by what this commit took for it and those before it.

        It falls at once, and rises by a half a commit: a commit in which a kernel is compiled, or loaded, takes as long
        as a thousand others, and says nothing of them. The first one in a form is nothing to go by.
        """
        if is_split not in self._paces:
            self._paces[is_split] = measured
            return 0.0
        self._paces[is_split] = min(measured, RISE * self._paces[is_split])
        return self._paces[is_split]

    @property
    def _busiest(self) -> float:
        """What the events cost in the busiest cell, as a share of what they cost in one piece."""
        return self.partition.busiest + (ROUTED_ANNOTATED if self._query.sums else ROUTED)

    def _parts(self, work: Work) -> tuple[float, float, float]:
        """What a commit in one piece costs for events, for the rows that it writes, and for finding what cancels."""
        rows = work.rows * float(work.netted and shows(self._query, self.partition.variable))
        events = work.events * len(self._query.atoms) * _EVENT
        return events, work.rows * len(self._query.head) * _WORD, rows * _NETTED


def shows(query: ConjunctiveQuery, variable: str) -> bool:
    """Whether the outputs show a variable as it is, so that equal rows agree on it and come from one cell."""
    shown = {output.source for output in query.outputs}
    return any(place in shown and query.variable(ref) == variable for place, ref in enumerate(query.head))


def clock() -> float:
    """Processor time of this thread, which other threads and processes do not change."""
    return time.thread_time()


def whole_at_first() -> bool:
    """See `WHOLE_AT_FIRST`."""
    return WHOLE_AT_FIRST
