"""The lines that groups read, against plain Python."""

from __future__ import annotations

import numpy as np
import pytest

from livejoin.kernels.groups.lines import arrange
from livejoin.kernels.values.chosen import count_positive, places_of_true
from livejoin.words import NULL_CODE, WIDE_BASE

WORDS = np.array([[1, -5, NULL_CODE, 0], [7, NULL_CODE, -1, 2]], np.int64)


@pytest.mark.nojit
def test_a_column_is_copied_and_the_upper_word_is_that_of_the_sign() -> None:
    lines = np.empty((4, 4), np.int64)
    assert arrange(WORDS, np.array([1, 0, ~0, ~1]), lines)
    assert lines.tolist() == [
        WORDS[1].tolist(),
        WORDS[0].tolist(),
        [0, -1, NULL_CODE, 0],
        [0, NULL_CODE, -1, 0],
    ]


@pytest.mark.nojit
def test_a_decimal_of_the_dictionary_is_seen_where_its_upper_word_is_asked_for() -> None:
    words = np.array([[3, WIDE_BASE + 1]], np.int64)
    assert not arrange(words, np.array([0, ~0]), np.empty((2, 2), np.int64))
    assert arrange(words, np.array([0]), np.empty((1, 2), np.int64))


@pytest.mark.nojit
def test_positive_numbers_are_counted_and_true_words_found() -> None:
    assert count_positive(np.array([1, 0, -1, 5])) == 2
    assert count_positive(np.empty(0, np.int64)) == 0
    places = np.empty(4, np.int64)
    assert places_of_true(np.array([1, 0, NULL_CODE, 1]), places) == 2
    assert places[:2].tolist() == [0, 3]
