"""Calls of a database that are cut off anywhere: what a signal, another thread or a lack of memory can do to Python.

CPython looks for signals, and for exceptions that other threads set, where a function begins, where a loop goes back
and behind every call. `Cut` raises at one of these points of livejoin's own code; behind a kernel is one of them. The
law: afterwards the database is that before the call or that behind it, as its version says, its invariants hold, and it
goes on as if nothing had been.
"""

from __future__ import annotations

import dis
import random
import sys
import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from decimal import Decimal
from functools import cache
from itertools import pairwise
from pathlib import Path
from threading import get_ident
from types import CodeType, FrameType
from typing import Any

import pyarrow as pa

import livejoin
from livejoin.database.transactions import transaction
from oracle import assert_same_rows, connect, difference, multiset, signed_multiset
from scenario import Row

_TOOL = 3  # one of the numbers of sys.monitoring that nobody has a right to
SOURCE = str(Path(livejoin.__file__).parent)
TABLES = {
    "G": "src BIGINT, dst BIGINT",
    "P": "id BIGINT PRIMARY KEY, name STRING, age INT",
    "W": "id BIGINT, amount DECIMAL(20, 2)",
    "S": "id STRING PRIMARY KEY, amount INT, at BIGINT",
    "E": "k STRING, n BIGINT, x DOUBLE",
}
_UNKEPT = "E"  # the table that keeps no rows
WINDOW = 12
_TOMBSTONES = 3
_SPILL_OVER = 60
NEVER = 1 << 60
_HISTORY = 1 << 20
VIEWS = {
    "hop3": "SELECT A.src AS a, B.src AS b, C.dst AS d FROM G A JOIN G B ON A.dst = B.src JOIN G C ON B.dst = C.src",
    "counted": "SELECT A.src AS a, COUNT(*) AS n, SUM(B.dst) AS s FROM G A JOIN G B ON A.dst = B.src GROUP BY A.src",
    "stored": "SELECT A.src AS a, MAX(B.dst) AS m, COUNT(DISTINCT P.name) AS k FROM G A JOIN G B ON A.dst = B.src "
    "JOIN P ON B.dst = P.id GROUP BY A.src",
    "named": "SELECT upper(P.name) AS n, G.dst AS d FROM G JOIN P ON G.src = P.id WHERE P.age > 3",
    "either": "SELECT src AS v FROM G UNION SELECT id AS v FROM P",
    "neither": "SELECT src AS v FROM G EXCEPT ALL SELECT id AS v FROM W",
    "best": "SELECT name, age FROM P ORDER BY age DESC, name LIMIT 4",
    "triangle": "SELECT A.src AS a, B.src AS b FROM G A JOIN G B ON A.dst = B.src JOIN G C ON B.dst = C.src "
    "AND C.dst = A.src",
    "above": "SELECT c.a AS a, c.n AS n, P.name AS p FROM counted c JOIN P ON c.a = P.id",
    "windowed": "SELECT W.id AS i, SUM(W.amount) AS s FROM W JOIN P ON W.id = P.id GROUP BY W.id",
    "newest": "SELECT S.id AS i, S.amount AS a, P.age AS g FROM S JOIN P ON S.amount = P.id",
    "compared": "SELECT P.name AS n, COUNT(*) AS c, SUM(W.amount) AS s FROM P JOIN W "
    "ON W.amount BETWEEN P.age - 2 AND P.age + 2 GROUP BY P.name",
    "before": "SELECT A.src AS a, COUNT(*) AS n, SUM(B.dst) AS s FROM G A JOIN G B ON A.dst = B.src AND B.dst < A.src "
    "GROUP BY A.src",
    "pairs": "SELECT A.src AS a, B.dst AS b FROM G A JOIN G B ON A.dst = B.src AND B.dst < A.src",
    "told": "SELECT k, COUNT(*) AS c, SUM(n) AS s, SUM(x) AS x FROM E WHERE n > 1 GROUP BY k",
    "heard": "SELECT E.k AS k, MAX(P.age) AS m, COUNT(*) AS c FROM E JOIN P ON E.n = P.id GROUP BY E.k",
    "once": "SELECT DISTINCT k, x FROM E",
    "quiet": "SELECT DISTINCT A.src AS a, B.dst AS d FROM G A JOIN G B ON A.dst = B.src",
}
WITHOUT_DELTAS = {"quiet", "either"}
FOLLOWED = ("hop3", "counted", "best", "windowed", "told")


class Cut:
    """A context in which livejoin's code raises once, or in which its points are counted.

    Args:
        error: What is raised.
        at: At which point, from 1, or the next one where Python would drop the error; none beyond the last one.
        within: A folder or a file of livejoin, whose points alone count; all of it by default.
        since: Points count from when this is true on; from the start by default.

    Attributes:
        points: How many there were so far.
    """

    def __init__(
        self,
        error: type[BaseException] = KeyboardInterrupt,
        at: int = 0,
        within: str = "",
        since: Callable[[], bool] | None = None,
    ) -> None:
        self.points = 0
        self._since = since
        self._within = SOURCE + within
        self.where = ""
        self._error = error
        self._at = at

    def __enter__(self) -> Cut:
        self._thread = get_ident()
        self._watched: set[CodeType] = set()
        if sys.version_info < (3, 12):
            sys.settrace(self._entered)
            return self
        events = sys.monitoring.events
        sys.monitoring.use_tool_id(_TOOL, "livejoin's cuts")
        for event, called in (
            (events.PY_START, self._begun),
            (events.PY_RESUME, self._begun),
            (events.INSTRUCTION, self._reached),
        ):
            sys.monitoring.register_callback(_TOOL, event, called)
        sys.monitoring.restart_events()
        sys.monitoring.set_events(_TOOL, events.PY_START | events.PY_RESUME)
        return self

    def __exit__(self, *_: object) -> None:
        if sys.version_info < (3, 12):
            sys.settrace(None)
            return
        events = sys.monitoring.events
        sys.monitoring.set_events(_TOOL, events.NO_EVENTS)
        for code in self._watched:
            sys.monitoring.set_local_events(_TOOL, code, events.NO_EVENTS)
        for event in (events.PY_START, events.PY_RESUME, events.INSTRUCTION):
            sys.monitoring.register_callback(_TOOL, event, None)
        sys.monitoring.free_tool_id(_TOOL)

    def _entered(self, frame: FrameType, event: str, argument: object) -> Callable[..., Any] | None:
        if not frame.f_code.co_filename.startswith(self._within):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        of_the_call = points_of(frame.f_code)  # a look-up of a code hashes all that is in it

        def step(frame: FrameType, event: str, argument: object) -> Callable[..., Any]:
            if event == "opcode" and frame.f_lasti in of_the_call:
                self._passed(frame)
            return step

        return step

    def _begun(self, code: CodeType, offset: int) -> object:
        """Watch the instructions of a function from its first call on, of which a trace function sees none in 3.13."""
        if code.co_filename.startswith(self._within) and code not in self._watched:
            self._watched.add(code)
            sys.monitoring.set_local_events(_TOOL, code, sys.monitoring.events.INSTRUCTION)
        return sys.monitoring.DISABLE

    def _reached(self, code: CodeType, offset: int) -> object:
        if offset not in points_of(code):
            return sys.monitoring.DISABLE
        if get_ident() == self._thread:  # a trace function has one thread, these events have all
            self._passed(sys._getframe(1))
        return None

    def _passed(self, frame: FrameType) -> None:
        """Count a point, and raise if it is the one."""
        if self._since is not None and not self._since():
            return
        self.points += 1
        if self.points == self._at and _is_lost(frame):
            self._at += 1
        elif self.points == self._at:
            self.where = f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"
            raise self._error


def _is_lost(frame: FrameType | None) -> bool:
    """Whether Python drops what is raised here, as where an object or its finalizer ends."""
    while frame is not None:
        code = frame.f_code
        if code.co_name == "__del__" or (code.co_name == "__call__" and code.co_filename == weakref.__file__):
            return True
        frame = frame.f_back
    return False


@cache
def points_of(code: CodeType) -> frozenset[int]:
    """Offsets of the instructions before which CPython may raise what a signal handler raises.

    CPython raises it in the call that has returned, and a trace function in the instruction behind it. Where a ``with``
    or a ``try`` ends between the two, as behind ``return f()`` in it, that is not the same, and no such point.
    """
    instructions = list(dis.get_instructions(code))
    table = dis._parse_exception_table(code)  # type: ignore[attr-defined]

    def handler(offset: int) -> int | None:
        return next((entry.target for entry in table if entry.start <= offset < entry.end), None)

    follows = {
        after.offset
        for before, after in pairwise(instructions)
        if (before.opname.startswith("CALL") and handler(before.offset) == handler(after.offset))
        or before.opname == "RESUME"
    }
    back = {one.argval for one in instructions if "JUMP_BACKWARD" in one.opname}
    return frozenset(follows | back)


def cut_off(
    call: Callable[[], object],
    error: type[BaseException],
    at: int,
    within: str = "",
    since: Callable[[], bool] | None = None,
) -> Cut:
    """Make a call that is cut off at a point."""
    cut = Cut(error, at, within, since)
    with suppress(error), cut:
        call()
    return cut


def come_back(db: livejoin.Database, name: str) -> Counter[Row]:
    """The rows that one has who knew a view at version 0, when it was empty, and comes back to its history."""
    with db.views[name].changes(since=0, waiting="merge", max_waiting=_HISTORY) as changes:
        try:
            update = changes.next(timeout=0)
        except TimeoutError:
            return Counter()
    assert update is not None and not update.reset
    return signed_multiset(update.delta)


class Life:
    """A database beside plain lists of rows, which changes by random commits that are cut off.

    Args:
        seed: Of all choices.
        threads: The database's threads.
        algorithm: What maintains the views' joins.
        spill: Where deltas are written that take more memory than very little; None if none are.
        folder: Where all stays; None if nothing does.
    """

    def __init__(
        self,
        seed: int,
        threads: int = 1,
        algorithm: str = "auto",
        spill: Path | None = None,
        folder: Path | None = None,
    ) -> None:
        self.random = random.Random(seed)
        self.db = livejoin.Database(folder, threads=threads, spill=spill, spill_over=spill and _SPILL_OVER)
        self.rows: dict[str, list[tuple[Any, ...]]] = {name: [] for name in TABLES}
        self.now = 0
        self.told: list[tuple[str, Counter[Row]]] = []
        for name, columns in TABLES.items():
            options: dict[str, Any] = {"window_rows": WINDOW} if name == "W" else {}
            if name == "S":
                options = {"sequence_by": "at", "tombstones": _TOMBSTONES}
            if name == _UNKEPT:
                options = {"deletes": "trusted"}
            self.db.create_table(name, columns, **options)
        for name, sql in VIEWS.items():
            chosen = algorithm if name in ("hop3", "counted", "named") else "auto"
            view = self.db.create_view(name, sql, deltas=name not in WITHOUT_DELTAS, algorithm=chosen)
            if folder is not None and name in FOLLOWED:
                view.keep_history(_HISTORY)
        for _ in range(4):
            self.commit()
        self.listen()

    def listen(self) -> None:
        """Be told of the deltas of hop3 from now on, and follow some views; hold no version."""
        self.told = []
        self.db.views["hop3"].subscribe(lambda delta: self.told.append(("hop3", signed_multiset(delta))))
        self.seen = multiset(self.db.views["hop3"].to_arrow())
        self.following = {name: self.db.views[name].changes() for name in FOLLOWED}
        self.followed: dict[str, Counter[Row]] = {name: Counter() for name in FOLLOWED}
        self.held: tuple[livejoin.Snapshot, dict[str, Counter[Row]]] | None = None

    def changes(self, most: int = 4) -> tuple[dict[str, pa.Table], dict[str, list[tuple[Any, ...]]]]:
        """A random commit of at most so many new rows a table, and the rows of its tables behind it."""
        given, after = {}, {}
        for name in self.random.sample(list(TABLES), self.random.randint(1, 3)):
            rows = list(self.rows[name])
            if name == "S" or (name == "P" and self.random.random() < 0.5):
                given[name], after[name] = self._by_key(name, most)
                continue
            gone = self.random.sample(range(len(rows)), min(len(rows), self.random.randint(0, most - 1)))
            out = [rows[i] for i in gone]
            kept = [row for i, row in enumerate(rows) if i not in set(gone)]
            came = [self._row(name, kept) for _ in range(self.random.randint(0, most))]
            if name == "P":
                came = list({row[0]: row for row in came if row[0] not in {one[0] for one in kept}}.values())
            schema = self.db.tables[name].arrow
            kinds = pa.array(["delete"] * len(out) + ["insert"] * len(came), pa.string())
            given[name] = arrow([*out, *came], schema).append_column("_change_type", kinds)
            after[name] = _windowed([*rows, *came], out, name)
        return given, after

    def _by_key(self, name: str, most: int) -> tuple[pa.Table, list[tuple[Any, ...]]]:
        """Changes by key, of which the last of each key counts; in S some are older than the row that is there."""
        there = {row[0]: row for row in self.rows[name]}
        changes: list[tuple[Any, ...]] = []
        kinds = []
        for _ in range(self.random.randint(1, 2 * most)):
            row = self._row(name, [])
            kind = self.random.choice(["upsert", "upsert", "delete"])
            if name == "S" and row[0] in there and self.random.random() < 0.2:
                row = (*row[:2], there[row[0]][2] - 1)  # it is late
            elif kind == "delete" and (name == "S" or row[0] in there):
                there.pop(row[0], None)
                row = (row[0], None, row[2] if name == "S" else None)
            else:
                kind = "upsert"
                there[row[0]] = row
            changes.append(row)
            kinds.append(kind)
        if "upsert" not in kinds:  # else it would be a set of whole rows
            changes.append(self._row(name, []))
            kinds.append("upsert")
            there[changes[-1][0]] = changes[-1]
        given = arrow(changes, self.db.tables[name].arrow)
        return given.append_column("_change_type", pa.array(kinds, pa.string())), list(there.values())

    def _row(self, name: str, kept: list[tuple[Any, ...]]) -> tuple[Any, ...]:
        pick = self.random.randint
        if name == "G":
            return (pick(0, 6), None if pick(0, 20) == 0 else pick(0, 6))
        if name == "P":
            return (pick(0, 9), self.random.choice(["ann", "bob", "Zoë", None]) or f"new {pick(0, 10**6)}", pick(0, 9))
        if name == "S":
            self.now += 1
            return (f"key {pick(0, 9)}", pick(0, 9), self.now)
        if name == _UNKEPT:
            return (self.random.choice(["a", "b", None]) or f"new {pick(0, 99)}", pick(0, 9), pick(-4, 4) * 0.25)
        return (pick(0, 6), Decimal(pick(0, 10**6)) / 100)

    def remembered(self) -> tuple[object, ...]:
        """What the table S knows of keys that are gone, and how many changes were late."""
        base = self.db._contents.tables["s"]
        assert base.tombstones is not None
        graves = base.tombstones.values_of(base.tombstones.live_rows()[0])
        return sorted(map(tuple, graves.T.tolist())), base.watermark, base.late

    def commit(self) -> bool:
        """A commit that is not cut off; its deltas are the differences. Whether some of them were spilled."""
        given, after = self.changes()
        before = {name: multiset(view.to_arrow()) for name, view in self.db.views.items() if view.deltas}
        commit = self.db.apply(given)
        for name, rows in before.items():
            found = difference(multiset(self.db.views[name].to_arrow()), rows)
            assert signed_multiset(commit[name]) == found, f"the delta of {name}"
        self.rows |= after
        return bool(commit.spilled)

    def cut(self, error: type[BaseException], at: int, again: bool = False, decided: bool = False) -> tuple[bool, Cut]:
        """A commit that is cut off at a point; whether it stands.

        Args:
            error: What is raised.
            at: The point.
            again: A second one comes at once, so that the commit itself does not get to undoing anything.
            decided: Whether points count from when the database has the new version on, so that the commit stands.
        """
        given, after = self.changes()
        version = self.db.version
        remembered = self.remembered()
        kept = transaction.settle
        try:
            if again:
                transaction.settle = _raising(error)  # type: ignore[assignment]
            since = (lambda: self.db._contents.version > version) if decided else None
            cut = cut_off(lambda: self.db.apply(given), error, at, since=since)
        finally:
            transaction.settle = kept
        stands = self.db.version != version
        assert self.db.version in (version, version + 1)
        assert stands or (cut.where and not decided), f"nobody cut the commit off, or too late; {cut.where}"
        if stands:
            self.rows |= after
        else:
            self.db.stats()  # any call brings to its end what was cut off
            assert self.remembered() == remembered, f"tombstones are as they were; cut in {cut.where}"
        return stands, cut

    def check(self) -> None:
        """All invariants hold, tables are what they should be, and all views are what DuckDB says they are.

        So are they for those who follow, and those of the version of the last call are what they were then.
        """
        if self.random.random() < 0.5:
            self.db._contents.links.spare()  # an image that lingers holds versions that else nobody holds
        self.db._check()
        truth: dict[str, Counter[Row]] = {name: multiset(rows) for name, rows in self.rows.items()}
        with connect() as duck:
            for name in TABLES:
                duck.register(f"rows_{name}", arrow(self.rows[name], self.db.tables[name].arrow))
                duck.execute(f"CREATE TABLE {name} AS SELECT * FROM rows_{name}")
                kept = 0 if name == _UNKEPT else len(self.rows[name])
                assert self.db.stats()["tables"][name]["rows"] == kept, f"rows of {name}"
            for name, sql in VIEWS.items():
                view = self.db.views[name]
                expected = multiset(duck.execute(sql).to_arrow_table())
                duck.execute(f"CREATE VIEW {name} AS {sql}")
                assert_same_rows(view.to_arrow(), expected, name)
                truth[name] = expected
                assert view.count() == sum(expected.values()), f"count of {name}"
        seen = Counter(self.seen)
        for _, delta in self.told:
            seen.update(delta)
        assert_same_rows(multiset(self.db.views["hop3"].to_arrow()), +seen, "what the subscriber of hop3 was told")
        for name in FOLLOWED:
            assert_same_rows(self._drained(name), truth[name], f"what one who follows {name} was told")
            if self.db.path is not None:
                assert_same_rows(come_back(self.db, name), truth[name], f"what one who comes back to {name} is told")
        if self.held is not None:
            at, before = self.held
            for name in (*(name for name in TABLES if name != _UNKEPT), *FOLLOWED):
                assert_same_rows(at[name].to_arrow(), before[name], f"{name} at version {at.version}")
            at.close()
        self.held = self.db.snapshot(), truth

    def let_go(self) -> None:
        """Hold no version and have read all that waits, so that no delta is kept."""
        if self.held is not None:
            self.held[0].close()
            self.held = None
        for name in FOLLOWED:
            self._drained(name)
        self.db._contents.links.recent.clear()

    def _drained(self, name: str) -> Counter[Row]:
        """The rows that one has who follows a view, when all that waits is read."""
        while True:
            try:
                update = self.following[name].next(timeout=0)
            except TimeoutError:
                return self.followed[name]
            assert update is not None
            total = Counter() if update.reset else Counter(self.followed[name])
            total.update(signed_multiset(update.delta))
            self.followed[name] = Counter({row: count for row, count in total.items() if count})


def arrow(rows: list[tuple[Any, ...]], schema: pa.Schema) -> pa.Table:
    """Rows as a table."""
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    return pa.Table.from_arrays([pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)], schema=schema)


def _raising(error: type[BaseException]) -> Callable[..., None]:
    def settle(contents: object) -> None:
        raise error

    return settle


def _windowed(rows: list[tuple[Any, ...]], out: list[tuple[Any, ...]], name: str) -> list[tuple[Any, ...]]:
    """The rows without those that go, the oldest of equal ones first, and those that a window has left behind."""
    left = list(rows)
    for row in out:
        left.remove(row)
    return left[-WINDOW:] if name == "W" else left


def points(life: Life) -> int:
    """About how many points a commit has."""
    return max(life.cut(KeyboardInterrupt, NEVER)[1].points for _ in range(3))


def cuts(life: Life, count: int, seed: int) -> Iterator[tuple[int, bool]]:
    """Where commits are cut off: so many points spread over one, then some behind the decision.

    Few points are behind it, and drawn ones may all be before it.
    """
    for at in places(points(life), count, seed):
        yield at, False
    behind = max(life.cut(KeyboardInterrupt, NEVER, decided=True)[1].points for _ in range(3))
    for at in (1, *places(behind, count // 5, seed)):
        yield at, True


def places(total: int, count: int, seed: int) -> Iterator[int]:
    """Points of a commit: all of them, or as many as are wanted, spread over it."""
    if count >= total:
        yield from range(1, total + 1)
        return
    first = random.Random(seed)
    for i in range(count):
        yield 1 + (i * total) // count + first.randrange(max(1, total // count))
