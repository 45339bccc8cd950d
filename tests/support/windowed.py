"""Drivers for tables with windows, of rows or by range: random commits and random logs, against the oracle."""

from __future__ import annotations

from hypothesis import note
from hypothesis import strategies as st

from harness import Harness
from random_queries import queries
from scenario import Change, TableSpec


def some_row(draw: st.DrawFn, table: TableSpec) -> tuple[int | None, ...]:
    """A row of small integers; NULLs are everywhere but in the column that a window by range looks at."""
    times = () if table.window_range is None else (table.window_range[0],)
    domain = [0, 1, 0, 1, 2, None]
    return tuple(draw(st.sampled_from([0, 1, 2, 3, 4, 5, 7, 9] if c.name in times else domain)) for c in table.columns)


def check_commits(data: st.DataObject, specs: tuple[TableSpec, ...], *, max_atoms: int, max_insertions: int) -> None:
    """Two random views, with deltas and without, over random commits: deletions of rows that were there, insertions."""
    harness = Harness(specs)
    for number in range(2):
        query = data.draw(queries(specs, max_atoms=max_atoms))
        note(query.sql)
        harness.create_view(f"v{number}", query, deltas=number == 0)
    for _ in range(data.draw(st.integers(1, 5))):
        changes: list[Change] = []
        for table in specs:
            present = list(harness.oracle.rows[table.name])
            for _ in range(data.draw(st.integers(0, min(2, len(present))))):
                changes.append(Change(table.name, "delete", present.pop(data.draw(st.integers(0, len(present) - 1)))))
            for _ in range(data.draw(st.integers(0, max_insertions))):
                changes.append(Change(table.name, "insert", some_row(data.draw, table)))
        note(f"commit: {changes}")
        harness.apply(changes)
        if data.draw(st.integers(0, 4)) == 4:
            harness.reload()


def check_changes(data: st.DataObject, specs: tuple[TableSpec, ...], *, max_atoms: int) -> None:
    """A random view, with deltas and without, over random logs in which each change is a version."""
    harness = Harness(specs)
    query = data.draw(queries(specs, max_atoms=max_atoms))
    note(query.sql)
    harness.create_view("v", query)
    harness.create_view("quiet", query, deltas=False)
    for _ in range(data.draw(st.integers(1, 3))):
        changes: list[Change] = []
        ahead = harness.oracle.copy()
        for _ in range(data.draw(st.integers(1, 10))):
            table = data.draw(st.sampled_from(specs))
            present = ahead.rows[table.name]
            if present and data.draw(st.integers(0, 3)) == 3:
                changes.append(Change(table.name, "delete", data.draw(st.sampled_from(present))))
            else:
                changes.append(Change(table.name, "insert", some_row(data.draw, table)))
            ahead.apply(changes[-1:])
        note(f"replay: {changes}")
        harness.replay(changes)
