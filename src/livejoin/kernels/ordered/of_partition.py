"""The rows of one partition: where they begin in a tree that is ordered by partitions.

Law: a scan from there on gives the rows of the result that are of the partition, if it has any, and then others.
"""

from __future__ import annotations

from livejoin.kernels.jit import kernel
from livejoin.kernels.ordered.order_nodes import T_LEAF, T_PLACE, free_entry, has_space, new_entry
from livejoin.kernels.ordered.order_tree import seek
from livejoin.kernels.ordered.runs import opened
from livejoin.kernels.parameters import Addresses, Cursor, Line, Texts
from livejoin.kernels.values.dictionary_view import strings_of
from livejoin.kernels.values.row_order import E_WORDS, O_WIDTH


@kernel
def begin(store: Addresses, key: Line, text: Texts, cursor: Cursor) -> bool:
    """Put a cursor of a scan in front of a partition.

    Args:
        store: The state, see `livejoin.kernels.ordered.runs.PartitionBuffers`; its free words are used for the key.
        key: int64, the order words of the partition.
        text: As for `livejoin.kernels.ordered.partitions.maintain`.
        cursor: int64[3], changed.

    Returns:
        Whether there was space for the key; else grow the arena, and call again.

    Cost: O(log n).
    """
    s = opened(store)
    m = s.arena
    if not has_space(m, s.wide):
        return False
    row = new_entry(m, s.wide)
    for i in range(s.prefix[O_WIDTH]):
        m[row + E_WORDS + i] = key[i]
    seek(m, s.prefix, row, 0, strings_of(text))
    free_entry(m, row)
    cursor[0], cursor[1], cursor[2] = m[T_LEAF], m[T_PLACE], 0
    return True
