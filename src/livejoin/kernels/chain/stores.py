"""The relations of a chain of joins: their rows by all values, and by the key of the next join."""

from __future__ import annotations

from livejoin.kernels.chain.layout import (
    ENTRY_BLOCK,
    ENTRY_KEY,
    ENTRY_LEN,
    P_IDENTITY,
    ROW_PENDING,
    ROW_SUPPORT,
    ROW_UP,
    S_DIRECTORY,
    S_INDEX,
    S_INDEX_OFFSETS,
    S_INDEX_SIZE,
    S_INDEX_WIDTH,
    S_KEY,
    S_NUMBER,
    S_SIZE,
    S_VALUE,
    S_WIDTH,
    SCRATCH,
    X_SUPPORT,
    X_VALUE,
)
from livejoin.kernels.jit import helper, inlined
from livejoin.kernels.join import ring
from livejoin.kernels.join.batch_delta import D_LISTS, X_OF, record
from livejoin.kernels.join.layout import H_OVERFLOW, H_PROBES, H_TOUCHED
from livejoin.kernels.memory.blocks import drop, reserve, shrink
from livejoin.kernels.memory.directory import find, find_or_create, hash_key, remove
from livejoin.kernels.memory.layout import MASK32, REF_MASK
from livejoin.kernels.parameters import Arena, Delta, Plan


@inlined
def changes_of(p: Plan, store: int) -> int:
    """Where the delta has the first record of a store."""
    at: int = D_LISTS + p[store + S_NUMBER]
    return at


@helper
def change_row(m: Arena, d: Delta, size: int, p: Plan, store: int) -> int:
    """The record of the row with the values in SCRATCH, both made if they are not there.

    Returns:
        The record, or FULL, or -1 if the arena has no space; the same again after either is safe.
    """
    key = p[store + S_KEY]
    width = p[store + S_WIDTH]
    m[H_PROBES] += 1
    row = find_or_create(m, p, p[store + S_DIRECTORY], p[store + S_SIZE], key, SCRATCH, width, p[P_IDENTITY])
    if row == 0:
        return -1
    changed: int = record(m, d, size, p, row + ROW_PENDING, row, changes_of(p, store))
    return changed


@helper
def index_entry(m: Arena, p: Plan, store: int, row: int, offsets: int) -> int:
    """The entry of a store's index for the key that a row, also one of another store, has at ``offsets``; 0: none."""
    width = p[store + S_INDEX_WIDTH]
    h = hash_key(m, p, row, width, offsets)
    m[H_PROBES] += 1
    found: int = find(m, p, p[store + S_INDEX], ENTRY_KEY, row, width, offsets, h)
    return found


@helper
def apply_change(m: Arena, d: Delta, p: Plan, store: int, changed: int) -> bool:
    """Bring a record into its store; False, with nothing changed, if the arena has no space."""
    row = d[changed + X_OF]
    before = m[row + ROW_SUPPORT]
    after = before + d[changed + X_SUPPORT]
    if before == 0 and after > 0 and p[store + S_INDEX] != 0 and not _enter(m, p, store, row):
        return False
    if before > 0 and after == 0 and p[store + S_INDEX] != 0:
        _leave(m, p, store, row)
    m[row + ROW_SUPPORT] = after
    m[row + ROW_PENDING] = 0
    m[H_TOUCHED] += 1
    if after == 0:
        remove(m, p[store + S_DIRECTORY], row, p[store + S_KEY], p[store + S_WIDTH])
    else:
        m[H_OVERFLOW] |= ring.add(m, p, row + p[store + S_VALUE], d, changed + X_VALUE)
    return True


@helper
def _enter(m: Arena, p: Plan, store: int, row: int) -> bool:
    """Bring a row into the index; False if the arena has no space."""
    offsets = p[store + S_INDEX_OFFSETS]
    m[H_PROBES] += 1
    width = p[store + S_INDEX_WIDTH]
    entry = find_or_create(m, p, p[store + S_INDEX], p[store + S_INDEX_SIZE], ENTRY_KEY, row, width, offsets)
    if entry == 0:
        return False
    length = m[entry + ENTRY_LEN]
    if not reserve(m, entry + ENTRY_BLOCK, length, length + 1):
        return False
    m[(m[entry + ENTRY_BLOCK] & REF_MASK) + length] = row
    m[entry + ENTRY_LEN] = length + 1
    m[row + ROW_UP] = (entry << 32) | length
    return True


@helper
def _leave(m: Arena, p: Plan, store: int, row: int) -> None:
    """Take a row out of the index; an entry without rows goes away."""
    entry = (m[row + ROW_UP] >> 32) & MASK32
    position = m[row + ROW_UP] & MASK32
    last = m[entry + ENTRY_LEN] - 1
    m[entry + ENTRY_LEN] = last
    block = m[entry + ENTRY_BLOCK] & REF_MASK
    if position != last:
        moved = m[block + last]
        m[block + position] = moved
        m[moved + ROW_UP] = (entry << 32) | position
    if last > 0:
        shrink(m, entry + ENTRY_BLOCK, last, last)
    else:
        drop(m, entry + ENTRY_BLOCK)
        remove(m, p[store + S_INDEX], entry, ENTRY_KEY, p[store + S_INDEX_WIDTH])


@inlined
def presence(m: Arena, d: Delta, changed: int) -> int:
    """1 if a record's row comes, -1 if it goes, else 0."""
    before = m[d[changed + X_OF] + ROW_SUPPORT]
    after = before + d[changed + X_SUPPORT]
    return (1 if after > 0 else 0) - (1 if before > 0 else 0)


@helper
def is_change(m: Arena, d: Delta, p: Plan, changed: int) -> bool:
    """Whether a record changes the relation: its row comes or goes, or has another multiplicity or annotation."""
    return presence(m, d, changed) != 0 or not ring.is_zero(d, p, changed + X_VALUE)
