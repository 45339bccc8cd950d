"""What a regular expression finds in a text: replaced, taken out, or split at.

Both Java and RE2 take the leftmost match, and of those at one place the one that an alternative before another one, and
a quantifier that takes as much as it can, lead to first. They differ in what is refused here: a group that is repeated
and may match nothing, ``$`` before a line's end, and an empty match behind another match.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from livejoin.errors import ExpressionError
from livejoin.kernels.evaluate import layout as k
from livejoin.query.texts.failed_call import LONGEST, FailedCall
from livejoin.query.texts.regular_expression import Translated, checked, refused

_MOST_GROUPS = 9  # that RE2 names in what takes the place of a match


def replaced(pattern: str, by: str) -> Callable[[str], str]:
    """What replaces each match; ``$1`` in the text stands for the first group, and a backslash before a character.

    Raises:
        ExpressionError: The expression, or the text, has what is not read alike.
    """
    found = _strict(pattern)
    if by and found.matches_nothing():
        raise refused(pattern, "a match without a character to replace")
    text = found.text()
    put = _replacement(by, len(found.groups))

    def replace(value: str) -> str:
        made: str = pc.replace_substring_regex(pa.scalar(value), pattern=text, replacement=put).as_py()
        if len(made) > LONGEST:
            raise FailedCall(k.TOO_LONG)
        return made

    return replace


def extracted(pattern: str, group: int = 1) -> Callable[[str], str]:
    """What gives a group of the first match, 0 for all of it; empty where there is none.

    Raises:
        ExpressionError: The expression has what is not read alike, or no such group.
    """
    found = _strict(pattern)
    if not 0 <= group <= len(found.groups):
        msg = f"the regular expression {pattern!r} has {len(found.groups)} groups, and no group {group}"
        raise ExpressionError(msg)
    text = found.text(group)

    def extract(value: str) -> str:
        match = pc.extract_regex(pa.scalar(value), text).as_py()
        return "" if match is None else match["g"] or ""

    return extract


def split_item(pattern: str) -> Callable[[str, int], str]:
    """What gives the part with a number, from 0 on, of a text that is split at each match.

    Raises:
        ExpressionError: The expression has what is not read alike.
    """
    found = _strict(pattern)
    if found.matches_nothing():
        raise refused(pattern, "a match without a character to split at")
    text = found.text()

    def item(value: str, number: int) -> str:
        parts = pc.split_pattern_regex(pa.array([value]), text)[0]
        if not 0 <= number < len(parts):
            raise FailedCall(k.ZERO_INDEX)
        part: str = parts[number].as_py()
        return part

    return item


def _strict(pattern: str) -> Translated:
    """A regular expression of which it counts where it matches."""
    found = checked(pattern)
    if found.loose:
        raise refused(pattern, "a repeated group that may match nothing")
    if found.ends:
        raise refused(pattern, "a $, before which a line may end")
    return found


def _replacement(by: str, groups: int) -> str:
    """A replacement as Java reads it, in the words of RE2."""
    parts: list[str] = []
    i = 0
    while i < len(by):
        c = by[i]
        if c == "\\":
            i += 1
            parts.append(by[i : i + 1].replace("\\", "\\\\"))
            if not parts[-1]:
                raise _no_replacement(by, "a backslash at its end")
        elif c == "$":
            digits = re.match("[0-9]+", by[i + 1 :])
            if digits is None:
                raise _no_replacement(by, "a $ that names no group by its number; write \\$ for the character")
            number, taken = 0, 0
            for digit in digits.group():  # as many as there is a group for
                if taken and 10 * number + int(digit) > groups:
                    break
                number, taken = 10 * number + int(digit), taken + 1
            if number > min(groups, _MOST_GROUPS):
                raise _no_replacement(by, f"a group {number}, of {groups}; 9 are the most")
            parts.append(f"\\{number}")
            i += taken
        else:
            parts.append(c)
        i += 1
    return "".join(parts)


def _no_replacement(by: str, what: str) -> ExpressionError:
    msg = f"the replacement {by!r} has {what}"
    return ExpressionError(msg)
