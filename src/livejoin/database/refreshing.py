"""A refresh of a static table as a list of changes, for callers that log changes and apply them with others.

Law: a table with the rows ``before`` and the changes of `refreshing` has the rows ``now``, with equal multiplicities.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from livejoin.database.commit import Commit
from livejoin.database.engine import Database
from livejoin.database.transactions import transaction
from livejoin.database.transactions.guard import alone
from livejoin.database.transactions.staging import OnConflict
from livejoin.schema import CHANGE_TYPE, COMMIT_VERSION, Table

_ALL = "all rows"
_COME = pa.array(["insert", "update_postimage"], pa.string())


@alone
def apply_any(database: Database, changes: Mapping[str, pa.Table], on_conflict: OnConflict) -> Commit:
    """As `Database.apply`, and also for static tables that views use.

    The caller makes sure that tables keep what they promise, except for a refresh.
    """
    contents = database._contents
    return transaction.commit(contents, transaction.read_any(contents, changes, False, on_conflict), on_conflict)


def refreshing(table: Table, before: pa.Table, taken: Iterable[pa.Table], now: pa.Table) -> pa.Table:
    """The net changes from the rows of a static table to other rows: deletions first, then insertions.

    Args:
        table: The table's declaration.
        before: The rows of the table at some time.
        taken: Changes that were applied to the table since then.
        now: The rows that the table shall have.

    Raises:
        ChangeError: The new rows break a key of the table, or do not fit its columns.

    Cost: O(rows), and one more copy of the rows in memory.

    >>> from livejoin.schema import TableSettings
    >>> from livejoin.sql import parse_columns
    >>> table = parse_columns("rates", "code STRING, rate INT", TableSettings(static=True))
    >>> before, now = (pa.table({"code": ["EUR"], "rate": [rate]}) for rate in (1, 2))
    >>> refreshing(table, before, (), now).to_pylist()
    [{'code': 'EUR', 'rate': 1, '_change_type': 'delete'}, {'code': 'EUR', 'rate': 2, '_change_type': 'insert'}]
    """
    database = Database()
    database._contents.add_table(replace(table, foreign_keys=()))
    for rows in (before, *taken):
        database.apply(table.name, rows)
    columns = ", ".join(f"`{column.name.replace('`', '``')}`" for column in table.columns)
    database.create_view(_ALL, f"SELECT {columns} FROM `{table.name.replace('`', '``')}`")
    delta = database.refresh(table.name, now)[_ALL].drop_columns([COMMIT_VERSION])
    comes = pc.is_in(delta.column(CHANGE_TYPE).cast(pa.string()), _COME)
    kinds = (("delete", delta.filter(pc.invert(comes))), ("insert", delta.filter(comes)))
    return pa.concat_tables(
        [
            rows.set_column(rows.num_columns - 1, CHANGE_TYPE, pa.repeat(pa.scalar(kind), rows.num_rows))
            for kind, rows in kinds
        ]
    )
