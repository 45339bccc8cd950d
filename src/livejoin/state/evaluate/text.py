"""Functions of strings as Spark 4 has them (UTF8String), in characters; positions start with 1."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeVar
from zlib import crc32

import numpy as np

from livejoin.errors import ExpressionError
from livejoin.kernels.evaluate import layout as k
from livejoin.query.growth import MOST_COPIES
from livejoin.query.number_format import NumberFormat
from livejoin.query.scalar import Call, Constant
from livejoin.query.texts.failed_call import LONGEST, FailedCall
from livejoin.query.texts.like import like
from livejoin.query.texts.patterns import PATTERNS, WRITTEN
from livejoin.state.evaluate.digests import base_64, md_5, sha_1, sha_2
from livejoin.state.evaluate.failures import MOST_PAIRS
from livejoin.state.evaluate.value_format import value_format

Run = TypeVar("Run", str, bytes)
"""A run of characters or of bytes."""

_HEXADECIMAL = re.compile("[0-9a-fA-F]*")
_INT = (1 << 31) - 1
_PATTERNS_KEPT = 1024


def substring(text: Run, start: int, length: int = _INT) -> Run:
    """``length`` characters from a position on, which counts from the end if it is negative."""
    begin = start - 1 if start > 0 else (len(text) + start if start < 0 else 0)
    end = min(begin + length, _INT)
    return text[max(begin, 0) : max(end, 0)] if end > begin else text[:0]


def left(text: Run, length: int) -> Run:
    """The first characters."""
    return text[: max(length, 0)]


def right(text: str, length: int) -> str:
    """The last characters."""
    return text[-length:] if length > 0 else ""


def pad_left(text: str, length: int, pad: str = " ") -> str:
    """The last ``length`` characters of the text; the pad, repeated as needed, stands before a shorter text."""
    return _padding(text, length, pad) + text if len(text) < length and pad else left(text, length)


def pad_right(text: str, length: int, pad: str = " ") -> str:
    """The first ``length`` characters of the text; the pad, repeated as needed, stands behind a shorter text."""
    return text + _padding(text, length, pad) if len(text) < length and pad else left(text, length)


def _padding(text: str, length: int, pad: str) -> str:
    missing = length - len(text)
    if length > MOST_COPIES:
        raise FailedCall(k.TOO_LONG)
    return (pad * (missing // len(pad) + 1))[:missing]


def repeat(text: str, times: int) -> str:
    """A text so many times."""
    if times > MOST_COPIES or len(text) * times > LONGEST:
        raise FailedCall(k.TOO_LONG)
    return text * times


def replace(text: str, search: str, by: str = "") -> str:
    """Each occurrence of a text replaced."""
    if not search:
        return text
    if len(by) > len(search) and text.count(search) * (len(by) - len(search)) + len(text) > LONGEST:
        raise FailedCall(k.TOO_LONG)
    return text.replace(search, by)


def position(text: str, search: str, start: int = 1) -> int:
    """Where a text is found from a position on; 0 if it is not."""
    return text.find(search, start - 1) + 1 if start > 0 else 0


def concatenate(*runs: Run) -> Run:
    """Texts, or bytes, one behind the other."""
    if sum(map(len, runs)) > LONGEST:
        raise FailedCall(k.TOO_LONG)
    return runs[0][:0].join(runs)


def hexadecimal(value: bytes | int) -> str:
    """The digits of bytes, two each, or those of an integer's 64 bits without leading zeros.

    >>> hexadecimal(b"a\\xff"), hexadecimal(-1), hexadecimal(0)
    ('61FF', 'FFFFFFFFFFFFFFFF', '0')
    """
    return f"{value & ((1 << 64) - 1):X}" if isinstance(value, int) else value.hex().upper()


def from_hexadecimal(digits: str) -> bytes | None:
    """The bytes of digits, with a 0 before an odd number of them; None where one is no digit.

    >>> from_hexadecimal("1fF"), from_hexadecimal("g"), from_hexadecimal(" 1")
    (b'\\x01\\xff', None, None)
    """
    if not _HEXADECIMAL.fullmatch(digits):
        return None
    return bytes.fromhex(digits.rjust(len(digits) + len(digits) % 2, "0"))


def split_part(text: str, delimiter: str, part: int) -> str:
    """A part between delimiters, from the end if the number is negative; empty where there is none."""
    if part == 0:
        raise FailedCall(k.ZERO_INDEX)
    parts = text.split(delimiter) if delimiter else [text]
    place = part - 1 if part > 0 else len(parts) + part
    return parts[place] if 0 <= place < len(parts) else ""


def translate(text: str, search: str, by: str) -> str:
    """Each character of one text replaced by that at the same position of another one, or left out."""
    table: dict[int, str | None] = {}
    for i, character in enumerate(search):
        table.setdefault(ord(character), by[i] if i < len(by) else None)
    return text.translate(table)


def edit_distance(one: str, other: str, most: int | None = None) -> int:
    """How many characters must be put in, taken out or changed to make one text of another (Levenshtein).

    Args:
        one: A text.
        other: The other one.
        most: Distances that are greater become -1.

    >>> edit_distance("kitten", "sitting"), edit_distance("kitten", "sitting", 2)
    (3, -1)

    Cost: O(characters of one times those of the other).
    """
    if len(one) * len(other) > MOST_PAIRS:
        raise FailedCall(k.TOO_LONG)
    places = np.arange(len(other) + 1)
    letters = np.array([ord(letter) for letter in other], np.int64)
    line = places.copy()
    for number, letter in enumerate(one, 1):
        best = np.minimum(line[1:] + 1, line[:-1] + (letters != ord(letter)))
        line[0] = number
        line[1:] = best
        line = np.minimum.accumulate(line - places) + places  # what is put in, from the left
    distance = int(line[-1])
    return distance if most is None or distance <= most else -1


def initial_capitals(text: str) -> str:
    """The first letter of each word in title case and the others in lower case; spaces are between words."""
    return " ".join(word[:1].title() + word[1:].lower() for word in text.split(" "))


def _trim(text: str, characters: str = " ") -> str:
    return text.strip(characters) if characters else text


def _trim_left(text: str, characters: str = " ") -> str:
    return text.lstrip(characters) if characters else text


def _trim_right(text: str, characters: str = " ") -> str:
    return text.rstrip(characters) if characters else text


_PLAIN: dict[str, Callable[..., Any]] = {
    "length": len,
    "byte_length": lambda run: len(run.encode() if isinstance(run, str) else run),
    "upper": str.upper,
    "lower": str.lower,
    "substring": substring,
    "left": left,
    "right": right,
    "trim": _trim,
    "trim_left": _trim_left,
    "trim_right": _trim_right,
    "pad_left": pad_left,
    "pad_right": pad_right,
    "replace": replace,
    "reverse": lambda text: text[::-1],
    "repeat": repeat,
    "position": position,
    "starts_with": str.startswith,
    "ends_with": str.endswith,
    "contains": str.__contains__,
    "concatenate": concatenate,
    "hexadecimal": hexadecimal,
    "from_hexadecimal": from_hexadecimal,
    "split_part": split_part,
    "translate": translate,
    "initial_capitals": initial_capitals,
    "edit_distance": edit_distance,
    "md_5": md_5,
    "sha_1": sha_1,
    "sha_2": sha_2,
    "crc_32": crc32,
    "base_64": base_64,
    "ascii": lambda text: ord(text[0]) if text else 0,
}
TEXT_FUNCTIONS = frozenset((*_PLAIN, *PATTERNS, "format_decimal", "format_value"))
"""The functions of strings."""


def _formatting(call: Call) -> Callable[..., str]:
    """What shows values by a constant format."""
    value, format_ = call.arguments
    assert isinstance(format_, Constant), "a format is written into the query"
    text = str(format_.value)
    if call.function == "format_decimal":
        decimal_format = NumberFormat(text)
        return lambda unscaled, _: decimal_format.shown(unscaled, value.type.scale)
    return value_format(text, value.type)


def text_function(call: Call) -> Callable[..., Any]:
    """What computes a call from the values of its arguments, none of which is NULL.

    Raises:
        ExpressionError: A constant pattern that is malformed, or a regular expression that is no constant.
    """
    if call.function in _PLAIN:
        return _PLAIN[call.function]
    if call.function in ("format_decimal", "format_value"):
        return _formatting(call)
    given = [one.value if isinstance(one, Constant) else None for one in call.arguments[1:]]
    if call.function == "split_item" and given[0] is not None:
        item = PATTERNS["split_item"](given[0])
        return lambda text, _, number: item(text, number)
    make = PATTERNS.get(call.function, like)
    if None not in given:
        test = make(*given)
        return lambda text, *_: test(text)
    if call.function in WRITTEN:
        msg = f"cannot evaluate {call.text or call.function!r}: a pattern is written into the query, as a constant"
        raise ExpressionError(msg)
    made = lru_cache(_PATTERNS_KEPT)(make)

    def tested(text: str, *pattern: str) -> Any:
        try:
            return made(*pattern)(text)
        except ExpressionError:
            raise FailedCall(k.MALFORMED) from None

    return tested
