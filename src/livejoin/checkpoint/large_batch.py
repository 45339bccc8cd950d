"""A large batch into tables with rows, piece by piece: the deltas of the pieces are added up.

One commit holds the words of all changes, what each block does with them, and the deltas, beside the state. Here a
piece of the changes is in memory beside the state, and the delta as Arrow.

Law: database and deltas are those of one commit. A batch that does not fit comes as one commit; one of which a piece is
refused leaves a database of no use, and the caller has another one.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import pyarrow as pa

from livejoin.checkpoint.batch import LoggedBatch
from livejoin.checkpoint.net_delta import NetDelta, can_be_netted
from livejoin.database import Commit, Database
from livejoin.database.transactions.pieces import apply_in_pieces, may_be_cut, may_be_told_in_pieces

LEAST = 1 << 18
"""Changes from which on it is worth it: one commit of fewer takes up to 90 MB."""


@dataclass(frozen=True)
class LargeBatch:
    """What a batch in pieces did.

    Args:
        deltas: The delta of each view.
        ignored: How many changes of each table, by its name in lower case, had no effect.
    """

    deltas: dict[str, pa.Table]
    ignored: Counter[str]


def comes_in_pieces(database: Database, batch: LoggedBatch) -> bool:
    """Whether a batch is a large one that may come in pieces. Cost: O(changes), if it is large."""
    return (
        batch.rows >= LEAST
        and may_be_told_in_pieces(database)
        and all(map(can_be_netted, database.views.values()))
        and all(may_be_cut(database.tables[name], rows, batch.on_conflict) for name, rows in batch.changes.items())
    )


def apply_large(database: Database, batch: LoggedBatch) -> LargeBatch:
    """Apply a batch that `comes_in_pieces`.

    Raises:
        LivejoinError: A piece is refused. The database has some of the changes then, and is of no use any more.

    Cost: that of one commit; memory for the deltas, and for one piece.
    """
    deltas = {name: NetDelta(view) for name, view in database.views.items()}
    for delta in deltas.values():
        database._contents.budget.register(delta)

    def told(commit: Commit) -> None:
        for name in commit.views:
            deltas[name].add(commit[name])

    ignored = apply_in_pieces(database, batch.changes, batch.on_conflict, told)
    return LargeBatch({name: delta.table() for name, delta in deltas.items()}, ignored)
