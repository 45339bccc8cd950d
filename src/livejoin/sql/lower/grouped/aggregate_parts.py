"""The arguments and options of an aggregate call: within its parentheses, and in WITHIN GROUP after it.

Spark takes an order within or after a call, as LISTAGG(x, ',') WITHIN GROUP (ORDER BY y), and a percentile as the
second or as the only argument. Here each has one form. Parts that sqlglot drops are looked for in the text, so that
nothing is ignored.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlglot import TokenType, exp

from livejoin.sql.parse.source import Source, offset_of, shown
from livejoin.sql.resolved.item import SortBy

_OF_TWO = (
    *(exp.ArgMin, exp.ArgMax, exp.CovarPop, exp.CovarSamp, exp.Corr, exp.RegrCount, exp.RegrAvgx, exp.RegrAvgy),
    *(exp.RegrSxx, exp.RegrSyy, exp.RegrSxy, exp.RegrSlope, exp.RegrIntercept, exp.RegrR2),
)
_INVERSE = (exp.PercentileCont, exp.PercentileDisc)
_ORDERED = (exp.GroupConcat, exp.ArrayAgg)
# What is read of a call beside its arguments, or says nothing here, as how exact an approximation must be.
_READ = frozenset(
    {"this", "expression", "expressions", "quantile", "separator", "accuracy", "deterministic", "nulls_excluded"}
)


@dataclass(frozen=True)
class Form:
    """The options of a call beside its arguments.

    Args:
        order: The order of a list or of a text, or of the values of a percentile.
        fractions: The percentiles; empty for other aggregates.
        is_array: Whether the percentiles are written as an array; the result then is one too.
        separator: The text between the parts of a joined text.
    """

    order: SortBy | None = None
    fractions: tuple[float, ...] = ()
    is_array: bool = False
    separator: str = ""


PLAIN = Form()


@dataclass(frozen=True)
class Parts:
    """The arguments of a call, resolved, whether they are DISTINCT, and the options."""

    arguments: tuple[exp.Expr, ...]
    distinct: bool
    form: Form


def parts_of(outer: exp.Expr, call: exp.Expr, written: str, source: Source, offset: int) -> Parts:
    """The parts of a call.

    Args:
        outer: The call, or the WITHIN GROUP around it.
        call: The call.
        written: The name of the function in the text.
        source: The SQL text.
        offset: The offset of the call.

    Raises:
        UnsupportedQueryError: A number of arguments, an order or an option that the aggregate does not have.
    """
    if written == "QUANTILE":
        msg = "QUANTILE is no function of Spark's: write PERCENTILE for what lies between values, or PERCENTILE_DISC"
        raise source.unsupported(written, msg, offset)
    given = [name for name, value in call.args.items() if value and isinstance(value, (exp.Expr, list))]
    odd = next((name for name in given if name not in _READ), None)
    if odd is not None:
        clause = odd.replace("_", " ").upper()
        raise source.unsupported(written, f"{written} with {clause} is not supported; leave that out", offset)
    order = _order_behind(outer, call, written, source, offset)
    parts, distinct, inside = _written(call)
    if inside is not None:
        order = _one_key(inside, written, source, offset)
    if order is not None and not isinstance(call, (*_INVERSE, *_ORDERED, exp.Mode)):
        msg = f"ORDER BY within {written} is not supported: it says nothing of its result; leave it out"
        raise source.unsupported("ORDER BY", msg, source.find({TokenType.ORDER_BY}, offset, offset))
    if isinstance(call, exp.Mode) and not isinstance(call.args.get("deterministic") or exp.true(), exp.Boolean):
        msg = f"the second argument of {written} is {shown(call.args['deterministic'])}; allowed are TRUE and FALSE"
        raise source.unsupported(written, msg, offset)
    form = replace(_form(call, written, source, offset), order=order)
    if isinstance(call, _INVERSE):
        parts = []
    if isinstance(call, (*_INVERSE, exp.Mode)) and order is not None:
        parts.append(order.value)
    if isinstance(call, exp.Count) and not distinct and len(parts) == 1 and isinstance(parts[0], exp.Star):
        return Parts((), False, form)
    star = next((part for part in parts if isinstance(part, exp.Star)), None)
    if star is not None:
        msg = f"{written} over * is not supported; name the columns"
        raise source.unsupported("*", msg, source.find({TokenType.STAR}, offset, offset))
    if any(isinstance(part, exp.Limit) for part in parts):
        msg = f"LIMIT within {written} is not supported; leave it out"
        raise source.unsupported("LIMIT", msg, source.find({TokenType.LIMIT}, offset, offset))
    wanted = 2 if isinstance(call, _OF_TWO) else 1
    if not parts or (len(parts) != wanted and not isinstance(call, exp.Count)):
        msg = f"{written} has {len(parts)} arguments; allowed is {'one' if wanted == 1 else 'two'}"
        raise source.unsupported(written, msg, offset)
    distinct = distinct or isinstance(call, exp.ApproxDistinct)
    return Parts(tuple(part.unnest() for part in parts), distinct, form)


def _written(call: exp.Expr) -> tuple[list[exp.Expr], bool, exp.Order | None]:
    """The arguments, whether DISTINCT stands before them, and the ORDER BY after them."""
    if isinstance(call, exp.Anonymous):
        found = list(call.expressions)
    else:
        found = [call.this, call.args.get("expression"), *call.expressions]
    parts = [part for part in found if isinstance(part, exp.Expr)]
    if isinstance(call, (exp.First, exp.Last)) and isinstance(parts[-1], exp.Boolean):
        parts.pop()  # FIRST(x, FALSE): NULLs count too; a row that has a value may still be the first
    order = None
    if parts and isinstance(parts[0], exp.Order):
        order = parts[0]
        parts = [order.this, *parts[1:]]
    if parts and isinstance(parts[0], exp.Distinct):
        return [*parts[0].expressions, *parts[1:]], True, order
    return parts, False, order


def _order_behind(outer: exp.Expr, call: exp.Expr, written: str, source: Source, offset: int) -> SortBy | None:
    """The order in WITHIN GROUP."""
    if not isinstance(outer, exp.WithinGroup):
        if isinstance(call, _INVERSE):
            msg = f"{written} needs an order: write WITHIN GROUP (ORDER BY value) behind it"
            raise source.unsupported(written, msg, offset)
        return None
    if not isinstance(call, (*_INVERSE, *_ORDERED, exp.Mode)) or not isinstance(outer.expression, exp.Order):
        raise source.unsupported(
            "WITHIN GROUP", f"{written} with WITHIN GROUP is not supported; leave that out", offset
        )
    return _one_key(outer.expression, written, source, offset)


def _one_key(order: exp.Order, written: str, source: Source, offset: int) -> SortBy:
    at = source.find({TokenType.ORDER_BY}, offset, offset)
    key = order.expressions[0]
    if len(order.expressions) > 1 or not isinstance(key, exp.Ordered):
        msg = f"{written} is ordered by {len(order.expressions)} expressions; allowed is one"
        raise source.unsupported("ORDER BY", msg, at)
    descending, nulls_first = bool(key.args.get("desc")), bool(key.args.get("nulls_first"))
    if nulls_first == descending:
        msg = (
            f"{written} with NULLS {'FIRST' if nulls_first else 'LAST'} is not supported: NULLs come first in "
            "ascending and last in descending order; leave that out"
        )
        raise source.unsupported("ORDER BY", msg, at)
    return SortBy(key.this.unnest(), descending, nulls_first, offset_of(key, at))


def _form(call: exp.Expr, written: str, source: Source, offset: int) -> Form:
    """Percentiles and separators, which are constants."""
    match call:
        case exp.Median():
            return Form(fractions=(0.5,))
        case exp.Quantile() | exp.ApproxQuantile():
            if _commas(source, offset) > (2 if isinstance(call, exp.ApproxQuantile) else 1):
                msg = f"{written} with a frequency is not supported: it has one value and one percentage"
                raise source.unsupported(written, msg, offset)
            if call.args.get("quantile") is None:
                msg = f"{written} lacks a percentage; write {written}(value, 0.5)"
                raise source.unsupported(written, msg, offset)
            return _fractions(call.args["quantile"], written, source, offset)
        case exp.PercentileCont() | exp.PercentileDisc():
            return _fractions(call.this, written, source, offset)
        case exp.GroupConcat():
            given = call.args.get("separator")
            if given is not None and not (isinstance(given, exp.Literal) and given.is_string):
                msg = f"the separator {shown(given)} of {written} is no text in quotes; write one"
                raise source.unsupported(written, msg, offset)
            return Form(separator="" if given is None else given.name)
        case _:
            return PLAIN


def _fractions(node: exp.Expr, written: str, source: Source, offset: int) -> Form:
    parts = node.expressions if isinstance(node, exp.Array) else [node]
    found = [_number(part.unnest()) for part in parts]
    if not found or any(value is None or not 0 <= value <= 1 for value in found):
        msg = f"the percentage {shown(node)} of {written} is not supported; write numbers from 0 to 1"
        raise source.unsupported(written, msg, offset)
    return Form(fractions=tuple(value for value in found if value is not None), is_array=isinstance(node, exp.Array))


def _number(node: exp.Expr) -> float | None:
    if not isinstance(node, exp.Literal) or node.is_string:
        return None
    try:
        return float(node.name)
    except ValueError:
        return None


def _commas(source: Source, offset: int) -> int:
    """The commas between the arguments of the call at an offset."""
    depth, found = 0, 0
    opening = {TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE}
    closing = {TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE}
    for token in (token for token in source.tokens if token.start > offset):
        depth += (token.token_type in opening) - (token.token_type in closing)
        found += depth == 1 and token.token_type == TokenType.COMMA
        if depth == 0:
            break
    return found
