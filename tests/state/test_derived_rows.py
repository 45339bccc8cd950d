"""The rows of a bag against a dictionary: multiplicities, and the net events of each version."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from livejoin.errors import CapacityError
from livejoin.state.derived_rows import DerivedRows
from strategies import FUZZ

Row = tuple[int, int]


def apply(table: DerivedRows, changes: list[tuple[Row, int, int]]) -> list[tuple[Row, int, int]]:
    """Apply (row, weight, version); the events."""
    values = np.array([row for row, _, _ in changes], np.int64).reshape(-1, 2).T.copy()
    weights, versions = (np.array([change[i] for change in changes], np.int64) for i in (1, 2))
    events = table.apply(values, weights, versions)
    rows = [(int(a), int(b)) for a, b in table.values_of(events.rows).T]
    assert len({(row, version) for row, version in zip(rows, events.versions.tolist(), strict=True)}) == len(rows)
    return list(zip(rows, events.weights.tolist(), events.versions.tolist(), strict=True))


@FUZZ
@given(st.data())
def test_batches(data: st.DataObject) -> None:
    table = DerivedRows(2, "the bag")
    content: Counter[Row] = Counter()
    version = 0
    for _ in range(data.draw(st.integers(1, 6))):
        changes = []
        expected: dict[int, Counter[Row]] = {}
        for _ in range(data.draw(st.integers(0, 12))):
            row = (data.draw(st.integers(0, 1)), data.draw(st.integers(-1, 1)))
            weight = data.draw(st.sampled_from([1, 3, -1, -content[row]]))
            if weight and content[row] + weight >= 0:
                version += data.draw(st.integers(0, 1))
                content[row] += weight
                changes.append((row, weight, version))
                expected.setdefault(version, Counter())[row] += weight
        found = apply(table, changes)
        assert {v: {r: w for r, w, at in found if at == v} for v in expected} == {
            v: {r: n for r, n in net.items() if n} for v, net in expected.items()
        }
        assert [at for _, _, at in found] == sorted(at for _, _, at in found)
        for v in expected:
            signs = [w > 0 for _, w, at in found if at == v]
            assert signs == sorted(signs), "deletions come first"
        table.finish()
        table._check()
        assert table.rows == len(+content)
        version += 1


def test_an_id_is_used_again_only_by_the_next_batch() -> None:
    table = DerivedRows(2, "the bag")
    apply(table, [((1, 1), 1, 0)])
    table.finish()
    apply(table, [((1, 1), -1, 1), ((2, 2), 1, 2)])
    assert table.words.reshape(-1, 3)[:2, 1:].tolist() == [[1, 1], [2, 2]]
    table.finish()
    apply(table, [((3, 3), 1, 3)])
    assert table.words.reshape(-1, 3)[:2, 1:].tolist() == [[3, 3], [2, 2]]
    table.finish()
    table._check()


def test_the_state_is_taken_over() -> None:
    table, other = DerivedRows(2, "the bag"), DerivedRows(2, "the bag")
    apply(table, [((i, i), 2, 0) for i in range(100)])
    table.finish()
    other.restore({name: words.copy() for name, words in table.arrays().items()})
    assert apply(other, [((7, 7), -2, 1), ((100, 0), 1, 1)]) == [((7, 7), -2, 1), ((100, 0), 1, 1)]
    other.finish()
    other._check()


@pytest.mark.parametrize("weights", [[1 << 46, 1], [(1 << 46) + 1], [1, 1 << 62], [1 << 62, 1 << 62], [1, -(1 << 63)]])
def test_a_multiplicity_that_does_not_fit(weights: list[int]) -> None:
    """Also where twice the change, as it is kept, is 0 modulo 2**64."""
    with pytest.raises(CapacityError, match="a row of the bag has a multiplicity of more than"):
        apply(DerivedRows(2, "the bag"), [((1, 1), weight, 0) for weight in weights])


def test_room_for_what_a_call_might_need_is_not_sparse() -> None:
    table = DerivedRows(2, "the bag")
    apply(table, [((0, 0), 1, 0)] * 3_000)
    table.finish()
    assert table.words.shape[0] >= 3 * 3_000, "a place for each change, were they different rows"
    assert table.rows == 1 and not table.is_sparse
    apply(table, [((row, 0), 1, 1) for row in range(3_000)])
    table.finish()
    assert not table.is_sparse
    apply(table, [((row, 0), -1, 2) for row in range(100, 3_000)])
    table.finish()
    assert table.is_sparse
