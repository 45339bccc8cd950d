"""From a database's contents to the image that a snapshot stores, and back."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from livejoin.database.contents import Contents, refuse_large_joins
from livejoin.database.snapshots import snapshot
from livejoin.database.snapshots.declaration import ViewImage
from livejoin.database.transactions.backfill import NOTHING
from livejoin.database.transactions.retention import refuse_dropped
from livejoin.database.transactions.trusted import kept_of, trusted_tables
from livejoin.database.view import ViewOptions
from livejoin.dataflow.moving.forms import plan_as
from livejoin.dataflow.node import Node
from livejoin.errors import LivejoinError, MemoryLimitError, StateError
from livejoin.families.cells.workers import Workers
from livejoin.plan.operators import AggregateOperator, StoredOperator
from livejoin.state.codec import Codec
from livejoin.state.kept import Kept
from livejoin.state.known_words import check_keys, check_words
from livejoin.state.scratch import Scratch
from livejoin.state.table_rows import rows_of, table_of, with_dense_ids
from livejoin.state.trusted_table import TrustedTable

logger = logging.getLogger("livejoin")


def image_of(contents: Contents, extra: Mapping[str, Any]) -> snapshot.Image:
    """The image of a database, which a snapshot stores.

    Args:
        contents: The database's contents.
        extra: JSON values to keep with it.
    """
    return snapshot.Image(
        version=contents.version,
        extra=extra,
        codec=contents.codec.arrays(),
        tables=((base.table, rows_of(base)) for base in contents.tables.values()),
        views=[view.image for view in contents.views.values()],
        blocks=[_block_image(node) for node in contents.graph.nodes],
    )


def restored(
    image: snapshot.Image, workers: Workers, memory_limit: int | None = None, scratch: Scratch | None = None
) -> Contents:
    """The contents of a snapshot.

    A block is loaded from the relations below it if its state is missing, or if it is planned or split into cells in
    another way than when it was saved. Tables are rebuilt from their rows, which are checked. Without states the rows
    get new ids: a forged snapshot may have ids of any size.

    Args:
        image: The snapshot.
        workers: The threads of the new database.
        memory_limit: The most bytes that the database may take; None for no limit.
        scratch: The folder for large deltas; None if all deltas stay in memory.

    Raises:
        StateError: The tables, views and states contradict each other.
        MemoryLimitError: The database takes more than ``memory_limit``.
    """
    contents = Contents(workers, memory_limit, scratch=scratch)
    contents.version = image.version
    contents.budget.begin()
    contents.codec = Codec.from_arrays(image.codec, contents.budget)
    contents.graph.codec = contents.codec
    with_states = any(block.arrays is not None for block in image.blocks)
    try:
        for table, kept_rows in image.tables:
            contents.catalog.add(table)
            rows = kept_rows if with_states else with_dense_ids(kept_rows)
            contents.tables[table.name.lower()] = table_of(table, rows, contents.budget)
            check_words(contents.codec, table, rows.values, rows.kept)
            if table.sequence_by is not None:
                check_words(contents.codec, table.of_tombstones, rows.tombstones)
        add_views(contents, image.views, load=False)
        contents.budget.begin()
        _restore_blocks(contents, {block.digest: block for block in image.blocks})
        contents.budget.check("what is loaded")
    except MemoryLimitError:
        raise
    except LivejoinError as error:
        msg = f"the snapshot holds what cannot be in a database: {error}; load another one or build the state anew"
        raise StateError(msg) from error
    finally:
        contents.budget.end()
    return contents


def add_views(
    contents: Contents,
    views: Iterable[ViewImage],
    load: bool = True,
    backfill: Mapping[str, pa.Table] = NOTHING,
) -> None:
    """Add views as they were declared, each behind those that it reads.

    Args:
        contents: The database's contents.
        views: The views.
        load: Whether their blocks are loaded; else the caller brings their states.
        backfill: The rows of tables that keep none, as for `Contents.add_view`.

    Raises:
        LivejoinError: A view cannot be there.
    """
    for kept in views:
        contents.refuse_taken(kept.name)
        query = contents.bind(kept.sql, allow_product=True)  # as it was when it was made
        refuse_large_joins(query)
        refuse_dropped(contents, query)
        options = ViewOptions(
            kept.deltas,
            kept.algorithm,
            kept.adaptive,
            kept.statistics,
            kept.allow_product,
            kept.assertion,
            kept.begins,
        )
        contents.add_view(kept.name, query, options, load, backfill)


def _restore_blocks(contents: Contents, blocks: Mapping[str, snapshot.BlockImage]) -> None:
    """Give each block its saved plan and state; load a block that has none."""
    for table in trusted_tables(contents):
        keepers = contents.graph.keepers(table)
        for node in keepers:
            if node.digest not in blocks or blocks[node.digest].kept is None:
                raise _not_kept(table, node)
        table.fold({node.digest: _groups(contents, node, blocks[node.digest]) for node in keepers})
    same: set[Node] = set()
    for node in contents.graph.nodes:
        block = blocks.get(node.digest)
        if block is None:
            continue
        if node.layout != block.layout:
            plan_as(node, block.layout)
        if node.layout != block.layout:
            node.plan_anew(block.statistics)
            plan_as(node, block.layout)
        if node.layout == block.layout and block.arrays is not None and all(one in same for one in node.inputs):
            node.restore(block.arrays)
            same.add(node)
    for node in contents.graph.nodes:
        if node not in same and (block := blocks.get(node.digest)) is not None and block.arrays is not None:
            logger.info("a block of %s is planned or split in another way than it was saved, and loaded", node.views())
        _ = node.block


def _not_kept(table: TrustedTable, node: Node) -> StateError:
    """The error for a snapshot without what a block keeps of rows that their table does not keep."""
    views = ", ".join(map(repr, node.views()))
    msg = (
        f"the snapshot lacks what {views} keeps of the rows of {table.table.name!r}, which keeps none itself: another "
        "version of livejoin wrote it and keeps other columns or groups; load it with that version, or build the state "
        "anew from the source"
    )
    return StateError(msg)


def _groups(contents: Contents, node: Node, block: snapshot.BlockImage) -> Kept:
    """What a snapshot has of a block over rows that no table keeps."""
    assert block.kept is not None
    types = node.types[: node.plan.groups] if isinstance(node.plan, AggregateOperator) else node.types
    values, beside = block.kept["values"], block.kept["beside"]
    check_keys(contents.codec, types, values[: len(types)])
    if isinstance(node.plan, StoredOperator) and (values.shape != (len(types), beside.shape[0]) or (beside < 1).any()):
        msg = "the rows that were kept do not fit how often each is there; they are damaged or from elsewhere"
        raise StateError(msg)
    return Kept(values, beside, types)


def _block_image(node: Node) -> snapshot.BlockImage:
    block = node.block
    kept = kept_of(node)
    arrays = None if kept is None else kept.arrays()
    return snapshot.BlockImage(node.digest, node.layout, node.statistics, block.arrays(), arrays)
