"""The life of a query over static, append-only and dynamic tables: after every commit incremental equals recomputed.

The queries are those of the theory's tests: hypergraphs of which some atoms are dynamic. Each has a table for every
atom, with a number in each column and one more, ``w``, that results add up. DuckDB recomputes.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

import livejoin
from livejoin.search.algorithm import Algorithm
from oracle import assert_same_rows, connect, difference, multiset, signed_multiset

Row = tuple[int | None, ...]
FORMS = ("rows", "distinct", "counts", "sums")
Kind = Literal["inner", "exists", "not exists", "optional"]
Promise = Literal["static", "append-only", "dynamic"]


@dataclass(frozen=True)
class StaticQuery:
    """A query over static and dynamic tables.

    Args:
        edges: The variables of each atom, one letter each.
        free: The variables that it returns.
        dynamic: Positions of the dynamic atoms.
        kinds: How the last atoms hang on those before, with which each shares a variable; the others are joined.
        growing: Positions of the dynamic atoms whose tables are append-only.
        tested: Positions of the atoms of which rows count only if their ``w`` is less than 2.
    """

    edges: tuple[str, ...]
    free: str
    dynamic: frozenset[int]
    kinds: tuple[Kind, ...] = ()
    growing: frozenset[int] = frozenset()
    tested: frozenset[int] = frozenset()

    @property
    def sets(self) -> tuple[frozenset[str], ...]:
        """The variables of each atom as sets."""
        return tuple(map(frozenset, self.edges))

    def columns(self, atom: int) -> str:
        """The columns of an atom's table."""
        return f"{self.edges[atom]}w"

    def sql(self, form: str) -> str:
        """It as SQL: all rows, distinct ones, or groups with how many there are, or with a sum too."""
        first: dict[str, str] = {}
        conditions = []
        inner = len(self.edges) - len(self.kinds)
        for atom, edge in enumerate(self.edges[:inner]):
            for variable in edge:
                column = f"t{atom}.{variable}"
                if variable in first:
                    conditions.append(f"{first[variable]} = {column}")
                first.setdefault(variable, column)
        conditions += [f"t{atom}.w < 2" for atom in range(inner) if atom in self.tested]
        tables = " CROSS JOIN ".join(f"T{atom} AS t{atom}" for atom in range(inner))
        core = dict(first)
        for atom, kind in enumerate(self.kinds, inner):
            on = " AND ".join(f"{core[v]} = t{atom}.{v}" for v in self.edges[atom] if v in core)
            on += f" AND t{atom}.w < 2" if atom in self.tested else ""
            if kind == "optional":
                tables += f" LEFT JOIN T{atom} AS t{atom} ON {on}"
                first = {**{v: f"t{atom}.{v}" for v in self.edges[atom]}, **first}
            else:
                conditions.append(f"{kind.upper()} (SELECT 1 FROM T{atom} AS t{atom} WHERE {on})")
        output = [v for v in self.free if v in first]
        shown = ", ".join(f"{first[v]} AS {v}" for v in output)
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        body = f"FROM {tables}{where}"
        group = f" GROUP BY {', '.join(first[v] for v in output)}" if output else ""
        calls = "COUNT(*) AS n"
        if form == "sums":
            calls += f", SUM(t0.w) AS s, SUM(t0.w * t{inner - 1}.w) AS p"
        match form:
            case "rows":
                return f"SELECT {shown or 't0.w AS w'} {body}"
            case "distinct":
                return f"SELECT DISTINCT {shown or 't0.w AS w'} {body}"
            case _:
                return f"SELECT {', '.join(filter(None, (shown, calls)))} {body}{group}"


def random_query(generator: random.Random) -> StaticQuery:
    """Dynamic atoms along a path of variables, and static ones over these and over variables of their own.

    About one in six is in C_poly; C_lin and others are drawn too.
    """
    path = "abc"[: generator.randint(1, 3)]
    edges = [path[: generator.randint(1, len(path))] for _ in range(generator.randint(1, 3))]
    number = len(edges)
    known = max(edges, key=len) + "defg"[: generator.randint(1, 3)]
    for _ in range(generator.randint(2, 5)):
        edges.append("".join(sorted(generator.sample(known, min(len(known), generator.choice((1, 2, 2, 2, 3)))))))
    variables = sorted({variable for edge in edges for variable in edge})
    share = generator.choice((0.3, 0.7, 1.0))
    free = "".join(variable for variable in variables if generator.random() < share)
    order = generator.sample(range(len(edges)), len(edges))
    return StaticQuery(
        tuple(edges[i] for i in order), free, frozenset(place for place, i in enumerate(order) if i < number)
    )


def random_snowflake(generator: random.Random) -> StaticQuery:
    """A table that refers to others by their keys, the first columns of these, and they to others."""
    number = generator.randint(2, 5)
    edges = [chr(ord("a") + at) for at in range(number)]
    for at in range(1, number):
        for above in generator.sample(range(at), 1 + (at > 1 and generator.random() < 0.3)):
            edges[above] += edges[at][0]
    variables = sorted({variable for edge in edges for variable in edge})
    free = "".join(v for v in variables if generator.random() < generator.choice((0.5, 1.0)))
    dynamic = frozenset(at for at in range(number) if at == 0 or generator.random() < 0.3)
    return StaticQuery(tuple(edges), free or "a", dynamic)


def with_branches(query: StaticQuery, generator: random.Random) -> StaticQuery:
    """A query whose last atoms hang on the others in some way, as far as they share a variable with these."""
    number = generator.randint(0, len(query.edges) - 1)
    core = set("".join(query.edges[: len(query.edges) - number]))
    behind = query.edges[len(query.edges) - number :]
    if not all(core & set(edge) for edge in behind):
        return query
    return replace(query, kinds=tuple(generator.choice(("exists", "not exists", "optional")) for _ in behind))


@dataclass
class StaticLife:
    """A database with one query's tables and views, and a DuckDB beside it.

    Args:
        query: The query.
        generator: What draws rows.
        values: Values of a variable.
        rows: Rows that a static table has.
        algorithm: What maintains the joins.
        threads: Threads of the database.
        keyed: Whether the first column of each table is its key.
    """

    query: StaticQuery
    generator: random.Random
    values: int = 3
    rows: int = 6
    algorithm: Algorithm = "auto"
    threads: int = 1
    keyed: bool = False
    held: dict[int, list[Row]] = field(default_factory=dict)
    before: dict[str, Counter[Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.oracle = connect()
        self.database = livejoin.Database(threads=self.threads)
        for atom in range(len(self.query.edges)):
            columns = ", ".join(f"{c} BIGINT" for c in self.query.columns(atom))
            self.oracle.execute(f"CREATE TABLE T{atom} ({columns})")
            columns = columns.replace("BIGINT", "BIGINT PRIMARY KEY", 1) if self.keyed else columns
            promises = {"static": atom not in self.query.dynamic, "append_only": atom in self.query.growing}
            self.database.create_table(f"T{atom}", columns, **promises)
            self.held[atom] = []
        self.promises: dict[int, Promise] = dict.fromkeys(self.held, "static")
        self.promises |= dict.fromkeys(self.query.dynamic, "dynamic") | dict.fromkeys(self.query.growing, "append-only")
        for atom in self.of("static"):
            drawn = [self.row(atom) for _ in range(self.generator.randint(0, self.rows))]
            self.commit({atom: (self._with_keys(drawn, []), [])})

    def views(self, *forms: str) -> None:
        """Make the query a view in some forms."""
        for form in forms:
            self.database.create_view(form, self.query.sql(form), algorithm=self.algorithm, allow_product=True)
            self.before[form] = self.expected(form)
            self.check(form)

    def of(self, *promises: Promise) -> list[int]:
        """The atoms whose tables promise one of these things."""
        return [atom for atom, promise in self.promises.items() if promise in promises]

    def alter(self, atom: int, promise: Promise) -> None:
        """Let a table promise something else; nothing else changes."""
        version = self.database.version
        self.database.alter_table(f"T{atom}", static=promise == "static", append_only=promise == "append-only")
        self.promises[atom] = promise
        assert self.database.version == version
        for form in self.before:
            self.check(form)

    def row(self, atom: int) -> Row:
        """A row of an atom's table."""
        values: list[int | None] = [self.generator.randrange(self.values) for _ in self.query.edges[atom]]
        if values and self.generator.random() < 0.05:
            values[self.generator.randrange(len(values))] = None
        return (*values, self.generator.randrange(4))

    def changes(self) -> dict[int, tuple[list[Row], list[Row]]]:
        """Changes of some dynamic tables: rows that come, and rows that go."""
        found = {}
        for atom in self.of("append-only", "dynamic"):
            if self.generator.random() < 0.7:
                come = [self.row(atom) for _ in range(self.generator.choice((0, 1, 1, 2, 5)))]
                held = self.held[atom]
                share = self.generator.choice((0.0, 0.2, 0.5, 1.0)) if self.promises[atom] == "dynamic" else 0.0
                go = [row for row in held if self.generator.random() < share]
                left = [row for row in held if row not in go]
                found[atom] = (self._with_keys(come, left), go)
        return found

    def _with_keys(self, come: list[Row], there: list[Row]) -> list[Row]:
        """The rows that may come beside others, where the first column is a key."""
        if not self.keyed:
            return come
        keys = {row[0] for row in there} | {None}
        return [row for row in come if row[0] not in keys and not keys.add(row[0])]  # type: ignore[func-returns-value]

    def commit(self, changes: dict[int, tuple[list[Row], list[Row]]]) -> None:
        """Apply changes to both sides, and compare every view and its delta."""
        batch = {}
        for atom, (come, go) in changes.items():
            names = self.query.columns(atom)
            kinds = ["insert"] * len(come) + ["delete"] * len(go)
            columns = {n: pa.array([row[i] for row in (*come, *go)], pa.int64()) for i, n in enumerate(names)}
            batch[f"T{atom}"] = pa.table({**columns, "_change_type": pa.array(kinds, pa.string())})
            rows = [*self.held[atom], *come]
            for row in go:
                rows.remove(row)
            self._hold(atom, rows)
        self._compare(self.database.apply(batch))

    def steps(self, folder: Path, refreshed: float) -> Iterator[int]:
        """Six commits, each checked; in between refreshes, a snapshot that is loaded, and another promise of a table.

        Args:
            folder: Where the snapshot is saved.
            refreshed: The chance of a refresh behind each commit.
        """
        for step in range(6):
            self.commit(self.changes())
            if (static := self.of("static")) and self.generator.random() < refreshed:
                self.refresh(self.generator.choice(static))
            if step == 2:
                self.database.save(folder)
                self.database = livejoin.Database.load(folder, trusted=self.generator.random() < 0.7)
            if step == 4:
                atom = self.generator.randrange(len(self.query.edges))
                self.alter(atom, self.generator.choice(("static", "dynamic")))
            self.database._check()
            yield step

    def refresh(self, atom: int) -> None:
        """Give a static table other rows, most of them those that it had."""
        kept = [row for row in self.held[atom] if self.generator.random() < 0.7]
        rows = kept + self._with_keys([self.row(atom) for _ in range(self.generator.choice((0, 1, 3)))], kept)
        self.generator.shuffle(rows)
        names = self.query.columns(atom)
        columns = {n: pa.array([row[i] for row in rows], pa.int64()) for i, n in enumerate(names)}
        self._hold(atom, rows)
        self._compare(self.database.refresh(f"T{atom}", pa.table(columns)))

    def _hold(self, atom: int, rows: list[Row]) -> None:
        """Let a table of the oracle have some rows."""
        self.held[atom] = rows
        self.oracle.execute(f"DELETE FROM T{atom}")
        if rows:
            marks = ", ".join("?" for _ in self.query.columns(atom))
            self.oracle.executemany(f"INSERT INTO T{atom} VALUES ({marks})", [list(row) for row in rows])

    def _compare(self, commit: livejoin.Commit) -> None:
        """Compare every view and its delta."""
        for form in self.before:
            after = self.expected(form)
            delta = signed_multiset(commit[form])
            assert_same_rows(delta, difference(after, self.before[form]), f"delta of {form}: {self.query}")
            self.before[form] = after
            self.check(form)

    def expected(self, form: str) -> Counter[Any]:
        """What DuckDB gives for a form of the query."""
        return multiset(self.oracle.execute(self.query.sql(form)).fetchall())

    def check(self, form: str) -> None:
        """Compare a view."""
        assert_same_rows(multiset(self.database.views[form].to_arrow()), self.before[form], f"{form}: {self.query}")
