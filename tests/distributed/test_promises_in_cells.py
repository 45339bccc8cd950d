"""Static and append-only tables in cells: views equal DuckDB behind every batch, also where a source has other rows.

Drivers die and start again with the same source, with another one, and in another number of cells.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest

import livejoin
from driven_cells import LocalSteps, Memories
from livejoin.checkpoint.job import Job, job_of
from livejoin.checkpoint.policy import FAIL, Policy
from livejoin.checkpoint.row_digest import digest
from livejoin.checkpoint.static_tables import OnStaticChange
from livejoin.distributed import Declared, Manifests, declared
from livejoin.distributed import declaration as declarations
from livejoin.distributed.driver import Committed, commit, read_delta, read_letters
from livejoin.errors import ChangeFormatError, StateError
from livejoin.plan.dispatch import choose, sampled
from livejoin.plan.dispatch.choose import WHOLE
from livejoin.plan.stages import outline, stages
from livejoin.schema import TableSettings
from livejoin.sql import parse_columns
from oracle import connect, signed_multiset, without_zeros
from scenario import Row
from strategies import EXAMPLES, IS_FUZZ

TABLES = {
    "O": parse_columns("O", "id INT PRIMARY KEY, shop INT, product INT"),
    "E": parse_columns("E", "shop INT, n INT", TableSettings(append_only=True)),
    "A": parse_columns("A", "id INT PRIMARY KEY, shop INT", TableSettings(append_only=True)),
    "P": parse_columns("P", "product INT PRIMARY KEY, region INT", TableSettings(static=True)),
    "S": parse_columns("S", "region INT, tag INT", TableSettings(static=True)),
    "L": parse_columns("L", "tag INT, person INT", TableSettings(static=True)),
    "Unread": parse_columns("Unread", "k INT PRIMARY KEY, v INT", TableSettings(static=True)),
}
VIEWS = {
    "sold": "SELECT O.id, O.shop, P.region FROM O JOIN P ON O.product = P.product",
    "told": "SELECT DISTINCT E.shop, L.person FROM E JOIN S ON E.n = S.region JOIN L ON S.tag = L.tag",
    "both": "SELECT E.shop, E.n, A.id FROM E JOIN A ON E.shop = A.shop",
    "regions": "SELECT P.region, COUNT(*) AS n FROM O JOIN P ON O.product = P.product GROUP BY P.region",
    "likely": "SELECT E.shop, q.n FROM E JOIN (SELECT region, COUNT(*) AS n FROM S GROUP BY region) q "
    "ON E.n = q.region",
    "fixed": "SELECT region, tag FROM S UNION SELECT tag, person FROM L",
    "known": "SELECT E.shop, q.t FROM E JOIN (SELECT DISTINCT S.region AS r, E.n AS t FROM S JOIN E ON S.tag = E.n) q "
    "ON E.n = q.r",
    "named": "SELECT E.shop, c.k FROM E JOIN (SELECT 1 AS k UNION SELECT 2) c ON E.n = c.k",
}

FEW = {name: VIEWS[name] for name in ("sold", "told", "fixed")}
FIRST = int(os.environ.get("LIVEJOIN_SEED", "0"))


class Streams:
    """A checkpoint of cells, with what its tables and the readers of its views have.

    Args:
        path: The checkpoint.
        dice: What chance has a part in.
        views: The views.
    """

    def __init__(self, path: Path, dice: random.Random, views: Mapping[str, str] = FEW) -> None:
        self.path, self.dice, self.views = path, dice, views
        self.memories: Memories = {}
        self.manifests: Manifests | None = None
        self.rows: dict[str, list[Row]] = {name: [] for name in TABLES}
        self.told: dict[str, Counter[Row]] = {name: Counter() for name in views}
        self.orders = 0
        self.policy = FAIL
        self.notes = True  # of what the digests are
        for name, table in TABLES.items():
            if table.static:
                self.redraw(name)

    def redraw(self, name: str, rows: int = 8) -> None:
        """The source of a static table has other rows."""
        table, dice = TABLES[name], self.dice
        drawn: list[Row] = [(dice.randrange(4), dice.choice([None, *range(4)])) for _ in range(dice.randrange(rows))]
        self.rows[name] = [(i, row[1]) for i, row in enumerate(drawn)] if table.primary_key else [*drawn, *drawn[:2]]

    def open(self, cells: int, on_static_change: OnStaticChange = "refresh") -> None:
        if self.manifests is not None:
            self.manifests.close()
        self.manifests = Manifests(self.path)
        self.declared = Declared(self.path, _job(self.views), cells, last=self.manifests.last)
        self.declared.compare({name.lower(): self.digest(name) for name in self.held}, on_static_change)

    @property
    def held(self) -> list[str]:
        return [table.name for table in self.declared.held_static]

    def digest(self, name: str) -> str:
        rows = self.table(name)
        first = digest(TABLES[name], rows.slice(0, 2)) + digest(TABLES[name], rows.slice(2))
        return first.of(TABLES[name])

    def table(self, name: str) -> pa.Table:
        lines = list(zip(*self.rows[name], strict=True)) or [()] * len(TABLES[name].columns)
        fields = [pa.field(column.name, column.type.arrow) for column in TABLES[name].columns]
        arrays = [pa.array(list(line), one.type) for line, one in zip(lines, fields, strict=True)]
        return pa.table(arrays, schema=pa.schema(fields))

    def attempt(self, changes: Mapping[str, pa.Table]) -> Committed:
        assert self.manifests is not None
        unfilled, refreshed = (
            [table.name for table in some] for some in (self.declared.unfilled, self.declared.refreshed)
        )
        steps = LocalSteps(
            self.dice,
            self.memories,
            changes,
            {name: _changes(self.table(name)) for name in unfilled},
            tables=[table for table in self.declared.job.tables.values() if not table.static],
            refreshed={name: _changes(self.table(name)) for name in refreshed},
            digests={name.lower(): self.digest(name) for name in (*unfilled, *refreshed)} if self.notes else {},
        )
        number = 0 if self.manifests.last is None else self.manifests.last.batch_id + 1
        return commit(self.declared, self.manifests, "difference", number, steps, self.policy)

    def deliver(self, committed: Committed) -> None:
        assert self.manifests is not None
        for view in self.declared.job.views:
            delta = read_delta(self.declared, self.manifests, committed.manifest, view)
            self.told[view].update(signed_multiset(delta.drop_columns(["_commit_version"])))
        self.manifests.finish(committed.manifest.batch_id, [])
        self.check()

    def check(self) -> None:
        with connect() as other:
            for name in TABLES:
                other.register(name, self.table(name))
            for name, sql in self.declared.job.views.items():
                expected = Counter(other.execute(sql).fetchall())
                assert without_zeros(self.told[name]) == expected, name

    def batch(self) -> dict[str, pa.Table]:
        """Random changes: orders by key that come, change and go, and what only grows."""
        dice = self.dice
        orders = {row[0]: row for row in self.rows["O"]}
        some: list[tuple[str, Row]] = []
        for _ in range(dice.randrange(6)):
            row = (dice.randrange(8), dice.randrange(4), dice.randrange(9))
            kind = dice.choice(["upsert", "upsert", "delete"]) if row[0] in orders else "upsert"
            some.append((kind, row))
            orders[row[0]] = row
            if kind == "delete":
                del orders[row[0]]
        events: list[Row] = [(dice.randrange(4), dice.randrange(4)) for _ in range(dice.randrange(5))]
        made: list[Row] = [(self.orders + i, dice.randrange(4)) for i in range(dice.randrange(4))]
        self.orders += len(made)
        self.rows["O"] = list(orders.values())
        self.rows["E"] += events
        self.rows["A"] += made
        found = {"O": some, "E": [("insert", row) for row in events], "A": [("insert", row) for row in made]}
        return {name: changes_of(name, mine) for name, mine in found.items() if mine}


def changes_of(name: str, some: Sequence[tuple[str, Row]]) -> pa.Table:
    schema = TABLES[name].arrow
    columns = [pa.array([row[i] for _, row in some], one.type) for i, one in enumerate(schema)]
    kinds = pa.array([kind for kind, _ in some], pa.string())
    return pa.table([*columns, kinds], names=[*schema.names, "_change_type"])


def _changes(rows: pa.Table) -> pa.Table:
    return rows.append_column("_change_type", pa.repeat(pa.scalar("insert"), rows.num_rows))


def _job(views: Mapping[str, str]) -> Job:
    return job_of(TABLES, views, frozenset(), keep_all=True)


@pytest.mark.parametrize("seed", range(FIRST, FIRST + max(1, EXAMPLES // 100)))
@pytest.mark.parametrize("cells", [1, 2, 4] if IS_FUZZ else [2])
def test_sources_that_change_between_starts(tmp_path: Path, cells: int, seed: int) -> None:
    dice = random.Random(seed * 10 + cells)
    streams = Streams(tmp_path, dice, VIEWS)
    for start, now in enumerate([cells, cells, cells, 3]):
        if start >= 2:
            for name in dice.sample(["P", "S", "L", "Unread"], 2):
                streams.redraw(name)
        streams.memories.clear()
        streams.open(now)
        if start < 2:
            assert not streams.declared.refreshed
        for _ in range(1 + (start == 2)):
            streams.deliver(streams.attempt(streams.batch()))


def test_stages_of_static_tables(tmp_path: Path) -> None:
    """A table with a key needs one stage that owns its rows; a static one does not."""
    views = {"told": VIEWS["told"], "sold": "SELECT E.shop, P.region FROM E JOIN P ON E.n = P.product"}
    streams = Streams(tmp_path, random.Random(1), views)
    streams.open(2)
    streams.attempt({})
    (stage, *_) = streams.declared.plan.staged.stages
    came = {exchange.relation: exchange.tables[0][0] for exchange in stage.exchanges}
    assert came["p"].static and came["p"].primary_key and came["s"].static and came["e"].append_only
    assert streams.declared.plan.staged.views["sold"] in {one.relation for one in stage.shown}


@pytest.mark.parametrize("rows", [WHOLE, WHOLE + 1])
def test_where_small_static_tables_go(rows: int) -> None:
    """To all cells, if that lets each change go to one; a large one is spread, and the changes go to several."""
    bound = livejoin.Database()
    for name, static in (("R", False), ("S", True), ("T", True)):
        bound.create_table(name, "a INT, b INT", static=static)
    sql = "SELECT R.a FROM R JOIN S ON R.b = S.a JOIN T ON S.b = T.a"
    (query,) = bound.create_view("v", sql)._query.joins
    tables = [atom.table for atom in query.atoms]
    samples = {one.name: sampled(one, one.arrow.empty_table(), total=rows if one.static else 1000) for one in tables}
    found = choose(query, samples, 8)
    (grid,) = found.grids
    assert (set(grid.shares) <= {*query.atoms[0].variables}) == (rows == WHOLE)
    bound.create_table("K", "a INT PRIMARY KEY, b INT")
    (keyed,) = bound.create_view("keyed", "SELECT K.a, S.b FROM K JOIN S ON K.b = S.a")._query.joins
    changes = keyed.atoms[0].table
    some = {**samples, "K": sampled(changes, changes.arrow.empty_table(), total=1000)}
    assert choose(keyed, some, 8).divided == (0 if rows == WHOLE else None)
    staged = stages({"v": bound.views["v"]._query}, lambda _: found)
    text = "\n".join(outline(staged, 8).lines())
    assert "R as R by HyperCube; S as S by HyperCube, once; T as T by HyperCube, once" in text
    assert "static tables are S, T: each cell joins its own rows of them once" in text


def test_a_change_that_is_refused(tmp_path: Path) -> None:
    streams = Streams(tmp_path, random.Random(2))
    streams.open(2)
    streams.deliver(streams.attempt(streams.batch()))
    streams.open(2, "refuse")
    before = streams.rows["S"]
    streams.rows["S"] = [*before, (1, 1)]
    with pytest.raises(StateError, match=r"static table 'S': its source has other rows.*on_static_change='refuse'"):
        streams.open(2, "refuse")
    streams.rows["S"] = before[::-1]  # the same rows in another order
    streams.open(2, "refuse")
    streams.deliver(streams.attempt(streams.batch()))


def test_an_attempt_that_dies_refreshes_nothing(tmp_path: Path) -> None:
    streams = Streams(tmp_path, random.Random(3))
    streams.open(2)
    streams.deliver(streams.attempt(streams.batch()))
    before = streams.rows["S"]
    streams.rows["S"] = [(1, 2), (3, 0)]
    streams.open(2)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Manifests, "commit", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            streams.attempt({})
    streams.rows["S"] = before
    streams.open(2)
    assert not streams.declared.refreshed
    streams.deliver(streams.attempt(streams.batch()))


def test_what_leaves_an_append_only_table_is_a_bad_row(tmp_path: Path) -> None:
    streams = Streams(tmp_path, random.Random(4))
    streams.open(2)
    streams.deliver(streams.attempt(streams.batch()))
    bad: list[tuple[str, Row]] = [
        ("insert", (1, 1)),
        ("delete", (1, 1)),
        ("update_preimage", (1, 1)),
        ("update_postimage", (1, 9)),
        ("insert", (2, 2)),
    ]
    with pytest.raises(ChangeFormatError, match=r"table 'E'.*_change_type is 'delete', and the table is append_only"):
        streams.attempt({"E": changes_of("E", bad)})
    streams.rows["S"] = [(2, 2), (1, 1)]  # the tries bring it too
    streams.policy = Policy(on_bad_rows="dead_letter", on_conflict="skip")
    streams.open(2)
    streams.rows["E"] += [(1, 1), (2, 2)]
    new = (streams.orders, 1)
    streams.rows["A"].append(new)
    twice: list[tuple[str, Row]] = [("insert", new), ("insert", (new[0], 2))]
    committed = streams.attempt({"E": changes_of("E", bad), "A": changes_of("A", twice)})
    streams.deliver(committed)
    assert streams.manifests is not None
    letters = read_letters(streams.declared, streams.manifests, committed.manifest)["E"]
    assert sorted(letters.column("_change_type").to_pylist()) == ["delete", "update_postimage", "update_preimage"]
    assert committed.bad == {"E": 3}
    assert committed.conflicts == {"A": 1}


def test_a_checkpoint_whose_stages_trust_no_promise(tmp_path: Path) -> None:
    """That of an earlier version goes on: its rows move to the stages of now, and its static tables are read again."""
    streams = Streams(tmp_path, random.Random(5))
    with pytest.MonkeyPatch.context() as before:
        before.setattr(streams, "notes", False)
        before.setattr(declared, "Declaration", partial(declarations.Declaration, trusts=False))
        before.setattr(declared, "bound_of", lambda job: declarations.bound_of(declarations._unpromised(job)))
        streams.open(2)
        streams.deliver(streams.attempt(streams.batch()))
    with pytest.raises(StateError, match="static table 'P': nothing says which rows the cells have of it"):
        streams.open(2, "refuse")
    streams.redraw("S")
    streams.open(2)
    assert streams.declared.before is not None
    assert [table.name for table in streams.declared.refreshed] == ["P", "S", "L", "Unread"]
    streams.deliver(streams.attempt(streams.batch()))
    assert streams.declared.before is None
    streams.open(2)
    assert streams.declared.before is None
