"""About how many distinct keys rows have, in one pass: linear counting.

Whang, Vander-Zanden and Taylor, A linear-time probabilistic counting algorithm for database applications (TODS 1990):
each key marks a place of a map by its hash, and the places that stay free tell how many keys there were.
"""

from __future__ import annotations

from livejoin.kernels.jit import kernel
from livejoin.kernels.memory.directory import finish, mix, seed
from livejoin.kernels.parameters import Line, Matrix, Slots


@kernel
def mark_keys(words: Matrix, columns: Line, null: int, log: int, places: Slots) -> None:
    """Mark the place of each row's key; a row with NULL in its key has none.

    Args:
        words: int64 of shape (columns of the table, n).
        columns: The columns of the key.
        null: The word of NULL.
        log: The logarithm to base 2 of the number of places, at most 32.
        places: uint8, zeros at the beginning; written.
    """
    for row in range(words.shape[1]):
        h = seed()
        is_null = False
        for i in range(columns.shape[0]):
            word = words[columns[i], row]
            is_null = is_null or word == null
            h = mix(h, word)
        if not is_null:
            places[finish(h) >> (32 - log)] = 1
