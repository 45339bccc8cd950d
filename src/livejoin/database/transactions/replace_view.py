"""CREATE OR REPLACE VIEW: a view gets another query, in one commit whose deltas are what becomes of the results.

No table changes. The view, and the views that read it, are planned anew, and the new blocks are loaded beside the old
ones; what both plans have in common stays. Then one assignment, that of the version, decides that it stands. Law: the
delta of a view whose columns stay is its result behind the commit minus its result before it. With other columns the
view is another one, as if it had been dropped and created: its subscriptions end, and its delta is its rows.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from livejoin.database.commit import Commit
from livejoin.database.contents import Contents
from livejoin.database.difference import difference
from livejoin.database.durable.bodies import REPLACE_VIEW, plain
from livejoin.database.durable.history import told
from livejoin.database.durable.log import Placed
from livejoin.database.names import ByName
from livejoin.database.snapshots.declaration import plain_view
from livejoin.database.transactions.assertions import refuse_violated
from livejoin.database.transactions.compaction import OtherViews, Replacement
from livejoin.database.transactions.guard import open_guard
from livejoin.database.transactions.journal import deliver, letters, refuse_in_subscriber
from livejoin.database.transactions.readers_fit import other_columns, reads_refused, same_columns, with_reasons
from livejoin.database.transactions.trusted import refuse_remaking
from livejoin.database.versions.links import Stepped
from livejoin.database.view import KEYS, View, ViewOptions
from livejoin.dataflow.deltas.view_delta import TableDelta, ViewDelta
from livejoin.dataflow.graph import Choices
from livejoin.errors import ExpressionError, MemoryLimitError, SchemaError, SqlError, UnknownNameError
from livejoin.plan.query_plan import plan_query
from livejoin.query.bound_query import Query
from livejoin.sql import bind_query, names_read
from livejoin.state.budget import shown_bytes

_COPIES = 3  # of a result: itself, the table that it is compared in, and what is found
_VALUE_BYTES = 16


@dataclass(frozen=True, eq=False)
class _Other:
    """A view with another plan.

    Args:
        old: The view as it is.
        new: A view with the new plan, whose blocks are loaded.
        before: The rows of the old one; None where nobody asks for them.
    """

    old: View
    new: View
    before: pa.Table | None

    @property
    def is_same(self) -> bool:
        """Whether the columns stay, and the deltas too."""
        return same_columns(self.old, self.new._query) and self.old.deltas == self.new.deltas

    @property
    def _keys(self) -> list[tuple[str, ...]]:
        """The keys of the old rows and of the new ones: each has one row that goes at most, and one that comes."""
        if self.before is None:
            return list(self.new.keys)
        sides = (self.old.keys, self.new.keys)
        pairs = [(key, other) for ours, others in (sides, sides[::-1]) for key in ours for other in others]
        return sorted({key for key, other in pairs if set(key) >= set(other)}, key=lambda key: (len(key), key))

    def delta(self, version: int) -> ViewDelta:
        """What becomes of the result."""
        schema = self.new._delta_schema.with_metadata({KEYS: json.dumps(self._keys)})
        rows = self.new.to_arrow()
        before = rows.slice(0, 0) if self.before is None else self.before
        found = difference(before, rows, self.new._query.root.types)
        columns = [*found.columns, pa.repeat(pa.scalar(version, pa.int64()), found.num_rows)]
        arrays = [column.cast(field.type) for column, field in zip(columns, schema, strict=True)]
        return TableDelta(pa.Table.from_arrays(arrays, schema=schema))


def in_its_place(new: View) -> Mapping[str, Any]:
    """What a view gets of one with another plan."""
    _ = new._no_delta, new._keys, new.shape  # what the old one remembers goes
    kept = {"_subscribers", "_before", "_delta_rows", "_guard"}
    return {name: value for name, value in vars(new).items() if name not in kept}


def bound_in_place(contents: Contents, name: str, sql: str, allow_product: bool) -> Query:
    """The query that a view gets, over all that does not read the view.

    Raises:
        SchemaError: The query reads the view itself, or one that does.
        SqlError: The query is wrong.
    """
    barred = {name.lower(), *(reader.lower() for reader in contents.readers(name))}
    others = {one: query for one, query in contents.queries.items() if one not in barred}
    try:
        return bind_query(sql, contents.catalog, others, allow_product)
    except UnknownNameError:
        found = sorted(barred & names_read(sql))
        if not found:
            raise
        own = [contents.views[one].name for one in found]
        msg = (
            f"view {contents.views[name.lower()].name!r} would read itself: its new query reads "
            f"{', '.join(map(repr, own))}, which is the view or reads it"
        )
        raise SchemaError(msg) from None


def replace_view(contents: Contents, name: str, query: Query, options: ViewOptions) -> Commit:
    """Give a view another query.

    Args:
        contents: The database's contents.
        name: The view's name.
        query: The query, as `bound_in_place` gives it.
        options: How the view is maintained from now on.

    Raises:
        SchemaError: A view that reads it cannot go on, because columns that it needs are gone or have other types.
        ChangeError: A subscriber replaces it while it is called.
        CapacityError, ExpressionError, StorageError: As for `livejoin.Database.create_view`; nothing was changed.

    Cost: O(base rows) for the new blocks, and O(result) before and behind it for each view whose delta is asked for.
    """
    if contents.is_telling:
        refuse_in_subscriber(contents)
    old = contents.views[name.lower()]
    refuse_remaking(contents, [name, *contents.readers(name)], "create another view with backfill, and drop this one")
    queries = _queries(contents, old, query)
    version = contents.version + 1
    before = dict[str, pa.Table]()
    for one in queries:
        if contents.views[one].deltas:
            _refuse_large(contents, contents.views[one], contents.views[one].count())
            before[one] = contents.views[one].to_arrow()
    graph, limits = contents.graph, dict(contents.graph._limits)
    contents.start_changing()
    try:
        contents.budget.begin()
        others = dict[str, _Other]()
        for one, other in queries.items():
            view = contents.views[one]
            try:
                new = _planned(contents, view, other, options if view is old else view._options)
            except ExpressionError:
                for below in others.values():  # what fails may be of these, and is computed in the reader first
                    for _ in below.new.batches():
                        pass
                raise
            others[one] = _Other(view, new, before.get(one))
        changed = others[old.name.lower()]
        if not changed.is_same:
            others[old.name.lower()] = changed = _Other(old, changed.new, None)
        deltas = dict[str, ViewDelta]()
        for found in others.values():
            refuse_violated(found.new, f"view {old.name!r} stays as it is")
            if found.new.deltas:
                rows = 0 if found.before is None else found.before.num_rows
                _refuse_large(contents, found.new, found.new.count() + rows)
                deltas[found.new.name] = found.delta(version)
                contents.budget.hold(deltas[found.new.name].table().nbytes, "deltas")
        rest = {one: view for one, view in contents.views.items() if one not in others}
        views = {**rest, **{one: other.old if other.is_same else other.new for one, other in others.items()}}
        if not changed.is_same:
            changed.new._guard = contents.guard
        commit = OtherViews(
            version,
            views,
            [other.old for other in others.values() if not other.is_same],
            lambda: letters(contents, deltas, version),
            deltas,
            {one: _step(other, deltas) for one, other in others.items() if other.is_same},
            (),
            [one for one, other in others.items() if other.is_same and other.old.keys != other.new.keys],
        )
        attributes = {one: in_its_place(other.new) for one, other in others.items() if other.is_same}
        shown = [view for view in views.values() if view.deltas]
        by_name: ByName[ViewDelta] = ByName((view.name, deltas.get(view.name, view._no_delta)) for view in shown)
        quiet = ByName((view.name, view.name) for view in views.values() if not view.deltas)
        made = Commit(version, 0, 0, by_name, quiet)
        if contents.log is not None:
            readers = [one for one in others if one != old.name.lower()]
            entry = {"view": plain_view(changed.new.image), "readers": readers}
            commit.placed = _write(contents, commit, entry)
        contents.replacement = Replacement({}, None, views=attributes, commit=commit)
        contents.version = version  # the point of no return
    except BaseException:
        if contents.version != version:
            graph._limits = limits
        raise
    finally:
        contents.end_changing()
    if contents.letters:
        deliver(contents)
    if contents.links.news:
        contents.wake()
    return made


def _write(contents: Contents, commit: OtherViews, entry: Mapping[str, Any]) -> Placed:
    """Append what happens to the log, with the deltas of views that have a history.

    Raises:
        StorageError: The system refused.
    """
    assert contents.log is not None
    stands = lambda: contents.version == commit.version  # noqa: E731
    ended = {view.name.lower() for view in commit.ended} & contents.histories.keys()
    restarted = set(commit.rekeyed) & contents.histories.keys()
    entry = {**entry, **({"ended": sorted(ended)} if ended else {})}
    entry = {**entry, **({"restarted": sorted(restarted)} if restarted else {})}
    kept = {one: history for one, history in contents.histories.items() if one not in ended | restarted}
    found = told(kept, commit.views, commit.deltas)
    if found:
        return contents.log.append_told(REPLACE_VIEW, (commit.version, 1), [*plain(entry), b"\0"], found, stands)
    contents.log.append(REPLACE_VIEW, commit.version, plain(entry), stands)
    return ()


def _refuse_large(contents: Contents, view: View, rows: int) -> None:
    """Refuse a result that would be in memory with another one, before it is read.

    Raises:
        MemoryLimitError: There is no room for it.
    """
    budget = contents.budget
    size = _COPIES * _VALUE_BYTES * len(view.schema) * rows
    if budget.limit is not None and not budget.has_room(size):
        msg = (
            f"view {view.name!r} has {rows:,} rows before and behind the replacement, of which the difference would be "
            f"made in about {shown_bytes(size)} of memory; memory_limit is {shown_bytes(budget.limit)}. Drop it and "
            "create it anew, which has no delta, or give it deltas=False"
        )
        raise MemoryLimitError(msg)


def _step(other: _Other, deltas: Mapping[str, ViewDelta]) -> Stepped:
    """What becomes of a view's rows, for those who read or follow it."""
    delta = deltas.get(other.new.name)
    old, new = other.old.shape, other.new.shape
    return delta, delta if old.kept == new.kept and not new.is_below else None


def _queries(contents: Contents, old: View, query: Query) -> dict[str, Query]:
    """The query of the view, and those of the views that read it, each behind those that it reads.

    Raises:
        SchemaError: A view that reads it cannot go on.
    """
    readers = {name.lower() for name in contents.readers(old.name)}
    found = {old.name.lower(): query}
    known = {name: one for name, one in contents.queries.items() if name not in readers} | found
    refused = dict[str, str]()
    for name in [name for name in contents.views if name in readers]:
        view = contents.views[name]
        if reason := reads_refused(view, refused):
            refused[view.name] = reason
            continue
        try:
            other = bind_query(view.sql, contents.catalog, known, view._options.allow_product)
        except SqlError as error:
            refused[view.name] = error.message
            continue
        if not same_columns(view, other):
            refused[view.name] = other_columns(view, other)
        known[name] = found[name] = other
    if refused:
        msg = (
            f"view {old.name!r} is read by {with_reasons(refused)}; the new query does not fit them: drop these views "
            "first, or keep the names and types of the columns that they read"
        )
        raise SchemaError(msg)
    return found


def _planned(contents: Contents, view: View, query: Query, options: ViewOptions) -> View:
    """A view with its new plan, whose blocks are loaded."""
    graph, statistics = contents.graph, options.statistics
    plan = plan_query(query, statistics, options.deltas, options.algorithm, contents.workers.threads)
    node = graph.add(plan, Choices(options.algorithm, options.adaptive, statistics, view.name))
    graph.show(node, view.name, options.deltas, statistics.preprocessing_limit)
    found = View(view.name, query, options, node, graph, open_guard(), contents.tally, contents.images)
    _ = node.block
    return found
