"""What the console shows: the graph of blocks, and figures that change each second; of each only what one may read.

Who may read a view may know how it is maintained, as `GET /v1/views/NAME/explain` says it too: the blocks below the
view, and the names of what its query names. The rows and changes of a table or a view are told to those who may read
it, figures of the whole database to those who may read all. A block over a table that one may not read says nothing of
its rows, unless it is a view that one may.

Both are made once for all who ask: the figures at most twice a second, the graph anew when it has changed.
"""

from __future__ import annotations

import hashlib
import re
import threading
import time
import uuid
from collections.abc import Container, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from livejoin.database.slow_commits import SlowCommit
from livejoin.server.access import Who

if TYPE_CHECKING:
    from livejoin.database import View
    from livejoin.server.service import Service

_FRESH = 0.5  # seconds
WAIT = 2.0  # seconds that one who asks waits for others
_VIEW = "view "
_BLOCK = re.compile("#[1-9][0-9]*")
_FIGURES = {
    "number": "number",
    "rows": "rows",
    "bytes": "capacity_bytes",
    "seconds": "seconds",
    "touched": "rows_touched",
    "commits": "commits",
    "stopped": "commits_stopped",
    "received": "changes_received",
    "passed": "changes_passed_on",
}


@dataclass(frozen=True)
class _Seen:
    """What one who asks sees.

    Args:
        views: The names of views that may be read.
        blocks: The numbers of the blocks below them.
        tables: The names of tables that these blocks read, or that may be read or changed.
    """

    views: frozenset[str]
    blocks: frozenset[int]
    tables: frozenset[str]


class Figures:
    """The graph and the figures of a database that is served; mutable, used by several threads.

    Args:
        service: The server.
    """

    def __init__(self, service: Service) -> None:
        self._service = service
        self._turn = threading.Lock()
        self._drawing = threading.Lock()
        self._process = uuid.uuid4().hex[:16]
        self._at = 0.0
        self._present: dict[str, Any] | None = None
        self._coming: Future[dict[str, Any]] | None = None
        self._reader = ThreadPoolExecutor(1, "livejoin-figures")
        self._graph: tuple[str, dict[str, Any]] = ("", {})

    def stats(self, who: Who) -> dict[str, Any]:
        """The figures of what somebody may read.

        Cost: that of `livejoin.Database.stats`, at most twice a second; else O(blocks).
        """
        present = self._figures()
        stats = present["stats"]
        linked = [_linked(block, stats["tables"]) for block in stats["blocks"]]
        seen = _seen_by(who, linked, stats["tables"])
        hidden = _over_hidden(who, linked)
        readable = [name for name in stats["tables"] if name in seen.tables and who.may_read(name)]
        found = {
            "version": stats["version"],
            "process": self._process,
            "graph": _digest([present["graph"], sorted(seen.views), sorted(seen.tables)]),
            "at": present["at"],
            "tables": {name: _of_table(stats["tables"][name]) for name in readable},
            "blocks": [
                _of_block(block, block["number"] in hidden, not seen.views.isdisjoint(_shown(block["read_by"])))
                for block in stats["blocks"]
                if block["number"] in seen.blocks
            ],
            "views": {name: rows for name, rows in _views(stats["blocks"]) if name in seen.views},
        }
        if who.reads_all:
            found["database"] = {
                name: stats[name]
                for name in ("memory_bytes", "memory_limit", "table_bytes", "dictionary_bytes", "capacity_bytes", "log")
            }
            found["database"]["slow_commits"] = present["slow_commits"]
            found["server"] = present["server"]
        return found

    def graph(self, who: Who) -> dict[str, Any]:
        """What somebody may read of tables, blocks and views, and how they hang together.

        Cost: that of `livejoin.Database.explain`, where something was declared since; else O(blocks).
        """
        present = self._figures()
        whole = self._outlines(present["graph"])
        seen = _seen_by(who, whole["blocks"], [one["name"] for one in whole["tables"]])  # not by the figures' numbers
        views = [one for one in whole["views"] if one["name"] in seen.views]
        tables = [
            {"name": one["name"], "readable": who.may_read(one["name"]), "writable": who.may_write(one["name"])}
            | ({"columns": one["columns"], "keys": one["keys"]} if _may_know(who, one["name"]) else {})
            for one in whole["tables"]
            if one["name"] in seen.tables
        ]
        blocks = [
            {
                **block,
                "above": [one for one in block["above"] if one in seen.blocks],
                "views": [one for one in block["views"] if one in seen.views],
            }
            for block in whole["blocks"]
            if block["number"] in seen.blocks
        ]
        graph = _digest([present["graph"], sorted(seen.views), sorted(seen.tables)])
        asks = {"name": who.name, "admin": who.is_admin, "reads_all": who.reads_all}
        return {"version": present["stats"]["version"], "graph": graph, "who": asks} | {
            "tables": tables,
            "blocks": blocks,
            "views": views,
        }

    def _figures(self) -> dict[str, Any]:
        """The figures of everything, half a second old at most.

        While a commit or a declaration goes on that takes longer than two seconds those of before are given, so that
        who asks is not held up, and keeps no thread.
        """
        with self._turn:
            coming, present = self._coming, self._present
            if coming is None:
                if present is not None and time.monotonic() - self._at < _FRESH:
                    return present
                coming = self._coming = self._reader.submit(self._read)
        try:
            return coming.result(None if present is None else WAIT)
        except TimeoutError:
            if present is None or coming.done():  # then it is an error of the database
                raise
            return present

    def _read(self) -> dict[str, Any]:
        """The figures as they are now; called in a thread of its own."""
        try:
            service = self._service
            stats = service.db.stats()
            found = {
                "stats": stats,
                "graph": _shape(stats, service),
                "at": time.time(),
                "server": _of_server(service),
                "slow_commits": [_of_commit(one) for one in service.db.slow_commits()],
            }
            with self._turn:
                self._present, self._at = found, time.monotonic()
            return found
        finally:
            with self._turn:
                self._coming = None

    def close(self) -> None:
        """Read no more. Once more changes nothing."""
        self._reader.shutdown(wait=False, cancel_futures=True)

    def _outlines(self, graph: str) -> dict[str, Any]:
        """Everything that the graph has, made anew where it is another one."""
        with self._drawing:
            if self._graph[0] != graph:
                db = self._service.db
                tables = [
                    {
                        "name": table.name,
                        "columns": [{"name": one.name, "type": str(one.type)} for one in table.columns],
                        "keys": table.described_keys(),
                    }
                    for table in db.tables.values()
                ]
                names = [str(table["name"]) for table in tables]
                blocks = [
                    {**{name: block[name] for name in _OF_BLOCK}, **_linked(block, names)}
                    for block in db.explain().to_dict()["blocks"]
                ]
                of_view = {one: block["number"] for block in blocks for one in block["views"]}
                views = [
                    {
                        "name": name,
                        "block": of_view.get(name),
                        "sql": view.sql,
                        **assertion_of(view),
                        "columns": [
                            {"name": column, "type": str(kind)}
                            for column, kind in zip(view.schema.names, view.types, strict=True)
                        ],
                    }
                    for name, view in db.views.items()
                ]
                self._graph = (graph, {"blocks": blocks, "views": views, "tables": tables})
            return self._graph[1]


_OF_BLOCK = ("kind", "does", "update")


def _linked(block: Mapping[str, Any], tables: Container[str]) -> dict[str, Any]:
    """A block's number, whom it reads and who reads it: numbers of blocks, and names."""
    return {
        "number": block["number"],
        "tables": [one for one in block["reads"] if not _is_block(one, tables)],
        "below": [int(one[1:]) for one in block["reads"] if _is_block(one, tables)],
        "above": [int(one[1:]) for one in block["read_by"] if not one.startswith(_VIEW)],
        "views": _shown(block["read_by"]),
    }


def _is_block(read: str, tables: Container[str]) -> bool:
    """Whether what a block reads is another block, as ``#2``, and no table that has such a name."""
    return _BLOCK.fullmatch(read) is not None and read not in tables


def _shape(stats: Mapping[str, Any], service: Service) -> str:
    """What the graph is, in a few characters: another one where it has changed."""
    blocks = [[block["kind"], block["reads"], block["read_by"]] for block in stats["blocks"]]
    views = [[name, view.sql, assertion_of(view)] for name, view in service.db.views.items()]
    tables = [[table.name, str(table.columns), table.described_keys()] for table in service.db.tables.values()]
    return _digest([blocks, views, tables])


def _digest(value: object) -> str:
    return hashlib.sha256(repr(value).encode()).hexdigest()[:16]


def assertion_of(view: View) -> dict[str, str]:
    """Of an assertion whether it is ``enforced`` or lets commits ``warn``; nothing of another view."""
    return {} if view.assertion is None else {"assertion": "enforced" if view.assertion.enforced else "warn"}


def _may_know(who: Who, table: str) -> bool:
    """Whether somebody may know the columns of a table, as `GET /v1/tables/NAME` has it."""
    return who.may_read(table) or who.may_write(table)


def _shown(read_by: Iterable[str]) -> list[str]:
    """The names of the views among those that read a block."""
    return [one[len(_VIEW) :] for one in read_by if one.startswith(_VIEW)]


def _views(blocks: Sequence[Mapping[str, Any]]) -> list[tuple[str, int | float]]:
    """Each view with its rows."""
    known = [block for block in blocks if block["rows"] is not None]
    return [(one, block["rows"]) for block in known for one in _shown(block["read_by"])]


def _seen_by(who: Who, blocks: Sequence[Mapping[str, Any]], known: Iterable[str]) -> _Seen:
    """What somebody sees of blocks, each behind those that it reads, and of tables."""
    views: set[str] = set()
    numbers: set[int] = set()
    tables: set[str] = set()
    for block in reversed(blocks):
        shown = {one for one in block["views"] if who.may_read(one)}
        views |= shown
        if shown or block["number"] in numbers:
            numbers |= {block["number"], *block["below"]}
            tables |= {*block["tables"]}
    tables |= {name for name in known if _may_know(who, name)}
    return _Seen(frozenset(views), frozenset(numbers), frozenset(tables))


def _of_table(table: Mapping[str, Any]) -> dict[str, Any]:
    return {"rows": table["rows"], "bytes": table["capacity_bytes"], "changes": table["changes"], "late": table["late"]}


def _of_block(block: Mapping[str, Any], is_hidden: bool, is_shown: bool) -> dict[str, Any]:
    """The figures of a block; what would tell of rows that may not be read is None.

    Args:
        block: The figures.
        is_hidden: Whether it is over rows that may not be read.
        is_shown: Whether it is a view that may be read: its rows and changes are told.
    """
    told = {name: block[of] for name, of in _FIGURES.items()}
    return told | dict.fromkeys(_OF_ROWS if not is_shown else _OF_ROWS - _OF_RESULTS, None) if is_hidden else told


_OF_RESULTS = frozenset(("rows", "passed"))
_OF_ROWS = _OF_RESULTS | {"bytes", "received", "touched"}


def _over_hidden(who: Who, blocks: Iterable[Mapping[str, Any]]) -> set[int]:
    """The numbers of the blocks, each behind those that it reads, that are over a table that somebody may not read."""
    found: set[int] = set()
    for block in blocks:
        if not found.isdisjoint(block["below"]) or not all(map(who.may_read, block["tables"])):
            found.add(block["number"])
    return found


def _of_commit(commit: SlowCommit) -> dict[str, Any]:
    """A slow commit; the values of its key are not told."""
    return {
        "version": commit.version,
        "at": commit.at.timestamp(),
        "seconds": commit.milliseconds / 1000,
        "part": commit.part,
        "part_share": commit.part_share,
        "waited": commit.waited_milliseconds / 1000,
        "waited_for": commit.waited_for,
        "changes": dict(commit.changes),
        "block": commit.block,
        "block_number": commit.block_number,
        "block_share": commit.block_share,
    }


def _of_server(service: Service) -> dict[str, Any]:
    """The figures of requests and of those who follow."""
    hub = service.hub
    followers: dict[str, int] = {}
    for feed in list(hub.feeds.values()):
        followers[feed.view] = followers.get(feed.view, 0) + len(feed.followers)
    return {
        "requests": service.active,
        "followers": {view: number for view, number in followers.items() if number},
        "messages": hub.counts.messages,
        "lost": hub.counts.lost,
        "waiting_bytes": hub.waiting,
        "bad_rows": service.metrics.bad_rows_so_far,
        "times": service.db._contents.times.figures(),
    }
