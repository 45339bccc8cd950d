"""The work that each change made, for who asks: a line of the events more, which a kernel then writes.

Work is what the counters of an arena count, rows that entered or left a view of a node and counters and annotations
that changed, and the rows of the delta.
"""

from __future__ import annotations

from livejoin.kernels.jit import inlined
from livejoin.kernels.join.layout import EVENT_FIELDS, H_OUT, H_PROPAGATED, H_TOUCHED, V_WORK
from livejoin.kernels.parameters import Arena, Matrix


@inlined
def work_so_far(m: Arena) -> int:
    """The work of all changes so far, of which only differences within a call mean something."""
    return m[H_PROPAGATED] + m[H_TOUCHED] + m[H_OUT]  # type: ignore[no-any-return]


@inlined
def note_work(m: Arena, events: Matrix, event: int, before: int) -> None:
    """Add what was done since to the work of a change, if the events have a line for it.

    Args:
        m: The arena.
        events: int64 of shape (EVENT_FIELDS, n), or with a line more: the work of each, negative where none is known.
        event: The change.
        before: The `work_so_far` before it, in this call.
    """
    if events.shape[0] > EVENT_FIELDS:
        events[V_WORK, event] = max(events[V_WORK, event], 0) + work_so_far(m) - before
