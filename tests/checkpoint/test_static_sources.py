"""Static tables whose source has other rows at a restart, and append-only tables, in a checkpoint of one process."""

from __future__ import annotations

import os
import random
from collections import Counter
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from streams import Stream, job

import livejoin
from livejoin.checkpoint.job import Job, job_of
from livejoin.checkpoint.policy import Policy
from livejoin.checkpoint.row_digest import digest
from livejoin.database.base_rows import all_rows
from livejoin.database.refreshing import refreshing
from livejoin.errors import ChangeFormatError, DuplicateKeyError, StateError
from livejoin.schema import Table, TableSettings
from livejoin.sql import parse_columns
from strategies import EXAMPLES

TABLES = {"G": "src BIGINT, dst BIGINT", "N": "k BIGINT PRIMARY KEY, name STRING", "K": "id BIGINT PRIMARY KEY, n INT"}
VIEWS = {
    "named": "SELECT name, dst FROM G JOIN N ON src = k",
    "names": "SELECT name, COUNT(*) AS n FROM N GROUP BY name",
    "keyed": "SELECT id, n FROM K",
}
JOB = job(TABLES, VIEWS, N={"static": True})
FIRST = int(os.environ.get("LIVEJOIN_SEED", "0"))


class Source:
    """The rows of N, as they are now."""

    def __init__(self) -> None:
        self.rows: dict[int, str | None] = {1: "one", 2: "two"}
        self.asked = 0

    def read(self, table: Table) -> pa.Table:
        self.asked += 1
        lines = [pa.array(list(self.rows), pa.int64()), pa.array(list(self.rows.values()), pa.string())]
        return pa.table(lines, names=table.names)


def expected(source: Source, edges: list[tuple[int, int]], people: dict[int, int]) -> dict[str, Counter[Any]]:
    named = Counter((source.rows[src], dst) for src, dst in edges if src in source.rows)
    names = Counter(Counter(source.rows.values()).items())
    return {"named": named, "names": names, "keyed": Counter(people.items())}


@pytest.mark.parametrize("seed", range(FIRST, FIRST + max(3, EXAMPLES // 5)))
def test_what_differs_comes_with_the_first_batch(tmp_path: Path, seed: int) -> None:
    """Also behind a batch that was taken and not done, of which some bring other rows themselves."""
    dice, stream, source = random.Random(seed), Stream(tmp_path), Source()
    edges, people = list[tuple[int, int]](), dict[int, int]()
    for number in range(8):
        engine = stream.open(JOB, rows_of=source.read)
        new = [(dice.randrange(4), dice.randrange(9)) for _ in range(2)]
        key = dice.randrange(3)
        batch = stream.take(number, {"G": new, "K": [(key, number)]} if dice.random() < 0.7 else {"G": new})
        people |= {key: number} if "K" in batch.changes else {}
        edges += new
        there = dict(source.rows)
        if dice.random() < 0.5:  # it dies, and the source changes before the next start
            if dice.random() < 0.5:
                stream.deliver(number, batch)
            if dice.random() < 0.7:
                source.rows = {k: dice.choice(["a", "b", None]) for k in dice.sample(range(4), 3)}
            engine = stream.open(JOB, rows_of=source.read)
            batch = stream.take(number, {})
        stream.deliver(number, batch)
        engine.finish(number, stream.output)
        now, source.rows = source.rows, there
        for view, rows in expected(source, edges, people).items():
            assert stream.held(view) == stream.sum(view) == rows, (number, view)
        source.rows = now
        if dice.random() < 0.3:
            engine.snapshot()
        if dice.random() < 0.5:
            source.rows = {k: dice.choice(["a", "b", None]) for k in dice.sample(range(4), dice.randrange(4))}
    stream.stop()


def test_a_changed_source_is_refused_if_asked_for(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    stream, source = Stream(tmp_path), Source()
    stream.open(JOB, rows_of=source.read, on_static_change="refuse")
    stream.run(0, {"G": [(1, 7)]})
    source.rows = dict(reversed(source.rows.items()))
    assert not stream.open(JOB, rows_of=source.read, on_static_change="refuse").refreshed
    assert source.asked == 2
    source.rows |= {2: "zwei", 3: "drei"}
    stream.stop()
    with pytest.raises(StateError, match=r"static table 'N': .*\(2 came, 1 went\).*on_static_change='refresh'"):
        stream.open(JOB, rows_of=source.read, on_static_change="refuse")
    with caplog.at_level("INFO", "livejoin"):
        engine = stream.open(JOB, rows_of=source.read)
    assert "static table 'N': its source has other rows than the checkpoint (2 came, 1 went)" in caplog.text
    stream.run(1, {"G": [(2, 8)]})
    assert stream.sum("named") == Counter({("one", 7): 1, ("zwei", 8): 1})
    assert not engine.refreshed
    stream.stop()

    def twice(table: Table) -> pa.Table:
        return pa.concat_tables([source.read(table), source.read(table)])

    with pytest.raises(DuplicateKeyError, match="table 'N'"):
        stream.open(JOB, rows_of=twice)
    with pytest.raises(StateError, match="table 'N' was static and is now a stream"):
        stream.open(job(TABLES, VIEWS), rows_of=source.read)


def test_a_stream_that_becomes_a_static_table(tmp_path: Path) -> None:
    stream, source = Stream(tmp_path), Source()
    stream.open(job(TABLES, VIEWS))
    stream.run(0, {"G": [(1, 7)], "N": [(1, "eins"), (9, "neun")]})
    stream.open(JOB, rows_of=source.read)
    stream.run(1, {"G": [(2, 8)]})
    assert stream.sum("named") == Counter({("one", 7): 1, ("two", 8): 1})


def append_only() -> Job:
    """A table with a key to which rows come, beside one whose rows are replaced."""
    tables = {"E": "id BIGINT PRIMARY KEY, n BIGINT", "F": "n BIGINT", "K": TABLES["K"]}
    views = {"v": "SELECT E.id, F.n FROM E JOIN F ON E.n = F.n", "keyed": VIEWS["keyed"]}
    return job(tables, views, E={"append_only": True}, F={"append_only": True})


def test_what_leaves_an_append_only_table_is_a_bad_row(tmp_path: Path) -> None:
    stream = Stream(tmp_path)
    engine = stream.open(append_only())
    stream.run(0, {"E": [(1, 1), (2, 2)], "F": [(1,), (2,)], "K": [(1, 1)]})
    kinds = ["insert", "update_preimage", "update_postimage", "upsert", "delete"]
    changes = [(4, 1), (1, 1), (1, 2), (2, 3), (2, 2)]
    for kind, change in list(zip(kinds, changes, strict=True))[1:]:
        with pytest.raises(ChangeFormatError, match=f"table 'E'.*is '{kind}', and the table is append_only"):
            stream.take(1, {"E": [(*change, kind)]})
    policy = Policy(on_conflict="skip", on_bad_rows="dead_letter")
    engine = stream.open(append_only(), policy=policy)
    came = [(*change, kind) for kind, change in zip(kinds, changes, strict=True)]
    batch = stream.take(1, {"E": [*came, (1, 9, "insert")], "K": [(1, 5, "upsert")]})
    assert batch.letters["E"].column("_change_type").to_pylist() == kinds[1:]
    stream.deliver(1, batch)
    assert engine.pending is not None and engine.pending.skipped == 1, "a second row with a key is a conflict"
    engine.finish(1, stream.output)
    assert stream.sum("v") == stream.held("v") == Counter({(1, 1): 1, (2, 2): 1, (4, 1): 1})
    assert stream.sum("keyed") == Counter({(1, 5): 1})
    stream.open(append_only())
    assert stream.held("v") == stream.sum("v")


def test_columns_of_a_static_table_come(tmp_path: Path) -> None:
    """They were not kept, as no view read them, and are read now; so it is with a table that went and comes again."""
    tables = {"G": TABLES["G"], "N": "k BIGINT PRIMARY KEY, name STRING, more BIGINT"}
    few = {"v": "SELECT G.dst FROM G JOIN N ON src = k"}
    some = {**few, "named": "SELECT name, dst FROM G JOIN N ON src = k"}
    every = {"again": some["named"], "all": "SELECT * FROM N"}
    rows = {"k": [1, 2], "name": ["one", None], "more": [10, 20]}

    def read(table: Table) -> pa.Table:
        return pa.table(
            {name: pa.array(rows[name], kind) for name, kind in zip(table.names, table.arrow.types, strict=True)}
        )

    def asked(views: dict[str, str]) -> Job:
        declared = {name: parse_columns(name, text, TableSettings(static=name == "N")) for name, text in tables.items()}
        used = {name: table for name, table in declared.items() if any(name in sql for sql in views.values())}
        return job_of(used, views, {"G", "N"})

    stream = Stream(tmp_path)
    only = {"edges": "SELECT src, dst FROM G"}
    for number, views in enumerate([few, some, only, every]):
        stream.open(asked(views), rows_of=read)
        stream.run(number, {"G": [(2, number)]})
        for view in views:
            assert stream.held(view) == stream.sum(view), (number, view)
    assert stream.held("all") == Counter({(1, "one", 10): 1, (2, None, 20): 1})
    assert stream.sum("again") == Counter({(None, number): 1 for number in range(4)})
    rows["more"] = [11, 21]
    engine = stream.open(asked(every), rows_of=read)
    stream.run(4, {"G": [(1, 4)]})
    engine.snapshot()
    stream.open(asked(every), rows_of=read)
    assert stream.held("all") == stream.sum("all") == Counter({(1, "one", 11): 1, (2, None, 21): 1})


def test_a_source_that_changes_before_the_first_batch(tmp_path: Path) -> None:
    stream, source = Stream(tmp_path), Source()
    stream.open(JOB, rows_of=source.read)
    source.rows[2] = "zwei"
    for _ in range(2):
        stream.open(JOB, rows_of=source.read)
        batch = stream.take(0, {"G": [(2, 8)]})
        stream.deliver(0, batch)
    stream.engine.finish(0, stream.output)  # type: ignore[union-attr]
    assert stream.sum("named") == stream.held("named") == Counter({("zwei", 8): 1})


def test_a_static_table_comes_while_a_batch_is_under_way(tmp_path: Path) -> None:
    """Its rows are a commit, so that the batch was taken at the version before."""
    stream, source = Stream(tmp_path), Source()
    edges = {"e": "SELECT src, dst FROM G"}
    stream.open(job({"G": TABLES["G"]}, edges))
    stream.run(0, {"G": [(1, 7)]})
    stream.take(1, {"G": [(2, 8)]})
    both = {name: TABLES[name] for name in ("G", "N")}
    declared = job(both, {**edges, "named": VIEWS["named"]}, N={"static": True})
    engine = stream.open(declared, rows_of=source.read)
    stream.deliver(1, stream.take(1, {}))
    engine.finish(1, stream.output)
    for number in (2, 3):
        stream.open(declared, rows_of=source.read)
        stream.run(number, {"G": [(9, number)]})
        assert stream.held("named") == stream.sum("named") == Counter({("one", 7): 1, ("two", 8): 1})


def test_values_of_all_types_are_the_same_in_any_form() -> None:
    """As they come, and as the database gives them: then their rows have the same digest and no difference."""
    columns = (
        "b BOOLEAN, t TINYINT, i BIGINT, f FLOAT, x DOUBLE, d DECIMAL(30, 4), s STRING, c CHAR(4), v VARCHAR(9), "
        "n BINARY, day DATE, at TIMESTAMP, l TIMESTAMP_NTZ, m INTERVAL YEAR TO MONTH, p INTERVAL DAY TO SECOND, "
        "a ARRAY<INT>, h MAP<STRING, INT>, r STRUCT<k: INT, e: ARRAY<STRING>>"
    )
    table = parse_columns("T", columns, TableSettings(static=True))
    at = datetime(2026, 7, 1, 12, tzinfo=UTC)
    values = (True, 3, -5, 0.5, float("nan"), Decimal("7.5"), "ä", "ab", "abc", b"\0x", at.date())
    more = (at, at.replace(tzinfo=None), 14, timedelta(hours=30), [1, None], [("z", 1), ("a", None)])
    rows: list[tuple[Any, ...]] = [(*values, *more, {"k": 1, "e": []}), (None,) * 18, (*values, *more, None)]
    rows.append((*values[:3], -0.0, -0.0, *values[5:], *more[:4], [], [], {"k": None, "e": ["y"]}))
    kinds = [column.type.arrow for column in table.columns]
    kinds[13] = pa.int32()
    given = pa.table(
        [pa.array(list(line), kind) for line, kind in zip(zip(*rows, strict=True), kinds, strict=True)],
        names=table.names,
    )
    database = livejoin.Database()
    database.create_table("T", columns)
    database.apply("T", given)
    held = all_rows(database, "T").take([3, 1, 0, 2])
    assert digest(table, held) == digest(table, given) != digest(table, given.slice(1))
    assert digest(table, given.slice(0, 2)) + digest(table, given.slice(2)) == digest(table, held)
    assert refreshing(table, held, (), given).num_rows == 0
    for place, name in enumerate(table.names):
        other = given.set_column(
            place, name, pa.array([None, None, *given.column(place)[2:].to_pylist()], kinds[place])
        )
        assert digest(table, other) != digest(table, held), name
