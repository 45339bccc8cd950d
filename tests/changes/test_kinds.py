"""Change types in columns of Arrow, read by their bytes, against Arrow's own look-up."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from livejoin.changes.kinds import KINDS, kinds_of_texts

TYPES = (pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string()))
OTHERS = ("", "i", "Insert", "insert ", "inserts", "updatE_preimage", "update_preimagee", "upsert\0", "übsert")


def naive(values: pa.Array, known: int) -> list[int] | None:
    """By Arrow; None if one is no change type, or NULL."""
    places = pc.index_in(values.cast(pa.string()), pa.array(KINDS[:known])).to_pylist()
    return None if None in places else places


@settings(deadline=None)
@given(
    st.lists(st.sampled_from((*KINDS, *KINDS, *OTHERS, None)), max_size=6),
    st.lists(st.sampled_from(KINDS[:4]), max_size=20),
    st.sampled_from(TYPES),
    st.integers(0, 3),
    st.sampled_from((4, 5)),
    st.booleans(),
)
def test_as_arrow_finds_them(
    before: list[str | None], plain: list[str], type: pa.DataType, skipped: int, known: int, ends: bool
) -> None:
    texts = [*before, *plain] if ends else [*plain, *before]
    whole = pa.array(texts, pa.string()) if not pa.types.is_dictionary(type) else pa.array(texts).cast(pa.string())
    encoded = whole.dictionary_encode() if pa.types.is_dictionary(type) else whole.cast(type)
    for values in (encoded, encoded[skipped:], encoded[skipped : len(texts) - 1]):
        found = kinds_of_texts(values, known)
        if pa.types.is_dictionary(type):  # its dictionary may have texts that no row has
            assert found is None or found.tolist() == naive(values, known)
            continue
        expected = naive(values, known)
        assert (None if found is None else found.tolist()) == expected


@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("kind", KINDS)
def test_each_is_known(kind: str, type: pa.DataType) -> None:
    values = pa.array([kind] * 3)
    values = values.dictionary_encode() if pa.types.is_dictionary(type) else values.cast(type)
    found = kinds_of_texts(values, len(KINDS))
    assert found is not None
    assert found.tolist() == [KINDS.index(kind)] * 3
    assert found.dtype == np.int64


@pytest.mark.parametrize("values", [pa.array([], pa.string()), pa.array(["insert"])[:0]])
def test_none_at_all(values: pa.Array) -> None:
    found = kinds_of_texts(values, 4)
    assert found is not None
    assert found.tolist() == []


@pytest.mark.parametrize("values", [pa.array([""]), pa.array([1]), pa.nulls(2), pa.array(["insert", None])])
def test_others_are_left_to_the_caller(values: pa.Array) -> None:
    assert kinds_of_texts(values, 4) is None


@pytest.mark.parametrize("last", ["insert", "delete", "upsert", "update_postimage", "inserT", "delet", "", None])
@pytest.mark.parametrize("type", TYPES[:3])
def test_many_rows_whatever_the_last_one_is(type: pa.DataType, last: str | None) -> None:
    values = pa.array(["insert", "delete", "update_preimage"] * 3_000 + [last], pa.string()).cast(type)
    found = kinds_of_texts(values, 4)
    assert (None if found is None else found.tolist()) == naive(values, 4)
