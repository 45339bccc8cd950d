"""What a notebook shows of a database, a view or a commit: small tables of HTML, of the first rows alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from html import escape
from typing import TYPE_CHECKING

import pyarrow as pa

from livejoin.shown import shown_scalar

if TYPE_CHECKING:
    from livejoin.database.commit import Commit
    from livejoin.database.contents import Contents
    from livejoin.database.view import View

_ROWS = 20
_VIEWS = 10
_ROOM = ' style="padding: 2px 8px"'  # marimo's own style leaves none


def of_view(view: View) -> str:
    """The view's name, its query, and its first rows."""
    first = next(view.batches(_ROWS), None)
    rows = view.schema.empty_table() if first is None else pa.Table.from_batches([first])
    total = view.count() if view.deltas else None
    return f"{_title('view', view.name, view.sql)}{_rows(rows, total)}"


def of_commit(commit: Commit) -> str:
    """What the commit changed of each view, the first rows."""
    changed = [name for name in commit.views if commit.rows(name)]
    parts = [f"<p><b>version {commit.version}</b>: {commit.changes:,} changes of tables</p>"]
    for name in changed[:_VIEWS]:
        first = next(commit.batches(name, _ROWS), None)
        if first is not None:
            parts.append(f"{_title('view', name)}{_rows(pa.Table.from_batches([first]), commit.rows(name))}")
    if len(changed) > _VIEWS:
        parts.append(f"<p>and {len(changed) - _VIEWS} more views</p>")
    unchanged = [name for name in commit.views if not commit.rows(name)]
    if unchanged:
        parts.append(f"<p>unchanged: {escape(', '.join(unchanged))}</p>")
    return "".join(parts)


def of_database(contents: Contents) -> str:
    """The tables and views with their rows."""
    tables = [
        (base.table.name, f"{base.total:,}", "; ".join(base.table.described_keys()))
        for base in contents.tables.values()
    ]
    views = [
        (view.name, f"{view.count():,}" if view.deltas else "", " ".join(view.sql.split()))
        for view in contents.views.values()
    ]
    where = "in memory" if contents.log is None else f"in {contents.log.path}"
    head = f"<p><b>livejoin</b>, version {contents.version}, {escape(where)}</p>"
    return head + table(("table", "rows", "keys"), tables) + table(("view", "rows", "query"), views)


def _title(kind: str, name: str, sql: str = "") -> str:
    query = f"<pre>{escape(sql.strip())}</pre>" if sql else ""
    return f"<p>{kind} <b>{escape(name)}</b></p>{query}"


def _rows(rows: pa.Table, total: int | None) -> str:
    """The first rows, and how many there are."""
    columns = [["NULL" if text is None else text for text in texts_of(column)] for column in rows.columns]
    lines = zip(*columns, strict=True)
    more = "" if total is None or total <= rows.num_rows else f"<p>{total:,} rows, of which the first are shown</p>"
    return table(rows.column_names, lines) + more


def texts_of(column: pa.ChunkedArray) -> list[str | None]:
    """The values of a column as texts; None for NULL."""
    if not pa.types.is_nested(column.type):
        with suppress(pa.ArrowException):  # as bytes that are no text
            column = column.cast(pa.string())
    if pa.types.is_string(column.type):
        texts: list[str | None] = column.to_pylist()
        return texts
    return [shown_scalar(value) if value.is_valid else None for value in column]


def table(names: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A table of HTML: headings, and lines of as many texts."""
    head = "".join(f"<th{_ROOM}>{escape(name)}</th>" for name in names)
    body = "".join(f"<tr>{''.join(f'<td{_ROOM}>{escape(text)}</td>' for text in line)}</tr>" for line in lines)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
