"""DOUBLE has one zero and one NaN, for joins, predicates and outputs alike."""

from __future__ import annotations

import math
import struct

import pyarrow as pa

import livejoin


def test_a_predicate_sees_the_value_that_is_kept() -> None:
    db = livejoin.Database()
    db.execute("CREATE TABLE T (w DOUBLE, i INT)")
    negative_nan = struct.unpack("<d", struct.pack("<Q", 0xFFF8000000000001))[0]
    sql = "SELECT i, CAST(w AS STRING) AS s FROM T WHERE CAST(w AS STRING) IN ('-0.0', '-nan')"
    before = db.create_view("before", sql)
    db.apply("T", pa.table({"w": [-0.0, negative_nan, 0.0], "i": pa.array([1, 2, 3], pa.int32())}))
    after = db.create_view("after", sql)
    assert before.to_arrow() == after.to_arrow()
    assert before.count() == 0
    zeros = db.create_view("zeros", "SELECT A.i AS x, B.i AS y FROM T A JOIN T B ON A.w = B.w WHERE A.w = 0")
    assert zeros.count() == 4
    db.apply("T", [{"w": 0.0, "i": 1, "_change_type": "delete"}, {"w": math.nan, "i": 2, "_change_type": "delete"}])
    assert zeros.count() == 1
