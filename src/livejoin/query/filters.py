"""Conditions that choose rows, as those of WHERE, HAVING and FILTER: NULL drops a row as FALSE does.

Law: a row that a conjunct drops does not fail because of another one, if that conjunct has a value for the row. So

    k > 0 AND 10 / a > 1        drops the row (k NULL, a 0),

where the expression ``k > 0 AND 10 / a > 1`` itself is an error, as AND looks at what stands behind a NULL. Conjuncts
that have a value for every row (`livejoin.query.total`) come first, the others follow in the order in which they are
written, and each is looked at for those rows alone for which all before it are true.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from livejoin.query.scalar import Call, Constant, Expression, Scalar
from livejoin.query.total import is_total
from livejoin.schema import SqlType

_BOOLEAN = SqlType("boolean")
_FALSE = Constant(False, _BOOLEAN)


def filtering(condition: Scalar) -> Scalar:
    """A condition as one that chooses rows: true for the same rows, and an error for no more of them.

    >>> from livejoin.query.scalar import Field
    >>> number = Field(0, SqlType.integer(32))
    >>> asked = Call("equal", (number, number), _BOOLEAN)
    >>> cast = Call("equal", (Call("cast", (Field(1, SqlType("string")),), number.type), number), _BOOLEAN)
    >>> found = filtering(Call("and", (cast, asked), _BOOLEAN))
    >>> [part.function for part in found.arguments], filtering(asked) == asked
    (['coalesce', 'equal'], True)
    """
    parts = list(dict.fromkeys(conjuncts_of(condition)))
    if len(parts) < 2 or all(map(is_total, parts)):
        return condition
    total = [part for part in parts if is_total(part)]
    steps = [_all(total)] if total else []
    *before, last = [*steps, *(part for part in parts if not is_total(part))]
    text = condition.text if isinstance(condition, Call) else ""
    return Call("and", (*map(_or_false, before), last), _BOOLEAN, text)


def conjuncts_of(condition: Scalar) -> Iterator[Scalar]:
    """The conjuncts of a condition that chooses rows, from left to right; NOT (a OR b) is NOT a AND NOT b."""
    match condition:
        case Call("and", parts):
            for part in parts:
                yield from conjuncts_of(part)
        case Call("coalesce", (part, Constant(False))):
            yield from conjuncts_of(part)
        case Call("not", (Call("not", (part,)),)):
            yield from conjuncts_of(part)
        case Call("not", (Call("or", parts),)):
            for part in parts:
                yield from conjuncts_of(Call("not", (part,), _BOOLEAN))
        case _:
            yield condition


def conjunction(parts: Iterable[Expression]) -> Expression | None:
    """All of some conditions that choose rows, each once; None if there is none.

    Those with trees and those that DuckDB evaluates become steps, as each kind means what it means by itself alone.
    """
    distinct = list({one.identity: one for part in parts for one in part.steps or (part,)}.values())
    steps = _by_evaluator(distinct)
    return steps[0] if len(steps) == 1 else _in_steps(steps) if steps else None


def _by_evaluator(parts: Sequence[Expression]) -> list[Expression]:
    """Conditions as few steps: what has a value for every row, what DuckDB evaluates, and what else has a tree."""
    trees = [part for part in parts if part.scalar is not None]
    others = [part for part in parts if part.scalar is None]
    if not others:
        return [_as_tree(trees)] if trees else []
    total = [part for part in trees if part.scalar is not None and is_total(part.scalar)]
    rest = [part for part in trees if part not in total]
    return [*([_as_tree(total)] if total else []), *others, *([_as_tree(rest)] if rest else [])]


def _as_tree(parts: Sequence[Expression]) -> Expression:
    text = _text(parts)
    trees = tuple(part.scalar for part in parts if part.scalar is not None)
    return Expression(text, filtering(trees[0] if len(trees) == 1 else Call("and", trees, _BOOLEAN, text)))


def _in_steps(steps: Sequence[Expression]) -> Expression:
    return Expression(_text(steps), None, tuple(steps))


def _text(parts: Sequence[Expression]) -> str:
    return parts[0].text if len(parts) == 1 else " AND ".join(f"({part.text})" for part in parts)


def _all(parts: Sequence[Scalar]) -> Scalar:
    return parts[0] if len(parts) == 1 else Call("and", tuple(parts), _BOOLEAN)


def _or_false(condition: Scalar) -> Scalar:
    return Call("coalesce", (condition, _FALSE), _BOOLEAN)
