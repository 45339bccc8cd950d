"""The line of a TOML text in which a key stands.

``tomllib`` does not keep the lines of values, but an error message about a key should name its line. The text is known
to be valid TOML, so the beginnings of lines outside of multi-line strings are enough. A key inside of an inline table
or an array has the line of the key that holds it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_BARE_OR_QUOTED = r"""(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')"""
_DOTTED = rf"{_BARE_OR_QUOTED}(?:\s*\.\s*{_BARE_OR_QUOTED})*"
_HEADER = re.compile(rf"\s*\[\[?\s*({_DOTTED})\s*\]")
_PAIR = re.compile(rf"\s*({_DOTTED})\s*=\s*(.*)", re.DOTALL)


def key_lines(text: str) -> dict[tuple[str, ...], int]:
    """The one-based line of each key and table header.

    Args:
        text: Valid TOML.

    >>> key_lines('[views.hop3]\\nsql = "SELECT 1"\\n')
    {('views', 'hop3'): 1, ('views', 'hop3', 'sql'): 2}
    """
    lines: dict[tuple[str, ...], int] = {}
    table: tuple[str, ...] = ()
    closing = ""
    for number, line in enumerate(text.splitlines(), start=1):
        if closing:
            closing = "" if closing in line else closing
        elif header := _HEADER.match(line):
            table = _parts(header[1])
            lines.setdefault(table, number)
        elif pair := _PAIR.match(line):
            key = table + _parts(pair[1])
            lines.setdefault(key, number)
            closing = _left_open(pair[2])
    return lines


def line_of(lines: dict[tuple[str, ...], int], key: Sequence[str]) -> int:
    """The line of a key, or of the innermost table that holds it; 0 if that is the file itself."""
    parts = tuple(key)
    while parts and parts not in lines:
        parts = parts[:-1]
    return lines.get(parts, 0)


def _parts(dotted: str) -> tuple[str, ...]:
    return tuple(part.strip("\"'") for part in re.findall(_BARE_OR_QUOTED, dotted))


def _left_open(value: str) -> str:
    """The quotes that must still close a value that starts in this line; empty if it ends here."""
    for quotes in ('"""', "'''"):
        if value.startswith(quotes) and quotes not in value[3:]:
            return quotes
    return ""
