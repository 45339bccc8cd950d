"""Rows in files that one version both deletes and inserts cancel, in memory for a part of them at a time.

Law: for every version and row, the copies that are left add up, with their signs, to those that came, and all have one
sign; versions stay in order, and in each what goes stands before what comes. Equal rows have equal hashes, so rows are
split by some bits of them, into files of which each part is netted alone; a part that takes too much is split again by
other bits. Equal rows cannot be split, but are counted: a part that is read together to be split has each row once.

Cost: rows are written once more for each time that they are split, and once net; DuckDB hashes and groups them, whose
equality decides. Versions that do not both delete and insert are left where they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from livejoin.dataflow.deltas.cancellation import net_values, on_both_sides
from livejoin.dataflow.deltas.extents import COPIES, KIND, VERSION, DeltaWriter, Extent, read_together
from livejoin.query.session import LINEAR, session
from livejoin.state.scratch import Scratch
from livejoin.words import Words

_MOST_BITS = 4  # of a hash, that a split is by
_HASH_BITS = 64
_PARTS = 4  # of what may be in memory: rows that are netted, a copy of them in another order, what DuckDB makes of them
_MOST_AT_ONCE = 1 << 28  # bytes; a string array of Arrow has at most 2 GiB

Sides = tuple[list[Extent], list[Extent]]


def net(extents: Sequence[Extent], scratch: Scratch) -> list[Extent]:
    """The extents of the same delta without what cancels in it; files that none of them is in are closed.

    Args:
        extents: The delta, its versions ascending; rows are deleted or inserted, and replace none.
        scratch: Where files are made.

    Raises:
        StorageError: The system refuses.
        CapacityError: A row stands there too often.

    Cost: O(rows) expected; memory for about `Scratch.over` bytes.
    """
    if not any(_may_cancel(group) for group in _of_one_version(extents)):
        return list(extents)
    writer = DeltaWriter(scratch, extents[0].schema)
    found: list[Extent] = []
    for group in _of_one_version(extents):
        if not _may_cancel(group):
            found += group
        elif group[0].version is None:
            found += writer.batch(_joined(_netted(pa.Table.from_batches([group[0].read()]))))
        else:
            going, coming = _net_sides(group, scratch, writer, 0)
            found += going + coming
    for file in {one.file for one in extents} - {one.file for one in found}:
        file.close()
    return found


def _of_one_version(extents: Sequence[Extent]) -> Iterator[list[Extent]]:
    """Neighbours of one version together."""
    group: list[Extent] = []
    for extent in extents:
        if group and (extent.version is None or extent.version != group[0].version):
            yield group
            group = []
        group.append(extent)
    if group:
        yield group


def _may_cancel(group: Sequence[Extent]) -> bool:
    return any(one.goes for one in group) and any(one.comes for one in group)


def _net_sides(extents: Sequence[Extent], scratch: Scratch, writer: DeltaWriter, used: int) -> Sides:
    """What goes and what comes of one version, net.

    Args:
        extents: The rows of the version, or a part of them that has all copies of each.
        scratch: Where files are made.
        writer: Writes what is left.
        used: Bits of the hashes that they were split by.
    """
    if not _may_cancel(extents):
        return _copied(extents, writer)
    size, at_once = sum(one.nbytes for one in extents), _at_once(scratch)
    if len(extents) == 1 or size <= at_once:
        going, coming = _netted(pa.Table.from_batches(one.read() for one in extents))
        return writer.batch(going), writer.batch(coming)
    if used + _MOST_BITS > _HASH_BITS:
        return _net_equal(extents, scratch, writer)
    bits = min(_MOST_BITS, (2 * size // max(1, at_once)).bit_length())
    parts: list[list[Extent]] = [[] for _ in range(1 << bits)]
    apart = DeltaWriter(scratch, writer.schema)
    for table in read_together(extents, at_once):
        rows = pa.Table.from_batches(_counted(table)) if used else table
        which = (_hashes(rows) >> np.uint64(used)).astype(np.uint8) & (len(parts) - 1)
        order = np.argsort(which, kind="stable")
        ends = np.cumsum(np.bincount(which, minlength=len(parts))).tolist()
        ordered = _batch(rows.take(pa.array(order)))
        for part, (begin, end) in zip(parts, pairwise([0, *ends]), strict=True):
            part.extend(apart.batch(ordered.slice(begin, end - begin)))
    filled = [part for part in parts if part]
    if len(filled) == 1:
        sides = [_net_equal(filled[0], scratch, writer)]
    else:
        sides = [_net_sides(part, scratch, writer, used + bits) for part in filled]
    apart.file.close()
    return [one for going, _ in sides for one in going], [one for _, coming in sides for one in coming]


def _copied(extents: Sequence[Extent], writer: DeltaWriter) -> Sides:
    """As `_net_sides`, of rows of one sign."""
    written = [one for extent in extents for one in writer.batch(extent.read())]
    return (written, []) if extents[0].goes else ([], written)


def _net_equal(extents: Sequence[Extent], scratch: Scratch, writer: DeltaWriter) -> Sides:
    """As `_net_sides`, of rows that hashes do not split: they are few, but copies of them may be many."""
    left: list[pa.RecordBatch] = []
    for table in read_together(extents, _at_once(scratch)):
        left = list(_counted(pa.Table.from_batches([*left, *table.to_batches()])))
    going, coming = left
    return writer.batch(going), writer.batch(coming)


def _netted(table: pa.Table) -> tuple[pa.RecordBatch, pa.RecordBatch]:
    """What goes and what comes, net; versions in order. Only rows are grouped whose hashes are on both sides."""
    coming = table[KIND].to_numpy() == 1
    stays = np.ones(table.num_rows, bool)
    stays[on_both_sides(_hashes(table), np.where(coming, 1, -1))] = False
    if stays.all():
        return _batch(table.filter(pa.array(~coming))), _batch(table.filter(pa.array(coming)))
    counted = _counted(table.filter(pa.array(~stays)))
    left, came = table.filter(pa.array(stays)), coming[stays]
    sides = [
        pa.concat_tables([left.filter(pa.array(came == bool(kind))), pa.Table.from_batches([counted[kind]])])
        for kind in (0, 1)
    ]
    gone, come = (_batch(side.take(pa.array(np.argsort(side[VERSION].to_numpy(), kind="stable")))) for side in sides)
    return gone, come


def _counted(table: pa.Table) -> tuple[pa.RecordBatch, pa.RecordBatch]:
    """What goes and what comes, net, each row of each version once; versions in order.

    Raises:
        CapacityError: A row stands there more often than 64 bits count, or memory does not hold the groups.
    """
    *values, _, _, version = table.column_names
    left = net_values(table, [*values, version], f"if({KIND} = 1, {COPIES}, -{COPIES})")
    change, versions = left["net"].to_numpy(), left[version].to_numpy()
    order = np.argsort(versions, kind="stable")
    gone, come = order[change[order] < 0], order[change[order] > 0]
    return _side(left, gone, 0, table.schema), _side(left, come, 1, table.schema)


def _side(left: pa.Table, chosen: Words, kind: int, schema: pa.Schema) -> pa.RecordBatch:
    taken = left.take(pa.array(chosen))
    *values, version, copies = taken.columns
    kinds = pa.array(np.full(chosen.shape[0], kind, np.int8))
    copies = pa.array(np.abs(copies.to_numpy()))
    return _batch(pa.table([*values, kinds, copies, version], names=schema.names).cast(schema))


def _joined(sides: tuple[pa.RecordBatch, pa.RecordBatch]) -> pa.RecordBatch:
    """Both sides, by version, what goes before what comes."""
    table = pa.Table.from_batches(sides)
    return _batch(table.take(pa.array(np.argsort(table[VERSION].to_numpy(), kind="stable"))))


def _hashes(table: pa.Table) -> npt.NDArray[np.uint64]:
    """A hash of each row's values and version; equal rows have equal ones."""
    *values, _, _, version = table.column_names
    with session(LINEAR) as connection:
        found = connection.from_arrow(table).project(f"hash({', '.join([*values, version])}) AS h").to_arrow_table()
    hashes: npt.NDArray[np.uint64] = found["h"].to_numpy()
    return hashes


def _batch(table: pa.Table) -> pa.RecordBatch:
    """A table as one batch."""
    if not table.num_rows:
        return pa.record_batch([pa.array([], field.type) for field in table.schema], schema=table.schema)
    (batch,) = table.combine_chunks().to_batches()
    return batch


def _at_once(scratch: Scratch) -> int:
    """Bytes of rows that are netted, or split, at a time."""
    return min(scratch.over // _PARTS, _MOST_AT_ONCE)
