"""Events of a base table or a stored relation, as a join applies them."""

from __future__ import annotations

from livejoin.kernels.jit import inlined, kernel
from livejoin.kernels.join.layout import EVENT_FIELDS, V_MASK, V_ROW, V_TABLE, V_VERSION, V_WEIGHT
from livejoin.kernels.parameters import Line, Matrix

IN_ORDER = 1
"""Of events: they are by version, deletions before insertions within each."""

ALL_COME = 2
"""Of events: none of them takes a row away."""


@kernel
def gather(rows: Line, weights: Line, changes: Line, masks: Line, versions: Line, table: int, events: Matrix) -> int:
    """Write the events of a table, each with the mask and the version of the change that it comes from.

    Args:
        rows: The id of each row.
        weights: The change of its multiplicity.
        changes: The position of the change; negative for a row that no change names: it leaves, and needs no mask.
        masks: The mask of each change.
        versions: The version of each change, at least one; that of the first one is that of what no change names.
        table: The position of the table.
        events: int64 of shape (EVENT_FIELDS, n); written.

    Returns:
        What is true of the events: the sum of IN_ORDER and ALL_COME, or one of them, or 0.
    """
    known = ALL_COME
    for i in range(rows.shape[0]):
        change = changes[i]
        events[V_TABLE, i] = table
        events[V_ROW, i] = rows[i]
        events[V_WEIGHT, i] = weights[i]
        events[V_MASK, i] = masks[change] if change >= 0 else 0
        events[V_VERSION, i] = versions[max(change, 0)]
        if weights[i] <= 0:
            known = 0
    return known + IN_ORDER if _ascend(events) else known


@kernel
def ascend(events: Matrix) -> bool:
    """Whether events are in the order of their versions, deletions before insertions within each."""
    return _ascend(events)


@kernel
def deletions_first(events: Matrix, ordered: Matrix) -> bool:
    """Write events of one version, deletions before insertions, otherwise in the order given.

    Args:
        events: int64 of shape (EVENT_FIELDS, n).
        ordered: Of the same shape; written if they are of one version.

    Returns:
        Whether they are.
    """
    n = events.shape[1]
    deletions = 0
    for i in range(n):
        if events[V_VERSION, i] != events[V_VERSION, 0]:
            return False
        deletions += 0 if events[V_WEIGHT, i] > 0 else 1
    for field in range(EVENT_FIELDS):
        out, come = 0, deletions
        for i in range(n):
            if events[V_WEIGHT, i] > 0:
                ordered[field, come] = events[field, i]
                come += 1
            else:
                ordered[field, out] = events[field, i]
                out += 1
    return True


@inlined
def _ascend(events: Matrix) -> bool:
    for i in range(1, events.shape[1]):
        before, now = events[V_VERSION, i - 1], events[V_VERSION, i]
        if before > now or (before == now and events[V_WEIGHT, i - 1] > 0 and events[V_WEIGHT, i] < 0):
            return False
    return True
