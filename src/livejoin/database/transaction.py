"""A commit: changes of some tables go to the tables and into all views, or nothing changes at all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np
import pyarrow as pa

from livejoin.changes import ChangeBatch, read_changes
from livejoin.database.commit import Commit
from livejoin.database.contents import Contents
from livejoin.database.maintained import Maintained
from livejoin.database.staging import Granularity, TableInput, events_for, refuse_static, stage
from livejoin.errors import ChangeFormatError
from livejoin.state.table import Staged
from livejoin.words import Words

OnConflict = Literal["error", "ignore"]

_MIN_GARBAGE = 4096


def read(contents: Contents, named: Mapping[str, object], needs_sequence: bool) -> list[ChangeBatch]:
    """Validated changes, one batch a table, in the order of ``_seq`` where that counts."""
    batches: list[ChangeBatch] = []
    for name, data in named.items():
        table = contents.catalog[name]
        if any(batch.table.name == table.name for batch in batches):
            msg = "the table is given twice in one commit; give all of its changes together"
            raise ChangeFormatError(msg, table.name)
        batch = read_changes(table, data, needs_sequence)
        refuse_static(batch, [view.name for view in contents.maintained if view.uses(table.name)])
        batches.append(batch)
    return batches


def run(
    contents: Contents,
    batches: list[ChangeBatch],
    versions: Mapping[int, Words],
    count: int,
    granularity: Granularity,
    on_conflict: OnConflict,
) -> Commit:
    """Stage all tables, then bring the events into all views; undo everything if anything fails.

    Args:
        contents: The database's contents.
        batches: The changes, one batch a table.
        versions: The version of each change, by the batch's identity.
        count: How many versions there are.
        granularity: Whether deltas are those of the commit or of each change.
        on_conflict: What happens to changes that cannot be applied.

    Raises:
        ChangeError, ExpressionError: As for `livejoin.Database.apply`; nothing was applied.
    """
    if on_conflict not in ("error", "ignore"):
        msg = f"on_conflict is {on_conflict!r}; allowed are 'error' and 'ignore'"
        raise ChangeFormatError(msg)
    inputs = [_encode(contents, batch, versions[id(batch)]) for batch in batches]
    staged: list[tuple[TableInput, Staged]] = []
    touched: list[Maintained] = []
    deltas: dict[str, pa.Table] = {}
    for view in contents.maintained:
        view.prepare()
    try:
        for given in inputs:
            staged.append((given, stage(given, granularity, on_conflict == "ignore")))
        for view in contents.maintained:
            touched.append(view)
            delta = view.apply(
                {g.table.name: events_for(view, g, done) for g, done in staged if view.uses(g.table.name)}, count
            )
            if delta is not None:
                deltas[view.name] = delta
    except BaseException:
        for given in inputs:
            given.base.rollback()
        for view in touched:
            view.undo()
        raise
    for given, _ in staged:
        given.base.commit()
    contents.version += count
    _collect(contents)
    ignored = sum(done.ignored for _, done in staged)
    changes = sum(given.batch.weights.shape[0] for given in inputs) - ignored
    quiet = frozenset(view.name for view in contents.maintained if not view.deltas)
    commit = Commit(contents.version, changes, ignored, deltas, quiet)
    _notify(contents, deltas)
    return commit


def _notify(contents: Contents, deltas: Mapping[str, pa.Table]) -> None:
    """Call all subscribers; the first exception of one of them is raised when all were called."""
    failure: Exception | None = None
    for name, delta in deltas.items():
        for callback in contents.views[name.lower()]._callbacks():
            try:
                callback(delta)
            except Exception as error:
                failure = failure or error
    if failure is not None:
        raise failure


def _encode(contents: Contents, batch: ChangeBatch, versions: Words) -> TableInput:
    """Words and masks of a batch; nothing but the dictionaries changes."""
    base = contents.tables[batch.table.name.lower()]
    words = contents.codec.encode(batch.rows, batch.table)
    selections = {
        view.name: view.selections(batch.table.name, batch.rows, words)
        for view in contents.maintained
        if view.uses(batch.table.name)
    }
    return TableInput(base, batch, words, versions, selections)


def _collect(contents: Contents) -> None:
    """Forget strings and wide decimals that no row uses, once they may be most of those kept."""
    if contents.codec.entries <= 2 * contents.kept_entries + _MIN_GARBAGE:
        return
    used: dict[str, list[Words]] = {"string": [np.empty(0, np.int64)], "decimal": [np.empty(0, np.int64)]}
    for base in contents.tables.values():
        for position, column in enumerate(base.table.columns):
            if column.type.kind in used:
                used[column.type.kind].append(base.used_words(position))
    for view in contents.maintained:
        used["string"] += view.flow.used_words("string")
        used["decimal"] += view.flow.used_words("decimal")
    contents.codec.retain(np.concatenate(used["string"]), np.concatenate(used["decimal"]))
    contents.kept_entries = contents.codec.entries
