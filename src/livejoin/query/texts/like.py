"""LIKE: ``%`` stands for any characters, ``_`` for one, and the escape character before one of the three for itself.

A pattern is cut at its ``%``: the first piece must begin the text, the last one end it, and the others follow each
other, each as early as it can. So the cost is O(text times longest piece), whatever the pattern.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from livejoin.errors import ExpressionError

_ANY = None
_Piece = list[str | None]


def like(pattern: str, escape: str = "\\") -> Callable[[str], bool]:
    """What tests texts for a pattern.

    Raises:
        ExpressionError: The pattern ends with the escape character, or has it before another character.
    """
    pieces = _pieces(pattern, escape)
    if len(pieces) == 1:
        exact = pieces[0]
        if _ANY not in exact:
            whole = _text(exact)
            return lambda text: text == whole
        size = len(exact)
        begins = _begins(exact)
        return lambda text: len(text) == size and begins(text, 0)
    first, *middle, last = pieces
    middle = [piece for piece in middle if piece]
    if not middle and _ANY not in first and _ANY not in last:
        head, tail, least = _text(first), _text(last), len(first) + len(last)
        return lambda text: len(text) >= least and text.startswith(head) and text.endswith(tail)
    starts, ends = _begins(first), _begins(last)
    finds = [(_finder(piece), len(piece)) for piece in middle]

    def test(text: str) -> bool:
        at, end = len(first), len(text) - len(last)
        if at > end or not starts(text, 0) or not ends(text, end):
            return False
        for find, size in finds:
            at = find(text, at)
            if at < 0:
                return False
            at += size
        return at <= end

    return test


def like_expression(pattern: str, escape: str = "\\") -> str:
    """A regular expression of RE2 that matches in the texts that fit a pattern of LIKE.

    >>> like_expression("%special%requests%"), like_expression("PROMO_%")
    ('(?s)special.*requests', '(?s)\\\\APROMO.')

    Raises:
        ExpressionError: As for `like`.
    """
    pieces = ["".join("." if c is _ANY else _literal(c) for c in piece) for piece in _pieces(pattern, escape)]
    begin = r"\A" if pieces[0] or len(pieces) == 1 else ""
    end = r"\z" if pieces[-1] or len(pieces) == 1 else ""
    return f"(?s){begin}{'.*'.join(pieces).removeprefix('.*').removesuffix('.*')}{end}"


def like_texts(pattern: str, escape: str = "\\") -> list[str] | None:
    """The pieces of a pattern of LIKE between its ``%``; None if one has a ``_``.

    >>> like_texts("%special%requests%"), like_texts("PROMO_%")
    (['', 'special', 'requests', ''], None)

    Raises:
        ExpressionError: As for `like`.
    """
    pieces = _pieces(pattern, escape)
    return None if any(_ANY in piece for piece in pieces) else list(map(_text, pieces))


def _literal(character: str) -> str:
    """A character as RE2 reads it."""
    return (
        "\\" + character if character.isascii() and character.isprintable() and not character.isalnum() else character
    )


def _pieces(pattern: str, escape: str) -> list[_Piece]:
    """The pattern cut at its ``%``, each piece a list of characters, `_ANY` for ``_``."""
    pieces: list[_Piece] = [[]]
    characters = iter(pattern)
    for character in characters:
        if character == escape:
            escaped = next(characters, "")
            if escaped not in ("%", "_", escape) or not escaped:
                msg = (
                    f"the pattern {pattern!r} has the escape character {escape!r} "
                    + (f"before {escaped!r}" if escaped else "at its end")
                    + "; it stands before %, _ and itself only"
                )
                raise ExpressionError(msg)
            pieces[-1].append(escaped)
        elif character == "%":
            pieces.append([])
        else:
            pieces[-1].append(_ANY if character == "_" else character)
    return pieces


def _text(piece: _Piece) -> str:
    return "".join(character or "" for character in piece)


def _expression(piece: _Piece) -> re.Pattern[str]:
    return re.compile("".join("." if c is _ANY else re.escape(c) for c in piece), re.DOTALL)


def _begins(piece: _Piece) -> Callable[[str, int], bool]:
    """Whether a piece stands at a place of a text."""
    if _ANY not in piece:
        exact = _text(piece)
        return lambda text, at: text.startswith(exact, at)
    expression = _expression(piece)
    return lambda text, at: expression.match(text, at) is not None


def _finder(piece: _Piece) -> Callable[[str, int], int]:
    """The first place of a piece from a place on, -1 if there is none."""
    if _ANY not in piece:
        exact = _text(piece)
        return lambda text, at: text.find(exact, at)
    expression = _expression(piece)

    def find(text: str, at: int) -> int:
        found = expression.search(text, at)
        return found.start() if found else -1

    return find
