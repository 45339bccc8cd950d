"""Enumeration with constant delay: an odometer over the blocks of a join tree.

`advance` runs a *program*: a list of steps, each of which opens a block of rows from a row that an earlier depth holds.
The program from the root's V_s downwards is FULLENUM (CROWN, Algorithm 5); the program that starts at a witness row,
walks up through live parents and then down through all other children is DELTAENUM (Algorithm 6, with its joins
interleaved as the paper says). Every block that a step opens is non-empty, so the delay between rows is O(|Q|): below
an optional edge the NULL row stands for an empty one.
The innermost block is written in one go, column by column.
"""

from __future__ import annotations

from livejoin.kernels.crown.annotation import annotation, multiplicity
from livejoin.kernels.crown.layout import (
    C_BLOCK,
    C_DEPTH,
    C_INDEX,
    C_LEN,
    C_REPEAT,
    C_ROW,
    C_WEIGHT,
    COUNTER_BITS,
    CURSOR_HEADER,
    E_PARENT_BLOCK,
    E_PARENTS,
    G_DEPTHS,
    G_INNER,
    G_INNER_LIST,
    G_OUTER,
    G_OUTER_LIST,
    G_STEPS,
    H_RESTORING,
    H_ROOT,
    H_START,
    LEVEL,
    N_BEHIND,
    N_WORK,
    P_LEVEL,
    S_BLOCK,
    S_LEN,
    STEP,
    STEP_DOWN_LINKED,
    STEP_KIND,
    STEP_NODE,
    STEP_NULL,
    STEP_OFFSET,
    STEP_ROOT,
    STEP_SHIFT,
    STEP_SOURCE,
    STEP_STATE,
    STEP_UP_INLINE,
    STEP_UP_LINKED,
    W_READ,
)
from livejoin.kernels.jit import helper, inlined
from livejoin.kernels.join import ring
from livejoin.kernels.join.columns import write_block, write_copies, write_outer
from livejoin.kernels.join.layout import H_OVERFLOW, P_FULL, P_HEAD, P_WORDS
from livejoin.kernels.memory.layout import MASK32, REF_MASK
from livejoin.kernels.numbers.wide import product_wraps
from livejoin.kernels.parameters import Arena, Cursor, Output, Plan


@helper
def start(cursor: Cursor, row: int, weight: int) -> None:
    """Set a cursor before the first result of a program that starts at ``row`` with the given multiplicity."""
    cursor[C_DEPTH] = 0
    cursor[C_REPEAT] = 0
    cursor[CURSOR_HEADER + C_ROW] = row
    cursor[CURSOR_HEADER + C_WEIGHT] = weight
    cursor[CURSOR_HEADER + C_LEN] = 1
    cursor[CURSOR_HEADER + C_INDEX] = 0


@inlined
def _open(m: Arena, p: Plan, cursor: Cursor, step: int, level: int, size: int, counts: bool) -> None:
    """Open the block of a step at a cursor level and place it on its first row; levels have ``size`` words.

    If it counts, the rows are counted at their node, but for those on the way on which the change came.
    """
    kind = p[step + STEP_KIND]
    if kind == STEP_ROOT:
        block = m[H_ROOT + S_BLOCK] & REF_MASK
        length = m[H_ROOT + S_LEN] >> 32
    else:
        word = cursor[CURSOR_HEADER + p[step + STEP_SOURCE] * size + C_ROW] + p[step + STEP_OFFSET]
        if kind == STEP_DOWN_LINKED:
            slot = (m[word] >> 32) & MASK32
            length = m[slot + S_LEN] >> 32
            if length == 0:
                slot = p[step + STEP_NULL]
                length = 1
            block = m[slot + S_BLOCK] & REF_MASK
        elif kind == STEP_UP_LINKED:
            slot = (m[word] >> 32) & MASK32
            block = m[slot + E_PARENT_BLOCK] & REF_MASK
            length = m[slot + E_PARENTS] & MASK32
        elif kind == STEP_UP_INLINE:
            block = 0
            length = 1
            cursor[level + C_ROW] = ((m[word] >> 32) & MASK32) - p[step + STEP_SHIFT]
        else:
            block = m[word + S_BLOCK] & REF_MASK
            length = m[word + S_LEN] >> 32
    cursor[level + C_BLOCK] = block
    cursor[level + C_LEN] = length
    cursor[level + C_INDEX] = 0
    if block != 0:
        cursor[level + C_ROW] = m[block]
    if counts:
        node = p[step + STEP_NODE]
        if kind >= STEP_UP_LINKED or m[H_START] < node or m[H_START] >= p[node + N_BEHIND]:
            m[p[node + N_WORK] + W_READ] += length


@helper
def _weigh(m: Arena, p: Plan, cursor: Cursor, step: int, level: int) -> None:
    """Multiply the row's multiplicity into the level's weight."""
    state = p[step + STEP_STATE]
    weight = cursor[level - LEVEL + C_WEIGHT]
    if state >= 0:
        times = m[cursor[level + C_ROW] + state] >> COUNTER_BITS
        m[H_OVERFLOW] |= product_wraps(weight, times)
        weight *= times
    cursor[level + C_WEIGHT] = weight


@inlined
def _write_outer(
    m: Arena, p: Plan, program: int, cursor: Cursor, size: int, count: int, out: Output, capacity: int, at: int
) -> None:
    """Write the columns of the outer depths of a program; a level of the cursor has ``size`` words."""
    columns, number = p[program + G_OUTER_LIST], p[program + G_OUTER]
    write_outer(m, p, columns, number, cursor, CURSOR_HEADER + C_ROW, size, count, out, capacity, at)


@inlined
def _write_block(m: Arena, p: Plan, program: int, block: int, count: int, out: Output, capacity: int, at: int) -> None:
    """Write the innermost columns of a program from the ``count`` rows of a block."""
    write_block(m, p, p[program + G_INNER_LIST], p[program + G_INNER], block, count, out, capacity, at)


@inlined
def _write_copies(m: Arena, p: Plan, program: int, row: int, copies: int, out: Output, capacity: int, at: int) -> None:
    """Write the innermost columns of a program from one row ``copies`` times."""
    write_copies(m, p, p[program + G_INNER_LIST], p[program + G_INNER], row, copies, out, capacity, at)


@helper
def _write_weights(
    m: Arena, cursor: Cursor, level: int, state: int, plain: bool, count: int, out: Output, to: int
) -> None:
    """Write how often the next results of the open innermost block stand there."""
    block = cursor[level + C_BLOCK]
    index = cursor[level + C_INDEX]
    for i in range(count):
        weight = 1 if plain else cursor[level - LEVEL + C_WEIGHT]
        if block != 0 and not plain:
            times = m[m[block + index + i] + state] >> COUNTER_BITS
            m[H_OVERFLOW] |= product_wraps(weight, times)
            weight *= times
        out[to + i] = weight


@helper
def _innermost(
    m: Arena,
    p: Plan,
    program: int,
    cursor: Cursor,
    level: int,
    state: int,
    plain: bool,
    weights: int,
    out: Output,
    capacity: int,
    at: int,
) -> int:
    """Write the open innermost block from its index on; returns the new end of the buffer.

    The block is finished iff its index has reached its length. A derived row that a step up found stands in the
    cursor instead of a block and has no multiplicity of its own.
    """
    block = cursor[level + C_BLOCK]
    length = cursor[level + C_LEN]
    index = cursor[level + C_INDEX]
    count: int
    if plain or weights >= 0:
        count = min(length - index, capacity - at)
        _write_outer(m, p, program, cursor, LEVEL, count, out, capacity, at)
        if block != 0:
            _write_block(m, p, program, block + index, count, out, capacity, at)
        else:
            _write_copies(m, p, program, cursor[level + C_ROW], count, out, capacity, at)
        if weights >= 0:
            _write_weights(m, cursor, level, state, plain, count, out, weights + at)
        cursor[level + C_INDEX] = index + count
        return at + count
    weight = cursor[level - LEVEL + C_WEIGHT]
    while index < length and at < capacity:
        row = cursor[level + C_ROW]
        copies = weight - cursor[C_REPEAT]
        if block != 0:
            row = m[block + index]
            times = m[row + state] >> COUNTER_BITS
            m[H_OVERFLOW] |= product_wraps(weight, times)
            copies = weight * times - cursor[C_REPEAT]
        count = max(0, min(copies, capacity - at))  # of copies that wrapped, none
        _write_outer(m, p, program, cursor, LEVEL, count, out, capacity, at)
        _write_copies(m, p, program, row, count, out, capacity, at)
        at += count
        if count < copies:
            cursor[C_REPEAT] += count
        else:
            cursor[C_REPEAT] = 0
            index += 1
    cursor[level + C_INDEX] = index
    return at


@helper
def advance(
    m: Arena, p: Plan, program: int, cursor: Cursor, plain: bool, weights: int, out: Output, capacity: int, at: int
) -> tuple[bool, int]:
    """Enumerate until the program is finished or the buffer full.

    Args:
        m: The arena; not changed but for `H_OVERFLOW`, and what is counted of deltas.
        p: The plan.
        program: Offset of the program in the plan.
        cursor: The enumeration's state, set by `start`; changed.
        plain: Every multiplicity on the way is one.
        weights: Where the buffer has a line for multiplicities, then each combination of rows is written once; -1: it
            is written as often as it stands in the result.
        out: Words of a buffer of shape (head columns, capacity), and perhaps that line.
        capacity: Rows that the buffer holds.
        at: First free row of the buffer.

    Returns:
        Whether the enumeration is finished, and the first free row of the buffer then.
    """
    last = p[program + G_DEPTHS] - 1
    steps = p[program + G_STEPS]
    depth = cursor[C_DEPTH]
    if last == 0:
        copies = 1 if weights >= 0 else cursor[CURSOR_HEADER + C_WEIGHT] - cursor[C_REPEAT]
        count = min(copies, capacity - at)
        if weights >= 0 and count == 1:
            out[weights + at] = cursor[CURSOR_HEADER + C_WEIGHT]
        _write_outer(m, p, program, cursor, LEVEL, count, out, capacity, at)
        cursor[C_REPEAT] += count
        return count == copies, at + count
    state = p[steps + (last - 1) * STEP + STEP_STATE]
    counts = program != p[P_FULL]
    while True:
        while depth < last:
            depth += 1
            step = steps + (depth - 1) * STEP
            level = CURSOR_HEADER + depth * LEVEL
            _open(m, p, cursor, step, level, LEVEL, counts)
            if cursor[level + C_LEN] == 0:
                return True, at
            if depth < last:
                _weigh(m, p, cursor, step, level)
        level = CURSOR_HEADER + last * LEVEL
        at = _innermost(m, p, program, cursor, level, state, plain, weights, out, capacity, at)
        if cursor[level + C_INDEX] < cursor[level + C_LEN]:
            cursor[C_DEPTH] = last
            return False, at
        while True:
            depth -= 1
            if depth == 0:
                return True, at
            level = CURSOR_HEADER + depth * LEVEL
            index = cursor[level + C_INDEX] + 1
            if index < cursor[level + C_LEN]:
                cursor[level + C_INDEX] = index
                cursor[level + C_ROW] = m[cursor[level + C_BLOCK] + index]
                _weigh(m, p, cursor, steps + (depth - 1) * STEP, level)
                break


@helper
def _annotate_level(m: Arena, p: Plan, cursor: Cursor, node: int, row: int, level: int) -> None:
    """Write the annotation down to a level: that of the level above times that of the row."""
    above = level - p[P_LEVEL] + C_WEIGHT
    wraps = annotation(m, p, node, row, multiplicity(m, p, node, row), -1, cursor, level + C_WEIGHT)
    m[H_OVERFLOW] |= wraps | ring.multiply(cursor, p, level + C_WEIGHT, cursor, above)


@helper
def _write_annotation(p: Plan, cursor: Cursor, level: int, out: Output, capacity: int, at: int) -> None:
    """Write the annotation of a level behind the head columns."""
    for i in range(p[P_WORDS]):
        out[(p[P_HEAD] + i) * capacity + at] = cursor[level + C_WEIGHT + i]


@helper
def advance_annotated(
    m: Arena, p: Plan, program: int, cursor: Cursor, out: Output, capacity: int, at: int
) -> tuple[bool, int]:
    """As `advance`, but every result once, with the words of its annotation in columns behind the head.

    The annotation of a result is the product of those of its rows (CROWN, formula 14). The cursor's start row has its
    own annotation already.
    """
    last = p[program + G_DEPTHS] - 1
    steps = p[program + G_STEPS]
    size = p[P_LEVEL]
    depth = cursor[C_DEPTH]
    if last == 0:
        if at == capacity:
            return False, at
        _write_outer(m, p, program, cursor, size, 1, out, capacity, at)
        _write_annotation(p, cursor, CURSOR_HEADER, out, capacity, at)
        return True, at + 1
    counts = program != p[P_FULL] and m[H_RESTORING] == 0  # the new results are of the same rows as the old ones
    while True:
        while depth < last:
            depth += 1
            step = steps + (depth - 1) * STEP
            level = CURSOR_HEADER + depth * size
            _open(m, p, cursor, step, level, size, counts)
            if cursor[level + C_LEN] == 0:
                return True, at
            if depth < last:
                _annotate_level(m, p, cursor, p[step + STEP_NODE], cursor[level + C_ROW], level)
        level = CURSOR_HEADER + last * size
        node = p[steps + (last - 1) * STEP + STEP_NODE]
        block = cursor[level + C_BLOCK]
        index = cursor[level + C_INDEX]
        count = min(cursor[level + C_LEN] - index, capacity - at)
        _write_outer(m, p, program, cursor, size, count, out, capacity, at)
        if block != 0:
            _write_block(m, p, program, block + index, count, out, capacity, at)
        else:
            _write_copies(m, p, program, cursor[level + C_ROW], count, out, capacity, at)
        for i in range(count):
            row = m[block + index + i] if block != 0 else cursor[level + C_ROW]
            _annotate_level(m, p, cursor, node, row, level)
            _write_annotation(p, cursor, level, out, capacity, at + i)
        at += count
        cursor[level + C_INDEX] = index + count
        if index + count < cursor[level + C_LEN]:
            cursor[C_DEPTH] = last
            return False, at
        while True:
            depth -= 1
            if depth == 0:
                return True, at
            level = CURSOR_HEADER + depth * size
            index = cursor[level + C_INDEX] + 1
            if index < cursor[level + C_LEN]:
                cursor[level + C_INDEX] = index
                row = m[cursor[level + C_BLOCK] + index]
                cursor[level + C_ROW] = row
                _annotate_level(m, p, cursor, p[steps + (depth - 1) * STEP + STEP_NODE], row, level)
                break
