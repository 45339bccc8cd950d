"""Changes by key, beside a model that is a dictionary: the rows of a table by their key, and what DuckDB makes of them.

Law: whatever the form in which changes come, a table holds for each key what its last change says, and a commit gives
the difference of each view before it and behind it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import pyarrow as pa
from hypothesis import strategies as st

from harness import Harness, add
from oracle import assert_same_rows, difference, signed_multiset
from scenario import Change, Row, TableSpec, canonical_row
from strategies import rows

OnConflict = Literal["error", "ignore", "update"]
FORMS = ("arrow", "dicts", "short", "log")


class Refused(Exception):
    """The model refuses a change."""


class ByKey:
    """The rows of a table by their key."""

    def __init__(self, table: TableSpec) -> None:
        self.table = table
        self.rows: dict[Row, Row] = {}

    def key(self, row: Row) -> Row:
        return canonical_row(self.table.key(row))

    def change(self, change: Change, on_conflict: OnConflict = "error") -> bool:
        """Apply a change; whether it is no conflict that is skipped."""
        key = self.key(change.row)
        kind = "upsert" if change.kind == "insert" and on_conflict == "update" else change.kind
        conflict = key in self.rows if kind == "insert" else kind == "delete" and key not in self.rows
        if conflict and on_conflict == "error":
            raise Refused
        if not conflict and kind == "delete":
            del self.rows[key]
        elif not conflict:
            self.rows[key] = change.row
        return not conflict


def given_as(table: TableSpec, changes: Sequence[Change], form: str) -> object:
    """Changes as `Database.apply` and `Database.replay` take them.

    The columns of a deletion that are not in the key hold whatever was drawn ("arrow"), None ("dicts"), or are not
    there ("short").
    """
    found: list[dict[str, Any]] = []
    for number, change in enumerate(changes):
        row: dict[str, Any] = {c.name: v for c, v in zip(table.columns, change.row, strict=True)}
        for position, column in enumerate(table.columns):
            if change.kind == "delete" and position not in table.primary_key:
                if form == "short":
                    del row[column.name]
                elif form == "dicts":
                    row[column.name] = None
        row["_change_type"] = change.kind
        if form == "log":
            row["_seq"] = number
        found.append(row)
    if form in ("dicts", "short"):
        return found
    types = {c.name: c.type.arrow for c in table.columns} | {"_change_type": pa.string(), "_seq": pa.int64()}
    return pa.table({name: pa.array([row[name] for row in found], types[name]) for name in found[0]})


class KeyedHarness(Harness):
    """An engine with tables that have keys, and the oracle beside it."""

    def __init__(self, tables: Sequence[TableSpec], threads: int = 1) -> None:
        super().__init__(tables, threads)
        self.models = {table.name: ByKey(table) for table in tables}

    def expect(self, changes: Sequence[Change], on_conflict: OnConflict) -> int:
        """Bring the models and the oracle up to date; how many changes are skipped."""
        skipped = sum(not self.models[change.table].change(change, on_conflict) for change in changes)
        for name, model in self.models.items():
            self.oracle.rows[name] = list(model.rows.values())
        self.oracle._changed()
        return skipped

    def commit(self, changes: Sequence[Change], form: str, on_conflict: OnConflict = "error") -> None:
        """One commit of changes by key."""
        before = self.recomputed()
        version = self.database.version
        mine = {name: [c for c in changes if c.table == name] for name in self.tables}
        data = {name: given_as(self.tables[name], some, form) for name, some in mine.items() if some}
        if form == "log":
            commit = self.database.replay(self._log(changes), granularity="commit", on_conflict=on_conflict)
        else:
            commit = self.database.apply(data, on_conflict=on_conflict)
        skipped = self.expect(changes, on_conflict)
        assert commit.version == version + 1 == self.database.version
        assert (commit.ignored, commit.changes) == (skipped, len(changes) - skipped)
        after = self.recomputed()
        for name, watched in self.watched.items():
            signed = signed_multiset(commit[name])
            assert_same_rows(signed, difference(after[name], before[name]), f"delta of {name}")
            self._check_kinds(watched, commit[name], before[name], after[name], f"delta of {name}")
            watched.total = add(watched.total, signed)
            assert_same_rows(self._taken(watched), signed, f"delta of {name} that its subscriber saw")
        self.check()

    def each(self, changes: Sequence[Change], on_conflict: OnConflict = "error") -> None:
        """Changes one by one, each a version."""
        version = self.database.version
        commit = self.database.replay(self._log(changes), granularity="change", on_conflict=on_conflict)
        assert commit.version == version + len(changes)
        skipped = 0
        for number, change in enumerate(changes, version + 1):
            before = self.recomputed()
            skipped += self.expect([change], on_conflict)
            after = self.recomputed()
            for name in self.watched:
                delta = commit[name]
                one = delta.filter(pa.array([v == number for v in delta["_commit_version"].to_pylist()], pa.bool_()))
                context = f"delta of {name} for {change}"
                assert_same_rows(signed_multiset(one), difference(after[name], before[name]), context)
        assert (commit.ignored, commit.changes) == (skipped, len(changes) - skipped)
        for name, watched in self.watched.items():
            watched.total = add(watched.total, signed_multiset(commit[name]))
            watched.seen.clear()
        self.check()

    def _log(self, changes: Sequence[Change]) -> dict[str, object]:
        """Logs whose rows come in the opposite order: ``_seq`` puts them right."""
        logs: dict[str, object] = {}
        for name, table in self.tables.items():
            at = [i for i, change in enumerate(changes) if change.table == name]
            if at:
                whole = given_as(table, [changes[i] for i in at], "log")
                assert isinstance(whole, pa.Table)
                whole = whole.set_column(whole.num_columns - 1, "_seq", pa.array(at, pa.int64()))
                logs[name] = whole.take(list(reversed(range(len(at)))))
        return logs


def draw_changes(draw: st.DrawFn, harness: KeyedHarness, most: int, on_conflict: OnConflict = "error") -> list[Change]:
    """Changes that are possible in their order, with keys that come again; and at least one that goes by key."""
    ahead = {name: ByKey(table) for name, table in harness.tables.items()}
    for name, model in harness.models.items():
        ahead[name].rows = dict(model.rows)
    changes: list[Change] = []
    for _ in range(draw(st.integers(1, most))):
        table = draw(st.sampled_from(list(harness.tables.values())))
        there = list(ahead[table.name].rows.values())
        kind = draw(st.sampled_from(["upsert", "upsert", "delete", "insert"]))
        row = draw(rows(table))
        if there and draw(st.booleans()):
            old = draw(st.sampled_from(there))
            row = tuple(old[i] if i in table.primary_key else value for i, value in enumerate(row))
            if kind == "upsert" and draw(st.integers(0, 3)) == 3:
                row = old
        change = Change(table.name, kind, row)
        try:
            ahead[table.name].change(change, on_conflict)
        except Refused:
            change = Change(table.name, "upsert", row)
            ahead[table.name].change(change)
        changes.append(change)
    for name in harness.tables:
        mine = [i for i, change in enumerate(changes) if change.table == name]
        if mine and all(changes[i].kind != "upsert" for i in mine) and on_conflict != "update":
            changes = [c for c in changes if c.table != name]  # whole rows, and no matter of keys
    return changes or draw_changes(draw, harness, most, on_conflict)
