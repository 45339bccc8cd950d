"""Tests of strings for many at once: by Arrow in some 20 ns each in place of a microsecond, or by the machine.

The law: for each text the same as `livejoin.state.evaluate.text.text_function` of the call. It holds on bytes because
UTF-8 is self-synchronizing: a text is found among the characters of another one exactly where it is among its bytes;
and RE2, which tests what has a ``_``, goes by code points.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from livejoin.query.scalar import Call, Constant
from livejoin.query.texts.like import like_expression, like_texts
from livejoin.query.texts.regular_expression import checked

Tests = Callable[[pa.LargeStringArray], pa.BooleanArray]
"""From texts, none of which is NULL, to what is true of each."""

_FINDS = {"starts_with": pc.starts_with, "ends_with": pc.ends_with, "contains": pc.match_substring}


def tests(call: Call) -> Tests | None:
    """What tests many texts at once for a call whose other arguments are constants; None for other calls.

    Args:
        call: A call of which a part is a constant that is not malformed.
    """
    given = _constants(call)
    if given is None:
        return None
    if call.function in _FINDS:
        return partial(_FINDS[call.function], pattern=given[0])
    if call.function == "like":
        return partial(pc.match_substring_regex, pattern=like_expression(*given))
    if call.function == "matches":
        return partial(pc.match_substring_regex, pattern=checked(given[0]).text())
    return None


def pattern(call: Call) -> tuple[int, ...] | None:
    """The pattern that the machine tests texts for (`livejoin.kernels.evaluate.like`); None where it does not.

    Args:
        call: As for `tests`.
    """
    given = _constants(call)
    if given is None:
        return None
    match call.function:
        case "like":
            pieces = like_texts(*given)
        case "starts_with":
            pieces = [given[0], ""]
        case "ends_with":
            pieces = ["", given[0]]
        case "contains":
            pieces = ["", given[0], ""]
        case _:
            pieces = None
    if pieces is None:
        return None
    first, *between, last = pieces if len(pieces) > 1 else [pieces[0], ""]
    found = [one.encode() for one in (first, last, *filter(None, between))]
    words = [len(found[0]), len(found[1]), int(len(pieces) == 1), len(found) - 2, *found[0], *found[1]]
    for piece in found[2:]:
        words += [len(piece), *piece]
    return tuple(words)


def _constants(call: Call) -> list[str] | None:
    """The arguments behind a text, if all are constants that are strings."""
    text, *others = call.arguments
    given = [one.value for one in others if isinstance(one, Constant) and isinstance(one.value, str)]
    return given if text.type.kind == "string" and given and len(given) == len(others) else None
