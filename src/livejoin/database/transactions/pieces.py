"""Many insertions as one version of tables without views, in pieces: beside the tables one piece is in memory.

Law: the tables are what one commit of all the changes makes of them. So changes are only taken that do not depend on
what else is in their commit: insertions, and upserts in their order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from livejoin.database.engine import Database
from livejoin.database.transactions import transaction
from livejoin.database.transactions.guard import alone
from livejoin.database.transactions.staging import OnConflict
from livejoin.schema import CHANGE_TYPE, SEQUENCE, WITHOUT, Table

_PIECE = 1 << 17  # changes at once: about 20 MB while they are staged
_ALLOWED = pa.array(["insert", "upsert"], pa.string())


def fit_pieces(table: Table, changes: pa.Table) -> bool:
    """Whether changes of a table may come in pieces. Cost: O(changes)."""
    if table.has_window or table.watermark is not None or table.sequence_by is not None or table.unique:
        return False
    if {SEQUENCE, WITHOUT} & set(changes.column_names):
        return False
    if CHANGE_TYPE not in changes.column_names:
        return True
    kinds = changes[CHANGE_TYPE]
    return not kinds.null_count and bool(pc.all(pc.is_in(kinds.cast(pa.string()), _ALLOWED)).as_py())


@alone
def apply_in_pieces(database: Database, changes: Mapping[str, pa.Table], on_conflict: OnConflict) -> Counter[str]:
    """Apply changes that `fit_pieces` to tables without views, as one version.

    Args:
        database: The database. After an error it has some of the changes, and is of no use any more.
        changes: The changes by table.
        on_conflict: How conflicts are treated, as for `livejoin.Database.apply`.

    Returns:
        How many changes of each table, by its name in lower case, had no effect.

    Raises:
        LivejoinError: The changes cannot be applied.

    Cost: O(changes) time; memory for the rows, and for one piece.
    """
    contents = database._contents
    assert not contents.views, "views would tell the deltas of each piece"
    version, ignored = contents.version, Counter[str]()
    for name, rows in changes.items():
        table = contents.catalog[name]
        goes_by_key = bool(table.primary_key) and not table.append_only
        manner = on_conflict if on_conflict != "update" or goes_by_key else "error"
        for begin in range(0, rows.num_rows, _PIECE):
            batches = transaction.read_any(contents, {name: rows.slice(begin, _PIECE)}, False, manner)
            done = transaction.commit(contents, batches, manner)
            ignored.update({one: count for one, (count, _) in done._left_out.items()})
    contents.version, contents.last = version + 1, None
    return +ignored
