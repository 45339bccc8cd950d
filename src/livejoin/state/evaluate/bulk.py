"""Tests of strings that Arrow makes for many at once, in some 20 ns each in place of a microsecond.

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
from livejoin.state.evaluate.patterns import checked, like_expression

Tests = Callable[[pa.LargeStringArray], pa.BooleanArray]
"""From texts, none of which is NULL, to what is true of each."""

_FINDS = {"starts_with": pc.starts_with, "ends_with": pc.ends_with, "contains": pc.match_substring}


def tests(call: Call) -> Tests | None:
    """What tests many texts at once for a call whose other arguments are constants; None for other calls.

    Args:
        call: A call of which a part is a constant that is not malformed.
    """
    text, *others = call.arguments
    given = [one.value for one in others if isinstance(one, Constant) and isinstance(one.value, str)]
    if text.type.kind != "string" or not given or len(given) < len(others):
        return None
    if call.function in _FINDS:
        return partial(_FINDS[call.function], pattern=given[0])
    if call.function == "like":
        return partial(pc.match_substring_regex, pattern=like_expression(*given))
    if call.function == "matches":
        return partial(pc.match_substring_regex, pattern=checked(given[0]).text())
    return None
