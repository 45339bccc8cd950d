"""The sink for somebody who looks on shows every value, also one that Python has no object for."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from livejoin.schema import CHANGE_TYPE, COMMIT_VERSION
from livejoin.spark.sinks.console import ConsoleSink


class _Delta:
    """A delta of one batch of Arrow."""

    def __init__(self, rows: pa.RecordBatch) -> None:
        self.num_rows = rows.num_rows
        self._rows = rows

    def to_batches(self, rows: int) -> list[pa.RecordBatch]:
        """The rows one by one, as deltas of several parts come."""
        return [self._rows.slice(place, 1) for place in range(self.num_rows)]


def test_a_date_beyond_the_year_9999(capsys: pytest.CaptureFixture[str]) -> None:
    days = pa.array([0, 100_000_000], pa.int32()).cast(pa.date32())
    kinds = pa.array(["insert", "delete"])
    rows = pa.record_batch({"d": days, "n": [1, None], CHANGE_TYPE: kinds, COMMIT_VERSION: [1, 1]})
    deltas: Any = {"v": _Delta(rows)}
    assert ConsoleSink().deliver(deltas, 3) == []
    assert capsys.readouterr().out.splitlines() == [
        "batch 3, v: 2 rows",
        "  + d = datetime.date(1970, 1, 1), n = 1",
        "  - d = 100000000 (date32[day]), n = None",
    ]


@pytest.mark.parametrize(("shown", "rest"), [(1, ["  ... and 2 more"]), (2, ["  ... and 1 more"]), (3, []), (20, [])])
def test_as_many_rows_are_shown_as_asked_for(shown: int, rest: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    rows = pa.record_batch({"n": [1, 2, 3], CHANGE_TYPE: ["delete", "insert", "insert"], COMMIT_VERSION: [1, 1, 1]})
    deltas: Any = {"v": _Delta(rows)}
    assert ConsoleSink(rows=shown).deliver(deltas, 3) == []
    lines = ["  - n = 1", "  + n = 2", "  + n = 3"]
    assert capsys.readouterr().out.splitlines() == ["batch 3, v: 3 rows", *lines[:shown], *rest]
