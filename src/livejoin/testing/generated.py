"""The property that holds for each view, checked on tables and commits that Hypothesis makes up.

Law: after each commit the view is its query over the tables as they are, and the delta is the difference to the view
before. A commit that is refused changes nothing.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any, Literal, NoReturn, get_args

import duckdb
import pyarrow as pa

from livejoin.database import Commit, Database, View
from livejoin.database.arguments import check_word
from livejoin.errors import ChangeError, ExpressionError, SchemaError, UnsupportedQueryError
from livejoin.schema import CHANGE_TYPE, COMMIT_VERSION, SqlType, Table
from livejoin.schema.now import NOW
from livejoin.testing.values import comparable

Against = Literal["anew", "duckdb"]

_DIGITS = 9  # of a DOUBLE that are compared: the order of additions is another one
_TEXTS = ("a", "b", "c", "", "Zoë")
_DAYS = tuple(date(2024, 2, 27) + timedelta(days=i) for i in range(5))
_TIMES = tuple(datetime(2024, 2, 28, 23, 30, tzinfo=UTC) + timedelta(minutes=20 * i) for i in range(5))
_BEGIN = datetime(2024, 2, 28, 23, 45)  # of now(), which has no time zone
_STEPS = (timedelta(minutes=15), timedelta(hours=6), timedelta(days=1))
_NULLS = 0.1  # of the values of a column that may be NULL
_MOST_ROWS, _MOST_COMMITS = 8, 6
_GONE = ("delete", "update_preimage")

Row = tuple[Any, ...]


def check_view(
    sql: str,
    schema: str,
    *,
    views: Mapping[str, str] | None = None,
    examples: int = 50,
    against: Against = "anew",
    allow_product: bool = False,
) -> None:
    """Check that a view is right after any commits: incremental equals recomputed, also under deletions.

    Tables are small and values few, so that rows match and keys meet again. If the query reads ``now()``, the time
    moves between commits.

    Args:
        sql: The query of the view.
        schema: The CREATE TABLE statements, and CREATE VIEW for views that the query reads.
        views: Further views that the query may read, in an order in which each follows those that it reads:
            `livejoin.sql.read_models` of a folder.
        examples: How many histories are tried, of a few commits each; the same ones in each run.
        against: Where it is recomputed: ``anew`` from the rows by livejoin, or by ``duckdb``, in whose dialect the
            query must be then.
        allow_product: As for `livejoin.Database.create_view`.

    Raises:
        AssertionError: The view, or a delta, is wrong, or the query has no value on some rows; the message has the
            history, made as short as it gets.
        SqlError: The query or the schema is wrong.
        SchemaError: ``against`` is another word, or ``duckdb`` for a query that reads ``now()``.

    >>> check_view("SELECT a, COUNT(*) AS n FROM t GROUP BY a", "CREATE TABLE t (a INT, b STRING)", examples=5)
    """
    try:
        from hypothesis import HealthCheck, Phase, given, settings  # noqa: PLC0415  # for tests alone
        from hypothesis import strategies as st  # noqa: PLC0415
    except ImportError as error:
        msg = "check_view makes up its tables by Hypothesis: pip install hypothesis"
        raise ImportError(msg) from error
    check_word(against, "against", get_args(Against))
    asked = _Asked(sql, schema, dict(views or {}), against, allow_product)
    has_now = asked.reads_now()  # errors of the query come as they are
    if has_now and against == "duckdb":
        msg = "against='duckdb' has another now() than the view, the one of the clock; leave against= out"
        raise SchemaError(msg)

    @settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate, Phase.shrink],  # what Hypothesis explains are lines of livejoin
    )
    @given(st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=_MOST_COMMITS), st.integers(1, _MOST_ROWS))
    def law(seeds: list[int], most: int) -> None:
        _History(asked, has_now).play(seeds, most)

    __tracebackhide__ = True  # of pytest
    try:
        law()
    except _WrongError as error:
        said = str(error)
    else:
        return
    raise AssertionError(said)  # without what Hypothesis and the engine went through


class _WrongError(Exception):
    """The view is wrong, and after what."""


@dataclass(frozen=True)
class _Asked:
    """What `check_view` was asked."""

    sql: str
    schema: str
    views: Mapping[str, str]
    against: Against
    allow_product: bool

    def reads_now(self) -> bool:
        """Whether the query is one only where there is a time."""
        try:
            self.made(self.database(False))
        except UnsupportedQueryError as error:
            if error.clause != "NOW":
                raise
        else:
            return False
        self.made(self.database(True))
        return True

    def database(self, has_now: bool) -> Database:
        """The tables, and the views beside the one that is checked."""
        db = Database()
        if has_now:
            db.advance(_BEGIN)
        db.execute(self.schema)
        for name, sql in self.views.items():
            db.create_view(name, sql, allow_product=self.allow_product)
        return db

    def made(self, db: Database) -> View:
        """The view that is checked."""
        name = "checked"
        while name in db.views or name in db.tables:
            name += "_"
        return db.create_view(name, self.sql, allow_product=self.allow_product)


class _History:
    """A database, and what was done to it; mutable."""

    def __init__(self, asked: _Asked, has_now: bool) -> None:
        self._asked = asked
        self._told: list[str] = []
        self._now = _BEGIN if has_now else None
        try:
            self._db = asked.database(has_now)
        except ExpressionError as error:
            self._fails(error)

    def play(self, seeds: Sequence[int], most: int) -> None:
        """Make commits, one for each seed, and check the view after each."""
        db = self._db
        rng = random.Random(seeds[0])
        static = {name: _rows(table, rng, most) for name, table in self._tables().items() if table.static}
        for name, rows in static.items():
            self._apply(name, rows)
        try:
            view = self._asked.made(db)
        except ExpressionError as error:
            self._fails(error)
        before = self._check(view)
        for seed in seeds:
            try:
                commit = self._step(random.Random(seed), most)
            except ExpressionError as error:
                self._fails(error)
            except ChangeError as error:
                self._told[-1] += f"  refused: {error}"
                if self._check(view) != before:
                    self._wrong("a commit that was refused changed the view")
                continue
            after = self._check(view)
            delta = _signed(commit[view.name])
            wanted = Counter(after)
            wanted.subtract(before)
            if {row: n for row, n in delta.items() if n} != {row: n for row, n in wanted.items() if n}:
                self._wrong(f"the delta is {dict(delta)}, and the view went from {dict(before)} to {dict(after)}")
            before = after

    def _step(self, rng: random.Random, most: int) -> Commit:
        """One commit: rows come and go, or time goes on."""
        if self._now is not None and rng.random() < 0.4:
            self._now += rng.choice(_STEPS)
            self._told.append(f"db.advance({self._now})")
            return self._db.advance(self._now)
        changes = self._changes(rng, most)
        self._told.append(_shown(changes))
        return self._db.apply(changes, on_conflict="ignore")

    def _tables(self) -> dict[str, Table]:
        """The tables that rows are made up for."""
        return {name: table for name, table in self._db.tables.items() if name != NOW}

    def _apply(self, name: str, rows: list[dict[str, Any]]) -> None:
        self._told.append(_shown({name: rows}))
        try:
            self._db.apply(name, rows, on_conflict="ignore")
        except ChangeError as error:
            self._told[-1] += f"  refused: {error}"

    def _changes(self, rng: random.Random, most: int) -> dict[str, list[dict[str, Any]]]:
        """Some deletions of rows that are there, and some insertions, in some tables."""
        found = {}
        for name, table in self._tables().items():
            if table.static or rng.random() < 0.3:
                continue
            rows = [{**row, CHANGE_TYPE: "insert"} for row in _rows(table, rng, most)]
            if not table.append_only:
                there = self._there(name).to_pylist()
                gone = rng.sample(there, rng.randint(0, min(len(there), most)))
                rows = [*({**row, CHANGE_TYPE: "delete"} for row in gone), *rows]
            if rows:
                found[name] = rows
        return found or {next(iter(self._tables())): []}

    def _there(self, name: str) -> pa.Table:
        with self._db.snapshot() as at:
            return at.tables[name].to_arrow()

    def _check(self, view: View) -> Counter[Row]:
        """The rows of the view, which must be those of its query."""
        found = _counted(view.to_arrow())
        try:
            expected = _counted(self._recomputed(view.name))
        except ExpressionError as error:
            self._fails(error)
        if found != expected:
            self._wrong(f"the view is {dict(found)}, and its query gives {dict(expected)}")
        return found

    def _recomputed(self, view: str) -> pa.Table:
        """What the query gives over the rows that are there."""
        db, asked = self._db, self._asked
        with db.snapshot() as at:
            rows = {name: at.tables[name].to_arrow() for name in self._tables()}
            views = {name: one.to_arrow() for name, one in at.views.items() if name != view}
        if asked.against == "duckdb":
            with duckdb.connect() as connection:
                for name, one in {**rows, **views}.items():
                    connection.register(name, one)
                return connection.sql(asked.sql).to_arrow_table()
        other = Database()
        if self._now is not None:
            other.advance(self._now)
        for name, table in self._tables().items():
            other.create_table(name, ", ".join(f"`{column.name}` {column.type}" for column in table.columns))
        for name, one in rows.items():
            other.apply(name, one)
        for name in db.views:
            if name != view:
                other.create_view(name, db.views[name].sql, allow_product=True)
        return other.create_view(view, asked.sql, allow_product=True).to_arrow()

    def _fails(self, error: ExpressionError) -> NoReturn:
        advice = "write the query for such rows too, or keep them out of the table by CHECK or NOT NULL"
        self._wrong(f"on some rows the query has no value: {error}; {advice}")

    def _wrong(self, what: str) -> NoReturn:
        raise _WrongError(self._said(what))

    def _said(self, what: str) -> str:
        history = "\n".join(f"  {number}. {line}" for number, line in enumerate(self._told, 1))
        return f"{what}\nafter these commits:\n{history}\nquery: {self._asked.sql}"


def _rows(table: Table, rng: random.Random, most: int) -> list[dict[str, Any]]:
    columns = [column for column in table.columns if column.generated is None]
    return [
        {column.name: _value(column.type, column.nullable, rng) for column in columns}
        for _ in range(rng.randint(0, most))
    ]


def _value(kind: SqlType, nullable: bool, rng: random.Random) -> Any:
    """One of few values of a type."""
    if nullable and rng.random() < _NULLS:
        return None
    match kind.kind:
        case "boolean":
            return rng.random() < 0.5
        case "integer":
            return rng.randint(-1, 4)
        case "double":
            return rng.choice((-1.0, 0.0, 0.5, 1.0, 2.25))
        case "decimal":
            return Decimal(rng.randint(-1, 4)).scaleb(-kind.scale if kind.precision == kind.scale else 0)
        case "date":
            return rng.choice(_DAYS)
        case "timestamp":
            found = rng.choice(_TIMES)
            return found.replace(tzinfo=None) if kind.is_local else found
        case "string":
            return rng.choice(_TEXTS)
        case "binary":
            return rng.choice((b"", b"a", b"\x00\xff"))
        case "interval":
            return rng.choice(_STEPS)
        case "months":
            return pa.MonthDayNano((rng.randint(-1, 4), 0, 0))
        case "array":
            return [_value(kind.inner[0][1], True, rng) for _ in range(rng.randint(0, 2))]
        case "struct":
            return {name: _value(part, True, rng) for name, part in kind.inner}
        case "map":
            (_, key), (_, value) = kind.inner
            made = [_value(key, False, rng)] if rng.random() < 0.7 else []
            return [(one, _value(value, True, rng)) for one in made]
        case "variant":
            return {"value": bytes((0x0C, rng.randint(0, 4))), "metadata": b"\x01\x00\x00"}  # an integer of 8 bits


def _counted(rows: pa.Table) -> Counter[Row]:
    columns = [[comparable(one, _DIGITS) for one in column.to_pylist()] for column in rows.columns]
    return Counter(zip(*columns, strict=True)) if columns else Counter({(): rows.num_rows})


def _signed(delta: pa.Table) -> Counter[Row]:
    found: Counter[Row] = Counter()
    kinds = delta.column(CHANGE_TYPE).to_pylist()
    plain = delta.drop_columns([name for name in (CHANGE_TYPE, COMMIT_VERSION) if name in delta.column_names])
    for row, kind in zip(plain.to_pylist(), kinds, strict=True):
        found[tuple(comparable(one, _DIGITS) for one in row.values())] += -1 if kind in _GONE else 1
    return found


def _shown(changes: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """A commit as text."""
    parts = []
    for name, rows in changes.items():
        texts = []
        for row in rows:
            sign = "-" if row.get(CHANGE_TYPE) == "delete" else "+"
            texts.append(f"{sign}({', '.join(str(value) for key, value in row.items() if key != CHANGE_TYPE)})")
        parts.append(f"{name}: {' '.join(texts) or 'nothing'}")
    return "; ".join(parts)
