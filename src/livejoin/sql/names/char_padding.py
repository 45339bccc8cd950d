"""Comparisons of CHAR(n) columns, as Spark's ApplyCharTypePadding has them.

A value of a CHAR(n) column always has n characters. Beside another CHAR column, or beside texts that are written out,
the shorter side is filled with blanks, so that ``c = 'ab'`` is true of 'ab   ':

==============================================  ========================================================
``=``, ``<>``, ``<=>``, ``<``, ``<=``, ``>``,    the column and a text, or two columns that both are CHAR
``>=``, ``equal_null``, ``CASE c WHEN``,
``decode``, USING
``IN (...)``                                    the column and texts, or columns that all are CHAR
==============================================  ========================================================

Everything else takes the value as it is stored: BETWEEN, LIKE, a STRING column, an expression, a sub-query, a row of
several values, IN with a NULL that no CAST makes a text. This is Spark's behaviour, whose rule looks at columns and
constants alone (tested with Spark 4.3). A column of a query in FROM is a CHAR if the query passes on a CHAR column
unchanged.

Law, for comparisons by equality: a text longer than n is cut if only blanks follow its nth character. A padded column
equals the text if and only if the column equals the rest.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from livejoin.sql.parse.source import Source, offset_of, shown
from livejoin.sql.parse.sub_queries import has_marks, is_folded

_EQUALITIES = (exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.NullSafeNEQ, exp.EqualNull)
_ORDERS = (exp.LT, exp.LTE, exp.GT, exp.GTE)
_TEXTS = (exp.DType.TEXT, exp.DType.VARCHAR, exp.DType.CHAR)
_BLANK = " "

Length = Callable[[exp.Expr], int]
"""How many characters the values of a column have, if it is a CHAR; 0 of anything else."""


def pad_comparisons(node: exp.Expr, length: Length, source: Source) -> None:
    """Fill the shorter sides of the comparisons in an expression, in place. Cost: linear in the expression.

    Raises:
        UnsupportedQueryError: A CHAR column is compared with a computed constant.
    """
    found = [*node.find_all(*_EQUALITIES, *_ORDERS, exp.In, exp.Case, exp.DecodeCase)]
    for part in found:
        match part:
            case exp.In():
                _pad_in(part, length, source)
            case exp.Case():
                if part.this is not None and _length(part.this, length):
                    _pad_case(part, length, source)
            case exp.DecodeCase():
                _pad_decode(part, length, source)
            case _:
                _pad_pair(part, length, source)


def padded(column: exp.Expr, size: int) -> exp.Expr:
    """A column filled with blanks up to a number of characters."""
    return exp.Pad(
        this=column, expression=exp.Literal.number(size), fill_pattern=exp.Literal.string(_BLANK), is_left=False
    )


def _length(node: exp.Expr, length: Length) -> int:
    return length(node.unnest())


def _pad_pair(part: exp.Expr, length: Length, source: Source) -> None:
    left, right = part.this, part.expression
    sizes = _length(left, length), _length(right, length)
    if all(sizes):
        for name, own in (("this", sizes[0]), ("expression", sizes[1])):
            if own < max(sizes):
                part.set(name, padded(part.args[name], max(sizes)))
        return
    for name, other, size in (("expression", "this", sizes[0]), ("this", "expression", sizes[1])):
        if not size:
            continue
        written = _written(part.args[name], source)
        if written is None:
            continue
        text = written.name
        if isinstance(part, _ORDERS) and len(text.rstrip(_BLANK)) > size:
            part.set(other, padded(part.args[other], len(text)))
        else:
            part.set(name, _fitted(written, size))


def _pad_in(part: exp.In, length: Length, source: Source) -> None:
    size, items = _length(part.this, length), part.expressions
    if not size or not items:
        return
    sizes = [_length(item, length) for item in items]
    if all(sizes):
        most = max(size, *sizes)
        part.set("expressions", [_widened(item, own, most) for item, own in zip(items, sizes, strict=True)])
        part.set("this", _widened(part.this, size, most))
    elif all(_is_constant(item) for item in items):
        written = [_written(item, source) for item in items]
        known = list(zip(items, written, strict=True))
        if all(text is not None or _is_cast(item) for item, text in known):
            part.set("expressions", [item if text is None else _fitted(text, size) for item, text in known])


def _pad_case(part: exp.Case, length: Length, source: Source) -> None:
    """``CASE c WHEN a ...`` as ``CASE WHEN c = a ...``, where each comparison is padded by itself."""
    value = part.this
    for branch in part.args["ifs"]:
        equal = exp.EQ(this=value.copy(), expression=branch.this)
        _pad_pair(equal, length, source)
        branch.set("this", equal)
    part.set("this", None)


def _pad_decode(part: exp.DecodeCase, length: Length, source: Source) -> None:
    value, *rest = part.expressions
    size = _length(value, length)
    if size:
        sought = len(rest) - len(rest) % 2
        items = [
            _fitted_if_written(item, size, source) if place < sought and place % 2 == 0 else item
            for place, item in enumerate(rest)
        ]
        part.set("expressions", [value, *items])


def _widened(column: exp.Expr, own: int, most: int) -> exp.Expr:
    return column if own == most else padded(column, most)


def _fitted_if_written(node: exp.Expr, size: int, source: Source) -> exp.Expr:
    written = _written(node, source)
    return node if written is None else _fitted(written, size)


def _fitted(written: exp.Expr, size: int) -> exp.Expr:
    """A text with ``size`` characters; a longer text stays as it is unless the rest is blank."""
    text = written.name
    if len(text) == size or len(text.rstrip(_BLANK)) > size:
        return written
    found = exp.Literal.string(text[:size].ljust(size))
    found.meta.update(written.meta)
    return found


def _written(node: exp.Expr, source: Source) -> exp.Expr | None:
    """The text of a constant; None for NULL, for constants of another type, and for other nodes.

    Raises:
        UnsupportedQueryError: The constant is computed.
    """
    if not _is_constant(node):
        return None
    plain = node.unnest()
    while isinstance(plain, (exp.Cast, exp.TryCast)) and plain.to.this in _TEXTS:
        plain = plain.this.unnest()
    match plain:
        case exp.Literal():
            return plain if plain.is_string else None
        case exp.RawString():
            return plain
        case exp.Concat() | exp.DPipe():
            parts = [_text_of(part) for part in (plain.expressions or plain.flatten())]
            texts = [part for part in parts if part is not None]
            if len(texts) == len(parts):
                return exp.Literal.string("".join(texts))
        case exp.Null() | exp.Boolean() | exp.Interval() | exp.Cast() | exp.TryCast() | exp.Neg() | exp.HexString():
            return None
    msg = (
        f"{shown(node)} is a constant that is computed, and stands beside a CHAR column, which is compared with texts "
        "of its own length; write its value"
    )
    raise source.unsupported("CHAR", msg, offset_of(node, offset_of(plain, 0)))


def _text_of(node: exp.Expr) -> str | None:
    """The text of a string literal."""
    plain = node.unnest()
    return plain.name if isinstance(plain, exp.Literal) and plain.is_string else None


def _is_cast(node: exp.Expr) -> bool:
    """Whether a constant is a text because of a CAST, as a NULL may be."""
    plain = node.unnest()
    return isinstance(plain, (exp.Cast, exp.TryCast)) and plain.to.this in _TEXTS


def _is_constant(node: exp.Expr) -> bool:
    """Whether a node consists of constants, and was no sub-query."""
    return not (
        any(is_folded(part) or isinstance(part, (exp.Column, exp.Var, exp.AggFunc, exp.Window)) for part in node.walk())
        or has_marks(node)
    )
