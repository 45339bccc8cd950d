"""The rows of a view after any batch that is kept, read from a checkpoint beside its query."""

from __future__ import annotations

import threading
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from streams import Stream, job

from livejoin.checkpoint import states
from livejoin.checkpoint.engine import Engine
from livejoin.checkpoint.log import Log
from livejoin.checkpoint.states import NotKeptError, kept_state, rows_at
from livejoin.errors import StateError
from oracle import connect
from strategies import seeds

TABLES = {"T": "k BIGINT, name STRING", "S": "name STRING, size INT"}
VIEWS = {
    "joined": "SELECT T.k, T.name, S.size FROM T LEFT JOIN S ON T.name = S.name",
    "sums": "SELECT name, COUNT(*) AS n, SUM(size) AS size FROM joined GROUP BY name",
    "many": "SELECT n, COUNT(*) AS names FROM sums GROUP BY n",
    "total": "SELECT COUNT(*) AS n FROM T",
}


class Kept:
    """A stream of random batches, and what DuckDB says of the views after each of them."""

    def __init__(self, folder: Path, seed: int, **options: Any) -> None:
        self.dice, self.stream, self.options = Random(seed), Stream(folder), options
        self.rows: dict[str, list[tuple[Any, ...]]] = {"T": [], "S": []}
        self.after: dict[int, dict[str, Counter[Any]]] = {}
        self.versions: dict[int, int] = {}
        self.start()

    def start(self) -> None:
        declared = job(TABLES, VIEWS, keep_all=True)
        self.stream.open(declared, **self.options)

    @property
    def engine(self) -> Engine:
        assert self.stream.engine is not None
        return self.stream.engine

    def batch(self) -> int:
        number, changes = len(self.after), dict[str, list[tuple[Any, ...]]]()
        for name, held in self.rows.items():
            for _ in range(self.dice.randrange(6)):
                if held and self.dice.random() < 0.4:
                    row, kind = held.pop(self.dice.randrange(len(held))), "delete"
                else:
                    row, kind = self._row(name), "insert"
                    held.append(row)
                changes.setdefault(name, []).append((*row, kind))
        self.stream.run(number, changes)
        self.after[number], self.versions[number] = self._expected(), self.engine.database.version
        return number

    def snapshot(self) -> None:
        self.engine.snapshot()
        self.engine.history.snapshots.wait()

    def _row(self, table: str) -> tuple[Any, ...]:
        name = self.dice.choice(["a", "b", "c", None])
        return (self.dice.randrange(4), name) if table == "T" else (name, self.dice.randrange(9))

    def _expected(self) -> dict[str, Counter[Any]]:
        with connect() as connection:
            connection.execute("CREATE TABLE T (k BIGINT, name VARCHAR); CREATE TABLE S (name VARCHAR, size INT)")
            for table, rows in self.rows.items():
                if rows:
                    connection.executemany(f"INSERT INTO {table} VALUES (?, ?)", rows)
            for name, sql in VIEWS.items():
                connection.execute(f"CREATE VIEW {name} AS {sql}")
            return {name: Counter(connection.execute(f"FROM {name}").fetchall()) for name in VIEWS}


def read(folder: Path, view: str, version: int | None = None) -> tuple[int, Counter[Any]]:
    """The batch and the rows."""
    state = kept_state(folder, version)
    batches = list(rows_at(state, view))
    return state.batch, Counter(tuple(row.values()) for batch in batches for row in batch.to_pylist())


@pytest.mark.parametrize("seed", seeds(1, 4))
def test_rows_of_every_batch_that_is_kept(tmp_path: Path, seed: int) -> None:
    kept = Kept(tmp_path, seed, keep_versions=5)
    for _ in range(14):
        number = kept.batch()
        if kept.dice.random() < 0.6:
            kept.snapshot()
        if kept.dice.random() < 0.2:
            kept.start()
        for view in VIEWS:
            assert read(tmp_path, view) == (number, kept.after[number][view])
        for before in range(max(0, number - 5), number):
            version = kept.versions[before]  # some batches bring nothing, and are no commits
            batch, rows = read(tmp_path, "sums", version)
            assert kept.versions[batch] == version
            assert rows == kept.after[before]["sums"]
    with pytest.raises(NotKeptError, match=r"no version 99 in .* yet; the newest one is"):
        kept_state(tmp_path, 99)
    assert 2 <= len(list((tmp_path / "snapshots").iterdir())) <= 5
    with pytest.raises(NotKeptError, match=r"never was a version 0 in .* commit is version 1, and kept are \d+ to"):
        kept_state(tmp_path, 0)
    with pytest.raises(NotKeptError, match=r"version 1 is not kept in .* any more; kept are \d+ to"):
        kept_state(tmp_path, 1)


def test_a_state_that_goes_while_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(states, "_PAUSE", 0.0)
    with pytest.raises(StateError, match="has no batch yet"):
        Kept(tmp_path, 1, keep_versions=0)
        kept_state(tmp_path, None)
    kept = Kept(tmp_path, 1, keep_versions=0)
    kept.batch()
    state = kept_state(tmp_path, None)
    for _ in range(3):
        kept.batch()
        kept.snapshot()
    with pytest.raises(NotKeptError, match=r"version 1 is not kept .* kept are those from version 2 on: .*read_view"):
        list(rows_at(state, "total"))
    (tmp_path / "snapshots" / "00000003" / "CURRENT").write_bytes(b"nothing")
    with pytest.raises(StateError, match="damaged"):
        kept_state(tmp_path, None)


def test_readers_beside_a_query(tmp_path: Path) -> None:
    """A snapshot a batch: what readers need is not taken from them."""
    kept = Kept(tmp_path, 3, keep_versions=12)
    kept.batch()
    found, failed, ended = list[tuple[int, Counter[Any]]](), list[BaseException](), threading.Event()

    def follow() -> None:
        try:
            while not ended.is_set():
                found.append(read(tmp_path, "sums"))
        except BaseException as error:  # told below
            failed.append(error)

    reader = threading.Thread(target=follow)
    reader.start()
    for _ in range(18):
        kept.batch()
        kept.snapshot()
    ended.set()
    reader.join()
    assert not failed, failed
    assert found
    for batch, rows in found:
        assert rows == kept.after[batch]["sums"]


def test_batches_of_a_version_that_noted_no_versions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = Kept(tmp_path, 1)
    note = Log.note
    monkeypatch.setattr(Log, "note", lambda log, batch: {"parts": [], "job": note(log, batch)["job"]})
    kept.batch()
    assert read(tmp_path, "total") == (0, kept.after[0]["total"])
    with pytest.raises(StateError, match="did not note their versions"):
        kept_state(tmp_path, 1)


def test_columns_are_those_of_a_frame(tmp_path: Path) -> None:
    stream = Stream(tmp_path)
    view = "SELECT at, here, name FROM T"
    stream.open(job({"T": "at TIMESTAMP, here TIMESTAMP_NTZ, name STRING"}, {"v": view}))
    stream.run(0, {})
    state = kept_state(tmp_path, None)
    stream.run(1, {"T": [(0, 0, "x")]})
    assert not list(rows_at(state, "v"))
    (batch,) = rows_at(kept_state(tmp_path, None), "v")
    assert batch.schema.types == [pa.timestamp("us", "UTC"), pa.timestamp("us"), pa.string()]
