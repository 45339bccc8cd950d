"""The formats of Spark's `format_string` (Java's Formatter): ``%s``, ``%d``, ``%x``, ``%f``, ``%e`` and ``%%``.

Between ``%`` and its letter stand flags, a width and a precision: ``%-8s``, ``%,d``, ``%08.2f``. A capital letter gives
capitals, and ``%2$s`` takes the second value.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal

_SPEC = re.compile(r"%(?:(\d+)\$)?([-#+ 0,(]*)([1-9]\d*)?(?:\.(\d+))?([a-zA-Z%])")
_FLAGS = {"s": "-", "d": "-+ 0,(", "x": "-#0", "f": "-+ 0,(", "e": "-+ 0(", "%": "-"}
_ALLOWED = "There are %s, %d, %x, %f, %e and %%, with flags, width and precision as Java has them"
_WIDEST = Context(prec=1200)
_MOST_WIDTH = 10_000


@dataclass(frozen=True)
class Spec:
    """How one value is shown.

    Args:
        letter: ``s``, ``d``, ``x``, ``f``, ``e`` or ``%``.
        flags: Some of ``-#+ 0,(``.
        width: Characters at least.
        precision: Digits behind the point, or characters of a text at most; -1 if it is not said.
        capitals: Whether capitals are shown.
        value: The number of the value that it shows, from 0; -1 for ``%%``.
    """

    letter: str
    flags: str
    width: int
    precision: int
    capitals: bool
    value: int

    @property
    def text(self) -> str:
        """The format, as it is written for one value."""
        letter = self.letter.upper() if self.capitals else self.letter
        precision = f".{self.precision}" if self.precision >= 0 else ""
        return f"%{self.flags}{self.width or ''}{precision}{letter}"

    def of_text(self, text: str) -> str:
        """A text; NULL is the text ``null`` by every letter."""
        if self.precision >= 0:
            text = _cut(text, self.precision)
        return self._padded(text.upper() if self.capitals else text)

    def of_integer(self, value: int, bits: int) -> str:
        """An integer of so many bits, by ``d`` or ``x``."""
        if self.letter == "x":
            digits = f"{value & ((1 << bits) - 1):x}"
            mark = "0x" if "#" in self.flags else ""
            zeros = "0" * (self.width - len(mark) - len(digits) if "0" in self.flags else 0)
            found = mark + zeros + digits
            return self._padded(found.upper() if self.capitals else found)
        return self._signed(str(abs(value)), value < 0)

    def of_double(self, value: float, shortest: Callable[[float], Decimal]) -> str:
        """A double, by ``f`` or ``e``: the shortest digits of its size, rounded half up."""
        if math.isnan(value):
            found = "NaN"
        elif math.isinf(value):
            found = self._with_sign("Infinity", value < 0)
        else:
            size, digits = shortest(value), 6 if self.precision < 0 else self.precision
            exponent = "" if self.letter == "f" else "e+00"
            if self.letter == "e" and size:
                size, exponent = _scientific(size, digits)
            rounded = f"{size.quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP, _WIDEST):f}"
            return self._signed(rounded, value < 0, exponent.upper() if self.capitals else exponent)
        return self._padded(found.upper() if self.capitals else found)

    def _signed(self, digits: str, negative: bool, exponent: str = "") -> str:
        """A number with its sign, grouped, and filled with zeros, as the flags say."""
        if "," in self.flags:
            whole, point, fraction = digits.partition(".")
            digits = f"{int(whole):,}{point}{fraction}"
        if "0" in self.flags:
            digits = digits.rjust(self.width - len(self._with_sign(exponent, negative)), "0")
        return self._padded(self._with_sign(digits + exponent, negative))

    def _with_sign(self, digits: str, negative: bool) -> str:
        if negative:
            return f"({digits})" if "(" in self.flags else f"-{digits}"
        return ("+" if "+" in self.flags else " " if " " in self.flags else "") + digits

    def _padded(self, text: str) -> str:
        blanks = " " * (self.width - _units(text))
        return text + blanks if "-" in self.flags else blanks + text


def parsed(text: str) -> Iterator[str | Spec]:
    """The parts of a format: texts that are shown as they are, and how values are shown.

    >>> [part if isinstance(part, str) else part.text for part in parsed("a %5.2f%% %S")]
    ['a ', '%5.2f', '%', ' ', '%S']

    Raises:
        ValueError: The format has a part that is not supported.
    """
    place, following = 0, 0
    while place < len(text):
        at = text.find("%", place)
        if at != place:
            yield text[place:] if at < 0 else text[place:at]
        if at < 0:
            return
        found = _SPEC.match(text, at)
        spec = None if found is None else _spec(found, following)
        if found is None or spec is None:
            msg = f"the format {text!r} has {found.group() if found else text[at : at + 2]!r}. {_ALLOWED}"
            raise ValueError(msg)
        following += spec.letter != "%" and found[1] is None
        yield spec.of_text("%") if spec.letter == "%" else spec
        place = found.end()


def shown(spec: str) -> Spec:
    """How one value is shown, by the text of a `Spec`."""
    found = next(parsed(spec))
    assert isinstance(found, Spec), "it shows a value"
    return found


def _spec(found: re.Match[str], following: int) -> Spec | None:
    """What a format says; None if Java refuses it, or it is not there."""
    number, flags, width, precision, letter = found.groups()
    kind, capitals = letter.lower(), letter.isupper()
    if kind not in _FLAGS or (capitals and kind in "df") or (kind in "dx%" and precision is not None):
        return None
    if set(flags) - set(_FLAGS[kind]) or len(set(flags)) < len(flags) or {"-", "0"} <= set(flags):
        return None
    if ("+" in flags and " " in flags) or (not width and set(flags) & set("-0")):
        return None
    if int(width or 0) > _MOST_WIDTH or int(precision or 0) > _MOST_WIDTH or number == "0":
        return None
    value = -1 if kind == "%" else int(number) - 1 if number else following
    return Spec(kind, flags, int(width or 0), -1 if precision is None else int(precision), capitals, value)


def _scientific(size: Decimal, digits: int) -> tuple[Decimal, str]:
    """A number above zero as one from 1 to below 10, rounded, and the power of ten behind it."""
    power = size.adjusted()
    found = size.scaleb(-power, _WIDEST).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP, _WIDEST)
    if found >= 10:
        found, power = found / 10, power + 1
    return found, f"e{'-' if power < 0 else '+'}{abs(power):02}"


def _units(text: str) -> int:
    """Characters as Java counts them, of which those beyond 16 bits are two."""
    return len(text) + sum(character > "\uffff" for character in text)


def _cut(text: str, most: int) -> str:
    """The first characters as Java counts them; half a character is a question mark."""
    found: list[str] = []
    for character in text:
        most -= 1 + (character > "\uffff")
        if most < 0:
            return "".join(found) + "?" * (most == -1 and character > "\uffff")
        found.append(character)
    return "".join(found)
