"""The keys of a staging whose net effect counts: given back, then out, once all changes are staged.

Law: behind it each row that is there holds its primary key and has its entries of UNIQUE constraints, or the staging is
refused. A second row with a key, or with the values of a constraint, is a conflict; one that is skipped is taken out.
"""

from __future__ import annotations

from livejoin.kernels.jit import helper, kernel
from livejoin.kernels.memory.arena import words as view
from livejoin.kernels.parameters import Addresses, Line, Touched
from livejoin.kernels.relation.buffers import TableBuffers, opened
from livejoin.kernels.relation.row_index import holder, take_place
from livejoin.kernels.relation.rows import DUPLICATE, K_NUMBER, MORE, OK, R_DOUBT, R_IGNORED, TAKEN, TOUCHED
from livejoin.kernels.relation.staging import AT_ONCE, G_COUNT, G_PLACE
from livejoin.kernels.relation.unique import U_NUMBER, enter, first_bound, first_taken
from livejoin.kernels.relation.unique import leave as leave_uniques
from livejoin.kernels.relation.window import subtract

_NOBODY = -1
_EVER = -(1 << 63)


@helper
def _surplus_of_key(t: TableBuffers, row: int) -> int:
    """By how much a row stands there too often for its primary key; one whose key is free takes it."""
    now: int = t.words[row * t.stride] >> 1
    if t.header[R_DOUBT] == 0:
        return now - 1
    other = holder(t, row)
    if other == row:
        return now - 1
    if other >= 0:
        return now
    take_place(t, row)
    return now - 1


@helper
def _surplus_of_uniques(t: TableBuffers, row: int, before: int) -> tuple[int, int]:
    """By how much a row stands there too often for the UNIQUE constraints, and for which; one that fits is entered."""
    now: int = t.words[row * t.stride] >> 1
    if before == 0:
        one = first_taken(t, row, _NOBODY, _NOBODY, _EVER)
        if one >= 0:
            return now, one
        enter(t, row)
    one = first_bound(t, row) if now > 1 else -1
    return (now - 1 if one >= 0 else 0), one


@helper
def _skip(t: TableBuffers, row: int, surplus: int) -> None:
    """Take occurrences of a row out that are conflicts, and count them."""
    t.header[R_IGNORED] += surplus
    for _ in range(surplus):
        subtract(t, row * t.stride)


@helper
def settle_keys(t: TableBuffers, ignore: bool, touched: Touched, progress: Line) -> tuple[int, int, int]:
    """Give keys back, then out, by the net effect of the changes, some of them; what `stage_commit` returns."""
    count = progress[G_COUNT]
    begin = progress[G_PLACE] if t.uniques[U_NUMBER] > 0 else max(progress[G_PLACE], count)
    end = min(begin + AT_ONCE, 2 * count)
    for place in range(begin, min(end, count)):
        row = touched[TOUCHED * place]
        if touched[TOUCHED * place + 1] > 0 and t.words[row * t.stride] >> 1 == 0:
            leave_uniques(t, row)
    may_skip = ignore and t.first == 1
    for place in range(max(begin - count, 0), end - count):
        row = touched[TOUCHED * place]
        if t.key[K_NUMBER] > 0 and t.words[row * t.stride] >> 1 > 0:
            surplus = _surplus_of_key(t, row)
            if surplus > 0 and not may_skip:
                return DUPLICATE, count, touched[TOUCHED * place + 3]
            _skip(t, row, surplus)
        if t.uniques[U_NUMBER] > 0 and t.words[row * t.stride] >> 1 > 0:
            surplus, one = _surplus_of_uniques(t, row, touched[TOUCHED * place + 1])
            if surplus > 0 and not may_skip:
                progress[G_PLACE] = count + place
                return TAKEN + one, count, touched[TOUCHED * place + 3]
            _skip(t, row, surplus)
    progress[G_PLACE] = end
    return MORE if end < 2 * count else OK, count, -1


@kernel
def settle_uniques(table: Addresses, touched: Touched, progress: Line) -> tuple[int, int, int]:
    """Settle the UNIQUE constraints of changes that were staged one after the other without them.

    Arguments and result as for `stage_commit`; ``progress`` has the number of touched rows in G_COUNT. Where a
    constraint is broken, G_PLACE less that number is the place of the row.
    """
    return settle_keys(opened(table), False, view(touched), view(progress))
