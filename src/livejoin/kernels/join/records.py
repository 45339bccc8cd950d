"""Records: what a view keeps of each base row, in chunks that never move."""

from __future__ import annotations

from livejoin.kernels.jit import helper, kernel
from livejoin.kernels.join.layout import (
    CHUNK_BITS,
    CHUNK_ROWS,
    P_FIRST_TABLE,
    PLAN_TABLE,
    PT_HEADER,
    PT_STRIDE,
    PT_VALUE_LIST,
    PT_VALUES,
    T_CHUNKS,
    T_CLASS,
    T_COUNT,
)
from livejoin.kernels.memory.arena import allocate, allocate_raw, release, words
from livejoin.kernels.memory.layout import DONE, NEED_SPACE
from livejoin.kernels.parameters import Arena, ArenaArray, Line, Matrix, Plan


@helper
def record_of(m: Arena, p: Plan, table: int, row: int) -> int:
    """Reference of the record of a base row."""
    descriptor = p[P_FIRST_TABLE] + table * PLAN_TABLE
    chunks = m[p[descriptor + PT_HEADER] + T_CHUNKS]
    record: int = m[chunks + (row >> CHUNK_BITS)] + (row & (CHUNK_ROWS - 1)) * p[descriptor + PT_STRIDE]
    return record


@kernel
def load(arena: ArenaArray, plan: Plan, table: int, rows: Line, sources: Line, values: Matrix, stride: int) -> int:
    """Bring the values of base rows into their records, allocating chunks of records as needed.

    Args:
        arena: The view's arena.
        plan: The view's plan.
        table: Position of the table in the plan.
        rows: int64 row ids, by which events name the records.
        sources: int64, where each row stands in the base table: the same ids, but in a cell that numbers its own.
        values: The base table's words, flat; row r of it starts at ``r * stride``.
        stride: Words a row of the base table.

    Returns:
        DONE, or NEED_SPACE (call again after growing; repeating is harmless).
    """
    m = words(arena)
    p = words(plan)
    source = words(values)
    descriptor = p[P_FIRST_TABLE] + table * PLAN_TABLE
    header = p[descriptor + PT_HEADER]
    size = p[descriptor + PT_STRIDE]
    count = p[descriptor + PT_VALUES]
    columns = p[descriptor + PT_VALUE_LIST]
    for i in range(rows.shape[0]):
        row = rows[i]
        while row >> CHUNK_BITS >= m[header + T_COUNT]:
            used = m[header + T_COUNT]
            if used == 1 << m[header + T_CLASS]:
                larger = allocate(m, m[header + T_CLASS] + 1)
                if larger == 0:
                    return NEED_SPACE
                for k in range(used):
                    m[larger + k] = m[m[header + T_CHUNKS] + k]
                release(m, m[header + T_CHUNKS], m[header + T_CLASS])
                m[header + T_CHUNKS] = larger
                m[header + T_CLASS] += 1
            chunk = allocate_raw(m, size * CHUNK_ROWS)
            if chunk == 0:
                return NEED_SPACE
            for k in range(size * CHUNK_ROWS):
                m[chunk + k] = 0
            m[m[header + T_CHUNKS] + used] = chunk
            m[header + T_COUNT] = used + 1
        record = m[m[header + T_CHUNKS] + (row >> CHUNK_BITS)] + (row & (CHUNK_ROWS - 1)) * size
        begin = sources[i] * stride
        for k in range(count):
            m[record + k] = source[begin + p[columns + k]]
    return DONE


@kernel
def load_factors(arena: ArenaArray, plan: Plan, table: int, rows: Line, factors: Matrix) -> None:
    """Write the factors of base rows, int64 of shape (factors, rows), behind the values of their records.

    The records exist: `load` was called for the same rows.
    """
    m = words(arena)
    p = words(plan)
    count = p[p[P_FIRST_TABLE] + table * PLAN_TABLE + PT_VALUES]
    for i in range(rows.shape[0]):
        record = record_of(m, p, table, rows[i])
        for k in range(factors.shape[0]):
            m[record + count + k] = factors[k, i]
