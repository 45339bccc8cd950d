"""Small deltas written as messages are the tables that Arrow makes of their columns, of every type of words."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

import livejoin
from livejoin.dataflow.batches import Rows
from livejoin.dataflow.deltas.arrow_delta import delta_schema, kind_names
from livejoin.dataflow.deltas.message import KIND_NAMES, SMALL, layout_of, message_table, messages_table
from livejoin.dataflow.deltas.view_delta import tables_of
from livejoin.schema import SqlType
from livejoin.state.codec import Codec
from livejoin.words import NULL_CODE, Words

INTEGERS = tuple(SqlType.integer(bits) for bits in (8, 16, 32, 64))
TYPES = (
    SqlType("boolean"),
    *INTEGERS,
    SqlType("double"),
    SqlType("double", bits=32),
    SqlType("date"),
    SqlType("timestamp"),
    SqlType.decimal(18, 2),
)


def random_words(rng: np.random.Generator, rows: int, nulls: float) -> Words:
    lines = [rng.integers(0, 2, rows)]
    lines += [rng.integers(-(1 << (type.bits - 1)), 1 << (type.bits - 2), rows) for type in INTEGERS]
    lines += [rng.normal(size=rows).view(np.int64)]
    lines += [rng.normal(size=rows).astype(np.float32).astype(np.float64).view(np.int64)]
    lines += [rng.integers(-most, most, rows) for most in (20_000, 1 << 50, 10**18)]
    words = np.array(lines, np.int64).reshape(len(TYPES), rows)
    words[rng.random(words.shape) < nulls] = NULL_CODE
    return words


def as_arrow(words: Words, kinds: npt.NDArray[np.int8], versions: Words) -> pa.Table:
    rows = Rows(Codec(), TYPES, list(words), words.shape[1])
    columns = [rows.arrow(i) for i in range(len(TYPES))]
    schema = delta_schema(pa.schema([(f"c{i}", type.arrow) for i, type in enumerate(TYPES)]))
    return pa.table([*columns, kind_names(kinds), pa.array(versions)], schema=schema)


@pytest.mark.nojit
@pytest.mark.parametrize("rows", [0, 1, 3, 63, 64, 65, 130])
@pytest.mark.parametrize("nulls", [0, 0.3, 1])
def test_a_message_is_the_table(rows: int, nulls: float) -> None:
    rng = np.random.default_rng(rows)
    words = random_words(rng, rows, nulls)
    kinds, versions = rng.integers(0, len(KIND_NAMES), rows), rng.integers(0, 1 << 40, rows)
    expected = as_arrow(words, kinds.astype(np.int8), versions)
    layout = layout_of(TYPES, tuple(range(len(TYPES))))
    assert layout is not None
    found = message_table(layout.message(words, np.arange(rows), versions, kinds), expected.schema)
    found.validate(full=True)
    assert found.equals(expected)
    assert found.schema.equals(expected.schema)


@pytest.mark.nojit
def test_segments_and_lines() -> None:
    """Segments have a sign and a version for all of their rows; columns stand where they are said to."""
    rng = np.random.default_rng(1)
    words = random_words(rng, 9, 0.2)
    expected = as_arrow(words, np.array([0] * 4 + [1] * 5, np.int8), np.array([7] * 4 + [8] * 5))
    order = rng.permutation(len(TYPES))
    layout = layout_of(TYPES, tuple(order.tolist()))
    assert layout is not None
    lines = np.empty((len(TYPES) + 1, 9), np.int64)
    lines[order] = words
    message = layout.message(lines, np.array([0, 4]), np.array([7, 8]), np.array([-1, 1]))
    found = message_table(message, expected.schema)
    assert found.equals(expected)


@pytest.mark.nojit
@pytest.mark.parametrize("rows", [0, 1, 65])
def test_strings(rows: int) -> None:
    """Columns of strings and of bytes between others, with NULLs, empty strings, and more than a word's bytes."""
    rng, codec = np.random.default_rng(rows), Codec()
    types = (SqlType("string"), SqlType("boolean"), SqlType("binary"), SqlType("string"))
    texts = [None if i % 5 == 3 else "\u00e9" * int(n) for i, n in enumerate(rng.integers(0, 30, rows))]
    values = [pa.array(texts, pa.string()), pa.array(texts[::-1], pa.string()).cast(pa.binary())]
    columns = [values[0], rng.integers(0, 2, rows), values[1], pa.array(["same"] * rows, pa.string())]
    given = Rows(codec, types, columns, rows)
    words = given.matrix(range(len(types)))
    schema = delta_schema(pa.schema([(f"c{i}", type.arrow) for i, type in enumerate(types)]))
    ones, versions = np.ones(rows, np.int64), np.arange(rows)
    arrays = [given.arrow(i) for i in range(len(types))]
    expected = pa.table([*arrays, kind_names(ones.astype(np.int8)), pa.array(versions)], schema=schema)
    layout = layout_of(types, tuple(range(len(types))))
    assert layout is not None
    strings = codec.strings_of(words[layout.texts].reshape(-1))
    assert strings is not None
    message = layout.message(words, np.arange(rows), versions, ones, strings)
    found = messages_table([message, message], schema)
    assert found.slice(rows).equals(expected)
    found = message_table(message, schema)
    found.validate(full=True)
    assert found.equals(expected)


def test_what_words_do_not_say_is_no_message() -> None:
    for type in (SqlType.decimal(19, 0), SqlType.array(SqlType.integer(64)), SqlType("months")):
        assert layout_of((SqlType.integer(64), type), (0, 1)) is None


@pytest.mark.parametrize(
    ("query", "most"),
    [
        ("SELECT t.n, t.s, u.n AS w FROM t JOIN u ON t.n = u.n", 10),
        ("SELECT n, s FROM t", 1000),
        ("SELECT n % 7 AS m, COUNT(*) AS c FROM t GROUP BY n % 7", 1000),
    ],
)
def test_many_deltas_become_arrow_together(query: str, most: int) -> None:
    """Small ones, one that has been read, one that is large, empty ones: in order, whatever they are next to."""
    db = livejoin.Database()
    db.create_table("t", "n BIGINT, s STRING")
    db.create_table("u", "n BIGINT")
    db.apply("u", [(n,) for n in range(SMALL + 5)])
    db.create_view("v", query)
    sizes = [1, 2, *[1] * 70, SMALL + 5, 0, 3, 1]
    commits = [db.apply("t", [(n, None if n % 3 else "b" * n) for n in range(size)]) for size in sizes]
    deltas = [commit._deltas["v"] for commit in commits if "v" in commit._deltas]
    deltas[3].table()
    found = tables_of(deltas, db.views["v"].delta_schema)
    assert len(found) < most
    expected = pa.concat_tables([commit["v"] for commit in commits])
    assert pa.concat_tables(found).equals(expected)


@pytest.mark.parametrize("rows", [1, SMALL, SMALL + 1])
def test_a_view_shows_the_same_on_both_sides_of_the_border(rows: int) -> None:
    db = livejoin.Database()
    db.execute("CREATE TABLE R (a BIGINT, b DOUBLE)")
    db.execute("CREATE TABLE S (a BIGINT, c INT)")
    db.create_view("joined", "SELECT c, b, R.a AS a FROM R JOIN S ON R.a = S.a")
    db.apply({"R": [(1, 0.5), (2, None)], "S": [(1, None)]})
    commit = db.apply({"R": [(1, 0.5)], "S": [(2, i) for i in range(rows - 1)]})
    delta = commit["joined"]
    expected = [(None, 0.5, 1), *((i, None, 2) for i in range(rows - 1))]
    assert sorted(map(repr, zip(*(column.to_pylist() for column in delta.columns[:3]), strict=True))) == sorted(
        map(repr, expected)
    )
    assert delta["_change_type"].unique().to_pylist() == ["insert"]
    assert delta["_commit_version"].unique().to_pylist() == [2]
    assert delta.schema == db.views["joined"].delta_schema
    delta.validate(full=True)
