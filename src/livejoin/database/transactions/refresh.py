"""A static table gets other rows: one commit with deletions of missing rows and insertions of new ones.

Law: the commit is as any other. Rows that stay are compared, and reach neither the table nor a block.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from livejoin.changes import STRICT, ChangeBatch, Intake, read_changes
from livejoin.changes.source import as_pieces, take
from livejoin.database.commit import BadRow, Commit
from livejoin.database.contents import Contents
from livejoin.database.declared.defaults import defaults_of
from livejoin.database.transactions import transaction
from livejoin.database.transactions.bad_rows import OF_A_ROW, bad_rows_of, unreadable
from livejoin.errors import ChangeError, ChangeFormatError, DuplicateKeyError, ExpressionError, LivejoinError
from livejoin.schema import CHANGE_TYPE
from livejoin.words import Words


def refresh_good(contents: Contents, name: str, data: object, intake: Intake) -> tuple[Commit, list[BadRow]]:
    """As `refresh`, with the good ones of the rows: a bad row is one that the table then does not have.

    Returns:
        The commit, and the rows that were left out, in their order.

    Raises:
        ChangeError, ExpressionError: No single row fails, but two rows with a key, or a view over no rows.

    Cost: that of `refresh` where all rows are good. For b bad ones of n, b log n pieces are read once more; where a
    view has no value, log n refreshes are tried for each.
    """
    table = contents.declared(name)
    pieces = as_pieces(table, data)
    kept = np.arange(len(pieces))
    reasons: dict[tuple[str, int], str] = {}

    def read(part: object) -> object:
        return read_changes(table, part, False, "never", intake, defaults_of(table))

    while True:
        some = take(pieces, kept)
        bad: list[tuple[int, LivejoinError]]
        try:
            return refresh(contents, name, some, intake), bad_rows_of({name: pieces}, reasons)
        except OF_A_ROW as error:
            if error.row < 0:
                raise
            bad = list(unreadable(read, some)) or [(error.row, error)]
        except ExpressionError as error:
            bad = [_guilty(contents, name, some, intake, error)]
        for position, why in bad:
            reasons[name, int(kept[position])] = why.message if isinstance(why, ChangeError) else str(why)
        kept = np.delete(kept, [position for position, _ in bad])


def _guilty(
    contents: Contents, name: str, data: Any, intake: Intake, error: LivejoinError
) -> tuple[int, LivejoinError]:
    """The position of a row with which an expression fails, and does not with those before it.

    Raises:
        ExpressionError: The view fails without any row too.
    """

    def failure(count: int) -> LivejoinError | None:
        try:
            changes = _changes(contents, name, take(data, np.arange(count)), intake)
            transaction.trial(contents, [changes.batch], "error")
        except ExpressionError as found:
            return found
        return None

    if (always := failure(0)) is not None:
        raise always
    good, bad = 0, len(data)
    while bad - good > 1:
        middle = (good + bad) // 2
        found = failure(middle)
        good, bad, error = (good, middle, found) if found is not None else (middle, bad, error)
    return good, error


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
    changes = _changes(contents, name, data, intake)
    try:
        return transaction.commit(contents, [changes.batch], "error")
    except ChangeError as error:
        if not 0 <= error.row < changes.come.shape[0]:  # of the rows that come, which stand first
            raise
        message = error.message
        if isinstance(error, DuplicateKeyError):
            message = f"{message.partition(';')[0]}; give one row of each key"
        raise type(error)(message, error.table, int(changes.come[error.row])) from None


def _changes(contents: Contents, name: str, data: object, intake: Intake) -> _Difference:
    """What a refresh changes; raises as `refresh`."""
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
    return _difference(contents, given)


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
