"""Which changes of a commit violate assertions, so that the others can be committed.

Law: with the changes that stay all assertions hold, and with any one of the others added to them some would not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from livejoin.errors import LivejoinError
from livejoin.words import Words

Fails: TypeAlias = Callable[[list[Words]], LivejoinError | None]
"""Why a commit of some changes is refused, by their positions in each table in ascending order; None if it stands."""


def violators(sizes: Sequence[int], fails: Fails) -> list[tuple[int, int, LivejoinError]]:
    """The changes to leave out: for each the number of its table, its position there, and why.

    Changes are added in their order, whole halves at a time; one that does not hold by itself is tried again when
    others have come, as an order may come behind its lines.

    Args:
        sizes: How many changes each table has.
        fails: Tries some of them.

    Cost: O(left out * log(changes)) trials, and as many again for each time that some of the left out hold behind
    others.
    """
    tables = np.repeat(np.arange(len(sizes)), sizes)
    rows = np.concatenate([np.arange(size) for size in sizes]) if sizes else np.empty(0, np.int64)
    kept = np.empty(0, np.int64)

    def tried(places: Words) -> LivejoinError | None:
        every = np.sort(np.concatenate([kept, places]))
        return fails([rows[every[tables[every] == number]] for number in range(len(sizes))])

    waiting, left_out = np.arange(rows.shape[0]), list[tuple[int, LivejoinError]]()
    while waiting.shape[0]:
        left_out = []
        pieces = [waiting]
        while pieces:
            piece = pieces.pop()
            error = tried(piece)
            if error is None:
                kept = np.concatenate([kept, piece])
            elif piece.shape[0] == 1:
                left_out.append((int(piece[0]), error))
            else:
                middle = piece.shape[0] // 2
                pieces += [piece[middle:], piece[:middle]]
        if len(left_out) == waiting.shape[0]:
            break
        waiting = np.array([place for place, _ in left_out], np.int64)
    return [(int(tables[place]), int(rows[place]), error) for place, error in left_out]
