"""DISTINCT and the set operations: the change of every version, against the algebra of multisets and DuckDB."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collisions import words_with_hash
from livejoin.dataflow.batches import Delta, Rows
from livejoin.dataflow.stores.set_operation import SetOperationStore
from livejoin.errors import ChangeValueError, UnsupportedQueryError
from livejoin.families.arena.checks import block_span
from livejoin.kernels.memory.layout import D_LOG
from livejoin.kernels.relation.multiset import H_DIRECTORY, H_LIST
from livejoin.schema import SqlType
from livejoin.state.codec import Codec
from livejoin.words import NULL_CODE
from oracle import connect, difference, multiset
from scenario import Row, canonical_row
from strategies import FUZZ, type_named
from weighted_rows import History, Weighted, by_version, content, delta_of, histories

BIGINT = SqlType.integer(64)
Rowset = Counter[Row]
OPERATIONS: dict[tuple[str, bool], Callable[[int, int], int]] = {
    ("distinct", False): lambda left, right: int(left > 0),
    ("union", False): lambda left, right: int(left + right > 0),
    ("except", False): lambda left, right: int(left > 0 and right == 0),
    ("except", True): lambda left, right: max(left - right, 0),
    ("intersect", False): lambda left, right: int(left > 0 and right > 0),
    ("intersect", True): min,
}


def make(kind: str, all: bool, types: tuple[SqlType, ...], codec: Codec | None = None) -> SetOperationStore:
    return SetOperationStore(kind, all, codec or Codec(), types)  # type: ignore[arg-type]


def sides_of(kind: str) -> int:
    return 1 if kind == "distinct" else 2


def apply_to(operator: SetOperationStore, kind: str, changes: list[Weighted], coded: bool = False) -> Delta:
    parts = [[c for c in changes if c.side == side] for side in range(sides_of(kind))]
    return operator.maintain([delta_of(operator.codec, operator.types, part, coded) for part in parts])


def combined(kind: str, all: bool, counts: list[Rowset]) -> Rowset:
    law = OPERATIONS[kind, all]
    right = counts[1] if len(counts) > 1 else Counter()
    return Counter({row: n for row in {*counts[0], *right} if (n := law(counts[0][row], right[row]))})


def run(history: History, kind: str, all: bool, coded: bool) -> None:
    operator = make(kind, all, history.types)
    counts: list[Rowset] = [Counter() for _ in range(sides_of(kind))]
    for batch in history.batches:
        found = by_version(apply_to(operator, kind, list(batch), coded))
        for version in sorted({change.version for change in batch}):
            before = combined(kind, all, counts)
            for change in batch:
                if change.version == version:
                    counts[change.side][canonical_row(change.row)] += change.weight
            assert found.pop(version, Counter()) == difference(combined(kind, all, counts), before)
        assert not found
        assert dict(content(operator.scan(3))) == combined(kind, all, counts)
        assert operator.count() == combined(kind, all, counts).total()
        operator._check()
        restored = make(kind, all, history.types, operator.codec)
        restored.restore({name: array.copy() for name, array in operator.arrays().items()})
        operator = restored


@pytest.mark.parametrize(("kind", "all"), OPERATIONS)
@FUZZ
@given(st.data())
def test_every_version(kind: str, all: bool, data: st.DataObject) -> None:
    run(data.draw(histories(sides_of(kind))), kind, all, data.draw(st.booleans()))


@pytest.mark.nojit
@pytest.mark.parametrize(("kind", "all"), OPERATIONS)
def test_counts_up_and_down(kind: str, all: bool) -> None:
    """Every pair of counts up to 2, reached from every other one, each in a version."""
    pairs = [(i, j) for i in range(3) for j in range(3)] if sides_of(kind) == 2 else [(i, 0) for i in range(3)]
    steps = []
    now = (0, 0)
    for version, target in enumerate(p for one in pairs for other in pairs for p in (one, other)):
        steps += [Weighted(version, s, (5,), target[s] - now[s]) for s in range(2) if target[s] != now[s]]
        now = target
    run(History((type_named("BIGINT"),), (tuple(steps),)), kind, all, True)


@pytest.mark.parametrize(("kind", "all"), [o for o in OPERATIONS if o[0] != "distinct"])
def test_duckdb_agrees(kind: str, all: bool) -> None:
    """NULL, NaN, both zeros and strings beyond ASCII, on both sides."""
    values = [None, float("nan"), 0.0, -0.0, float("inf"), 1.5]
    texts = [None, "", "ä", "a", "a"]
    generator = np.random.default_rng(5)
    tables = []
    for _ in range(2):
        doubles = pa.array([values[i] for i in generator.integers(0, 6, 30)], pa.float64())
        tables.append(pa.table({"a": doubles, "b": [texts[i] for i in generator.integers(0, 5, 30)]}))
    types = (SqlType("double"), SqlType("string"))
    operator = make(kind, all, types)
    ones = np.ones(30, np.int64)
    operator.maintain([Delta(Rows(operator.codec, types, t.columns, 30), ones, ones) for t in tables])
    connection = connect()
    connection.register("l", tables[0])
    connection.register("r", tables[1])
    word = kind + (" all" if all else "")
    expected = connection.sql(f"SELECT * FROM l {word} SELECT * FROM r").to_arrow_table()
    assert dict(content(operator.scan(100))) == multiset(expected)


def test_growth_and_equal_hashes() -> None:
    """The arena is doubled many times inside of one version, and hashes collide; then all rows leave."""
    words = np.unique(np.concatenate([np.arange(4000), words_with_hash(0xFFFFFFFF, 60)]))
    operator = make("except", True, (BIGINT,))
    ones = np.ones(words.shape[0], np.int64)
    begin = operator.arena.nbytes
    rows = Rows(operator.codec, (BIGINT,), [words], words.shape[0])
    nothing = delta_of(operator.codec, (BIGINT,), [])
    added = operator.maintain([Delta(rows, 3 * ones, ones), Delta(rows, ones, ones)])
    assert sorted(added.rows.codes(0).tolist()) == words.tolist() and set(added.weights.tolist()) == {2}
    assert operator.arena.nbytes >= 16 * begin
    operator._check()
    left = operator.maintain([Delta(rows, -3 * ones, ones), nothing])
    assert sorted(left.rows.codes(0).tolist()) == words.tolist() and set(left.weights.tolist()) == {-2}
    operator._check()
    assert operator.maintain([nothing, Delta(rows, -ones, ones)]).weights.size == 0
    assert operator.count() == 0 and not list(operator.scan(10))
    operator._check()


@pytest.mark.parametrize(("kind", "all"), OPERATIONS)
def test_rows_that_left_cost_nothing(kind: str, all: bool) -> None:
    """100,000 rows come and all but ten leave: reading looks at ten entries, and the memory is that of ten rows."""
    operator = make(kind, all, (BIGINT,))
    words = np.arange(100_000)

    def change(side: int, values: np.ndarray, weight: int) -> None:
        counts = np.full(values.shape[0], weight)
        rows = Rows(operator.codec, (BIGINT,), [values], values.shape[0])
        operator.load(side, Delta(rows, counts, np.zeros_like(counts)))

    for side in range(sides_of(kind)):
        change(side, words, 1 + (side == 0))
    grown = operator.arena.nbytes
    for begin in range(10, 100_000, 9_999):
        for side in range(sides_of(kind)):
            change(side, words[begin : begin + 9_999], -1 - (side == 0))
    assert visited(operator) < 200
    operator._check()
    change(0, words[:1], 1)
    operator._check()
    assert visited(operator) < 200 and operator.arena.nbytes <= 1 << 15 < grown >> 6
    ten = Counter([(i,) for i in range(10)])
    assert dict(content(operator.scan(4))) == combined(kind, all, [ten + ten + Counter([(0,)]), ten])


def visited(operator: SetOperationStore) -> int:
    """Slots that a walk over all entries looks at, and entries that a scan does."""
    return (1 << int(operator.arena.words[H_DIRECTORY + D_LOG])) + operator.listed().shape[0]


def test_rows_outside_of_the_result_cost_nothing() -> None:
    """One row of 10,001 stands in the result: a scan looks at it alone."""
    operator = make("except", False, (BIGINT,))
    for side, begin in ((0, 0), (1, 1)):
        words = np.arange(begin, 5001)
        rows = Rows(operator.codec, (BIGINT,), [words], words.shape[0])
        operator.load(side, Delta(rows, np.ones_like(words), np.zeros_like(words)))
    assert operator.listed().shape[0] == 1 and dict(content(operator.scan(10))) == {(0,): 1}
    operator._check()


@pytest.mark.nojit
@pytest.mark.parametrize("kind", ["except", "intersect"])
def test_entries_of_two_sides_go_with_their_last_row(kind: str) -> None:
    """A row leaves each side in either order; as long as it stands on one there is an entry, and then none."""
    for order in ((0, 1), (1, 0)):
        operator = make(kind, False, (BIGINT,))
        apply_to(operator, kind, [Weighted(0, side, (7,), 1) for side in (0, 1)])
        apply_to(operator, kind, [Weighted(1, order[0], (7,), -1)])
        assert operator.column_words(0).tolist() == [7]
        apply_to(operator, kind, [Weighted(2, order[1], (7,), -1)])
        assert operator.column_words(0).tolist() == []
        operator._check()


@pytest.mark.nojit
def test_words_are_used_again() -> None:
    operator = make("distinct", False, (BIGINT, BIGINT))
    used = 0
    for i in range(40):
        changes = [Weighted(i, 0, (i, 1), 1)] + ([Weighted(i, 0, (i - 4, 1), -1)] if i >= 4 else [])
        apply_to(operator, "distinct", changes)
        used = used or operator.arena.used_bytes * (i == 5)
    assert used and operator.arena.used_bytes == used


@pytest.mark.nojit
def test_versions_of_both_sides_are_merged() -> None:
    operator = make("intersect", False, (BIGINT,))
    changes = [Weighted(1, 0, (7,), 1), Weighted(3, 0, (7,), -1), Weighted(2, 1, (7,), 1), Weighted(3, 1, (8,), 1)]
    found = by_version(apply_to(operator, "intersect", changes))
    assert found == {2: Counter({(7,): 1}), 3: Counter({(7,): -1})}


@pytest.mark.nojit
def test_the_list_of_the_result_shrinks() -> None:
    """Five of 300 rows stay: the block of the result's entries is theirs, before the arena is filled anew."""
    operator = make("distinct", False, (BIGINT,))
    apply_to(operator, "distinct", [Weighted(0, 0, (i,), 1) for i in range(300)])
    apply_to(operator, "distinct", [Weighted(1, 0, (i,), -1) for i in range(5, 300)])
    assert block_span(int(operator.arena.words[H_LIST]))[1] <= 4 * operator.listed().shape[0] == 20
    operator._check()


@pytest.mark.nojit
def test_rows_without_columns() -> None:
    operator = make("distinct", False, ())
    assert by_version(apply_to(operator, "distinct", [Weighted(1, 0, (), 5), Weighted(2, 0, (), -5)])) == {
        1: Counter({(): 1}),
        2: Counter({(): -1}),
    }


@pytest.mark.nojit
def test_loaded_rows_count() -> None:
    operator = make("except", False, (BIGINT,))
    for side, rows in enumerate(([1, 2, 2, 3], [2])):
        operator.load(side, delta_of(operator.codec, (BIGINT,), [Weighted(0, side, (r,), 1) for r in rows]))
    assert dict(content(operator.scan(10))) == {(1,): 1, (3,): 1}
    assert operator.count() == 2
    assert sorted(operator.column_words(0).tolist()) == [1, 2, 3]


def test_lists_are_refused() -> None:
    operator = make("distinct", False, (BIGINT,))
    lists = Rows(operator.codec, (BIGINT,), [pa.array([[1, 2]])], 1)
    with pytest.raises(UnsupportedQueryError, match=r"SELECT DISTINCT over lists.*column 1") as caught:
        operator.maintain([Delta(lists, np.ones(1, np.int64), np.ones(1, np.int64))])
    assert caught.value.clause == "SELECT DISTINCT"
    operator._check()


def test_a_reserved_value_changes_nothing() -> None:
    operator = make("distinct", False, (BIGINT,))
    with pytest.raises(ChangeValueError):
        apply_to(operator, "distinct", [Weighted(1, 0, (1,), 1), Weighted(1, 0, (NULL_CODE,), 1)])
    assert operator.count() == 0
    operator._check()
