"""Tables whose deletions are trusted: copies of what views keep of their rows, so that changes can go.

Law: a copy changes nothing that anybody reads. It is one assignment, between two commits.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from livejoin.dataflow.blocks.store import StoreBlock
from livejoin.state.kept_groups import KeptGroups
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
    groups = {node.digest: groups_of(node) for node in contents.graph.keepers(table)}
    return (1 + table.coded) * table.fold(groups)


def groups_of(node: Node) -> KeptGroups:
    """The groups of a block that keeps all that is left of the rows of a table."""
    block = node.block
    assert isinstance(block, StoreBlock), "what is kept of such rows are groups"
    return block.kept()


def forget_lost(contents: Contents) -> None:
    """Forget the groups of blocks that no view needs any more."""
    for table in trusted_tables(contents):
        table.forget_others(node.digest for node in contents.graph.keepers(table))
