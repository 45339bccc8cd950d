"""What comes in a stream and is no change: kinds that there are not, texts that are no rows; the rest is applied."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import livejoin
from livejoin.checkpoint.batch import Arrival
from livejoin.checkpoint.engine import open_engine
from livejoin.checkpoint.incoming.settled import settled, to_settle
from livejoin.checkpoint.job import job_of
from livejoin.checkpoint.policy import Policy
from livejoin.errors import ChangeFormatError, ExpressionError
from livejoin.sql import parse_columns

KEYED = parse_columns("T", "id BIGINT, v STRING, PRIMARY KEY (id)")
WHOLE = parse_columns("T", "id BIGINT, v STRING")
TEXT = '{"id": 1, "v"'


def rows(*kinds: str | None, **more: list[str | None]) -> pa.Table:
    """Rows of these kinds, numbered from 0."""
    ids = list(range(len(kinds)))
    columns: dict[str, pa.Array] = {"id": pa.array(ids, pa.int64()), "v": pa.array([f"v{i}" for i in ids])}
    columns |= {name: pa.array(values, pa.string()) for name, values in more.items()}
    return pa.table(columns | {"_change_type": pa.array(kinds, pa.string())})


@pytest.mark.parametrize("table", [KEYED, WHOLE], ids=["keyed", "whole"])
def test_kinds_that_there_are_not(table: livejoin.schema.Table) -> None:
    given = rows("insert", None, "remove", "upsert", "truncate", "Insert", "", "delete")
    allowed = "insert, delete, update_preimage, update_postimage"
    found = settled(livejoin.Database(), table, given)
    wrong = [1, 2, 4, 5, 6] if table is KEYED else [1, 2, 3, 4, 5, 6]
    assert [one.row for one in found.refused] == wrong
    assert found.changes == given.take([row for row in range(8) if row not in wrong])
    assert not any(one.is_conflict for one in found.refused)
    assert found.refused[1].reason.startswith(f"_change_type is 'remove'; allowed are {allowed}")
    assert [one.reason for one in to_settle(table, given).refused] == [one.reason for one in found.refused]


def test_behind_a_truncation_alone() -> None:
    """A stream with truncations has that kind beside; what stood before the last one does not count."""
    without = json.dumps({"v": "unchanged"})
    given = rows(None, "truncate", "remove", "upsert", "upsert", _without=[None, None, None, without, None])
    database = livejoin.Database()
    database.create_table("T", "id BIGINT PRIMARY KEY, v STRING")
    database.apply("T", [(3, "before")])
    found = settled(database, KEYED, given)
    assert [(one.row, one.reason.partition(";")[0]) for one in found.refused] == [
        (2, "_change_type is 'remove'"),
        (3, found.refused[1].reason.partition(";")[0]),
    ]
    assert found.changes.column("_change_type").to_pylist() == ["delete", "upsert"]
    assert [one.row for one in to_settle(KEYED, given).refused] == [2]


def test_texts_and_what_readers_refuse() -> None:
    given = rows(None, "insert", "remove", "insert", _corrupt_record=[TEXT, None, TEXT, TEXT])
    given = given.append_column("_refused", pa.array([None, None, None, "op is x"], pa.string()))
    found = to_settle(WHOLE, given)
    reasons = [one.reason for one in found.refused]
    said = f"what came is no row of the table: {TEXT!r}; of its columns these are kept: id BIGINT, v STRING"
    assert reasons == [said, said, "op is x"]
    assert found.changes == rows("x", "insert").slice(1)
    long = rows("insert", _corrupt_record=["x" * 5000])
    assert len(to_settle(WHOLE, long).refused[0].reason) < 400
    assert to_settle(WHOLE, rows("insert", _corrupt_record=[None])).changes == rows("insert")


BATCH = rows("insert", "remove", "insert", None, _corrupt_record=[None, None, TEXT, None])


def engine_of(folder: Path, policy: Policy) -> Any:
    job = job_of({"T": WHOLE}, {"v": "SELECT id, v FROM T"}, frozenset())
    return open_engine(job, folder, policy=policy)


def test_the_rest_of_the_batch_is_applied(tmp_path: Path) -> None:
    engine = engine_of(tmp_path / "1", Policy(on_bad_rows="dead_letter"))
    batch = engine.take(0, lambda: Arrival({"T": BATCH}, None))
    assert engine.apply(batch)["v"].num_rows == 1
    (letters,) = batch.letters.values()
    assert letters["_corrupt_record"].to_pylist() == [None, TEXT, None]
    assert letters["_change_type"].to_pylist() == ["remove", "insert", None]
    reasons = [reason[:12] for reason in letters["_reason"].to_pylist()]
    assert reasons == ["_change_type", "what came is", "_change_type"]
    engine.finish(0, [])
    engine.close()
    engine = engine_of(tmp_path / "2", Policy(on_bad_rows="skip"))
    batch = engine.take(0, lambda: Arrival({"T": BATCH}, None))
    assert (batch.skipped, batch.letters, batch.rows) == (3, {}, 1)
    engine.close()


@pytest.mark.parametrize("policy", [Policy("skip", "fail"), Policy("fail", "skip", 2)], ids=["fail", "too many"])
def test_what_ends_a_stream_names_the_row(tmp_path: Path, policy: Policy) -> None:
    engine = engine_of(tmp_path, policy)
    with pytest.raises(ChangeFormatError, match=r"^table 'T', row 1 of .*: _change_type is 'remove'") as caught:
        engine.take(0, lambda: Arrival({"T": BATCH}, None))
    notes = ["the change is id = 1, v = 'v1', _change_type = 'remove'"]
    notes += ["3 changes of this batch are refused, and max_bad_rows is 2"] if policy.most == 2 else []
    assert caught.value.__notes__ == notes
    engine.close()


def test_all_that_is_left_out_of_a_batch_counts(tmp_path: Path) -> None:
    """What says nothing, and then values that columns and views refuse, are together as many as may be."""
    job = job_of({"T": WHOLE}, {"v": "SELECT 1 / id AS x FROM T"}, frozenset())
    for most in (3, 4):
        engine = open_engine(job, tmp_path / str(most), policy=Policy(on_bad_rows="skip", most=most))
        batch = engine.take(0, lambda: Arrival({"T": BATCH}, None))
        if most == 3:
            with pytest.raises(ExpressionError):
                engine.apply(batch)
        else:
            assert engine.apply(batch)["v"].num_rows == 0
            assert engine.pending is not None
            assert engine.pending.skipped == 4
        engine.close()
