"""Programs: scalar expressions that are compiled once and run for many rows.

The law: the word of expression e for a row is that of its value, or `NULL_CODE` with a status that says whether it is
NULL or an error; each depends on that row alone. Codes of strings are those of the codec's dictionaries as they are
now: constants are encoded anew, and results forgotten, when the dictionaries have entered another age.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from decimal import Decimal
from typing import NamedTuple

import numpy as np

from livejoin.errors import ExpressionError
from livejoin.kernels.evaluate import layout as k
from livejoin.kernels.evaluate.decimals import WORK_WORDS
from livejoin.kernels.evaluate.machine import run
from livejoin.query.scalar import Call, Constant, Field, Scalar, Value
from livejoin.schema import SqlType
from livejoin.shown import shown_scalar
from livejoin.state.codec import Codec
from livejoin.state.evaluate.compile import compiled
from livejoin.state.evaluate.failures import reason
from livejoin.state.evaluate.fold import failing, folded
from livejoin.state.evaluate.memo import Memos
from livejoin.words import NULL_CODE, Words

_NO_WORDS = np.empty(0, np.int64)
_NO_TEXTS = (np.empty(0, np.uint8), _NO_WORDS, np.empty(0, np.int32), np.empty(0, np.uint8), _NO_WORDS)
SHOWN_FIELDS = 8
_AT_ONCE = 1 << 16  # rows of one call, some milliseconds, after which Python looks for signals


class Values(NamedTuple):
    """What a program gave for some rows.

    Args:
        program: The program.
        rows: The rows it ran for.
        words: int64 of shape (expressions, rows); `NULL_CODE` where there is no value.
        statuses: Of the same shape: 0 for a value, 1 for NULL, anything else for an error.
        failures: How many statuses are errors.
    """

    program: Program
    rows: Words
    words: Words
    statuses: Words
    failures: int

    def failure(self) -> tuple[int, int]:
        """The positions of the first row that has an error, and of the expression, where there are failures."""
        row = int(np.argmax((self.statuses > k.NULL).any(axis=0)))
        return row, int(np.argmax(self.statuses[:, row] > k.NULL))

    def raise_if_failed(self, names: Sequence[str] = ()) -> None:
        """Raise the error of the first row that has one.

        Args:
            names: The names of the columns, for the message; empty where they have none.

        Raises:
            ExpressionError: A value is an error; the message names the part that fails, the row and the reason.
        """
        if self.failures:
            row, line = self.failure()
            values = self.program.shown(self.rows[:, row], names)
            raise self.program.error(int(self.statuses[line, row]), values)


class Program:
    """Scalar expressions over the words of rows.

    Args:
        scalars: The expressions, at least one.
        codec: The codec of the words.
        folds: Whether what depends on no row is computed now.

    Raises:
        ExpressionError: A function that is not evaluated.

    Cost: of making it, O(nodes); of a run some microseconds and then some nanoseconds for each row and node. What is
    computed by the host, as of strings, costs about a microsecond for each combination of arguments that was not met
    before. May be run by several threads, one at a time where it has functions of strings.
    """

    def __init__(self, scalars: Sequence[Scalar], codec: Codec, folds: bool = True) -> None:
        self._codec = codec
        failures: dict[int, Exception] = {}
        scalars = folded(scalars, lambda calls: _constants(calls, codec, failures)) if folds else scalars
        self._failing = next((error for scalar in scalars if (error := failing(scalar, failures))), None)
        self._compiled = compiled(scalars)
        self._count = len(scalars)
        self._types = [scalar.type for scalar in scalars]
        code = self._compiled.code
        self._code = code.words
        self._registers = code.registers
        self._has_texts = bool(code.texts or code.text_sets)
        memos = self._compiled.memos
        self._memos = Memos(memos, codec) if memos else None
        fields = self._compiled.fields
        reads_texts = any(field.type.word_kind == "string" or field.type.precision for field in fields)
        self._reads_texts = reads_texts or self._has_texts or bool(memos)
        self._ages: tuple[object, object] | None = None
        self._lock = threading.Lock()
        codec.budget.register(self)

    @property
    def nbytes(self) -> int:
        """Bytes allocated."""
        return self._code.nbytes + (self._memos.nbytes if self._memos else 0)

    @property
    def fields(self) -> tuple[Field, ...]:
        """The fields that are read, by position."""
        return self._compiled.fields

    def raise_if_failing(self) -> None:
        """Raise the error that every row without NULLs would have, because of a constant such as CAST('x' AS INT).

        Raises:
            ExpressionError: There is one.
        """
        if self._failing is not None:
            raise self._failing

    def run(self, words: Words) -> Values:
        """The values of the expressions for some rows.

        Args:
            words: int64 of shape (columns, rows), C order; not changed.

        Raises:
            MemoryLimitError: There is no memory for the results of functions.
            CapacityError: The dictionary is full.
        """
        if not (words.flags.c_contiguous and words.flags.writeable):
            words = words.copy()  # or the machine would be compiled once more
        rows = words.shape[1]
        out = np.empty((self._compiled.count, rows), np.int64)
        if self._memos is None:
            counters = np.zeros(k.COUNTERS, np.int64)
            if self._has_texts:
                with self._lock:
                    self._bind()
            row = 0
            while row < rows:
                row = self._run(words, out, _NO_WORDS, counters, row)
        else:
            with self._lock:
                counters = self._run_with_memos(self._memos, words, out)
        if counters[k.WIDE_VALUES]:
            self._encode_wide(out)
        count = self._count
        return Values(self, words, out[:count], out[count : 2 * count], int(counters[k.FAILURES]))

    def _run(self, words: Words, out: Words, memos: Words, counters: Words, begin: int) -> int:
        end = min(begin + _AT_ONCE, words.shape[1])
        registers = np.empty(self._registers * min(k.BLOCK, end - begin) + WORK_WORDS, np.int64)
        texts = self._codec.texts if self._reads_texts else _NO_TEXTS
        return run(self._code, words, begin, end, out, (registers, memos, counters), texts)

    def _run_with_memos(self, memos: Memos, words: Words, out: Words) -> Words:
        """Run, and run again what had to wait for results; the counters of it all."""
        self._bind()
        totals = np.zeros(k.COUNTERS, np.int64)
        row = 0
        while row < words.shape[1]:
            row = self._run(words, out, memos.words, memos.counters, row)
            totals += memos.counters[: k.COUNTERS]
            if memos.counters[k.ASKED_LINES] or memos.counters[k.FULL]:
                memos.answer()
            else:
                memos.counters[: k.COUNTERS] = 0
        return totals

    def _bind(self) -> None:
        """Encode the constants that are strings, and forget results, if codes do not mean any more what they did."""
        ages = self._codec.ages
        if self._ages is not None and all(old is new for old, new in zip(self._ages, ages, strict=True)):
            return
        self._ages = None
        code = self._compiled.code
        for at, text in code.texts:
            self._code[at] = self._codec.codes_of([text])[0]
        for at, texts in code.text_sets:
            self._code[at : at + len(texts)] = np.sort(self._codec.codes_of(list(texts)))
        if self._memos is not None:
            self._memos.forget()
        self._ages = ages

    def _encode_wide(self, out: Words) -> None:
        """Put wide decimals into the dictionary."""
        for line, high in enumerate(self._compiled.lines):
            if high >= 0:
                there = out[self._count + line] == k.VALUE
                out[line, there] = self._codec.words_of_decimals(out[line, there], out[high, there])

    def shown(self, row: Words, names: Sequence[str]) -> list[str]:
        """What is read of a row, for messages.

        Args:
            row: The words of the row.
            names: The names of the columns, or none.
        """
        values = []
        for field in self.fields[:SHOWN_FIELDS]:
            value = shown_scalar(self._codec.decode(row[field.position : field.position + 1].copy(), field.type)[0])
            values.append(f"{names[field.position]} = {value}" if names else value)
        return [*values, "..."] if len(self.fields) > SHOWN_FIELDS else values

    def error(self, status: int, values: Sequence[str], what: str = "") -> ExpressionError:
        """The error of a row.

        Args:
            status: The status of the row.
            values: The values of the row that are shown.
            what: The name of the expression in the message; nothing if empty. The part of it that fails is named too.
        """
        call = self._compiled.calls[status >> k.CODE_BITS]
        where = f" for the row ({', '.join(values)})" if values else ""
        part = call.text or call.function
        named = repr(part) if not what or what.split() == part.split() else f"{part!r} in {what!r}"
        return ExpressionError(f"cannot evaluate {named}{where}: {reason(status & k.CODE_MASK, call)}", part)


def _constants(calls: Sequence[Call], codec: Codec, failures: dict[int, Exception]) -> list[Scalar]:
    """The values of calls that depend on no row; those that fail as they are, with their errors in ``failures``."""
    program, nothing = Program(calls, codec, folds=False), np.empty((0, 1), np.int64)
    values = program.run(nothing)
    found: list[Scalar] = []
    for call, word, status in zip(calls, values.words, values.statuses, strict=True):
        if status[0] > k.NULL:
            failures[id(call)] = program.error(int(status[0]), ())
            found.append(call)
        else:
            found.append(Constant(_constant(codec, word, call.type), call.type))
    return found


def _constant(codec: Codec, word: Words, type: SqlType) -> Value:
    if word[0] == NULL_CODE:
        return None
    match type.kind:
        case "string":
            return codec.texts_of(word)[0]
        case "binary":
            return codec.bytes_of(word)[0]
        case "double":
            return float(word.view(np.float64)[0])
        case "boolean":
            return bool(word[0])
        case "decimal":
            number: Decimal = codec.decode(word, type)[0].as_py()
            return number
        case _:
            return int(word[0])
