"""Classes of change logs that are maintained in O(1) a change over more join trees than others are.

Over the lifespans [t+, t-] of a log (CROWN, sections 6.1 and 6.3):

- insertion-only: t- is infinite for every tuple; deletion-only: t+ is minus infinite for every tuple;
- first in, first out (FIFO): ``s+ < t+`` implies ``s- < t-``;
- first in, last out (FILO): ``s+ < t+`` implies ``s- > t-``.

An infinite time says that the log does not show the moment, so two infinite ends are taken to agree with any order:
FIFO is broken by ``s+ < t+`` and ``s- > t-``, FILO by ``s+ < t+`` and ``s- < t-``. A window is FIFO in this sense while
rows are in it. Without it no log that leaves two rows behind were FIFO.

Laws, for the distinct times of a log: FIFO means that no lifespan lies strictly within another, which is all that the
proof of lemma 6.9 uses. With respect to a tree of height 2, a tuple has enclosureness 1 at most; 2 if it was there
before the log and stays, since it may contain one tuple from before and one that stays. FILO, insertion-only and
deletion-only logs have no two disjoint lifespans, nor effective ones on any tree (lemma 6.10), since no deletion
precedes an insertion.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from livejoin.theory.logs.lifespans import AFTER, BEFORE, Lifespans
from livejoin.words import Words


@dataclass(frozen=True)
class SequenceClass:
    """Whether a log is in a class, and the first tuples that break it.

    Args:
        holds: Whether it is.
        witness: Positions of the tuples in the lifespans; empty if the class holds.
    """

    holds: bool
    witness: tuple[int, ...] = ()

    def __bool__(self) -> bool:
        return self.holds


def insertion_only(spans: Lifespans) -> SequenceClass:
    """Whether no tuple is deleted; the witness is the one that is deleted first. Cost: linear.

    >>> from livejoin.theory.logs.lifespans import lifespans
    >>> insertion_only(lifespans([0, 0, 0], [1, 2, 2], [+1, +1, -1]))
    SequenceClass(holds=False, witness=(1,))
    """
    return _unless(spans.end < AFTER, spans.end)


def deletion_only(spans: Lifespans) -> SequenceClass:
    """Whether no tuple is inserted; the witness is the one that is inserted first. Cost: linear."""
    return _unless(spans.start > BEFORE, spans.start)


def first_in_first_out(spans: Lifespans) -> SequenceClass:
    """Whether tuples leave in the order in which they came.

    Cost: O(n log n) for n tuples.

    Returns:
        The class. Its witness (s, t) is at the first deletion of a tuple t that came after one that is still there; s
        is the one of these that came first.

    >>> from livejoin.theory.logs.lifespans import lifespans
    >>> first_in_first_out(lifespans([0, 0, 0], [1, 2, 2], [+1, +1, -1]))
    SequenceClass(holds=False, witness=(0, 1))
    """
    order = np.argsort(spans.start, kind="stable")
    starts, ends = spans.start[order], spans.end[order]
    latest = _before_each_start(starts, np.maximum.accumulate(ends), BEFORE)
    if not (broken := np.flatnonzero(latest > ends)).size:
        return SequenceClass(True)
    young = broken[np.argmin(ends[broken])]
    old = np.argmax((starts < starts[young]) & (ends > ends[young]))
    return SequenceClass(False, (int(order[old]), int(order[young])))


def first_in_last_out(spans: Lifespans) -> SequenceClass:
    """Whether tuples leave in the opposite order of that in which they came, so that lifespans are nested.

    Cost: O(n log n) for n tuples.

    Returns:
        The class. Its witness (s, t) is at the first deletion of a tuple s before that of one that came later; t is
        the one of these that came first.

    >>> from livejoin.theory.logs.lifespans import lifespans
    >>> first_in_last_out(lifespans([0, 0, 0], [1, 2, 1], [+1, +1, -1]))
    SequenceClass(holds=False, witness=(0, 1))
    """
    order = np.argsort(~spans.start, kind="stable")
    starts, ends = spans.start[order], spans.end[order]
    latest = _before_each_start(~starts, np.maximum.accumulate(ends), BEFORE)
    if not (broken := np.flatnonzero(latest > ends)).size:
        return SequenceClass(True)
    old = broken[np.argmin(ends[broken])]
    later = np.flatnonzero((starts > starts[old]) & (ends > ends[old]))
    return SequenceClass(False, (int(order[old]), int(order[later[np.argmin(starts[later])]])))


def _unless(broken: npt.NDArray[np.bool_], time: Words) -> SequenceClass:
    found = np.flatnonzero(broken)
    return SequenceClass(False, (int(found[np.argmin(time[found])]),)) if found.size else SequenceClass(True)


def _before_each_start(ascending: Words, running: Words, none: int) -> Words:
    """For each position, the running value over the positions whose start is strictly smaller."""
    return np.insert(running, 0, none)[np.searchsorted(ascending, ascending, side="left")]
