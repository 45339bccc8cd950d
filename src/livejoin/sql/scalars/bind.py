"""Expressions of SQL as typed trees, in which Spark's implicit conversions are explicit.

Every column's node has a `ColumnRef` in its ``meta`` (see `livejoin.sql.names.scope`). The law: the tree has the type
that Spark 4 gives the expression in ANSI mode, and an expression that Spark's analyzer refuses for its types is refused
here. `tests/conformance` compares with a real Spark.

Cost: linear in the expression; some 20 microseconds a node.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlglot import exp

from livejoin.errors import SqlTypeError
from livejoin.query.conjunctive import ColumnRef
from livejoin.query.filters import filtering
from livejoin.query.scalar import Call, Constant, Field, Function, Scalar
from livejoin.schema import SqlType
from livejoin.sql.parse.parse import PLUS, UNIT
from livejoin.sql.parse.source import Source, offset_of, shown
from livejoin.sql.resolved.column import REF
from livejoin.sql.scalars import intervals, literals
from livejoin.sql.scalars.arithmetic import binary, negated, number
from livejoin.sql.scalars.calls import called, undated
from livejoin.sql.scalars.casts import cast_operand
from livejoin.sql.scalars.coercion import accepted
from livejoin.sql.scalars.functions import choices, times
from livejoin.sql.scalars.functions.by_name import function_of, is_known, no_function
from livejoin.sql.scalars.labels import labelled, name_of, text_of
from livejoin.sql.scalars.operands import (
    BOOLEAN,
    DATE,
    INTERVALS,
    TIMESTAMP,
    Interval,
    Mismatch,
    Operand,
    Refused,
    Unsayable,
    Void,
    as_value,
    call,
    cast,
    computed,
    type_of,
)
from livejoin.sql.scalars.patterns import check_patterns
from livejoin.sql.scalars.payload import refuse_payload

_COMPARISONS: dict[type[exp.Expr], Function] = {
    exp.EQ: "equal",
    exp.NEQ: "not_equal",
    exp.LT: "less",
    exp.LTE: "less_equal",
    exp.GT: "greater",
    exp.GTE: "greater_equal",
    exp.NullSafeEQ: "null_safe_equal",
}
_OPERATIONS: dict[type[exp.Expr], Function] = {
    exp.Add: "add",
    exp.Sub: "subtract",
    exp.Mul: "multiply",
    exp.Div: "divide",
    exp.IntDiv: "integral_divide",
    exp.Mod: "remainder",
}
_CHAINS = (*_OPERATIONS, exp.DPipe)
FILTERS = "filters"  # in the ``meta`` of a CASE whose condition chooses rows, as that of FILTER
_ARGUMENTS: dict[type[exp.Expr], frozenset[str]] = {
    exp.Between: frozenset({"this", "low", "high"}),
    exp.In: frozenset({"this", "expressions"}),
    exp.Is: frozenset({"this", "expression"}),
    exp.Case: frozenset({"this", "ifs", "default"}),
    exp.If: frozenset({"this", "true", "false"}),
    exp.Cast: frozenset({"this", "to", "safe"}),
    exp.TryCast: frozenset({"this", "to", "safe"}),
    exp.Extract: frozenset({"this", "expression"}),
    exp.TimestampAdd: frozenset({"this", "expression", "unit"}),
    exp.DateDiff: frozenset({"this", "expression", "unit"}),
    exp.TimestampDiff: frozenset({"this", "expression", "unit"}),
    exp.Like: frozenset({"this", "expression", "negate"}),
    exp.ILike: frozenset({"this", "expression", "negate"}),
}
"""What is understood of some nodes; with anything else, as the format of a cast, they are not."""
_LIKES: dict[type[exp.Expr], str] = {exp.Like: "like", exp.ILike: "ilike"}


@dataclass(frozen=True)
class Unsaid:
    """An expression that cannot be a scalar tree.

    Args:
        what: The function or operator.
        why: The reason.
        offset: The offset in the text.
    """

    what: str
    why: str
    offset: int


def bind_scalar(
    node: exp.Expr,
    field: Callable[[ColumnRef], Field],
    source: Source,
    offset: int = 0,
    void: SqlType | None = None,
) -> Scalar | Unsaid:
    """The typed tree of a bound expression.

    Args:
        node: The expression; its columns are resolved.
        field: Gives the position of a column in the rows, and its type.
        source: The SQL text.
        offset: A position for parts without one.
        void: The type of an untyped NULL.

    Returns:
        The tree; or the part of the expression that cannot be a tree.

    Raises:
        SqlTypeError: The types do not fit, as in Spark's DATATYPE_MISMATCH.
    """
    refuse_payload(node, field, source, offset)
    binder = _Binder(field, source, offset)
    try:
        try:
            found = binder.operand(node)
        except (Mismatch, Unsayable) as error:
            raise binder.placed(error, node) from error
    except _Unsaid as error:
        return error.unsaid
    if isinstance(found, Void):
        if void is not None:
            return Constant(None, void)
        return Unsaid("NULL", "it has no type; write CAST(NULL AS ...)", offset_of(node, offset))
    value = as_value(found)
    assert not isinstance(value, Void), "it is one of the two"
    return value


def filtered(condition: exp.Expr, value: exp.Expr, otherwise: exp.Expr | None = None) -> exp.Case:
    """A value for the rows that satisfy a condition, as with FILTER; for others another value, or NULL."""
    found = exp.Case(ifs=[exp.If(this=condition.copy(), true=value.copy())], default=otherwise)
    found.meta[FILTERS] = True
    return found


class _Unsaid(Exception):
    def __init__(self, unsaid: Unsaid) -> None:
        super().__init__(unsaid)
        self.unsaid = unsaid


@dataclass(frozen=True)
class _Binder:
    """Binds one expression."""

    field: Callable[[ColumnRef], Field]
    source: Source
    offset: int

    def operand(self, node: exp.Expr) -> Operand:
        """The operand of a node; errors get its position, unless a part of it has raised them with its own."""
        try:
            found = self._operand(node)
            if node.meta.get(PLUS):
                found = computed(number(found))
            if isinstance(found, Call) and not found.text:
                check_patterns(found)
        except (Mismatch, Unsayable) as error:
            raise self._located(error, node) from None
        return labelled(found, text_of(node)) if isinstance(found, Call) and not found.text else found

    def placed(self, error: Mismatch | Unsayable, node: exp.Expr) -> Exception:
        """An error with a node's position, unless a part with a position has raised it."""
        return self._placed(error, node, self.offset)

    def _located(self, error: Mismatch | Unsayable, node: exp.Expr) -> Exception:
        """An error with a node's position; unchanged if the node has none, since an outer node has one."""
        at = offset_of(node, -1)
        return error if at < 0 else self._placed(error, node, at)

    def _placed(self, error: Mismatch | Unsayable, node: exp.Expr, offset: int) -> Exception:
        if isinstance(error, Unsayable):
            return _Unsaid(Unsaid(error.what, error.why, offset))
        text = self._written(node)
        message = str(error) if str(error).startswith(text) else f"{text}: {error}"
        if isinstance(error, Refused):
            return self.source.unsupported(name_of(node), message, offset)
        return self.source.error(SqlTypeError, message, offset)

    def _written(self, node: exp.Expr) -> str:
        """The text of a node as written; a constant with its type, as ``1L`` and ``DATE '2024-02-29'``."""
        inner = node.this if isinstance(node, exp.Cast) else None
        if isinstance(inner, exp.Literal) and "end" in inner.meta:
            start, end = inner.meta["start"], inner.meta["end"] + 1
            if not inner.is_string and end - start > len(inner.name):
                return self.source.sql[start:end]
            if word := literals.type_before(self.source.sql, start):
                return f"{word} {self.source.sql[start:end]}"
        return text_of(node)

    def operands(self, nodes: Sequence[exp.Expr]) -> list[Operand]:
        """The operands of several nodes."""
        return [self.operand(node) for node in nodes]

    def _operand(self, node: exp.Expr) -> Operand:
        known = _ARGUMENTS.get(type(node))
        if known is not None:
            odd = next((name for name, value in node.args.items() if value and name not in known), None)
            if odd is not None:
                raise Unsayable(f"{name_of(node)} with {odd.upper()}", "it is not there")
        match node:
            case exp.Paren():
                return self.operand(node.this)
            case exp.Column():
                return self.field(node.meta[REF])
            case exp.And() | exp.Or():
                return self._chain_of_conditions(node)
            case exp.Not():
                return choices.inverse(self.operand(node.this))
            case exp.Neg():
                return self._negated(node)
            case exp.Cast() | exp.TryCast():
                return cast_operand(node, self.operand, self.source)
            case exp.Is():
                return self._is(node)
            case exp.NullSafeNEQ():
                same = choices.compared("null_safe_equal", self.operand(node.this), self.operand(node.expression))
                return choices.inverse(same)
            case exp.Between():
                value, low, high = self.operands([node.this, node.args["low"], node.args["high"]])
                return choices.between(value, low, high)
            case exp.In() if node.expressions:
                return choices.is_in(self.operand(node.this), self.operands(node.expressions))
            case exp.EQ(this=exp.Tuple(), expression=exp.Tuple()):
                return self._same_rows(node.this, node.expression)
            case exp.NEQ(this=exp.Tuple(), expression=exp.Tuple()):
                return choices.inverse(self._same_rows(node.this, node.expression))
            case exp.Case() | exp.If():
                return self._case(node)
            case exp.Extract():
                return times.extract(node.this.name, self.operand(node.expression))
            case exp.TimestampAdd():
                return self._moved(node)
            case exp.DateDiff() | exp.TimestampDiff() if node.args.get("unit"):
                end, start = self.operands([undated(node.this), undated(node.expression)])
                return times.difference(node.args["unit"].name, start, end)
            case exp.Escape() if type(node.this) in _LIKES:
                return self._like(node.this, node.expression)
        if type(node) in _CHAINS:
            return self._chain(node)
        if type(node) in _COMPARISONS:
            left, right = self.operand(node.this), self.operand(node.expression)
            return choices.compared(_COMPARISONS[type(node)], left, right)
        if type(node) in _LIKES:
            return self._like(node)
        return self._constant(node) or self._call(node)

    def _constant(self, node: exp.Expr) -> Operand | None:
        match node:
            case exp.Literal():
                return literals.text(node.name) if node.is_string else literals.number(node)
            case exp.HexString():
                return literals.hexadecimal(node.name)
            case exp.RawString():
                return literals.text(node.name)
            case exp.Boolean():
                return Constant(bool(node.this), BOOLEAN)
            case exp.Null():
                return Void()
            case exp.Interval():
                return intervals.interval(node)
            case _:
                return None

    def _call(self, node: exp.Expr) -> Operand:
        found = called(node)
        if found is None:
            if isinstance(node, exp.RegexpSplit):
                raise Unsayable(name_of(node), "it is read by an index alone, as SPLIT(text, pattern)[0]")
            if UNIT in node.meta:
                raise Unsayable(name_of(node), "its unit or pattern is written into the query, as a constant")
            name = name_of(node)
            is_there = not isinstance(node, exp.Func) or is_known(name.lower())
            raise Unsayable(name, "livejoin does not have it with such parts" if is_there else no_function(name))
        return function_of(found.name, self.operands(found.arguments))

    def _chain(self, node: exp.Expr) -> Operand:
        """A chain of operators that are each other's left operands, bound from the left; it may be long."""
        links = []
        while type(node) in _CHAINS:
            links.append(node)
            node = node.this
        found = self.operand(node)
        for link in reversed(links):
            found = self._linked(link, found, self.operand(link.expression))
        return found

    def _linked(self, node: exp.Expr, left: Operand, right: Operand) -> Operand:
        try:
            found = self._operation(node, left, right)
        except (Mismatch, Unsayable) as error:
            raise self._located(error, node) from None
        return labelled(found, text_of(node)) if isinstance(found, Call) and not found.text else found

    def _operation(self, node: exp.Expr, left: Operand, right: Operand) -> Operand:
        if isinstance(node, exp.DPipe):
            return function_of("concat", [left, right])
        function = _OPERATIONS[type(node)]
        if isinstance(left, Interval) and isinstance(right, Interval) and function in ("add", "subtract"):
            return intervals.total(left, right if function == "add" else right.negated())
        if function == "multiply" and any(type_of(as_value(side)) in INTERVALS for side in (left, right)):
            return times.multiplied(as_value(left), as_value(right))
        found = times.plus(left, right) if function == "add" else None
        found = times.minus(left, right) if function == "subtract" else found
        return binary(function, left, right) if found is None else found

    def _chain_of_conditions(self, node: exp.Expr) -> Operand:
        """AND or OR with all its operands, from the left."""
        kind = type(node)
        waiting, parts = [node], []
        while waiting:
            part = waiting.pop()
            if type(part) is kind:
                waiting += [part.expression, part.this]
            else:
                parts.append(self.operand(part))
        return choices.conditions("and" if kind is exp.And else "or", parts)

    def _negated(self, node: exp.Neg) -> Operand:
        inner = node.this
        if isinstance(inner, exp.Literal) and not inner.is_string:
            return literals.number(inner, "-")
        found = literals.suffixed(inner, "-")
        if found is not None:
            return found
        operand = self.operand(inner)
        if isinstance(operand, Interval):
            return operand.negated()
        if not isinstance(operand, Void) and operand.type in INTERVALS:
            return call("negate", operand.type, operand)
        return negated(operand)

    def _same_rows(self, left: exp.Tuple, right: exp.Tuple) -> Operand:
        """``(a, b) = (c, d)``: a comparison of structs, in which NULL equals NULL."""
        if len(left.expressions) != len(right.expressions):
            msg = f"{shown(left)} and {shown(right)} differ in length"
            raise Mismatch(msg)
        pairs = zip(left.expressions, right.expressions, strict=True)
        same = [choices.compared("null_safe_equal", self.operand(a), self.operand(b)) for a, b in pairs]
        return same[0] if len(same) == 1 else choices.conditions("and", same)

    def _is(self, node: exp.Is) -> Operand:
        operand = self.operand(node.this)
        match node.expression:
            case exp.Null():
                return choices.is_null(operand)
            case exp.Boolean():
                return choices.compared("null_safe_equal", operand, Constant(bool(node.expression.this), BOOLEAN))
            case _:
                raise Unsayable("IS", "it is followed by NULL, TRUE or FALSE")

    def _case(self, node: exp.Expr) -> Operand:
        if isinstance(node, exp.If):
            if not node.args.get("false"):
                msg = "IF takes a condition and two values, and one value is given"
                raise Mismatch(msg)
            value, other = self.operands([node.args["true"], node.args["false"]])
            return choices.case([self.operand(node.this)], [value, other])
        default = self.operand(node.args["default"]) if node.args.get("default") else Void()
        conditions = [self.operand(branch.this) for branch in node.args["ifs"]]
        if node.this is not None:
            value = self.operand(node.this)
            conditions = [choices.compared("equal", value, each) for each in conditions]
        if any(isinstance(each, Void) for each in conditions):
            msg = "a condition is BOOLEAN, and VOID is found"
            raise Mismatch(msg)
        if FILTERS in node.meta:
            conditions = [each if isinstance(each, (Void, Interval)) else filtering(each) for each in conditions]
        return choices.case(conditions, [*(self.operand(branch.args["true"]) for branch in node.args["ifs"]), default])

    def _like(self, node: exp.Expr, escape: exp.Expr | None = None) -> Operand:
        name = _LIKES[type(node)]
        patterns = [node.expression]
        if isinstance(node.expression, (exp.Any, exp.All)):
            several = node.expression.this
            patterns = several.expressions if isinstance(several, exp.Tuple) else [several.unnest()]
        if not patterns:
            msg = "there is no pattern within the parentheses; write one"
            raise Mismatch(msg)
        tested = self.operand(node.this)
        found = []
        for pattern in patterns:
            match = function_of(name, [tested, *self.operands([pattern, *([escape] if escape else [])])])
            found.append(choices.inverse(match) if node.args.get("negate") else match)
        if len(found) == 1:
            return found[0]
        return choices.conditions("or" if isinstance(node.expression, exp.Any) else "and", found)

    def _moved(self, node: exp.TimestampAdd) -> Operand:
        """``dateadd(unit, amount, time)``."""
        amount, time = self.operands([node.expression, node.this])
        if node.args["unit"].name == "DAY" and type_of(time) == DATE:
            return cast(times.add_days(time, amount), TIMESTAMP)
        if not isinstance(amount, Constant) or not isinstance(amount.value, int):
            raise Unsayable("DATEADD", "the amount of a unit is a constant")
        unit = node.args["unit"].name
        factor, unit = (3, "MONTH") if unit == "QUARTER" else (1, unit)
        by = intervals.of_unit(amount.value * factor, unit)
        return times.shifted(accepted(time, TIMESTAMP), by)
