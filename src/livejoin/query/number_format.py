"""The formats of numbers that Spark's `to_char` has: digits, where they are grouped, and where the sign stands.

``9`` and ``0`` stand for a digit (a run that begins with ``0`` is filled with zeros before the point), ``,`` or ``G``
for the mark between groups, ``.`` or ``D`` for the point, ``$`` for itself, ``S`` for the sign, ``MI`` for a minus or a
blank, and ``PR`` for angle brackets around what is negative. Their order is that of Spark's ``ToNumberParser``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

_TOKEN = re.compile(r"[09]+|MI|PR|.", re.DOTALL)
_ORDER = re.compile(r"(MI|S)?\$?([09][09,]*)?(\.([09]+)?)?\$?(MI|S|PR)?")
_SIGNS = ("+", "-", "<")


@dataclass(frozen=True)
class NumberFormat:
    """A format.

    Args:
        text: The format, in Spark's letters.

    Raises:
        ValueError: Spark has no such format; the message says why.
    """

    text: str

    def __post_init__(self) -> None:
        reason = _fault(self._upper)
        if reason:
            msg = f"the format {self.text!r} {reason}; write digits as 9 or 0, as in '$99,990.99' or 'S000'"
            raise ValueError(msg)

    @property
    def _upper(self) -> str:
        return self.text.upper().replace("G", ",").replace("D", ".")

    @cached_property
    def _tokens(self) -> tuple[str, ...]:
        return tuple(_TOKEN.findall(self._upper))

    def shown(self, unscaled: int, scale: int) -> str:
        """A decimal by the format; ``#`` for each digit where it does not fit.

        >>> NumberFormat("S$99,990.99").shown(-123456, 2), NumberFormat("9.9").shown(125, 1)
        ('-$ 1,234.56', '#.#')
        """
        digits = str(abs(unscaled)).rjust(scale + 1, "0")
        split = len(digits) - scale
        whole, fraction = digits[:split].lstrip("0"), digits[split:].rstrip("0")
        before, _, behind = self._upper.partition(".")
        room, rest = (sum(part.count(digit) for digit in "09") for part in (before, behind))
        if room < len(whole) or rest < len(fraction):
            whole, fraction = "#" * room, "#" * rest
        return self._filled(iter(whole.rjust(room)), iter(fraction.ljust(rest, "0")), unscaled < 0)

    def _filled(self, whole: Iterator[str], fraction: Iterator[str], negative: bool) -> str:
        found: list[str] = ["<"] if negative and "PR" in self._tokens else []
        digits = whole
        for token in self._tokens:
            match token:
                case ".":
                    if found[-1:] == [" "]:
                        found[-1] = "0"
                    found.append(".")
                    digits = fraction
                case ",":
                    if found and found[-1].isdigit():
                        found.append(",")
                    else:
                        _put_blank(found)
                case "$":
                    found.append("$")
                case "S":
                    _strip_point(found)
                    _put_sign(found, "-" if negative else "+")
                case "MI" | "PR" if negative:
                    _strip_point(found)
                    _put_sign(found, "-" if token == "MI" else ">")
                case "MI":
                    found.append(" ")
                case "PR":
                    _strip_point(found)
                    found += "  "
                case _:
                    _put_digits(found, token, digits)
        _strip_point(found)
        text = "".join(found)
        return "0" if text in ("", "+", "-") else text


def _put_digits(found: list[str], token: str, digits: Iterator[str]) -> None:
    for _ in token:
        digit = next(digits)
        if digit != " ":
            found.append(digit)
        elif token[0] == "0":
            found.append("0")
        else:
            _put_blank(found)


def _put_sign(found: list[str], sign: str) -> None:
    """Put a sign behind what is there, but before blanks."""
    place = len(found)
    while place > 0 and found[place - 1] == " ":
        place -= 1
    found.insert(place, sign)


def _put_blank(found: list[str]) -> None:
    """Put a blank behind what is there, but before signs."""
    place = len(found)
    while place > 0 and found[place - 1] in _SIGNS:
        place -= 1
    found.insert(place, " ")


def _strip_point(found: list[str]) -> None:
    """Take away a point behind which nothing stands."""
    if "." in found:
        place = found.index(".")
        if found[place + 1 : place + 2] in ([], [" "]):
            found[place] = " "


def _fault(text: str) -> str:
    """What is wrong with a format; empty if nothing is."""
    if not text:
        return "is empty"
    if not re.search("[09]", text):
        return "has no digit"
    odd = re.sub(r"MI|PR|[09,.$S]", "", text)
    if odd:
        return f"has {odd[0]!r}"
    for token in (".", "S", "MI", "$", "PR"):
        if text.count(token) > 1:
            return f"has {token} twice"
    whole = text.partition(".")[0]
    if re.search(r"(^|[^09]),|,([^09]|$)", whole) or "," in text.partition(".")[2]:
        return "has a comma that does not stand between digits before the point"
    found = _ORDER.fullmatch(text)
    if found is None or re.search(r"[09].*\$", text) or re.search(r"\..*\$", text):
        return "has its parts in another order than sign, $, digits, point, digits, sign"
    return ""
