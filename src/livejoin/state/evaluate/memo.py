"""Functions of the host, remembered: the memos of a program (`livejoin.kernels.evaluate.memo`) and what fills them.

The law: a line that is known holds the result of its keys as of the codes that the dictionaries give now. Codes mean
the same for as long as a dictionary is in one *age*; when that changes all lines are forgotten, because a key, and a
result that is a string, may stand for another one.

A memo has at most `MOST_LINES` lines and forgets all when half of them are in use, so that strings that are nearly
unique cost a computation each and no more memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from livejoin.kernels.evaluate import layout as k
from livejoin.kernels.evaluate.memo import move_lines
from livejoin.schema import SqlType
from livejoin.state.codec import Codec
from livejoin.state.evaluate.bulk import Tests
from livejoin.state.evaluate.constants import double_word
from livejoin.words import Words

MOST_LINES = 1 << 20
"""Lines of a memo at most, a power of two."""

FIRST_LINES = 64
MOST_ASKED = 4096
"""Combinations that are computed at a time."""

_LARGEST = (1 << 63) - 1


@dataclass(frozen=True)
class Key:
    """A value that a function is computed from.

    Args:
        place: The position among the words of the keys.
        type: The type of the value.
        wide: Whether it has two words.
    """

    place: int
    type: SqlType
    wide: bool


@dataclass(frozen=True, eq=False)
class Remembered:
    """A function of the host.

    Args:
        keys: The values that the function is computed from.
        words: Words of the keys.
        type: The type of its results.
        compute: From the values of the keys to the value and its status.
        tests: Tests many values of the only key, a string, at once; None where nothing does.
    """

    keys: tuple[Key, ...]
    words: int
    type: SqlType
    compute: Any
    tests: Tests | None = None


class Memos:
    """The memos of a program; mutable.

    Args:
        functions: The functions of the memos.
        codec: The database's codec.

    Attributes:
        words: The words that the machine reads.
        counters: The machine's counters and requests.
    """

    def __init__(self, functions: Sequence[Remembered], codec: Codec) -> None:
        self._functions = functions
        self._codec = codec
        self.counters = np.zeros(k.COUNTERS + 2 * MOST_ASKED, np.int64)
        self.words = np.empty(0, np.int64)
        self.forget()

    @property
    def nbytes(self) -> int:
        """Bytes allocated."""
        return self.words.nbytes + self.counters.nbytes

    def forget(self) -> None:
        """Forget all results."""
        self.words = self._space([FIRST_LINES] * len(self._functions))

    def _space(self, lines: Sequence[int]) -> Words:
        """Empty memos of so many lines."""
        at = k.MEMO_HEADER * len(lines)
        header: list[int] = []
        for function, count in zip(self._functions, lines, strict=True):
            header += [at, count - 1, 0, function.words]
            at += count * (function.words + k.LINE_EXTRA)
        self._codec.budget.take(8 * at, "results of functions")
        words = np.zeros(at, np.int64)
        words[: len(header)] = header
        return words

    def answer(self) -> None:
        """Compute what the machine asked for, or make space where it asked for none because a memo is full."""
        asked, full = int(self.counters[k.ASKED_LINES]), bool(self.counters[k.FULL])
        self.counters[: k.COUNTERS] = 0
        try:
            if asked:
                lines = self.counters[k.COUNTERS : k.COUNTERS + 2 * asked].reshape(-1, 2)
                for memo in np.unique(lines[:, 0]).tolist():
                    self._fill(self._functions[memo], lines[lines[:, 0] == memo, 1])
            if full:
                self._make_space(forgets=not asked)
        except BaseException:
            self.forget()  # or lines would stay asked for that nobody answers
            raise

    def _make_space(self, forgets: bool) -> None:
        """Give each memo that is half full more lines, or none of its results where it has the most."""
        old = [int(self.words[m * k.MEMO_HEADER + k.MEMO_MASK]) + 1 for m in range(len(self._functions))]
        used = [int(self.words[m * k.MEMO_HEADER + k.MEMO_USED]) for m in range(len(self._functions))]
        new = [min(4 * n, MOST_LINES) if 2 * (u + 1) > n else n for n, u in zip(old, used, strict=True)]
        dropped = [forgets and 2 * (u + 1) > n == m for n, u, m in zip(old, used, new, strict=True)]
        if new == old and not any(dropped):
            return
        words = self._space(new)
        for memo, lines in enumerate(new):
            if not dropped[memo]:
                header = memo * k.MEMO_HEADER
                words[header + k.MEMO_USED] = used[memo]
                move_lines(self.words, memo, words, int(words[header + k.MEMO_AT]), lines)
        self.words = words

    def _fill(self, function: Remembered, lines: Words) -> None:
        """Compute the results of lines."""
        at = lines + 1 + function.words
        if function.tests is not None:
            texts = self._codec.arrow_texts(self.words[lines + 1 + function.keys[0].place])
            self.words[at] = np.asarray(function.tests(texts))
            self.words[at + 1] = 0
            self.words[at + 2] = k.VALUE
            self.words[lines] = k.KNOWN
            return
        columns = [self._values(key, self.words[lines + 1 + key.place], lines) for key in function.keys]
        rows = zip(*columns, strict=True) if columns else [()] * lines.shape[0]
        computed = [function.compute(row) for row in rows]
        statuses = [status for _, status in computed]
        low, high = self._words_of([value for value, _ in computed], function.type)
        self.words[at] = low
        self.words[at + 1] = high
        self.words[at + 2] = statuses
        self.words[lines] = k.KNOWN

    def _values(self, key: Key, low: Words, lines: Words) -> list[Any]:
        """The values of words, as Python has them."""
        values: list[Any]
        match key.type.kind:
            case "string":
                values = self._codec.texts_of(low)
            case "binary":
                values = self._codec.bytes_of(low)
            case "double":
                values = low.view(np.float64).tolist()
            case "boolean":
                values = (low != 0).tolist()
            case "decimal" if key.wide:
                high = self.words[lines + 2 + key.place]
                values = [(h << 64) + (w % (1 << 64)) for w, h in zip(low.tolist(), high.tolist(), strict=True)]
            case _:
                values = low.tolist()
        return values

    def _words_of(self, values: list[Any], type: SqlType) -> tuple[Words, Words]:
        """The words of values of a type; None has any."""
        high = np.zeros(len(values), np.int64)
        match type.kind:
            case "string" | "binary":
                return self._codec.codes_of([value or b"" for value in values]), high
            case "double":
                return np.array([double_word(value or 0.0) for value in values], np.int64), high
            case "decimal":
                numbers = [int(value or 0) for value in values]
                high[:] = [number >> 64 for number in numbers]
                low = np.array([number % (1 << 64) for number in numbers], np.uint64).view(np.int64)
                return low, high
            case _:
                return np.array([int(value or 0) for value in values], np.int64), high
