"""Random lives of a database with nested views: what is created, changed, refused, saved, read and dropped, in order.

A life is drawn from a seed. Its changes are possible at their turn, and the bad ones are impossible; `possible` says so
of any step, so that a life from which steps were taken stays one (see `nested_reduce`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa

from nested_queries import Maker, Named, varied
from nested_sql import INT, Column, Expr, Item, Kind, Query, Select, Source, ViewSpec, columns, decimal, names_read
from oracle import Oracle
from scenario import Change, ColumnSpec, ColumnType, Row, TableSpec, canonical_row, dict_rows

ALGORITHMS = ("auto", "auto", "auto", "crown", "dyn", "change-propagation")
FORMS = ("arrow", "dicts", "tuples", "chunks")
BAD_TEXT = "x"
"""A string that is no number; `fragile` views fail on it."""

_NAN = float("nan")
TYPES = (
    ColumnType("INT", pa.int32(), "integer", (0, 1, 2), ()),
    ColumnType("BIGINT", pa.int64(), "integer", (0, 1, 2, 1, 7), ()),
    ColumnType("STRING", pa.string(), "string", ("1", "2", "3"), ()),
    ColumnType("DOUBLE", pa.float64(), "double", (0.0, 0.25, 1.0, 0.25, 1.0, 1.5, -0.0, _NAN), ()),
    ColumnType(
        "DECIMAL(9, 2)", pa.decimal128(9, 2), "decimal2", (Decimal("0.00"), Decimal("1.50"), Decimal("2.25")), ()
    ),
    ColumnType("DATE", pa.date32(), "date", (date(2024, 2, 29), date(1970, 1, 1), date(2024, 3, 1)), ()),
    ColumnType("BOOLEAN", pa.bool_(), "boolean", (True, False), ()),
)
_BY_SQL = {t.sql: t for t in TYPES}


@dataclass(frozen=True)
class Create:
    """A view comes; ``fragile`` is the table and the column on whose bad strings it fails."""

    view: ViewSpec
    fragile: tuple[str, str] | None = None


@dataclass(frozen=True)
class Drop:
    """A view goes, with its readers if ``cascade``; else it is an error if there are any."""

    name: str
    cascade: bool


@dataclass(frozen=True)
class Commit:
    changes: tuple[Change, ...]
    form: str = "arrow"


@dataclass(frozen=True)
class Replay:
    """A log, change by change or as one commit."""

    changes: tuple[Change, ...]
    granularity: str


@dataclass(frozen=True)
class Bad:
    """Good changes and one that must be refused with an error, as a commit or, last, in a log."""

    changes: tuple[Change, ...]
    culprit: Change
    error: str
    way: str


@dataclass(frozen=True)
class Conflicts:
    """Changes of which some are to be ignored."""

    changes: tuple[Change, ...]
    granularity: str


@dataclass(frozen=True)
class Reload:
    """Save, and load with so many threads."""

    threads: int


@dataclass(frozen=True)
class Read:
    """Look at the rows of all views without enumeration."""

    seed: int


Step = Create | Drop | Commit | Replay | Bad | Conflicts | Reload | Read


@dataclass(frozen=True)
class Life:
    tables: tuple[TableSpec, ...]
    steps: tuple[Step, ...]
    threads: int = 1

    def script(self) -> str:
        """A script that lives it, without the checks."""
        lines = ["import datetime, tempfile", "from decimal import Decimal", "import livejoin", ""]
        lines += ["nan = float('nan')", f"db = livejoin.Database(threads={self.threads})"]
        for table in self.tables:
            options = {"window_rows": table.window_rows, "window_range": table.window_range}
            written = "".join(f", {name}={value!r}" for name, value in options.items() if value is not None)
            written += ", static=True" if table.static else ""
            lines.append(f"db.create_table({table.name!r}, {table.column_list!r}{written})")
        for step in self.steps:
            lines += self._lines(step)
        return "\n".join(lines)

    def _lines(self, step: Step) -> list[str]:
        match step:
            case Create(view):
                options = "" if view.deltas else ", deltas=False"
                options += f", algorithm={view.algorithm!r}" if view.algorithm != "auto" else ""
                options += ", adaptive=True" if view.adaptive else ""
                return [f"db.create_view({view.name!r}, {view.sql!r}{options})", f"# plain: {view.plain}"]
            case Drop(name, cascade):
                return [f"db.execute('DROP VIEW {name}{' CASCADE' if cascade else ''}')  # an error if it is read"]
            case Reload(threads):
                load = f"db = livejoin.Database.load(folder, threads={threads}, trusted=db.version % 2 == 0)"
                return ["folder = tempfile.mkdtemp()", "db.save(folder)", load]
            case Read():
                return ["print({name: view.to_arrow().to_pylist() for name, view in db.views.items()})"]
            case Commit(changes):
                return [f"print({{n: c[n].to_pylist() for c in [db.apply({self._data(changes)})] for n in c.views}})"]
            case Replay(changes, granularity):
                data = self._data(changes, sequence=True)
                return [f"db.replay({data}, granularity={granularity!r})"]
            case Bad(changes, culprit, error, way):
                data = self._data((*changes, culprit), sequence=way == "replay")
                return [f"db.{way}({data})  # must raise {error}"]
            case Conflicts(changes, granularity):
                data = self._data(changes, sequence=granularity == "change")
                return [f"db.{'apply' if granularity == 'commit' else 'replay'}({data}, on_conflict='ignore')"]

    def _data(self, changes: Iterable[Change], sequence: bool = False) -> str:
        numbered = list(enumerate(changes))
        data = {}
        for table in self.tables:
            mine = [(n, c) for n, c in numbered if c.table == table.name]
            if mine:
                data[table.name] = dict_rows(table, [c for _, c in mine], [n for n, _ in mine] if sequence else None)
        return repr(data)


@dataclass
class State:
    """What is there at some point of a life."""

    oracle: Oracle
    views: dict[str, Create] = field(default_factory=dict)

    @classmethod
    def of(cls, tables: tuple[TableSpec, ...]) -> State:
        return cls(Oracle(tables))

    def readers(self, name: str) -> list[str]:
        """Views that read a view directly."""
        return [other for other, create in self.views.items() if name in create.view.reads]

    def with_readers(self, name: str) -> list[str]:
        """A view and all that read it, directly or not, each before those that it reads."""
        found: list[str] = []
        for reader in self.readers(name):
            found += [n for n in self.with_readers(reader) if n not in found]
        return [*found, name]

    def fixed(self) -> set[str]:
        """Tables that must not change: static ones that a view uses."""
        used = {name for create in self.views.values() for name in names_read(create.view.query, unused=False)}
        return {name for name, table in self.oracle.tables.items() if table.static and name in used}


def possible(step: Step, state: State) -> Step | None:
    """The step without what is impossible in a state, None if nothing is left of it; the state moves on."""
    match step:
        case Create(view):
            known = {*state.oracle.tables, *state.views}
            if view.name in known or not view.reads <= known:
                return None
            state.views[view.name] = step
        case Drop(name, cascade):
            if name not in state.views:
                return None
            if cascade or not state.readers(name):
                for gone in state.with_readers(name):
                    del state.views[gone]
        case Commit(changes):
            step = replace(step, changes=_set_of(changes, state))
            state.oracle.apply(step.changes)
        case Replay(changes, granularity):
            kept = _sequence_of(changes, state) if granularity == "change" else _set_of(changes, state)
            step = replace(step, changes=kept)
            (state.oracle.apply_each if granularity == "change" else state.oracle.apply)(kept)
        case Bad():
            return _bad(step, state)
        case Conflicts(changes, granularity):
            fixed = state.fixed()
            kept = tuple(c for c in changes if c.table not in fixed)
            step = replace(step, changes=kept)
            for part in [kept] if granularity == "commit" else [(c,) for c in kept]:
                state.oracle.apply_ignoring(part)
        case Reload() | Read():
            pass
    return step


def _bad(step: Bad, state: State) -> Bad | None:
    culprit = step.culprit
    changes = (_sequence_of if step.way == "replay" else _set_of)(step.changes, state)
    changes = tuple(c for c in changes if c.table != culprit.table)
    table = state.oracle.tables[culprit.table]
    rows = state.oracle.rows[culprit.table]
    match step.error:
        case "AbsentRowError":
            bad = _place(rows, culprit.row) is None and culprit.table not in state.fixed()
        case "DuplicateKeyError":
            bad = canonical_row(table.key(culprit.row)) in _keys(table, rows) and culprit.table not in state.fixed()
        case "ExpressionError":
            names = [c.name for c in table.columns]
            found = {(culprit.table, n) for n, v in zip(names, culprit.row, strict=True) if v == BAD_TEXT}
            bad = any(create.fragile in found for create in state.views.values())
            bad = bad and canonical_row(table.key(culprit.row)) not in _keys(table, rows)
        case _:
            bad = culprit.table in state.fixed()
    return replace(step, changes=changes) if bad else None


def _place(rows: list[Row], row: Row) -> int | None:
    wanted = canonical_row(row)
    return next((i for i, r in enumerate(rows) if canonical_row(r) == wanted), None)


def _keys(table: TableSpec, rows: Iterable[Row]) -> set[Row]:
    """The primary keys of some rows; none without a primary key."""
    return {canonical_row(table.key(row)) for row in rows} if table.primary_key else set()


def _set_of(changes: Iterable[Change], state: State) -> tuple[Change, ...]:
    """Changes that one commit may make together: insertions come first, keys are those at its end."""
    fixed = state.fixed()
    kept = [c for c in changes if c.table not in fixed]
    rows = {name: list(found) for name, found in state.oracle.rows.items()}
    for change in kept:
        if change.sign > 0:
            rows[change.table].append(change.row)
    result = []
    for change in kept:
        if change.sign < 0:
            place = _place(rows[change.table], change.row)
            if place is None:
                continue
            del rows[change.table][place]
        result.append(change)
    for name, table in state.oracle.tables.items():
        if table.primary_key:
            keys = [canonical_row(table.key(row)) for row in rows[name]]
            if len(set(keys)) < len(keys):
                # Too many rows of one key: all changes of the table are left out.
                result = [c for c in result if c.table != name]
    return tuple(_halves(result))


def _sequence_of(changes: Iterable[Change], state: State) -> tuple[Change, ...]:
    """Changes that can be made one by one."""
    fixed = state.fixed()
    ahead = state.oracle.copy()
    result = []
    for change in changes:
        table = ahead.tables[change.table]
        rows = ahead.rows[change.table]
        if change.table in fixed or (change.sign < 0 and _place(rows, change.row) is None):
            continue
        if change.sign > 0 and canonical_row(table.key(change.row)) in _keys(table, rows):
            continue
        ahead.apply([change])
        result.append(change)
    return tuple(_halves(result))


def _halves(changes: list[Change]) -> Iterable[Change]:
    """The changes; halves of update pairs that lost the other half become plain."""
    for number, change in enumerate(changes):
        kind = change.kind
        if kind == "update_preimage":
            following = changes[number + 1] if number + 1 < len(changes) else None
            if following is None or (following.table, following.kind) != (change.table, "update_postimage"):
                kind = "delete"
        elif kind == "update_postimage":
            previous = changes[number - 1] if number else None
            if previous is None or (previous.table, previous.kind) != (change.table, "update_preimage"):
                kind = "insert"
        yield replace(change, kind=kind)


def repaired(life: Life) -> Life:
    """The life with the steps and changes that are possible."""
    state = State.of(life.tables)
    steps = [possible(step, state) for step in life.steps]
    return replace(life, steps=tuple(step for step in steps if step is not None))


def kind_of(column: ColumnSpec) -> Kind:
    """A column's type as nested queries name it."""
    if column.type.family.startswith("decimal"):
        return decimal(9, 2)
    return Kind(column.type.family, column.type.sql)


def life(seed: int, levels: int = 4) -> Life:
    """The life of a seed, with queries of at most so many levels."""
    return _Drawing(Random(seed), levels).life()


class _Drawing:
    """One life as it is drawn."""

    def __init__(self, random: Random, levels: int) -> None:
        self.random = random
        self.levels = levels
        self.maker = Maker(random)
        self.tables = self._tables()
        self.state = State.of(self.tables)
        self.scope = [Named(t.name, tuple(Column(c.name, kind_of(c)) for c in t.columns), 7.0) for t in self.tables]
        self.steps: list[Step] = []
        self.names = 0

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def life(self) -> Life:
        """Everything, in order."""
        filled = self.chance(0.85)
        for table in self.tables:
            if table.static or filled:
                self._add(Commit(tuple(self._insertions(table, self.random.randint(4, 9)))))
        views = self.random.choice([1, 1, 2, 2, 3])
        late = self.random.choice([0, 0, 1])
        for _ in range(views - late):
            self._create(fragile=0.1)
        # A view that fails comes last: the blocks of the others have taken their share of the commit by then.
        self._create(fragile=1.0 if self.chance(0.5) else 0.0)
        actions: list[Callable[[], None]] = [self._commit] * 3
        actions += self.random.choices(
            [self._commit, self._replay, self._bad, self._conflicts, self._reload, self._drop, self._read],
            [4, 2, 3, 1, 2, 1, 1],
            k=self.random.choice([3, 4, 5]),
        )
        if any(create.fragile for create in self.state.views.values()):
            actions += [self._bad] * 2
        actions += [self._create_late] * late
        self.random.shuffle(actions)
        for action in actions:
            action()
        if self.chance(0.25):
            self._clear()
        if self.chance(0.5):
            self._commit()
        return Life(self.tables, tuple(self.steps), threads=2 if self.chance(0.15) else 1)

    def _add(self, step: Step) -> None:
        done = possible(step, self.state)
        if done is not None:
            self.steps.append(done)

    def _tables(self) -> tuple[TableSpec, ...]:
        palette = [TYPES[self.random.choice([0, 0, 1])], *self.random.choices(TYPES, k=2)]
        if self.chance(0.6):
            palette += [_BY_SQL["STRING"]] * 2
        specs = []
        for name in "RST"[: self.random.choice([2, 2, 3])]:
            width = self.random.choice([2, 2, 3, 3])
            names = self.random.sample("abcd", width)
            specs_of = [ColumnSpec(n, self.random.choice(palette), self.chance(0.08)) for n in names]
            key: tuple[int, ...] = ()
            rows = range_ = None
            if self.chance(0.25):
                key = tuple(sorted(self.random.sample(range(width), self.random.choice([1, 1, 2]))))
            elif self.chance(0.12):
                rows = self.random.choice([3, 5, 8])
            elif self.chance(0.12):
                specs_of[0] = ColumnSpec(names[0], _BY_SQL["BIGINT"], not_null=True)
                range_ = (names[0], self.random.choice([2, 4]))
            static = rows is None and range_ is None and self.chance(0.08)
            specs.append(TableSpec(name, tuple(specs_of), key, rows, range_, static))
        if all(t.static for t in specs):
            specs[0] = replace(specs[0], static=False)
        return tuple(specs)

    def _row(self, table: TableSpec) -> Row:
        values: list[Any] = []
        for position, column in enumerate(table.columns):
            nullable = not (column.not_null or position in table.primary_key)
            domain = column.type.values
            if position in table.primary_key and column.type.family == "integer":
                domain = range(9)  # type: ignore[assignment]
            values.append(None if nullable and self.chance(0.12) else self.random.choice(domain))
        return tuple(values)

    def _insertions(self, table: TableSpec, number: int) -> list[Change]:
        present = _keys(table, self.state.oracle.rows[table.name])
        found = []
        for _ in range(number):
            row = self._row(table)
            if table.primary_key:
                key = canonical_row(table.key(row))
                if key in present:
                    continue
                present.add(key)
            found += [Change(table.name, "insert", row)] * (2 if not table.primary_key and self.chance(0.15) else 1)
        return found

    def _some(self, most: int, tables: Iterable[TableSpec] | None = None) -> tuple[Change, ...]:
        """Changes of one to all tables that are possible one after the other and together."""
        found: list[Change] = []
        fixed = self.state.fixed()
        ahead = {name: list(rows) for name, rows in self.state.oracle.rows.items()}
        free = [t for t in (self.tables if tables is None else tables) if t.name not in fixed]
        if not free:
            return ()
        chosen = free if self.chance(0.6) else [self.random.choice(free)]
        for _ in range(self.random.randint(1, most)):
            table = self.random.choice(chosen)
            rows = ahead[table.name]
            old = self.random.choice(rows) if rows else None
            action = self.random.choice(["insert"] * 4 + ["delete"] * 4 + ["update"] * 2 + ["again"])
            new = self._row(table)
            if old is None or action == "insert":
                found.append(Change(table.name, "insert", new))
                rows.append(new)
                continue
            if action == "again" and not table.primary_key:
                found.append(Change(table.name, "insert", old))
                rows.append(old)
                continue
            rows.remove(old) if old in rows else None
            if action == "delete":
                found.append(Change(table.name, "delete", old))
                continue
            if action == "again":
                new, kinds = old, ("delete", "insert")
            else:
                kinds = ("update_preimage", "update_postimage")
                new = tuple(o if self.chance(0.5) else n for o, n in zip(old, new, strict=True))
            found += [Change(table.name, kinds[0], old), Change(table.name, kinds[1], new)]
            rows.append(new)
        return tuple(found)

    def _commit(self) -> None:
        changes = () if self.chance(0.05) else self._some(self.random.choice([2, 4, 6, 10]))
        self._add(Commit(changes, self.random.choice(FORMS)))

    def _replay(self) -> None:
        changes = self._some(4)
        if changes:
            self._add(Replay(changes, self.random.choice(["change", "change", "commit"])))

    def _clear(self) -> None:
        """Delete all rows of a table or of all."""
        names = [t.name for t in self.tables] if self.chance(0.5) else [self.random.choice(self.tables).name]
        rows = self.state.oracle.rows
        self._add(Commit(tuple(Change(name, "delete", row) for name in names for row in rows[name])))

    def _reload(self) -> None:
        self._add(Reload(self.random.choice([1, 1, 2])))

    def _read(self) -> None:
        self._add(Read(self.random.randrange(1000)))

    def _drop(self) -> None:
        if self.state.views:
            self._add(Drop(self.random.choice(list(self.state.views)), self.chance(0.4)))

    def _conflicts(self) -> None:
        # In a table with a window it is not known which of two rows is the second one.
        tables = [t for t in self.tables if t.window_rows is None and t.window_range is None]
        changes = list(self._some(4, tables))
        for table in tables:
            if self.chance(0.6):
                row = self._row(table)
                rows = self.state.oracle.rows[table.name]
                if table.primary_key and rows:
                    row = self.random.choice(rows)
                changes.append(Change(table.name, "insert" if table.primary_key else "delete", row))
        if changes:
            self._add(Conflicts(tuple(changes), self.random.choice(["commit", "change"])))

    def _bad(self) -> None:
        table = self.random.choice(self.tables)
        rows = self.state.oracle.rows[table.name]
        row = self._row(table)
        change, error = Change(table.name, "delete", row), "AbsentRowError"
        fragile = sorted({c.fragile for c in self.state.views.values() if c.fragile is not None})
        fixed = sorted(self.state.fixed())
        if fragile and self.chance(0.8):
            name, column = self.random.choice(fragile)
            table = self.state.oracle.tables[name]
            names = [c.name for c in table.columns]
            row = tuple(BAD_TEXT if n == column else v for n, v in zip(names, self._row(table), strict=True))
            change, error = Change(name, "insert", row), "ExpressionError"
        elif fixed and self.chance(0.5):
            table = self.state.oracle.tables[self.random.choice(fixed)]
            change, error = Change(table.name, "insert", self._row(table)), "ChangeError"
        elif table.primary_key and rows and self.chance(0.6):
            change, error = Change(table.name, "insert", self.random.choice(rows)), "DuplicateKeyError"
        elif any(v is None for v, c in zip(row, table.columns, strict=True) if c.not_null):
            return
        others = self._some(4, [t for t in self.tables if t.name != change.table])
        self._add(Bad(others, change, error, self.random.choice(["apply", "apply", "replay"])))

    def _create_late(self) -> None:
        self._create(fragile=0.3)

    def _create(self, fragile: float) -> None:
        """A view; with some probability one that fails on certain rows."""
        self.names += 1
        name = f"v{self.names}"
        create = self._fragile(name) if self.chance(fragile) else None
        if create is None:
            create = Create(self._options(ViewSpec(name, self._twin() or self._query())))
        if possible(create, self.state) is None:
            return
        self.steps.append(create)
        shown = columns(create.view.query)
        # Later views read views more often than tables.
        self.scope += [Named(name, shown, min(self.maker.rows, 60.0))] * 3

    def _twin(self) -> Query | None:
        """The query of another view, or what differs from it in one clause: equal blocks are shared, others are not."""
        if not self.state.views or not self.chance(0.25):
            return None
        query = self.random.choice(list(self.state.views.values())).view.query
        return varied(self.random, query) if self.chance(0.8) else query

    def _query(self) -> Query:
        levels = min(self.levels, self.random.choice([1, 2, 2, 2, 3, 3, 4]))
        there = {*self.state.views, *self.state.oracle.tables}
        return self.maker.query(levels, [n for n in self.scope if n.name in there])

    def _options(self, view: ViewSpec) -> ViewSpec:
        return replace(
            view,
            deltas=self.chance(0.85),
            algorithm=self.random.choice(ALGORITHMS),
            adaptive=self.chance(0.08),
        )

    def _fragile(self, name: str) -> Create | None:
        """A view that fails on a string that is no number, over a table without a window.

        The failing expression is of a row, of a group, or of a group that is then joined with another relation.
        """
        found = [
            (table, column)
            for table in self.tables
            for column in table.columns
            if column.type.sql == "STRING" and table.window_rows is None and table.window_range is None
            if not table.static
        ]
        if not found:
            return None
        table, column = self.random.choice(found)
        grouped = self.chance(0.7)
        text = f"CAST({f'MAX({column.name})' if grouped else column.name} AS INT)"
        other = self.random.choice([c for c in table.columns if c.name != column.name])
        shown = Expr(other.name, other.name, kind_of(other))
        of = Source(table.name, table.name, tuple(Column(c.name, kind_of(c)) for c in table.columns))
        items = (Item(Expr(text, text, INT), "n"), Item(shown, other.name))
        query = Select((of,), items, groups=(shown,) if grouped else None)
        self.maker.rows = 7.0
        if grouped and self.chance(0.6):
            query = self._joined(query, other.name) or query
        # Without deltas nothing would be computed before it is read.
        view = replace(self._options(ViewSpec(name, query)), deltas=True)
        return Create(view, (table.name, column.name))

    def _joined(self, failing: Select, key: str) -> Select | None:
        """The groups joined with another nested query that stands before them."""
        before = self._query()
        kind = next(c.kind for c in columns(failing) if c.name == key)
        fitting = [c for c in columns(before) if c.kind.family == kind.family]
        if not fitting:
            return None
        left = Source(before, "x", columns(before))
        right = Source(failing, "y", columns(failing), on=(f"x.{fitting[0].name} = y.{key}",), joined=True)
        items = tuple(Item(Expr(f"{n}", f"{n}", k), a) for n, k, a in (("y.n", INT, "n"), (f"y.{key}", kind, "k")))
        return Select((left, right), items)
