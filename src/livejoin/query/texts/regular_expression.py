"""Regular expressions of Java in the words of RE2, which needs time linear in the text.

What means the same in both is taken; other expressions are refused by name.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from livejoin.errors import ExpressionError

_NOT_LINE_END = r"[^\n\r\x{85}\x{2028}\x{2029}]"
_LINE_END = r"(?:\r\n|[\n\r\x{85}\x{2028}\x{2029}])?\z"


def matches(pattern: str) -> Callable[[str], bool]:
    """What tests whether a regular expression matches somewhere in a text.

    Raises:
        ExpressionError: The expression has what RE2 and Java do not read alike.
    """
    translated = checked(pattern).text()

    def test(text: str) -> bool:
        found: bool = pc.match_substring_regex(pa.scalar(text), translated).as_py()
        return found

    return test


def refused(pattern: str, what: str) -> ExpressionError:
    """The error for a regular expression that has what is not read alike."""
    msg = (
        f"the regular expression {pattern!r} has {what}, which livejoin does not evaluate as Spark does; write it with "
        "characters, classes, groups, | and quantifiers"
    )
    return ExpressionError(msg)


def _unread(pattern: str, error: pa.ArrowInvalid) -> ExpressionError:
    """The error for a regular expression that RE2 does not take, by the first of its words about it."""
    why = str(error).removeprefix("Invalid regular expression: ").partition(":")[0]
    msg = (
        f"the regular expression {pattern!r} is malformed: {why}; a sign that stands for itself has a backslash before "
        r"it, as in \\("
    )
    return ExpressionError(msg)


@dataclass(frozen=True)
class Translated:
    """A Java regular expression in the words of RE2.

    Args:
        parts: The parts of the expression.
        groups: The places of the parts that begin groups with a number.
        ends: Whether it has a ``$``, for which a line's end at the end of the text is taken too.
        loose: Whether it repeats a group that may match nothing: Java and RE2 end that at different places.
    """

    parts: tuple[str, ...]
    groups: tuple[int, ...]
    ends: bool
    loose: bool

    def text(self, named: int | None = None) -> str:
        """The expression as one text; with one group alone, that of this number, as ``g``; 0 is the whole match."""
        if named is None:
            return "".join(self.parts)
        parts = list(self.parts)
        for number, place in enumerate(self.groups, 1):
            parts[place] = "(?P<g>" if number == named else "(?:"
        return "".join(parts) if named else f"(?P<g>{''.join(parts)})"

    def matches_nothing(self) -> bool:
        """Whether it matches at some place of every text without taking a character."""
        return _matches(self.text(), "")


def checked(pattern: str) -> Translated:
    """A regular expression that RE2 takes too.

    Raises:
        ExpressionError: The expression has a part that RE2 and Java read differently.
    """
    found = _translated(pattern)
    try:
        pc.match_substring_regex(pa.array([""]), found.text())
    except pa.ArrowInvalid as error:
        raise _unread(pattern, error) from None
    return found


def _matches(translated: str, text: str) -> bool:
    return bool(pc.match_substring_regex(pa.scalar(text), translated).as_py())


_CLASSES = {"d": "0-9", "w": "a-zA-Z_0-9", "s": r" \t\n\x{0B}\f\r"}
_ESCAPED = "tnrf"


def _translated(pattern: str) -> Translated:
    parts: list[str] = []
    groups: list[int] = []
    open_: list[int] = []
    ends = loose = False
    i, size = 0, len(pattern)
    while i < size:
        c = pattern[i]
        if c == "\\":
            part, i = _escape(pattern, i, False)
            parts.append(part)
            continue
        if c == "[":
            part, i = _class(pattern, i)
            parts.append(part)
            continue
        if c == "(" and pattern[i + 1 : i + 2] == "?" and pattern[i + 2 : i + 3] != ":":
            raise refused(pattern, f"the group {pattern[i : i + 4]!r}")
        if c in "*+?}" and pattern[i + 1 : i + 2] == "+":
            raise refused(pattern, f"the possessive quantifier {pattern[i : i + 2]!r}")
        if c == "{" and not re.match(r"\{\d+(,\d*)?\}", pattern[i:]):
            raise refused(pattern, "a { that begins no quantifier")
        if c == "$":
            if i + 1 < size and pattern[i + 1] not in "|)":
                raise refused(pattern, "a $ before its end")
            ends = True
            parts.append(_LINE_END)
        elif c == "^":
            parts.append(r"\A")
        else:
            if c == "(":
                open_.append(len(parts))
                groups += [len(parts)] if pattern[i + 1 : i + 2] != "?" else []
            elif c == ")" and open_:
                group = "".join(parts[open_.pop() :]) + ")"
                loose = loose or (pattern[i + 1 : i + 2] in tuple("*+?{") and _may_be_empty(pattern, group))
            parts.append(_NOT_LINE_END if c == "." else c)
        i += 1
    return Translated(tuple(parts), tuple(groups), ends, loose)


def _may_be_empty(pattern: str, group: str) -> bool:
    """Whether a group matches the empty text."""
    try:
        return _matches(rf"\A{group}\z", "")
    except pa.ArrowInvalid as error:
        raise _unread(pattern, error) from None


def _escape(pattern: str, i: int, inside: bool) -> tuple[str, int]:
    """What a backslash begins, and the place behind it."""
    c = pattern[i + 1 : i + 2]
    if c.lower() in _CLASSES and c and (c.islower() or not inside):
        members = _CLASSES[c.lower()]
        if inside:
            return members, i + 2
        return f"[{'^' if c.isupper() else ''}{members}]", i + 2
    if c and (c in _ESCAPED or not c.isalnum()):
        return "\\" + c if c.isascii() else c, i + 2
    raise refused(pattern, f"the escape {pattern[i : i + 2]!r}")


def _class(pattern: str, i: int) -> tuple[str, int]:
    """A class in brackets, and the place behind it."""
    parts = ["["]
    i += 1
    if pattern[i : i + 1] == "^":
        parts.append("^")
        i += 1
    begin = i
    while i < len(pattern):
        c = pattern[i]
        if c == "]" and i > begin:
            return "".join([*parts, "]"]), i + 1
        if c == "\\":
            part, i = _escape(pattern, i, True)
            parts.append(part)
            continue
        if c in "[]" or pattern[i : i + 2] == "&&":
            raise refused(pattern, f"{pattern[i : i + 2]!r} in a class")
        parts.append("\\^" if c == "^" else c)
        i += 1
    raise refused(pattern, "a class without its end")
