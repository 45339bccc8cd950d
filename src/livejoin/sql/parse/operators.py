"""Operators with the precedence of Spark's grammar, which differs from sqlglot's.

A *value* consists of operands with operators, from the tightest: ``* / % div``; ``+ - ||``; ``<< >> >>>``; ``&``;
``^``; ``|``; comparisons, where ``=`` and ``<`` have one precedence. All associate to the left. At most one predicate
follows a value, such as IS NULL, IN, BETWEEN or LIKE; its own operands are values again, with comparisons. NOT, AND and
OR connect these. Source: ``SqlBaseParser.g4`` of Spark 4, the rules booleanExpression, predicate and valueExpression.

The law: the tree is Spark's, and its text means the same when sqlglot or DuckDB reads it again. So an operand gets
parentheses where these would read more or less as the operand. `tests/conformance`, group ``precedence``, compares with
a real Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar

from sqlglot import TokenType, exp
from sqlglot.parsers.spark import SparkParser

_SUMS: dict[TokenType, type[exp.Expr]] = {
    TokenType.PLUS: exp.Add,
    TokenType.DASH: exp.Sub,
    TokenType.DPIPE: exp.DPipe,
    TokenType.COLLATE: exp.Collate,
}
_BITS: tuple[dict[TokenType, type[exp.Expr]], ...] = (
    {TokenType.AMP: exp.BitwiseAnd},
    {TokenType.CARET: exp.BitwiseXor},
    {TokenType.PIPE: exp.BitwiseOr},
)
_COMPARISONS = {**SparkParser.EQUALITY, **SparkParser.COMPARISON}
_SHIFTS = {TokenType.LT: exp.BitwiseLeftShift, TokenType.GT: exp.BitwiseRightShift}
UNSIGNED_SHIFT = "shiftrightunsigned"
_SAME_ELSEWHERE = (
    exp.BitwiseAnd,
    exp.BitwiseXor,
    exp.BitwiseOr,
    exp.BitwiseLeftShift,
    exp.BitwiseRightShift,
    exp.DPipe,
)
"""What is one level for sqlglot and DuckDB, below sums and above comparisons."""
_COMPARING = tuple(_COMPARISONS.values())

Parse = Callable[[], exp.Expr | None]


def _apart(node: exp.Expr | None, *kinds: type[exp.Expr]) -> exp.Expr | None:
    """An operand, in parentheses if its node is of certain kinds."""
    return exp.Paren(this=node) if isinstance(node, kinds) else node


class OperatorParser(SparkParser):
    """Parses operators as Spark's grammar does."""

    def _parse_matched(self, kind: type[exp.Expr], this: exp.Expr | None) -> exp.Expr | None:
        """LIKE and similar predicates with their pattern, or with ANY or ALL patterns."""
        quantified = self._curr and self._curr.token_type in (TokenType.ANY, TokenType.ALL, TokenType.SOME)
        pattern = self._parse_unary() if quantified else self._parse_comparison()
        return self._parse_escape(self.expression(kind(this=this, expression=_apart(pattern, *_COMPARING))))

    RANGE_PARSERS: ClassVar = {
        TokenType.BETWEEN: lambda self, this: self._parse_between(this),
        TokenType.IN: lambda self, this: self._parse_in(this),
        TokenType.IS: lambda self, this: self._parse_is(this),
        TokenType.LIKE: lambda self, this: self._parse_matched(exp.Like, this),
        TokenType.ILIKE: lambda self, this: self._parse_matched(exp.ILike, this),
        TokenType.RLIKE: lambda self, this: self._parse_matched(exp.RegexpLike, this),
    }

    UNARY_PARSERS: ClassVar = {
        TokenType.PLUS: SparkParser.UNARY_PARSERS[TokenType.PLUS],
        TokenType.TILDE: SparkParser.UNARY_PARSERS[TokenType.TILDE],
        TokenType.DASH: lambda self: self._parse_negative(),
    }

    def _parse_negative(self) -> exp.Expr | None:
        """The operand of a minus sign, which is a part of a number: ``-1::STRING`` casts -1."""
        number_token = self._curr if self._curr is not None and self._curr.token_type == TokenType.NUMBER else None
        operand = self._parse_unary()
        if number_token is not None and isinstance(operand, (exp.Cast, exp.TryCast)):
            inner = operand
            while isinstance(inner.this, (exp.Cast, exp.TryCast)):
                inner = inner.this
            if isinstance(inner.this, exp.Literal):
                # 1L is read as 1::BIGINT, and 1BD as a DECIMAL; the token is longer than the digits then.
                has_letter = number_token.end - number_token.start >= len(number_token.text)
                number = inner if has_letter else inner.this
                if number is operand:
                    return self.expression(exp.Neg(this=operand))
                number.replace(exp.Paren(this=exp.Neg(this=number.copy())))
                return operand
        return self.expression(exp.Neg(this=operand))

    def _parse_equality(self, parse_is: bool = True) -> exp.Expr | None:
        """A value with at most one predicate after it; or NOT and its operand."""
        if self._match(TokenType.NOT):
            return self.expression(exp.Not(this=self._parse_equality()))
        value = self._parse_comparison()
        return self._parse_predicate(value) if value is not None else None

    def _parse_predicate(self, value: exp.Expr) -> exp.Expr | None:
        negated = self._match(TokenType.NOT)
        if not self._match_set(self.RANGE_PARSERS):
            if negated:
                self._retreat(self._index - 1)
            return value
        found = self.RANGE_PARSERS[self._prev.token_type](self, _apart(value, *_COMPARING))
        if not found:
            return value
        return self._negate_range(found) if negated else found

    def _parse_between(self, this: exp.Expr | None) -> exp.Between:
        symmetric = True if self._match_text_seq("SYMMETRIC") else None  # which is refused behind this
        low = _apart(self._parse_comparison(), *_COMPARING)
        self._match(TokenType.AND)
        high = _apart(self._parse_comparison(), *_COMPARING)
        return self.expression(exp.Between(this=this, low=low, high=high, symmetric=symmetric))

    def _parse_is_rhs(self, distinct: bool = False) -> exp.Expr | None:
        if distinct:
            return _apart(self._parse_comparison(), *_COMPARING)
        if (found := self._parse_null() or self._parse_boolean()) is None:
            self.raise_error("Expected NULL")
        return found

    def _parse_comparison(self, this: exp.Expr | None = None) -> exp.Expr | None:
        """A value with comparisons."""
        return self._parse_from_the_left(_COMPARISONS, self._parse_bitwise, this)

    def _parse_bitwise(self) -> exp.Expr | None:
        """A value without comparisons."""
        return self._parse_bits(len(_BITS) - 1)

    def _parse_bits(self, level: int) -> exp.Expr | None:
        tighter = self._parse_shift if level == 0 else lambda: self._parse_bits(level - 1)
        return self._parse_from_the_left(_BITS[level], tighter)

    def _parse_shift(self) -> exp.Expr | None:
        this = self._parse_sum()
        while (kind := self._curr.token_type if self._curr else None) in _SHIFTS and self._is_beside_next(kind):
            self._advance(2)
            if kind == TokenType.GT and self._curr.token_type == kind and self._curr.start == self._prev.end + 1:
                self._advance()
                by = self._parse_sum()
                if by is None:
                    self.raise_error("Expected a value")
                this = self.expression(exp.Anonymous(this=UNSIGNED_SHIFT, expressions=[this, by]))
            else:
                this = self.expression(_SHIFTS[kind](this=this, expression=_apart(self._parse_sum(), exp.DPipe)))
        return this

    def _is_beside_next(self, kind: TokenType) -> bool:
        """Whether the next token is of a kind and follows without a blank."""
        return bool(self._next and self._next.token_type == kind and self._next.start == self._curr.end + 1)

    def _parse_sum(self) -> exp.Expr | None:
        return self._parse_from_the_left(_SUMS, self._parse_factor)

    def _parse_from_the_left(
        self, operators: Mapping[TokenType, type[exp.Expr]], operand: Parse, this: exp.Expr | None = None
    ) -> exp.Expr | None:
        """Operands with operators of one level between them."""
        this = this or operand()
        while self._match_set(operators):
            kind, comments = operators[self._prev.token_type], self._prev_comments
            right = operand()
            if kind in _SUMS.values():
                this = _apart(this, exp.DPipe) if kind is not exp.DPipe else this
            elif kind in _COMPARING:
                this = _apart(this, *_COMPARING)
            else:
                right = _apart(right, *_SAME_ELSEWHERE)
            this = self.expression(kind(this=this, expression=right), comments=comments)
            if isinstance(this, exp.Collate):
                self._normalize_collate(this)
        return this
