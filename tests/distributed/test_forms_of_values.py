"""Values that are equal go to one cell in whatever form they come."""

from __future__ import annotations

import pyarrow as pa
import pytest

from livejoin.plan.dispatch import cells_of
from livejoin.schema import Column, SqlType, Table
from livejoin.spark.distributed.steps import whole_changes

CELLS = 1_000


def test_months_as_integers_and_as_intervals() -> None:
    numbers = [None, 0, -1, 14, 2**31 - 1]
    kind = SqlType("months")
    intervals = pa.array([None if n is None else (n, 0, 0) for n in numbers], kind.arrow)
    integers = pa.array(numbers, pa.int32())
    found = [cells_of([column], [kind], len(numbers), CELLS).tolist() for column in (integers, intervals)]
    assert found[0] == found[1]
    assert len(set(found[0])) == len(numbers)


@pytest.mark.parametrize("pieces", [1, 3])
def test_texts_with_and_without_the_blanks_of_char(pieces: int) -> None:
    table = Table("T", (Column("c", SqlType("string"), length=3, is_char=True), Column("n", SqlType.integer(32))))
    texts = ["a", "a  ", "a      ", None, "", "   ", "ab", "ab "]
    given = pa.table({"n": pa.array(range(8), pa.int32()), "_change_type": ["insert"] * 8, "c": pa.array(texts)})
    changes = whole_changes(table, pa.concat_tables([given] * pieces))
    assert changes.column_names == ["c", "n", "_change_type"]
    places = cells_of([changes.column("c")], [table.columns[0].type], changes.num_rows, CELLS).tolist()
    assert [places[:3], places[4:6], places[6:8]] == [[places[0]] * 3, [places[4]] * 2, [places[6]] * 2]
    assert len(set(places)) == 4
    assert changes.column("c")[:8].to_pylist() == ["a  ", "a  ", "a  ", None, "   ", "   ", "ab ", "ab "]
