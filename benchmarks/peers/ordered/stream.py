"""Changes of trades and quotes, the file that programs read, and the rows that are there after them.

A change is six 64-bit integers: the table (0 for trades, 1 for quotes), 1 for a row that comes or -1 for one that goes,
the symbol, the time, until when a quote is valid, and the id of a trade or the price of a quote.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Changes = npt.NDArray[np.int64]
Rows = npt.NDArray[np.int64]
APART = 4  # of time, from one place of a row to the next one of its symbol
TRADES, QUOTES = 0, 1
_PRICES = 10_007


def coming_and_going(rows: int, symbols: int, changes: int) -> Changes:
    """So many rows a side come; then rows go and others come, on each side in turns.

    There are twice as many places as rows. Which rows are there, and which go, is random.

    >>> coming_and_going(5, 1, 4)[10:, :2].tolist()
    [[0, -1], [0, 1], [1, -1], [1, 1]]
    """
    random = np.random.default_rng(rows + symbols)
    sides = [random.permutation(2 * rows) for _ in range(2)]
    loaded = [_rows(table, side[:rows], symbols) for table, side in enumerate(sides)]
    step = np.arange(changes)
    table, turn = step // 2 % 2, step // 4
    weight = np.where(step % 2, 1, -1)
    at = (turn + np.where(weight > 0, rows, 0)) % (2 * rows)
    later = np.empty((changes, 6), np.int64)
    for number, side in enumerate(sides):
        mine = table == number
        later[mine] = _rows(number, side[at[mine]], symbols)
    later[:, 1] = weight
    return np.concatenate([*loaded, later])


def appended(rows: int, symbols: int) -> Changes:
    """So many rows a side in the order of their times.

    >>> appended(3, 1)[:, :4].tolist()
    [[0, 1, 0, 0], [1, 1, 0, 0], [1, 1, 0, 4], [0, 1, 0, 5], [1, 1, 0, 8], [0, 1, 0, 10]]
    """
    both = np.concatenate([_rows(table, np.arange(rows), symbols) for table in (TRADES, QUOTES)])
    return both[np.lexsort((both[:, 2], both[:, 3]))]


def _rows(table: int, places: npt.NDArray[np.int64], symbols: int) -> Changes:
    """Rows of places: a quote begins with its place and is valid until the next, a trade is somewhere in it."""
    begins = APART * (places // symbols)
    time = begins if table == QUOTES else begins + places % APART
    number = places if table == TRADES else places * 7_919 % _PRICES
    columns = (np.full_like(places, table), np.ones_like(places), places % symbols, time, begins + APART, number)
    return np.column_stack(columns)


def write(changes: Changes, file: Path) -> None:
    """The file of changes, the least byte first."""
    changes.astype("<i8").tofile(file)


def read(file: Path) -> Changes:
    """The changes of a file."""
    return np.fromfile(file, "<i8").astype(np.int64).reshape(-1, 6)


def columns_of(table: int, changes: Changes) -> dict[str, npt.NDArray[np.int64]]:
    """The columns of the table in changes of it, by their names."""
    _, _, symbol, time, until, number = changes.T
    if table == TRADES:
        return {"id": number, "symbol": symbol, "ts": time}
    return {"symbol": symbol, "ts": time, "until": until, "price": number}


def content(changes: Changes) -> dict[str, pa.Table]:
    """The rows that are there after all changes, of which each is there once or not at all."""
    found = {}
    for table, name in enumerate(("trades", "quotes")):
        mine = changes[changes[:, 0] == table]
        rows, place = np.unique(np.delete(mine, 1, axis=1), axis=0, return_inverse=True)
        there = np.bincount(place.ravel(), weights=mine[:, 1], minlength=len(rows)) > 0
        found[name] = pa.table(columns_of(table, np.insert(rows[there], 1, 1, axis=1)))
    return found
