"""LIKE without ``_``, on the bytes of a text: what it begins with, what it ends with, and what follows in between.

The law: a text fits iff `livejoin.query.texts.like.like` says so of its characters. It holds on bytes because
UTF-8 is self-synchronizing: a text is found among the characters of another one exactly where it is among its bytes.

A pattern is words, a byte each: the numbers of bytes of its first and its last piece, whether it is one piece, the
number of pieces between, then the bytes of the first and of the last, and of each other one its number of bytes before
them.
"""

from __future__ import annotations

from livejoin.kernels.jit import helper, inlined
from livejoin.kernels.parameters import Texts, Words

FIRST, LAST, WHOLE, BETWEEN, PIECES = range(5)

SHORT = 256
"""Bytes of a text that is looked through each time; what a longer one gave is remembered."""


@inlined
def _is_at(heap: Words, at: int, p: Words, piece: int, size: int) -> bool:
    """Whether the bytes of a piece stand at a place."""
    for i in range(size):
        if heap[at + i] != p[piece + i]:
            return False
    return True


@inlined
def _find(heap: Words, begin: int, end: int, p: Words, piece: int, size: int) -> int:
    """Where the bytes of a piece, which is not empty, stand first between two places; -1 if they do not."""
    head = p[piece]
    for at in range(begin, end - size + 1):
        if heap[at] == head and _is_at(heap, at, p, piece, size):
            return at
    return -1


@helper
def fits(p: Words, pattern: int, code: int, texts: Texts) -> tuple[bool, bool]:
    """Whether a text is short, and if so whether it fits a pattern.

    Args:
        p, pattern: The words of the pattern, and where they begin.
        code: The text's code.
        texts: The dictionaries.
    """
    heap, at, size = texts[0], texts[1][code], texts[2][code]
    if size > SHORT:
        return False, False
    first, last = p[pattern + FIRST], p[pattern + LAST]
    if size < first + last or (p[pattern + WHOLE] == 1 and size > first):
        return True, False
    piece = pattern + PIECES
    if not _is_at(heap, at, p, piece, first) or not _is_at(heap, at + size - last, p, piece + first, last):
        return True, False
    begin, end = at + first, at + size - last
    piece += first + last
    for _ in range(p[pattern + BETWEEN]):
        length = p[piece]
        found = _find(heap, begin, end, p, piece + 1, length)
        if found < 0:
            return True, False
        begin = found + length
        piece += 1 + length
    return True, True
