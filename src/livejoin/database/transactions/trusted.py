"""Tables whose deletions are trusted: copies of what views keep of their rows, so that changes can go.

Law: a copy changes nothing that anybody reads. It is one assignment, between two commits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from livejoin.dataflow.blocks.store import StoreBlock
from livejoin.dataflow.blocks.stored import StoredBlock
from livejoin.errors import SchemaError
from livejoin.state.kept import Kept
from livejoin.state.trusted_table import TrustedTable

if TYPE_CHECKING:
    from livejoin.database.contents import Contents
    from livejoin.dataflow.node import Node


def trusted_tables(contents: Contents) -> Iterator[TrustedTable]:
    """The tables that keep no rows."""
    return (base for base in contents.tables.values() if isinstance(base, TrustedTable))


def fold(contents: Contents, table: TrustedTable) -> int:
    """Take copies of the groups that are left of a table's rows, so that its changes go.

    Returns:
        The values that went.

    Cost: O(groups).
    """
    groups = {node.digest: kept_of(node) for node in contents.graph.keepers(table)}
    return (1 + table.coded) * table.fold(groups)


def kept_of(node: Node) -> Kept | None:
    """What a block keeps of the rows of a table that keeps none; None of other blocks. Cost: O(what is kept)."""
    block = node.block
    if isinstance(block, (StoreBlock, StoredBlock)) and block.keeper is not None:
        return block.kept()
    return None


def refuse_remaking(contents: Contents, views: Iterable[str], what: str) -> None:
    """Refuse to make views anew that read tables that keep no rows.

    Args:
        contents: The database's contents.
        views: The views, by name.
        what: The way that is left, for the message.

    Raises:
        SchemaError: A view of them does.
    """
    names = [table.table.name for table in trusted_tables(contents) if table.came]
    for view in (contents.views[name.lower()] for name in views) if names else ():
        for name in names:
            if view._reads_table(name):
                msg = (
                    f"view {view.name!r} reads table {name!r}, which has deletes = 'trusted' and keeps no rows, from "
                    f"which it could be made anew: {what}"
                )
                raise SchemaError(msg)


def forget_lost(contents: Contents) -> None:
    """Forget the groups of blocks that no view needs any more."""
    for table in trusted_tables(contents):
        table.forget_others(node.digest for node in contents.graph.keepers(table))
