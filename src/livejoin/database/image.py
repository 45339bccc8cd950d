"""From a database's contents to what a snapshot keeps, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from livejoin.database import snapshot
from livejoin.database.contents import Contents
from livejoin.database.view import ViewOptions
from livejoin.dataflow.node import Node
from livejoin.families.cells.workers import Workers
from livejoin.plan import Statistics
from livejoin.sql import bind_query
from livejoin.state.codec import Codec
from livejoin.state.table import BaseTable


def image_of(contents: Contents, extra: Mapping[str, Any]) -> snapshot.Image:
    """What a snapshot keeps.

    Args:
        contents: The database's contents.
        extra: JSON values to keep with it.
    """
    return snapshot.Image(
        version=contents.version,
        extra=extra,
        codec=contents.codec.arrays(),
        tables=[(base.table, base.arrays()) for base in contents.tables.values()],
        views=[
            snapshot.ViewImage(
                view.name, view.sql, view.deltas, view.algorithm, view._options.statistics.plain(), view.adaptive
            )
            for view in contents.views.values()
        ],
        blocks=[_block_image(node) for node in contents.graph.nodes],
    )


def restored(image: snapshot.Image, workers: Workers) -> Contents:
    """The contents of a snapshot; blocks that are split into another number of cells are loaded anew.

    Args:
        image: The snapshot.
        workers: The threads of the new database.
    """
    contents = Contents(workers)
    contents.version = image.version
    contents.codec = Codec.from_arrays(image.codec)
    contents.graph.codec = contents.codec
    for table, arrays in image.tables:
        contents.catalog.add(table)
        contents.tables[table.name.lower()] = BaseTable.from_arrays(table, arrays)
    for kept in image.views:
        query = bind_query(kept.sql, contents.catalog, contents.queries)
        known = Statistics.from_plain(kept.statistics)
        contents.add_view(kept.name, query, ViewOptions(kept.deltas, kept.algorithm, kept.adaptive, known), False)
    blocks = {block.digest: block for block in image.blocks}
    same: set[Node] = set()
    for node in contents.graph.nodes:
        block = blocks.get(node.digest)
        if block is None or not all(one in same for one in node.inputs):
            continue
        if node.layout != block.layout:
            node.plan_anew(Statistics.from_plain(block.statistics))
        if node.layout == block.layout:
            node.restore(block.arrays)
            same.add(node)
    for node in contents.graph.nodes:
        _ = node.block
    return contents


def _block_image(node: Node) -> snapshot.BlockImage:
    return snapshot.BlockImage(node.digest, node.layout, node.statistics.plain(), node.block.arrays())
