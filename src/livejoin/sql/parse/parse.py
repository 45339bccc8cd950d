"""Parse one statement of the Spark dialect.

The parser is sqlglot's for Spark, with two defaults that Spark 4 changed: CAST fails for a value that it cannot convert
(TRY_CAST gives NULL), and a doubled quote in a string stands for one.
"""

from __future__ import annotations

import re
from typing import ClassVar

from sqlglot import Token, TokenType, exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ParseError, TokenError
from sqlglot.parsers.spark import SparkParser

from livejoin.errors import SqlSyntaxError
from livejoin.sql.parse.arguments import Build, with_all_arguments
from livejoin.sql.parse.column_types import unknown_type
from livejoin.sql.parse.gaps import refuse_gaps
from livejoin.sql.parse.nesting import refuse_nested_queries, too_deep
from livejoin.sql.parse.operators import OperatorParser
from livejoin.sql.parse.quotes import refuse_quoted_qualifiers
from livejoin.sql.parse.source import Source
from livejoin.sql.parse.spans import mark_end, mark_inside, mark_keyword, mark_select

_STATEMENTS = "allowed are SELECT, CREATE TABLE, CREATE VIEW, DROP TABLE and DROP VIEW"

# sqlglot names the operators that lack an operand by their classes.
_OPERATORS = {
    "EQ": "=",
    "NEQ": "<>",
    "NullSafeEQ": "<=>",
    "LT": "<",
    "LTE": "<=",
    "GT": ">",
    "GTE": ">=",
    "Add": "+",
    "Sub": "-",
    "Mul": "*",
    "Div": "/",
    "Mod": "%",
    "DPipe": "||",
    "BitwiseAnd": "&",
    "BitwiseOr": "|",
    "BitwiseXor": "^",
    "BitwiseLeftShift": "<<",
    "BitwiseRightShift": ">>",
}


NAME = "spark_name"
UNIT = "spark_unit"
PLUS = "plus"
_MISSING = re.compile(r"Required \w+: '\w+' missing for <class '[\w.]+\.(\w+)'>")
_TOO_MANY = re.compile(r"number of provided arguments \((\d+)\) is greater .* supported arguments \((\d+)\)")
_AS_WRITTEN = (
    "SHIFTLEFT",
    "SHIFTRIGHT",
    "TO_DATE",
    "TO_TIMESTAMP",
    "UNIX_TIMESTAMP",
    "TO_UNIX_TIMESTAMP",
    "TO_CHAR",
    "FORMAT_STRING",
    "FROM_UTC_TIMESTAMP",
    "TO_UTC_TIMESTAMP",
)
"""Functions of which sqlglot would leave out arguments, write patterns anew, or put a cast around what they take."""
_INTERVAL = re.compile(r"\s*[+-]?[0-9]*\.?[0-9]*\s*[a-z]+\s*", re.IGNORECASE)


def _with_unit(name: str, at: int) -> Build:
    """What builds a node, which notes the text of the unit that its call has at a position; None if it is no constant.

    sqlglot reads a column there as the unit of its name, and 'D' as DAY, which Spark does not; and it writes the
    patterns of times anew.
    """

    build = with_all_arguments(name, SparkParser.FUNCTIONS[name])

    def built(args: list[exp.Expr], dialect: Dialect) -> exp.Expr:
        unit = args[at] if at < len(args) else None
        written = unit.name if isinstance(unit, exp.Literal) and unit.is_string else None
        node = build(args, dialect=dialect)
        node.meta[UNIT] = written
        return node

    return built


def _of_one(name: str) -> Build:
    """What builds FIRST or LAST; with anything but TRUE or FALSE behind the value a call that nobody knows.

    sqlglot leaves that out, an order too, so that it would be ignored.
    """
    build = SparkParser.FUNCTIONS[name]

    def built(args: list[exp.Expr]) -> exp.Expr:
        is_plain = len(args) < 2 or isinstance(args[1], exp.Boolean)
        return build(args) if is_plain else _unknown(name, args)

    return built


def _unknown(name: str, args: list[exp.Expr]) -> exp.Expr:
    """A call of a function that sqlglot makes no node of, with the arguments as they are written."""
    return exp.Anonymous(this=name, expressions=args)


def _as_written(name: str) -> Build:
    """What builds a call with its name and its arguments, as many as are written and as they are written."""
    return lambda args: _unknown(name.lower(), args)


def _with_plus(node: exp.Expr | None) -> exp.Expr | None:
    """A node behind a plus sign, which sqlglot leaves out."""
    if node is not None:
        node.meta[PLUS] = True
    return node


class SparkAnsi(Spark):
    """Spark SQL with ANSI casts and doubled quotes.

    Nodes of function calls have the function's name as it was written in their ``meta``, under `NAME`, and the units of
    TRUNC and DATE_TRUNC, and the pattern of DATE_FORMAT, under `UNIT`: sqlglot's nodes are the same for functions that
    differ. What stands behind a plus
    sign has `PLUS`.
    """

    ORIGINAL_NAME_META_KEY = NAME

    class Tokenizer(Spark.Tokenizer):
        """Spark's tokens."""

        STRING_ESCAPES: ClassVar = ["\\", "'", '"']

    class Parser(OperatorParser):
        """Spark's grammar; queries know their tokens (see `livejoin.sql.parse.spans`)."""

        STRICT_CAST = True
        UNARY_PARSERS: ClassVar = {
            **OperatorParser.UNARY_PARSERS,
            TokenType.PLUS: lambda self: _with_plus(self._parse_unary()),
        }
        FUNCTIONS: ClassVar = {
            **{name: with_all_arguments(name, build) for name, build in SparkParser.FUNCTIONS.items()},
            **{name: _of_one(name) for name in ("FIRST", "FIRST_VALUE", "LAST", "LAST_VALUE")},
            **{name: _as_written(name) for name in _AS_WRITTEN},
            "INITCAP": lambda args: exp.Initcap(this=args[0]) if len(args) == 1 else _unknown("initcap", args),
            "TRUNC": _with_unit("TRUNC", 1),
            "DATE_TRUNC": _with_unit("DATE_TRUNC", 0),
            "DATE_FORMAT": _with_unit("DATE_FORMAT", 1),
        }

        FUNCTION_PARSERS: ClassVar = {
            name: parser
            for name, parser in SparkParser.FUNCTION_PARSERS.items()
            if name not in ("CEIL", "FLOOR", "INITCAP")
        }

        def _warn_unsupported(self) -> None:
            """Say nothing: a statement that sqlglot does not know is refused by us, by its name."""

        def _parse_interval(self, *args: bool, **options: bool) -> exp.Add | exp.Interval | None:
            """An amount and a unit are the whole text of INTERVAL '...'; sqlglot looks for them anywhere in it."""
            text = self._next
            node = super()._parse_interval(*args, **options)
            if isinstance(node, exp.Interval) and text is not None and text.token_type == TokenType.STRING:
                amount = node.this
                if isinstance(amount, exp.Literal) and amount.name != text.text and not _INTERVAL.fullmatch(text.text):
                    return exp.Interval(this=exp.Literal.string(text.text))
            return node

        def _parse_position(self, *args: bool, **options: bool) -> exp.StrPosition:
            start, depth, commas = self._index, 0, 0
            node = super()._parse_position(*args, **options)
            for token in self._tokens[start : self._index]:
                depth += (token.token_type == TokenType.L_PAREN) - (token.token_type == TokenType.R_PAREN)
                commas += depth == 0 and token.token_type == TokenType.COMMA
            if commas > 2:
                self.raise_error("POSITION takes at most 3 arguments")
            return node

        def _parse_pivot_aggregation(self) -> exp.Expr | None:
            """An expression over aggregates; sqlglot reads one call."""
            value = self._parse_disjunction()
            return None if value is None else self._parse_alias(value)

        def _parse_select_query(self, *args: bool, **options: bool) -> exp.Expr | None:
            start = self._index
            query = super()._parse_select_query(*args, **options)
            return mark_select(query, start, self._index)

        def _parse_set_operations(self, this: exp.Expr | None) -> exp.Expr | None:
            mark_end(this, self._index)
            return super()._parse_set_operations(this)

        def parse_set_operation(self, this: exp.Expr | None, *args: bool, **options: bool) -> exp.SetOperation | None:
            keyword = self._index
            return mark_keyword(super().parse_set_operation(this, *args, **options), keyword)

        def _parse_wrapped_select(self, table: bool = False) -> exp.Expr | None:
            start = self._index
            return mark_inside(super()._parse_wrapped_select(table), start, self._index)

        def _parse_cte(self) -> exp.CTE | exp.FunctionSpecification | None:
            start = self._index
            definition = super()._parse_cte()
            if definition is not None:
                mark_inside(definition.this, start, self._index)
            return definition


def parse(sql: str) -> tuple[exp.Expr, Source]:
    """The syntax tree of one statement, with its source.

    Raises:
        SqlSyntaxError: The text does not parse, is empty, or qualifies a name with a string.
        UnsupportedQueryError: There is more than one statement, or one that livejoin does not have, or it is nested too
            deeply.
    """
    if not isinstance(sql, str):
        msg = f"a query is a text; found {sql!r:.80}"
        raise SqlSyntaxError(msg, "")
    try:
        sql.encode()
    except UnicodeEncodeError as error:
        msg = f"the SQL text has {sql[error.start]!r} at position {error.start}, which is no character; leave it out"
        raise SqlSyntaxError(msg, "") from error
    dialect = SparkAnsi()
    try:
        tokens = dialect.tokenize(sql)
    except TokenError as error:
        msg = "the SQL text ends within a string, a quoted name or a comment; close it"
        raise Source(sql, ()).error(SqlSyntaxError, msg, len(sql)) from error
    source = Source(sql, tuple(tokens))
    if tokens and tokens[0].token_type in dialect.tokenizer_class.COMMANDS:
        clause = tokens[0].text.upper()
        msg = f"{clause} is not supported; {_STATEMENTS}"
        raise source.unsupported(clause, msg, tokens[0].start)
    refuse_gaps(source)
    refuse_quoted_qualifiers(source)
    try:
        statements = [tree for tree in dialect.parser().parse(tokens, sql) if isinstance(tree, exp.Expr)]
    except ParseError as error:
        raise _syntax_error(error, source) from error
    except RecursionError:
        raise too_deep(source) from None
    statements = [tree for tree in statements if not isinstance(tree, exp.Semicolon)]
    if not statements:
        msg = "the SQL text is empty; allowed is one statement"
        raise SqlSyntaxError(msg, sql)
    if len(statements) > 1:
        msg = f"found {len(statements)} statements; allowed is one: pass them one at a time"
        raise source.unsupported(";", msg, source.find({TokenType.SEMICOLON}))
    refuse_nested_queries(statements[0], source)
    return statements[0], source


def _syntax_error(error: ParseError, source: Source) -> SqlSyntaxError:
    """sqlglot gives the line and the last column of the token that it stumbled over."""
    start = source.tokens[0]
    if start.token_type == TokenType.VAR:
        msg = f"no statement begins with {start.text!r}; {_STATEMENTS}"
        return source.error(SqlSyntaxError, msg, start.start)
    first = error.errors[0]
    at = (first["line"], first["col"])
    offset = next((t.start for t in source.tokens if (t.line, t.col) == at), len(source.sql))
    if unknown := unknown_type(offset, source):
        return source.error(SqlSyntaxError, unknown, offset)
    description = str(first["description"]).partition(" but got <Token")[0].rstrip(".")
    missing, most = _MISSING.search(description), _TOO_MANY.search(description)
    if call := _call_that_ends(offset, source) if most or (missing and _is_function(missing[1])) else None:
        return source.error(SqlSyntaxError, _wrong_number(call, most, source), call.start)
    if missing:
        description = f"{_OPERATORS.get(missing[1], missing[1].upper())} lacks an operand"
    description = description.replace("Invalid expression / Unexpected token", "this is not expected here")
    found = f" at {first['highlight']!r}" if first["highlight"] else ""
    msg = f"the SQL text does not parse{found}: {description}; the dialect is Spark SQL"
    return source.error(SqlSyntaxError, msg, offset)


def _is_function(node: str) -> bool:
    """Whether sqlglot's class of a name is that of calls, and not of operators, as AND, nor of clauses."""
    found = getattr(exp, node, exp.Expr)
    return issubclass(found, exp.Func) and not issubclass(found, exp.Binary)


def _call_that_ends(offset: int, source: Source) -> Token | None:
    """The name of the function whose call has its closing parenthesis at an offset; None if it is no call."""
    depth = 0
    before = [token for token in source.tokens if token.start <= offset]
    for place in range(len(before) - 1, 0, -1):
        kind = before[place].token_type
        depth += (kind == TokenType.R_PAREN) - (kind == TokenType.L_PAREN)
        if depth == 0:
            name = before[place - 1]
            return name if kind == TokenType.L_PAREN and name.text.isidentifier() else None
    return None


def _wrong_number(name: Token, most: re.Match[str] | None, source: Source) -> str:
    """That a call has too few or too many arguments."""
    function = source.text_at(name.start).upper()
    if most is None:
        return f"{function} lacks an argument; write all that it takes in Spark SQL"
    given, allowed = int(most[1]), int(most[2])
    return f"{function} takes at most {allowed} argument{'s' * (allowed != 1)}, and {given} are given"
