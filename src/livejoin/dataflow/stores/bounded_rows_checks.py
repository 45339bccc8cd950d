"""The invariants of rows with bounds, read off the arena; for tests.

The tree is as in `livejoin.dataflow.stores.top_k_checks`, its sums at nodes those of the entries below. Every bound is
there once and is settled, and every word is a node's, an entry's, a bound's or free.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from livejoin.dataflow.stores.bounded_rows import BoundedRows
from livejoin.dataflow.stores.top_k_checks import Walk, free_length
from livejoin.families.arena.checks import directory_spans
from livejoin.kernels.memory import layout as k
from livejoin.kernels.memory.directory import find, hash_key
from livejoin.kernels.ordered import order_nodes as t
from livejoin.kernels.thresholds import layout as w
from livejoin.kernels.thresholds.runs import is_inside
from livejoin.kernels.values import row_order as o
from livejoin.words import Words


def check(rows: BoundedRows) -> None:
    """Assert all invariants; O(rows)."""
    m, text = rows.arena.words, rows.text()
    whole, wide = rows.at.buffers.whole, rows.at.buffers.wide
    walk = Walk(m)
    _, total = walk.visit(int(m[t.T_ROOT]), int(m[t.T_HEIGHT]))
    entries = walk.entries
    assert total == m[t.T_TOTAL] and len(entries) == m[t.T_ENTRIES], "sizes"
    for one, other in pairwise(entries):
        assert o.compare(m, whole, one, other, text) == -1, "order"
    assert all(m[entry + o.E_COUNT] > 0 for entry in entries), "multiplicities are positive"
    check_sums(m, int(m[t.T_ROOT]), int(m[t.T_HEIGHT]))
    for record in _records(rows):
        assert m[record + w.B_COUNT] == m[record + w.B_HAS] == 1, "a key has one bound"
        assert m[record + w.B_LISTED] == 0, "no bound is on its way between calls"
        assert _found(rows, record + int(rows.form[w.P_RECORD_KEY])) == record, "probing reaches the bound"
    free_nodes, free_entries = free_length(m, int(m[t.T_FREE_NODE]), t.NEXT), free_length(m, int(m[t.T_FREE_ENTRY]), 0)
    used = (walk.nodes + free_nodes) * (t.NODE + int(m[t.T_SUMS]))
    used += (len(entries) + free_entries) * (o.E_WORDS + int(wide[o.O_WIDTH]))
    spans = directory_spans(m, w.H_BOUNDS, _records(rows), int(rows.form[w.P_RECORD]))
    used += sum(size for _, size in spans) + rows.arena.free_bytes() // 8
    assert int(rows.form[w.P_TERM]) + 3 * int(m[t.T_SUMS]) + used == m[k.H_BUMP], "every word belongs to one thing"


def inside(rows: BoundedRows) -> Iterator[tuple[int, int]]:
    """The entries that stand in the result, with their multiplicities."""
    m, text = rows.arena.words, rows.text()
    walk = Walk(m)
    walk.visit(int(m[t.T_ROOT]), int(m[t.T_HEIGHT]))
    for entry in walk.entries:
        record = _found(rows, entry + o.E_WORDS)
        if is_inside(rows.at.buffers, entry, record + w.B_NOW, text) if record else rows.form[w.P_OPEN]:
            yield entry, int(m[entry + o.E_COUNT]) >> 1


def _records(rows: BoundedRows) -> list[int]:
    m = rows.arena.words
    slots, log = int(m[w.H_BOUNDS + k.D_SLOTS]), int(m[w.H_BOUNDS + k.D_LOG])
    return [int(word) & k.MASK32 for word in m[slots : slots + (1 << log)] if word]


def _found(rows: BoundedRows, key: int) -> int:
    """The record of a key."""
    m, form = rows.arena.words, rows.form
    width = int(form[w.P_KEY])
    h = hash_key(m, form, key, width, w.P_OFFSETS)
    return int(find(m, form, w.H_BOUNDS, int(form[w.P_RECORD_KEY]), key, width, w.P_OFFSETS, h))


def check_sums(m: Words, node: int, height: int) -> list[int]:
    """The sums below a node, which are those at it."""
    size, carried = int(m[t.T_SUMS]), int(m[t.T_CARRIED])
    total = [0] * size
    for i in range(int(m[node + t.COUNT])):
        if height:
            part = check_sums(m, int(m[node + t.CHILD + i]), height - 1)
        else:
            at = int(m[node + t.FIRST + t.LEAF + i]) + int(m[t.T_VALUES])
            part = [int(word) for word in m[at : at + size]]
        total = _added(total, part, carried)
    assert total == [int(word) for word in m[node + t.NODE : node + t.NODE + size]], "sums at nodes"
    return total


def _added(one: list[int], other: list[int], carried: int) -> list[int]:
    """The sums of numbers of several words."""
    carry, total = 0, []
    for i, (left, right) in enumerate(zip(one, other, strict=True)):
        carry = carry if carried >> i & 1 else 0
        both = left % 2**64 + right % 2**64 + carry
        carry, word = divmod(both, 2**64)
        total.append(word - 2**64 if word >> 63 else word)
    return total
