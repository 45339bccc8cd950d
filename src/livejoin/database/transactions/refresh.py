"""A static table gets other rows: one commit with deletions of missing rows and insertions of new ones.

Law: the commit is as any other. Rows that stay are compared, and reach neither the table nor a block.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from livejoin.changes import STRICT, ChangeBatch, Intake, read_changes
from livejoin.database.commit import Commit
from livejoin.database.contents import Contents
from livejoin.database.declared.defaults import defaults_of
from livejoin.database.transactions import transaction
from livejoin.errors import ChangeError, ChangeFormatError, DuplicateKeyError
from livejoin.schema import CHANGE_TYPE
from livejoin.words import Words


def refresh(contents: Contents, name: str, data: object, intake: Intake = STRICT) -> Commit:
    """Replace the rows of a static table.

    Args:
        contents: The database's contents.
        name: The table.
        data: The rows, as for `livejoin.Database.apply`, each as often as the table is to have it.
        intake: How far they may differ from what the table is declared to be.

    Raises:
        ChangeError: The table is not static.
        ChangeFormatError: The data has deletions.
    """
    table = contents.declared(name)
    if not table.static:
        msg = f"the table is not static: bring its changes by apply, or say ALTER TABLE {table.name} SET STATIC first"
        raise ChangeError(msg, table.name)
    given = read_changes(table, data, False, "never", intake, defaults_of(table))
    if (given.weights < 0).any():
        msg = (
            f"a table is refreshed by all rows that it is to have, and {CHANGE_TYPE} says that some go; leave these out"
        )
        raise ChangeFormatError(msg, table.name)
    contents.budget.begin()  # what is read counts from here on
    changes = _difference(contents, given)
    try:
        return transaction.commit(contents, [changes.batch], "error")
    except ChangeError as error:
        if not 0 <= error.row < changes.come.shape[0]:  # of the rows that come, which stand first
            raise
        message = error.message
        if isinstance(error, DuplicateKeyError):
            message = f"{message.partition(';')[0]}; give one row of each key"
        raise type(error)(message, error.table, int(changes.come[error.row])) from None


@dataclass(frozen=True, eq=False)
class _Difference:
    """The changes that turn the rows of a table into the given rows.

    Args:
        batch: The changes: insertions, then deletions.
        come: For each insertion the position of its row among the given rows.
    """

    batch: ChangeBatch
    come: Words


def _difference(contents: Contents, given: ChangeBatch) -> _Difference:
    """The rows that come and go; a row with the same multiplicity in both does neither. Cost: O(rows), vectorised."""
    table = given.table
    base = contents.tables[table.name.lower()]
    words = transaction.words_of(contents, given)
    found = base.find(words)
    ids, weights = base.live_rows()
    asked, there = (np.zeros(int(ids[-1]) + 2 if ids.size else 1, np.int64) for _ in range(2))  # the last for new rows
    there[ids] = weights
    np.add.at(asked, found, 1)
    more = np.flatnonzero((asked > there)[found])
    come = np.sort(more[_number(found[more]) >= there[found[more]]])
    gone = contents.rows_of(base, np.repeat(ids, np.maximum(weights - asked[ids], 0)))
    kinds = pa.array(["insert"] * come.shape[0] + ["delete"] * gone.num_rows, pa.string())
    rows = pa.concat_tables([given.rows.take(pa.array(come)), gone]).append_column(CHANGE_TYPE, kinds)
    return _Difference(read_changes(table, rows, False, "never"), come)


def _number(values: Words) -> Words:
    """For each value, how many equal values stand before it.

    >>> _number(np.array([7, 7, 3, 7])).tolist()
    [0, 1, 0, 2]
    """
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    found = np.empty_like(values)
    found[order] = np.arange(values.shape[0]) - np.searchsorted(ordered, ordered)
    return found
