"""A few changes of a base table without a window, staged in one call.

What a commit of a few rows costs is calls, so that room, staging and net events are one here. The state is that which
`livejoin.kernels.relation.stage_commit` and `livejoin.kernels.relation.settling` leave.
"""

from __future__ import annotations

from livejoin.kernels.jit import helper, inlined, kernel
from livejoin.kernels.memory.addresses import length_at
from livejoin.kernels.memory.arena import words as view
from livejoin.kernels.parameters import Addresses, Line, Matrix, Slots, Touched
from livejoin.kernels.relation.buffers import WORDS_AT, TableBuffers, opened
from livejoin.kernels.relation.rows import NO_ROOM, OK, R_GIVEN_BACK, R_NEXT, R_NEXT_LOOK, R_ROWS, R_USED
from livejoin.kernels.relation.settling import PHASE, STAGED, write_net_events
from livejoin.kernels.relation.stage_commit import stage_set
from livejoin.kernels.relation.staging import G_HASHES, G_MADE, UNTOUCHED
from livejoin.kernels.relation.unique import U_NUMBER

_FEW_IDS = 16  # that are not worth a look
_LEAST_LOG = 4  # of an index, as `livejoin.state.slots` has it


@inlined
def _fits(slots: Slots, entries: int) -> bool:
    """Whether an index has room for so many entries, and is not four times as large as it need be."""
    log = slots[0]
    return bool(entries * 8 <= 5 << log and (log < _LEAST_LOG + 2 or entries * 8 > 5 << (log - 2)))


@helper
def _has_room(t: TableBuffers, size: int, weights: Line, n: int) -> bool:
    """Whether all rows that come find a place, and nothing is due to be given back, as `livejoin.state.slots` says."""
    inserts = 0
    for change in range(n):
        if weights[change] > 0:
            inserts += 1
    rows = max(t.header[R_NEXT], t.header[R_USED] + inserts)
    if rows * t.stride > size or not _fits(t.slots, t.header[R_USED] + inserts):
        return False
    if t.header[R_GIVEN_BACK] >= t.header[R_NEXT_LOOK] and t.header[R_NEXT] > max(4 * t.header[R_USED], _FEW_IDS):
        return False
    number = t.uniques[U_NUMBER]
    return bool(number == 0 or _fits(t.unique_slots, number * (t.header[R_ROWS] + inserts)))


@kernel
def stage_few(
    table: Addresses, values: Matrix, weights: Line, ignore: bool, touched: Touched, progress: Line, events: Matrix
) -> tuple[int, int, int, int]:
    """Stage an atomic set of changes and give its net events; `stage_commit` says what is not said here.

    Args:
        table: The buffers of a table without a window, which is IDLE; STAGED from the first touched row on.
        values, weights, ignore: As there, of few changes.
        touched: Of at least as many rows as there are changes.
        progress: PROGRESS words; changed.
        events: int64 of shape (3, n); the net events, a row each of row ids, weights and changes; deletions first.

    Returns:
        NO_ROOM, and nothing was done; or what `stage_commit` returns but MORE, the numbers of touched rows and of
        events, and the change that broke a rule or -1.
    """
    t, n = opened(table), weights.shape[0]
    if not _has_room(t, length_at(view(table), WORDS_AT), view(weights), n):
        return NO_ROOM, 0, 0, -1
    touched[:, 0] = UNTOUCHED
    progress[:] = 0
    t.phase[PHASE] = STAGED
    status, count, change = stage_set(t, view(values), n, view(weights), ignore, view(touched), view(progress))
    if status != OK:
        return status, count, 0, change
    progress[:G_HASHES] = 0
    write_net_events(t, view(touched), count, view(events), n, view(progress))
    return OK, count, progress[G_MADE], -1
