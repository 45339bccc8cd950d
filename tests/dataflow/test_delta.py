"""Results and deltas as Arrow: every type, NULLs, constants, expressions, chunks, cancelled rows and large counts."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import livejoin
from conjunctive import bind
from livejoin.catalog import Catalog
from livejoin.dataflow.batches import Delta, Rows
from livejoin.dataflow.deltas import arrow_delta as module
from livejoin.dataflow.deltas.arrow_delta import (
    ChunkRows,
    cancel,
    cancelled,
    delta_schema,
    net_pieces,
    shown_rows,
)
from livejoin.dataflow.deltas.view_delta import MemoryDelta
from livejoin.dataflow.results import Results
from livejoin.errors import CapacityError, ExpressionError
from livejoin.families import delta_chunk
from livejoin.families.crown.join import CrownJoin
from livejoin.families.delta_chunk import DeltaChunk
from livejoin.query import ConjunctiveQuery
from livejoin.schema import SqlType
from livejoin.sql import parse_columns
from livejoin.state.codec import Codec
from strategies import FUZZ

ALL_TYPES = (
    "id BIGINT, tiny TINYINT, small SMALLINT, whole INT, text STRING, wide DECIMAL(38, 2), narrow DECIMAL(9, 3), "
    "moment TIMESTAMP, day DATE, flag BOOLEAN, ratio DOUBLE"
)
FULL = (
    -(2**63),
    -128,
    -32768,
    -(2**31),
    "ä€𝄞",
    Decimal("999999999999999999999999999999999999.99"),
    Decimal("-999999.999"),
    datetime(1, 1, 1, 0, 0, 0, 1),
    date(1969, 12, 31),
    False,
    -0.1,
)
OTHER = (
    2**63 - 1,
    127,
    32767,
    2**31 - 1,
    "",
    Decimal("0.01"),
    Decimal("0.001"),
    datetime(9999, 12, 31, 23, 59, 59, 999999),
    date(2024, 2, 29),
    True,
    math.inf,
)
EMPTY = (7, *[None] * 10)


def bound(sql: str, **tables: str) -> tuple[ConjunctiveQuery, Catalog]:
    catalog = Catalog()
    for name, columns in tables.items():
        catalog.add(parse_columns(name, columns))
    return bind(sql, catalog), catalog


def chunk(rows: list[tuple[int, ...]], segments: list[tuple[int, int, int]], columns: int = 1) -> DeltaChunk:
    """A chunk of words from its rows and its segments (first row, version, sign)."""
    words = np.array(rows, np.int64).reshape(len(rows), columns).T.copy()
    starts, versions, signs = (np.array([s[i] for s in segments], np.int64) for i in range(3))
    return DeltaChunk(words, (starts, versions, signs))


def triples(table: pa.Table, *names: str) -> list[tuple[Any, ...]]:
    columns = [table[n].to_pylist() for n in (*names, "_change_type", "_commit_version")]
    return list(zip(*columns, strict=True))


ONE_COLUMN, _ = bound("SELECT a FROM T", T="a BIGINT")
ONE_RESULT = Results(ONE_COLUMN, [SqlType.integer(64)], Codec())


def test_the_schema_of_a_delta() -> None:
    query, _ = bound("SELECT text AS t, wide, 1 AS one FROM T", T=ALL_TYPES)
    schema = delta_schema(query.schema)
    assert schema.names == ["t", "wide", "one", "_change_type", "_commit_version"]
    assert schema.types == [pa.string(), pa.decimal128(38, 2), pa.int32(), pa.string(), pa.int64()]
    assert [field.nullable for field in schema] == [True, True, True, False, False]


def test_every_type_there_and_back() -> None:
    """What a delta and a result say of a row is what was put in, at the ends of every type and for NULL."""
    db = livejoin.Database()
    db.create_table("T", ALL_TYPES)
    view = db.create_view("v", "SELECT A.*, B.text AS again FROM T A JOIN T B ON A.id = B.id")
    expected = [(*row, row[4]) for row in (FULL, OTHER, EMPTY)]
    commit = db.apply("T", [FULL, OTHER, EMPTY])
    found = commit["v"].drop_columns(["_change_type", "_commit_version"])
    assert found.schema == view.schema
    assert found.schema.types == [*db.tables["T"].arrow.types, pa.string()]
    by_id = [tuple(row.values()) for row in sorted(found.to_pylist(), key=lambda row: row["id"])]
    assert by_id == sorted(expected, key=lambda row: row[0])
    assert sorted(map(repr, view.to_arrow().to_pylist())) == sorted(map(repr, found.to_pylist()))
    gone = db.apply("T", gone_rows(db))["v"]
    assert Counter(gone["_change_type"].to_pylist()) == {"delete": 3}
    assert sorted(gone["text"].to_pylist(), key=str) == sorted((r[4] for r in expected), key=str)
    assert view.count() == 0


def gone_rows(db: livejoin.Database) -> list[dict[str, Any]]:
    names = db.tables["T"].arrow.names
    return [dict(zip(names, row, strict=True)) | {"_change_type": "delete"} for row in (FULL, OTHER, EMPTY)]


def test_one_nan_and_one_zero() -> None:
    """Equal words mean equal values: the delta shows the one NaN and the one zero."""
    db = livejoin.Database()
    db.create_table("T", "a DOUBLE")
    view = db.create_view("v", "SELECT A.a, B.a AS b FROM T A JOIN T B ON A.a = B.a")
    db.apply("T", [(math.nan,), (-0.0,), (0.0,), (-math.nan,)])
    rows = view.to_arrow().to_pylist()
    assert sum(math.isnan(row["a"]) and math.isnan(row["b"]) for row in rows) == 4
    assert sum(row["a"] == row["b"] == 0.0 and math.copysign(1, row["a"]) == 1 for row in rows) == 4
    assert view.count() == len(rows) == 8


@pytest.mark.nojit
def test_constants_need_no_columns() -> None:
    """The head is empty; only the number of rows counts."""
    db = livejoin.Database()
    db.create_table("G", "src BIGINT")
    view = db.create_view("one", "SELECT 1 AS one, NULL AS nothing, 'x' AS x FROM G, G H")
    row = {"one": 1, "nothing": None, "x": "x"}
    delta = db.apply("G", [(1,), (2,), (2,)])["one"]
    assert delta.to_pylist() == [{**row, "_change_type": "insert", "_commit_version": 1}] * 9
    assert view.to_arrow().to_pylist() == [row] * 9
    delta = db.apply("G", [{"src": 2, "_change_type": "delete"}])["one"]
    assert delta.to_pylist() == [{**row, "_change_type": "delete", "_commit_version": 2}] * 5
    assert [b.num_rows for b in view.batches(max_rows=3)] == [3, 1]
    delta = db.apply("G", [{"src": 2, "_change_type": "delete"}, {"src": 5, "_change_type": "insert"}])["one"]
    assert delta.num_rows == 0, "equal rows of one version cancel"
    db._check()


@pytest.mark.nojit
def test_expressions_and_columns_in_the_order_of_the_select_list() -> None:
    db = livejoin.Database()
    db.create_table("T", "k BIGINT, s STRING, d DECIMAL(38, 2)")
    outputs = "upper(B.s) AS up, A.k, A.d * 2 AS twice, A.k AS again, A.s IS NULL AS none"
    sql = f"SELECT {outputs} FROM T A JOIN T B ON A.k = B.k"
    view = db.create_view("v", sql)
    delta = db.apply("T", [(1, "a", Decimal("10000000000000000000.25")), (2, None, None)])["v"]
    rows = [(r["up"], r["k"], r["twice"], r["again"], r["none"]) for r in delta.to_pylist()]
    assert sorted(rows, key=str) == [("A", 1, Decimal("20000000000000000000.50"), 1, False), (None, 2, None, 2, True)]
    assert delta.schema == view.delta_schema
    assert view.schema.names == ["up", "k", "twice", "again", "none"]


def test_an_output_that_fails_names_the_row() -> None:
    query, catalog = bound("SELECT CAST(s AS INT) AS n FROM T", T="s STRING")
    codec = Codec()
    words = codec.encode(pa.table({"s": ["1", "x2"]}), catalog["T"])
    results = Results(query, [SqlType.integer(32)], codec)
    with pytest.raises(ExpressionError, match="x2"):
        results.rows(words)
    assert results.rows(words[:, :1]).arrow(0).to_pylist() == [1]


def table_of(chunks: list[DeltaChunk], consolidate: bool) -> pa.Table:
    pieces: Sequence[ChunkRows] = [ChunkRows(chunk, ONE_RESULT) for chunk in chunks]
    pieces = net_pieces(ONE_RESULT, pieces) if consolidate else pieces
    return MemoryDelta(pieces, delta_schema(ONE_COLUMN.schema)).table()


@pytest.mark.nojit
def test_zero_rows() -> None:
    """No chunk, or a view that nothing reaches: an empty table of the right schema."""
    empty = table_of([], consolidate=True)
    assert empty.num_rows == 0
    assert empty.schema == delta_schema(ONE_COLUMN.schema)
    db = livejoin.Database()
    db.create_table("T", "a BIGINT, s STRING")
    view = db.create_view("v", "SELECT a + 1 AS b, s FROM T WHERE a > 5")
    for data in ([(1, "x")], [], db.tables["T"].arrow.empty_table()):
        delta = db.apply("T", data)["v"]
        assert delta.num_rows == 0
        assert delta.schema == view.delta_schema
    assert view.to_arrow().schema == view.schema
    assert list(view.batches()) == []


@pytest.mark.nojit
def test_segments_and_chunks_become_one_table() -> None:
    """Empty segments at the start, in the middle and at the end; a version that goes on in the next chunk."""
    chunks = [
        chunk([(1,), (2,), (3,)], [(0, 4, -1), (0, 4, 1), (2, 5, 1), (2, 6, -1), (3, 7, 1)]),
        chunk([(4,), (5,)], [(0, 6, -1), (1, 8, 1)]),
    ]
    table = table_of(chunks, consolidate=False)
    assert triples(table, "a") == [
        (1, "insert", 4),
        (2, "insert", 4),
        (3, "delete", 6),
        (4, "delete", 6),
        (5, "insert", 8),
    ]


@pytest.mark.nojit
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("rows", [1, 4095, 4096, 4097, 9000])
def test_the_shared_constant_has_the_right_length(rows: int, sign: int) -> None:
    table = table_of([chunk([(i,) for i in range(rows)], [(0, 3, sign)])], consolidate=True)
    assert table["_change_type"].to_pylist() == ["insert" if sign > 0 else "delete"] * rows
    assert table["_commit_version"].to_pylist() == [3] * rows
    assert table["a"].to_pylist() == list(range(rows))


def test_cancel_is_net_within_a_version_only() -> None:
    """NULL equals NULL, NaN equals NaN; versions in order, deletions first; a row as often as it is left."""
    schema = pa.schema(
        [
            ("a", pa.float64()),
            ("s", pa.string()),
            pa.field("_change_type", pa.string(), nullable=False),
            pa.field("_commit_version", pa.int64(), nullable=False),
        ]
    )
    rows = [
        (1.0, "x", "insert", 2),
        (1.0, "x", "delete", 1),
        (None, None, "insert", 1),
        (None, None, "delete", 1),
        (math.nan, "", "insert", 1),
        (math.nan, "", "delete", 1),
        (2.0, "y", "insert", 1),
        (2.0, "y", "insert", 1),
        (2.0, "y", "delete", 1),
        (2.0, "y", "insert", 1),
        (2.0, None, "delete", 1),
    ]
    delta = pa.Table.from_arrays([pa.array(column) for column in zip(*rows, strict=True)], schema=schema)
    net = cancel(delta)
    assert net.schema == schema
    found = triples(net, "a", "s")
    assert Counter(found) == {
        (1.0, "x", "delete", 1): 1,
        (2.0, None, "delete", 1): 1,
        (2.0, "y", "insert", 1): 2,
        (1.0, "x", "insert", 2): 1,
    }
    assert [(version, kind) for *_, kind, version in found] == sorted((version, kind) for *_, kind, version in found)
    assert cancel(delta.slice(2, 4)).num_rows == 0


def test_cancel_keeps_every_type() -> None:
    db = livejoin.Database()
    db.create_table("T", ALL_TYPES)
    view = db.create_view("v", "SELECT * FROM T")
    delta = db.apply("T", [FULL, OTHER, EMPTY])["v"]
    net = cancel(delta)
    assert net.schema == view.delta_schema
    assert Counter(map(repr, net.to_pylist())) == Counter(map(repr, delta.to_pylist()))


@pytest.mark.parametrize("granularity", ["commit", "change"])
def test_projections_cancel(granularity: str) -> None:
    """Two base rows have the same projection: what one takes away the other gives back, within a version."""
    db = livejoin.Database()
    db.create_table("G", "src BIGINT, dst BIGINT")
    db.create_view("v", "SELECT src FROM G")
    db.apply("G", [(1, 1), (2, 2)])
    log = pa.table({"src": [1, 1], "dst": [1, 9], "_change_type": ["delete", "insert"], "_seq": [0, 1]})
    delta = db.replay({"G": log}, granularity=granularity)["v"]
    expected = [] if granularity == "commit" else [(1, "delete", 2), (1, "insert", 3)]
    assert triples(delta, "src") == expected


def test_a_row_a_hundred_thousand_times_through_small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The copies of one result row go on from chunk to chunk."""
    monkeypatch.setattr(delta_chunk, "OUTPUT_BYTES", 1)
    db = livejoin.Database()
    db.create_table("L", "k BIGINT, x BIGINT")
    db.create_table("R", "k BIGINT")
    view = db.create_view("v", "SELECT x FROM L JOIN R USING (k)")
    many = 100_000
    db.apply("R", [(1,)])
    delta = db.apply("L", pa.table({"k": np.ones(many, np.int64), "x": np.full(many, 5)}))["v"]
    assert delta.column("x").num_chunks > 90
    assert Counter(triples(delta, "x")) == {(5, "insert", 2): many}
    assert view.count() == many
    assert [b.num_rows for b in view.batches(max_rows=30_000)] == [30_000, 30_000, 30_000, 10_000]
    less = many - 1
    most = pa.table({"k": np.ones(less, np.int64), "x": np.full(less, 5), "_change_type": ["delete"] * less})
    assert Counter(triples(db.apply("L", most)["v"], "x")) == {(5, "delete", 3): less}
    assert Counter(triples(db.apply("R", [{"k": 1, "_change_type": "delete"}])["v"], "x")) == {(5, "delete", 4): 1}
    db._check()


@pytest.mark.parametrize("capacity", [1, 2, 3, 7, 64])
def test_the_size_of_chunks_does_not_matter(monkeypatch: pytest.MonkeyPatch, capacity: int) -> None:
    """Whole deltas of many versions and both signs, whatever the size of the kernel's output buffer."""
    maintain = CrownJoin.maintain
    log = pa.table(
        {
            "src": [1, 2, 2, 1, 2, 3, 2],
            "dst": [2, 3, 3, 2, 3, 1, 3],
            "_change_type": ["insert", "insert", "insert", "insert", "delete", "insert", "delete"],
            "_seq": range(7),
        }
    )
    deltas = []
    for limit in (None, capacity):
        with monkeypatch.context() as patched:
            patched.setattr(CrownJoin, "maintain", lambda s, e, emit, n=limit: maintain(s, e, emit, n))
            db = livejoin.Database()
            db.create_table("G", "src BIGINT, dst BIGINT")
            db.create_view("v", "SELECT A.src AS a, B.dst AS b, 0 AS zero FROM G A JOIN G B ON A.dst = B.src")
            deltas.append(db.replay({"G": log}, granularity="change")["v"])
            db._check()
    assert Counter(triples(deltas[0], "a", "b")) == Counter(triples(deltas[1], "a", "b"))
    assert deltas[1]["_commit_version"].to_pylist() == sorted(deltas[1]["_commit_version"].to_pylist())
    assert deltas[0].num_rows > 8


@pytest.mark.nojit
def test_a_result_beyond_64_bits_is_not_counted_wrongly() -> None:
    """The count is exact up to nine quintillions, and refused from there on; the state goes on."""
    db = livejoin.Database()
    db.create_table("G", "a BIGINT")
    for_each = 512  # 512 ** 7 is 2 ** 63
    near = db.create_view("near", "SELECT A.a FROM G A, G B, G C, G D, G E, G F", deltas=False)
    beyond = db.create_view("beyond", "SELECT A.a FROM G A, G B, G C, G D, G E, G F, G H", deltas=False)
    wrapped = db.create_view("wrapped", "SELECT A.a FROM G A, G B, G C, G D, G E, G F, G H, G I", deltas=False)
    db.apply("G", [(i,) for i in range(for_each)])
    assert near.count() == for_each**6
    for view in (beyond, wrapped):  # modulo 2 ** 64 the second would be 0
        with pytest.raises(CapacityError, match=r"more than 64 bits"):
            view.count()
    assert next(wrapped.batches(max_rows=10)).num_rows == 10
    db.apply("G", [{"a": i, "_change_type": "delete"} for i in range(1, for_each)])
    assert beyond.count() == wrapped.count() == near.count() == 1


@pytest.mark.nojit
def test_heavy_multiplicities_multiply() -> None:
    db = livejoin.Database()
    db.create_table("G", "a BIGINT")
    view = db.create_view("v", "SELECT A.a FROM G A JOIN G B ON A.a = B.a JOIN G C ON B.a = C.a", deltas=False)
    db.apply("G", [(1,)] * 30 + [(2,)] * 7)
    assert view.count() == 30**3 + 7**3
    assert Counter(view.to_arrow()["a"].to_pylist()) == {1: 30**3, 2: 7**3}


def test_constants_are_cached_by_length() -> None:
    """Deltas of any length share a few constants, and none sees another's."""
    module._constant.cache_clear()
    short = table_of([chunk([(1,)], [(0, 1, 1)])], consolidate=False)
    long = table_of([chunk([(i,) for i in range(3000)], [(0, 1, 1)])], consolidate=False)
    assert module._constant.cache_info().currsize == 1
    assert short["_change_type"].to_pylist() == ["insert"]
    assert set(long["_change_type"].to_pylist()) == {"insert"}


VALUES = st.sampled_from([0.0, 1.0, math.nan, None])
CHANGES = st.lists(st.tuples(VALUES, st.sampled_from(["x", "y", None]), st.integers(-2, 2), st.integers(1, 2)))


@FUZZ
@given(CHANGES, st.booleans())
def test_changes_of_rows_are_net(changes: list[tuple[float | None, str | None, int, int]], as_words: bool) -> None:
    """Whether words decide or DuckDB, a version is left with the sum of each row's weights, deletions first."""
    changes = sorted(changes, key=lambda change: change[3])
    codec, types = Codec(), (SqlType("double"), SqlType("string"))
    rows = Rows(codec, types, [pa.array([c[i] for c in changes], t.arrow) for i, t in enumerate(types)], len(changes))
    if as_words:
        rows = Rows(codec, types, list(rows.matrix([0, 1])), len(changes))
    weights, versions = (np.array([change[i] for change in changes], np.int64) for i in (2, 3))
    schema = delta_schema(pa.schema([("a", pa.float64()), ("b", pa.string())]))
    delta = Delta(rows, weights, versions)
    shown = shown_rows(delta) if as_words else None
    table = cancelled(delta, schema) if shown is None else shown.table(schema)
    found = [tuple(row.values()) for row in table.to_pylist()]

    expected = Counter[tuple[str, int]]()
    for a, b, weight, version in changes:
        expected[repr((a, b)), version] += weight
    left = Counter[tuple[str, str, int]]()
    for (row, version), weight in expected.items():
        left[row, "insert" if weight > 0 else "delete", version] += abs(weight)
    assert Counter((repr((a, b)), kind, version) for a, b, kind, version in found) == +left
    assert [row[2:] for row in found] == sorted((row[2:] for row in found), key=lambda row: (row[1], row[0]))


@pytest.mark.parametrize("as_words", [True, False])
def test_groups_that_go_stand_before_groups_that_come(as_words: bool) -> None:
    """In each version: whichever groups are told first, as cells of a join bring them in an order of their own."""
    changes = [(7, 1, 1, 0), (8, -1, 1, 1), (9, 1, 1, 1), (5, -1, 1, 2), (6, 1, 2, 3), (4, -1, 2, 4)]
    values, weights, versions, pairs = (np.array(line, np.int64) for line in zip(*changes, strict=True))
    bigint = SqlType.integer(64)
    rows = Rows(Codec(), (bigint,), [pa.array(values)], len(changes))
    if as_words:
        rows = Rows(rows.codec, rows.types, list(rows.matrix([0])), len(changes))
    shown = shown_rows(Delta(rows, weights, versions, pairs))
    assert shown is not None
    found = shown.table(delta_schema(pa.schema([("a", pa.int64())]))).to_pylist()
    assert [(row["a"], row["_change_type"]) for row in found] == [
        (5, "delete"),
        (8, "update_preimage"),
        (9, "update_postimage"),
        (7, "insert"),
        (4, "delete"),
        (6, "insert"),
    ]
