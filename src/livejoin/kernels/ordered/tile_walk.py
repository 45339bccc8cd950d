"""How the tiles of a partition change: NTILE(n), its rows in their order cut into n runs of about equal length.

Of c rows the first c mod n tiles have one more than the others, c div n. Every row knows its tile. Rows that no change
touched have tiles that go up in their order, as they had before; so those that stand in a tile now, and not before, are
some at its begin and some at its end. From both ends of each tile rows are settled up to the first one that is in it
already.

Law: a run of changes costs O(log n) for each, for each tile, and for each row whose tile changes, which is in the
delta; not O(1) for each row behind it, as a rank does.
"""

from __future__ import annotations

from livejoin.kernels.jit import helper, inlined
from livejoin.kernels.ordered.order_tree import rows_before, select
from livejoin.kernels.ordered.running_state import C_BEHIND
from livejoin.kernels.ordered.running_walks import settle
from livejoin.kernels.ordered.runs import H_TOUCHED, PartitionBuffers
from livejoin.kernels.parameters import Output, Texts, Touched
from livejoin.kernels.values.row_order import E_COUNT, E_IN, E_WORDS, O_WIDTH


@inlined
def begin_of(tile: int, rows: int, tiles: int) -> int:
    """How many rows come before a tile, the first one of which is 0."""
    return tile * (rows // tiles) + min(tile, rows % tiles)


@inlined
def tile_of(place: int, rows: int, tiles: int) -> int:
    """The tile of the row at a place, the first ones of which are 0."""
    short, longer = rows // tiles, rows % tiles
    in_longer = longer * (short + 1)
    return place // (short + 1) if place < in_longer else longer + (place - in_longer) // short


@helper
def _settle_from(
    s: PartitionBuffers, rank: int, step: int, number: int, tile: int, version: int, emit: bool, out: Output
) -> int:
    """Settle so many rows at most from a rank on, in one direction, up to one that is in the tile; the changes."""
    m, p, state = s.arena, s.plan, s.state
    state[0] = tile + 1
    made = 0
    for i in range(number):
        entry, _ = select(m, rank + i * step)
        is_touched = m[entry + E_COUNT] & 1 == 1
        if not is_touched and m[entry + E_IN] > 0 and m[entry + E_WORDS + p[O_WIDTH]] == tile + 1:
            break
        made += settle(s, entry, version, emit, out)
    return made


@helper
def walk_tiles(
    s: PartitionBuffers, touched: Touched, row: int, version: int, emit: bool, text: Texts, out: Output
) -> int:
    """Settle the entries that were touched, and those whose tile is another one; changes, at most if not ``emit``."""
    m, p, prefix, state, tiles = s.arena, s.plan, s.prefix, s.state, s.calls[C_BEHIND]
    first = rows_before(m, prefix, row, 0, text)
    rows = rows_before(m, prefix, row, 1, text) - first
    made = 0
    for i in range(m[H_TOUCHED]):
        entry = touched[i]
        if m[entry + E_COUNT] >> 1 > 0:
            state[0] = tile_of(rows_before(m, p, entry, 0, text) - first, rows, tiles) + 1
        made += settle(s, entry, version, emit, out)
    for tile in range(min(tiles, rows)):
        begin, end = begin_of(tile, rows, tiles), begin_of(tile + 1, rows, tiles)
        made += _settle_from(s, first + begin, 1, end - begin, tile, version, emit, out)
        made += _settle_from(s, first + end - 1, -1, end - begin, tile, version, emit, out)
    return made
