"""Many changes as one version, in pieces: beside the tables and the views one piece of them is in memory.

Law: tables and views are what one commit of all the changes makes of them, and so are their deltas, added up. So
changes are only taken whose pieces do not depend on each other; where a piece is refused, the whole may still stand.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

import pyarrow as pa
import pyarrow.compute as pc

from livejoin.database.commit import Commit
from livejoin.database.engine import Database
from livejoin.database.transactions import transaction
from livejoin.database.transactions.guard import alone
from livejoin.database.transactions.staging import OnConflict
from livejoin.plan.operators import RankedOperator, RunningOperator
from livejoin.schema import CHANGE_TYPE, SEQUENCE, WITHOUT, Table

_PIECE = 1 << 17  # changes at once: about 20 MB while they are staged
_PIECES = 16  # at most, as an operator may look at a group anew in each of them
_COME = pa.array(["insert", "upsert"], pa.string())


def fit_pieces(table: Table, changes: pa.Table) -> bool:
    """Whether changes of a table are insertions and upserts, which may come in pieces. Cost: O(changes)."""
    return _is_plain(table, changes) and _only_come(changes)


def may_be_cut(table: Table, changes: pa.Table, on_conflict: OnConflict) -> bool:
    """Whether pieces of changes that stand one after the other are what all of them are together.

    With deletions that is so where changes go by key, in their order, and where a conflict is an error: a deletion
    that comes before its row is refused then.

    Args:
        table: The table.
        changes: The changes.
        on_conflict: How conflicts are treated.

    Cost: O(changes).
    """
    if table.static or not _is_plain(table, changes):
        return False
    if _only_come(changes):
        return True
    if changes[CHANGE_TYPE].null_count:
        return False
    if on_conflict == "ignore":
        return False
    goes_by_key = bool(table.primary_key) and not table.append_only
    return on_conflict == "update" or not goes_by_key


def may_be_told_in_pieces(database: Database) -> bool:
    """Whether nobody hears of a commit but its caller, and no view looks at all rows of a partition for each change.

    Assertions have to hold behind the whole alone, and deltas that go to files take no memory. Cost: O(blocks).
    """
    contents = database._contents
    if contents.tally.listened or contents.tally.analyses or contents.log is not None or contents.scratch is not None:
        return False
    if any(tip() is not None for tip in contents.links.tips.values()):
        return False
    if any(view.assertion is not None for view in contents.views.values()):
        return False
    return not any(isinstance(node.plan, RankedOperator | RunningOperator) for node in contents.graph.nodes)


def _is_plain(table: Table, changes: pa.Table) -> bool:
    """Whether a table has nothing that asks what else is in a commit, and the changes are whole and in order."""
    if table.has_window or table.watermark is not None or table.sequence_by is not None or table.unique:
        return False
    return not {SEQUENCE, WITHOUT} & set(changes.column_names)


def _only_come(changes: pa.Table) -> bool:
    if CHANGE_TYPE not in changes.column_names:
        return True
    kinds = changes[CHANGE_TYPE]
    return not kinds.null_count and bool(pc.all(pc.is_in(kinds.cast(pa.string()), _COME)).as_py())


def _say_nothing(_: Commit) -> None:
    """Nobody asks for deltas."""


@alone
def apply_in_pieces(
    database: Database,
    changes: Mapping[str, pa.Table],
    on_conflict: OnConflict,
    told: Callable[[Commit], object] = _say_nothing,
) -> Counter[str]:
    """Apply changes that `fit_pieces`, or of which each table `may_be_cut`, as one version.

    Args:
        database: The database. After an error it has some of the changes, and is of no use any more.
        changes: The changes by table.
        on_conflict: How conflicts are treated, as for `livejoin.Database.apply`.
        told: Called with the commit of each piece, which has the version of all of them.

    Returns:
        How many changes of each table, by its name in lower case, had no effect.

    Raises:
        LivejoinError: The changes cannot be applied.

    Cost: O(changes) time; memory for the rows, and for one piece.
    """
    contents = database._contents
    piece = max(_PIECE, sum(rows.num_rows for rows in changes.values()) // _PIECES)
    version, versions, ignored = contents.version, contents.tally.versions, Counter[str]()
    for name, rows in changes.items():
        table = contents.catalog[name]
        goes_by_key = bool(table.primary_key) and not table.append_only
        manner = on_conflict if on_conflict != "update" or goes_by_key else "error"
        for begin in range(0, rows.num_rows, piece):
            contents.version = version  # each piece makes the version that all of them make
            batches = transaction.read_any(contents, {name: rows.slice(begin, piece)}, False, manner)
            done = transaction.commit(contents, batches, manner)
            ignored.update({one: count for one, (count, _) in done._left_out.items()})
            told(done)
    contents.version, contents.last = version + 1, None
    contents.tally.versions = versions + 1
    return +ignored
