"""The tuples of a store and the indexes over them: registered and withdrawn one at a time.

Law: a node has an entry for exactly the projections of the store's tuples to its columns, with the number of tuples
that it stands for, and the block of an edge lists exactly the target entries that agree with its source entry.
"""

from __future__ import annotations

from livejoin.kernels.bag.layout import (
    BAG_EDGE,
    BAG_NODE,
    ED_BLOCK,
    ED_POS,
    ED_SOURCE,
    ED_TARGET,
    ND_DIRECTORY,
    ND_FROM,
    ND_KEY,
    ND_LEAVING,
    ND_PLACE,
    ND_SIZE,
    ND_WIDTH,
    S_EDGE_LIST,
    S_EDGES,
    S_KEY,
    S_NODE_LIST,
    S_NODES,
    X_EDGES,
    X_SUPPORT,
)
from livejoin.kernels.jit import helper
from livejoin.kernels.join.layout import H_PROBES
from livejoin.kernels.memory.blocks import drop, reserve, shrink
from livejoin.kernels.memory.directory import create, find, hash_key, remove
from livejoin.kernels.memory.layout import REF_MASK
from livejoin.kernels.parameters import Arena, Plan


@helper
def _entry_of(m: Arena, p: Plan, node: int, row: int, offsets: int) -> int:
    """The entry of a row's projection, made if there is none; 0 if there is no space."""
    width = p[node + ND_WIDTH]
    h = hash_key(m, p, row, width, offsets)
    m[H_PROBES] += 1
    entry: int = find(m, p, p[node + ND_DIRECTORY], p[node + ND_KEY], row, width, offsets, h)
    if entry == 0:
        size, key = p[node + ND_SIZE], p[node + ND_KEY]
        entry = create(m, p, p[node + ND_DIRECTORY], size, key, row, width, offsets, h)
    return entry


@helper
def prepare_tuple(m: Arena, p: Plan, store: int, record: int) -> int:
    """The entry of a record's tuple, with everything that linking it needs; 0 if there is no space.

    Nothing is linked yet, so that calling it again after the arena has grown does no harm.
    """
    first = p[store + S_NODE_LIST]
    entry: int = _entry_of(m, p, first, record, p[store + S_KEY])
    if entry == 0 or m[entry + X_SUPPORT] != 0:
        return entry
    m[p[first + ND_PLACE]] = entry
    for n in range(1, p[store + S_NODES]):
        node = first + n * BAG_NODE
        place = _entry_of(m, p, node, entry, p[node + ND_FROM])
        if place == 0:
            return 0
        m[p[node + ND_PLACE]] = place
    for e in range(p[store + S_EDGES]):
        edge = p[store + S_EDGE_LIST] + e * BAG_EDGE
        source = m[p[p[edge + ED_SOURCE] + ND_PLACE]]
        if m[m[p[p[edge + ED_TARGET] + ND_PLACE]] + X_SUPPORT] == 0:
            at = source + p[edge + ED_BLOCK]
            if not reserve(m, at + 1, m[at], m[at] + 1):
                return 0
    return entry


@helper
def link_tuple(m: Arena, p: Plan, store: int) -> None:
    """Bring the tuple just prepared, which is new, into all blocks."""
    for e in range(p[store + S_EDGES]):
        edge = p[store + S_EDGE_LIST] + e * BAG_EDGE
        target = m[p[p[edge + ED_TARGET] + ND_PLACE]]
        if m[target + X_SUPPORT] == 0:
            at = m[p[p[edge + ED_SOURCE] + ND_PLACE]] + p[edge + ED_BLOCK]
            m[(m[at + 1] & REF_MASK) + m[at]] = target
            m[target + p[edge + ED_POS]] = m[at]
            m[at] += 1
    for n in range(1, p[store + S_NODES]):
        m[m[p[p[store + S_NODE_LIST] + n * BAG_NODE + ND_PLACE]] + X_SUPPORT] += 1


@helper
def locate_tuple(m: Arena, p: Plan, store: int, entry: int) -> None:
    """Find the entries of a tuple that is there, as `prepare_tuple` does of a new one."""
    first = p[store + S_NODE_LIST]
    m[p[first + ND_PLACE]] = entry
    for n in range(1, p[store + S_NODES]):
        node = first + n * BAG_NODE
        m[p[node + ND_PLACE]] = _entry_of(m, p, node, entry, p[node + ND_FROM])


@helper
def unlink_tuple(m: Arena, p: Plan, store: int) -> None:
    """Take the tuple just located, whose multiplicity is 0, out of all blocks; entries that it alone supported go."""
    first = p[store + S_NODE_LIST]
    for n in range(1, p[store + S_NODES]):
        m[m[p[first + n * BAG_NODE + ND_PLACE]] + X_SUPPORT] -= 1
    for e in range(p[store + S_EDGES]):
        edge = p[store + S_EDGE_LIST] + e * BAG_EDGE
        target = m[p[p[edge + ED_TARGET] + ND_PLACE]]
        if m[target + X_SUPPORT] == 0:
            at = m[p[p[edge + ED_SOURCE] + ND_PLACE]] + p[edge + ED_BLOCK]
            block = m[at + 1] & REF_MASK
            place = m[target + p[edge + ED_POS]]
            m[at] -= 1
            moved = m[block + m[at]]
            m[block + place] = moved
            m[moved + p[edge + ED_POS]] = place
            shrink(m, at + 1, m[at], m[at])
    for n in range(p[store + S_NODES]):
        node = first + n * BAG_NODE
        place = m[p[node + ND_PLACE]]
        if m[place + X_SUPPORT] == 0:
            for e in range(p[node + ND_LEAVING]):
                drop(m, place + X_EDGES + 2 * e + 1)
            remove(m, p[node + ND_DIRECTORY], place, p[node + ND_KEY], p[node + ND_WIDTH])
