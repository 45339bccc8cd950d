"""The delta of a batch: records of what changes, beside the arena, in lists.

Every changed thing has one record, and a word PENDING that refers to it; so several changes of one thing in a batch
become one. A delta is an array of words with a header, which has the first record of every list, and is dropped after
each batch. The plan says in ``P_LISTS`` how many lists there are and in ``P_RECORD`` how long a record is: the words of
`X_HOLDER` to `X_OF`, what the algorithm needs, and a vector of the ring.
"""

from __future__ import annotations

from livejoin.kernels.jit import helper
from livejoin.kernels.join.layout import PLAN_HEADER
from livejoin.kernels.parameters import Arena, Delta, Events, Plan

# Plan header, behind that of all joins
P_LISTS = PLAN_HEADER
P_RECORD = PLAN_HEADER + 1
BATCH_PLAN_HEADER = PLAN_HEADER + 2

# Header of a delta; the first records of the lists follow
D_BUMP = 0
D_EVENT_END = 1  # first event that is not in the batch
D_PASS = 2  # the enumeration is of what goes (-1) or of what comes (1)
D_PLAIN = 3  # 1: every change of a multiplicity is one
D_STAGE = 4  # cursor of an interrupted batch
D_STEP = 5
D_RECORD = 6
D_INDEX = 7
D_LISTS = 8

# Record
X_HOLDER = 0  # reference of the word PENDING that refers to this record
X_NEXT = 1  # next record in the list
X_OF = 2  # reference of what changes
X_OWN = 3  # first word of the algorithm's own

NEED_DELTA = 3  # what `maintain` returns besides DONE, NEED_SPACE and OUTPUT_FULL: the delta needs more space
FULL = 0  # a delta has no space for another record
MOST_EVENTS = 1 << 16  # of a batch, which bounds the space for its delta


@helper
def clear(d: Delta, p: Plan) -> None:
    """An empty delta."""
    end = D_LISTS + p[P_LISTS]
    for i in range(end):
        d[i] = 0
    d[D_BUMP] = end
    d[D_PLAIN] = 1


@helper
def forget(m: Arena, d: Delta, p: Plan) -> None:
    """Take back every PENDING word."""
    at = D_LISTS + p[P_LISTS]
    while at < d[D_BUMP]:
        m[d[at + X_HOLDER]] = 0
        at += p[P_RECORD]


@helper
def record(m: Arena, d: Delta, size: int, p: Plan, holder: int, of: int, head: int) -> int:
    """The record that ``holder`` refers to; a new one with a change of zero if there is none.

    Args:
        m: The arena.
        d: The delta.
        size: The words of the delta. Behind the last record there is always space for one more, as scratch.
        p: The plan.
        holder: Reference of the word PENDING.
        of: The row or key that changes.
        head: The offset in the delta of the first record of the list.

    Returns:
        The record, or FULL.
    """
    found: int = m[holder]
    if found != 0:
        return found
    at: int = d[D_BUMP]
    if at + 2 * p[P_RECORD] > size:
        return FULL
    d[D_BUMP] = at + p[P_RECORD]
    for i in range(p[P_RECORD]):
        d[at + i] = 0
    d[at + X_HOLDER] = holder
    d[at + X_NEXT] = d[head]
    d[at + X_OF] = of
    d[head] = at
    m[holder] = at
    return at


@helper
def batch_end(e: Events, total: int, begin: int, versions: int, weights: int, one_sign: bool) -> int:
    """The first event after ``begin`` that is not in its batch.

    Args:
        e: The events' words.
        total: Number of events.
        begin: The first event of the batch.
        versions: Where the events' versions lie.
        weights: Where their weights lie.
        one_sign: Whether a batch has weights of one sign only.
    """
    end = begin + 1
    while end < min(total, begin + MOST_EVENTS) and e[versions + end] == e[versions + begin]:
        if one_sign and (e[weights + end] > 0) != (e[weights + begin] > 0):
            break
        end += 1
    return end
