"""How much longer than its inputs the value of an expression may be, from the syntax alone.

DuckDB looks at its limits between two vectors of rows only, so that what one vector takes must be bounded before: by
the product of what nested calls do. ``repeat(repeat(s, 60000), 60000)`` makes 3.6 GB of one letter, and ten nested
``replace(..., 'a', 'aaaaaaaaaa')`` ten times as much. What the rows say themselves is not looked at: ``replace(s, t,
u)`` counts as 1.
"""

from __future__ import annotations

import re
from typing import Any

MOST_COPIES = 1 << 16  # of a text, or characters that one is padded to; `livejoin.sql` writes the check for numbers
MOST_GROWTH = 1 << 20

_SUMS = ("||", "concat", "concat_ws", "list_concat", "list_value", "array_concat")
_REPLACES = ("replace", "regexp_replace")
_PRODUCTS = ("repeat", *_REPLACES)  # sums alone grow as their text does
_PADS = ("lpad", "rpad")
_FORMATS = ("printf", "format")
_WIDE = re.compile(r"\d{5}|\*|\{[^}]*\{")  # a width of five digits, or one that is an argument


def is_unbounded(call: Any) -> bool:
    """Whether a call, as DuckDB's parser writes it, may make more than `MOST_GROWTH` of what it is given.

    Args:
        call: A node of the class FUNCTION.
    """
    name = call["function_name"].lower()
    if name in _FORMATS:
        text = _constant(call["arguments"], 0)
        return text is None or _WIDE.search(text) is not None
    return name in _PRODUCTS and _growth(call) > MOST_GROWTH


def _growth(tree: Any) -> int:
    """How often the length of its inputs, at most; no more than a little above `MOST_GROWTH`."""
    if isinstance(tree, list):
        return max(map(_growth, tree), default=1)
    if not isinstance(tree, dict):
        return 1
    if tree.get("class") != "FUNCTION":
        return max(map(_growth, tree.values()), default=1)
    arguments = tree["arguments"]
    name, inner = tree["function_name"].lower(), [_growth(argument) for argument in arguments]
    if name in _SUMS:
        found = sum(inner)
    elif name == "repeat" and len(inner) > 1:
        found = inner[0] * _count(arguments)
    elif name in _PADS and len(inner) > 1:
        found = max(*inner, _count(arguments))
    elif name in _REPLACES and len(inner) > 2:
        taken, put = _constant(arguments, 1), _constant(arguments, 2)
        shortest = len(taken) if taken and name == "replace" else 1
        found = inner[0] * max(1, -(-len(put) // shortest) if put is not None else 1)
    else:
        found = max(inner, default=1)
    return min(found, 2 * MOST_GROWTH)


def _count(arguments: Any) -> int:
    """The number that is the second argument, or the largest one that is let through."""
    text = _constant(arguments, 1)
    return int(text) if text is not None and text.isdecimal() else MOST_COPIES


def _constant(arguments: Any, position: int) -> str | None:
    """The text of an argument that is a constant."""
    if len(arguments) <= position:
        return None
    text = (arguments[position]["expression"].get("literal") or {}).get("text")
    return text if isinstance(text, str) else None
