"""Parse one statement of the Spark dialect.

The parser is sqlglot's for Spark, with two defaults that Spark 4 changed: CAST fails for a value that it cannot convert
(TRY_CAST gives NULL), and a doubled quote in a string stands for one.
"""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import Any, ClassVar

from sqlglot import Token, TokenType, exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ParseError, TokenError
from sqlglot.parsers import spark as spark_parser
from sqlglot.parsers.spark import SparkParser

from livejoin.errors import SqlSyntaxError
from livejoin.shown import meant
from livejoin.sql.parse.arguments import Build, WrongCount, with_arguments
from livejoin.sql.parse.emit_final import FINAL, Sealing, closed_windows, without_emit
from livejoin.sql.parse.function_names import OTHERS, SPARKS
from livejoin.sql.parse.gaps import refuse_gaps, refuse_open_parentheses
from livejoin.sql.parse.keywords import names_from_keywords, reserved_name
from livejoin.sql.parse.nesting import refuse_nested_queries, too_deep
from livejoin.sql.parse.now import split_bounds, times_in, with_times
from livejoin.sql.parse.operators import OperatorParser
from livejoin.sql.parse.other_dialects import of_statement
from livejoin.sql.parse.plain_sqlglot import refuse_compiled
from livejoin.sql.parse.quotes import refuse_quoted_qualifiers
from livejoin.sql.parse.source import Source
from livejoin.sql.parse.spans import mark_end, mark_inside, mark_keyword, mark_select
from livejoin.sql.parse.syntax_errors import (
    ABSENT_FUNCTION,
    STATEMENTS,
    NotParsed,
    malformed,
    syntax_error,
    wrong_count,
)
from livejoin.sql.parse.watermark import WATERMARK, without_watermark

refuse_compiled(spark_parser.__file__)

NAME = "spark_name"
UNIT = "spark_unit"
PLUS = "plus"
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
    "CONVERT_TIMEZONE",
    "DAYNAME",
    "FROM_UNIXTIME",
    "MONTHNAME",
    "MONTHS_BETWEEN",
)
"""Functions of which sqlglot would leave out arguments, write patterns anew, or put a cast around what they take."""
_WITHIN_STATEMENTS = frozenset({TokenType.VAR, TokenType.IDENTIFIER, TokenType.STRING, TokenType.ALIAS})
_BEFORE_KIND = frozenset({TokenType.OR, TokenType.REPLACE, TokenType.TEMPORARY})
_BYTES = re.compile(r"""\b[xX](["'])([0-9a-fA-F]*)([^0-9a-fA-F"'])[^"']*\1""")
_INTERVAL = re.compile(r"\s*[+-]?[0-9]*\.?[0-9]*\s*[a-z]+\s*", re.IGNORECASE)


def _is_read(name: str) -> bool:
    """Whether a function of sqlglot is one of Spark's, or is checked elsewhere."""
    return name.lower() in SPARKS | OTHERS


def _with_unit(name: str, at: int) -> Build:
    """The builder of a node that notes the text of a unit argument; None if the unit is no constant.

    sqlglot reads a column in that place as the unit of that name, and 'D' as DAY; Spark does neither. sqlglot also
    rewrites the patterns of times.
    """

    build = with_arguments(name, SparkParser.FUNCTIONS[name])

    def built(args: list[exp.Expr], dialect: Dialect) -> exp.Expr:
        unit = args[at] if at < len(args) else None
        written = unit.name if isinstance(unit, exp.Literal) and unit.is_string else None
        node = build(args, dialect=dialect)
        node.meta[UNIT] = written
        return node

    return built


def _of_one(name: str) -> Build:
    """The builder of FIRST or LAST; of an unknown function if the second argument is not TRUE or FALSE.

    sqlglot would drop that argument, an order too.
    """
    build = SparkParser.FUNCTIONS[name]

    def built(args: list[exp.Expr]) -> exp.Expr:
        is_plain = len(args) < 2 or isinstance(args[1], exp.Boolean)
        return build(args) if is_plain else _unknown(name, args)

    return built


def _unknown(name: str, args: list[exp.Expr]) -> exp.Expr:
    """A call of a function without a node in sqlglot, with its arguments as written."""
    return exp.Anonymous(this=name, expressions=args)


def _as_written(name: str) -> Build:
    """The builder of a call with its name and all arguments as written."""
    return lambda args: _unknown(name.lower(), args)


def _with_plus(node: exp.Expr | None) -> exp.Expr | None:
    """A node after a plus sign, which sqlglot would drop."""
    if node is not None:
        node.meta[PLUS] = True
    return node


class SparkAnsi(Spark):
    """Spark SQL with ANSI casts and doubled quotes.

    Nodes of function calls have the written name of the function in their ``meta``, under `NAME`. The units of TRUNC
    and DATE_TRUNC, and the pattern of DATE_FORMAT, are under `UNIT`. sqlglot's nodes are the same for functions that
    differ. A node after a plus sign has `PLUS`.
    """

    ORIGINAL_NAME_META_KEY = NAME
    STRICT_JSON_PATH_SYNTAX = False  # or sqlglot writes to stderr

    class Tokenizer(Spark.Tokenizer):
        """Spark's tokens."""

        KEYWORDS: ClassVar = {**Spark.Tokenizer.KEYWORDS, "MATCH_CONDITION": TokenType.MATCH_CONDITION}
        STRING_ESCAPES: ClassVar = ["\\", "'", '"']

    class Parser(OperatorParser):
        """Spark's grammar; queries note their tokens (see `livejoin.sql.parse.spans`)."""

        STRICT_CAST = True
        KEY_CONSTRAINT_OPTIONS: ClassVar = {**SparkParser.KEY_CONSTRAINT_OPTIONS, "ENFORCED": ()}
        UNARY_PARSERS: ClassVar = {
            **OperatorParser.UNARY_PARSERS,
            TokenType.PLUS: lambda self: _with_plus(self._parse_unary()),
        }
        FUNCTIONS: ClassVar = {
            **{name: with_arguments(name, build) for name, build in SparkParser.FUNCTIONS.items() if _is_read(name)},
            **{name: _of_one(name) for name in ("FIRST", "FIRST_VALUE", "LAST", "LAST_VALUE")},
            **{name: _as_written(name) for name in _AS_WRITTEN},
            "TRUNC": _with_unit("TRUNC", 1),
            "DATE_TRUNC": _with_unit("DATE_TRUNC", 0),
            "DATE_FORMAT": _with_unit("DATE_FORMAT", 1),
        }

        FUNCTION_PARSERS: ClassVar = {
            name: parser
            for name, parser in SparkParser.FUNCTION_PARSERS.items()
            if name not in ("CEIL", "FLOOR", "INITCAP") and _is_read(name)
        } | {"CONVERT": lambda self: self.raise_error(ABSENT_FUNCTION, self._tokens[self._index - 2])}

        NO_PAREN_FUNCTION_PARSERS: ClassVar = {
            name: parser for name, parser in SparkParser.NO_PAREN_FUNCTION_PARSERS.items() if name != "IF"
        }
        SCHEMA_UNNAMED_CONSTRAINTS: ClassVar = {"CHECK", "FOREIGN KEY", "PRIMARY KEY", "UNIQUE"}

        def raise_error(self, message: str, token: Token | None = None) -> None:
            """Raise errors that sqlglot would collect, with the position in the text."""
            raise NotParsed(message, token.start if token else self.offset())

        def offset(self) -> int:
            """The offset of the next token; the end of the text after the last one."""
            return self._curr.start if self._curr else len(self.sql)

        def _parse_case(self) -> exp.Expr | None:
            """CASE; each WHEN needs a THEN, which sqlglot does not check."""
            if self._match(TokenType.DOT, advance=False):  # the columns of a table that is called so
                self._retreat(self._index - 1)
                return None
            comments, value, branches = self._prev_comments, self._parse_disjunction(), []
            while self._match(TokenType.WHEN):
                condition = self._parse_disjunction()
                if not self._match(TokenType.THEN):
                    self.raise_error("Expected THEN")
                branches.append(self.expression(exp.If(this=condition, true=self._parse_disjunction())))
            default = self._parse_disjunction() if self._match(TokenType.ELSE) else None
            if not self._match(TokenType.END):
                self.raise_error("Expected END after CASE")
            return self.expression(exp.Case(this=value, ifs=branches, default=default), comments=comments)

        def _parse_function(self, *args: Any, **options: Any) -> exp.Expr | None:
            """A call; that of CURRENT_TIMESTAMP notes where it stands, as those of other functions do."""
            token = self._curr
            node = super()._parse_function(*args, **options)
            if isinstance(node, exp.CurrentTimestamp) and token is not None:
                node.meta.setdefault("start", token.start)
            return node

        def _parse_type_size(self) -> exp.DataTypeParam | None:
            size = super()._parse_type_size()
            if size is not None and size.expression:
                self.raise_error("Expecting )", self._prev)
            return size

        def _parse_ddl_select(self) -> exp.Expr | None:
            """A query behind AS; sqlglot would read any name there as a table."""
            behind = self._prev
            query = super()._parse_ddl_select()
            if query is None and behind.token_type == TokenType.ALIAS:
                self.raise_error("Expected a query")
            return query

        def _parse_as_command(self, start: Token) -> exp.Command:
            """A statement of which sqlglot leaves off reading; in CREATE VIEW that is an error where it does."""
            if start.token_type == TokenType.CREATE and self._curr:
                head = self._tokens[self._tokens.index(start) + 1 : self._index]
                if head and any(token.token_type not in _BEFORE_KIND for token in head):
                    self.raise_error("Unexpected token")
                if self._curr.token_type == TokenType.OR:
                    self._advance()
                    self.raise_error("Expected REPLACE", self._curr)
            return super()._parse_as_command(start)

        def _warn_unsupported(self) -> None:
            """Do nothing: a statement that sqlglot does not know is refused later, by its name."""

        def _parse_interval(self, *args: bool, **options: bool) -> exp.Add | exp.Interval | None:
            """INTERVAL '...': the text must be an amount and a unit; sqlglot would look for them anywhere in it."""
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
                raise WrongCount(commas + 1, 2, 3)
            return node

        def _parse_pivot_aggregation(self) -> exp.Expr | None:
            """An expression over aggregates; sqlglot accepts one call only."""
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


def tokenized(sql: str) -> Source:
    """A text with its tokens.

    Raises:
        SqlSyntaxError: The value is no text, or ends within a string, a quoted name or a comment.
    """
    if not isinstance(sql, str):
        advice = "; give what is in the file, by read_text()" if isinstance(sql, PurePath) else ""
        msg = f"a query is a text; found {sql!r:.80}{advice}"
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
        if found := _BYTES.search(sql):
            msg = f"{found[0]} has {found[3]!r}, which is no hexadecimal digit; bytes are written as X'1FA0'"
            raise Source(sql, ()).error(SqlSyntaxError, msg, found.start()) from error
        msg = "the SQL text ends within a string, a quoted name or a comment; close it"
        raise Source(sql, ()).error(SqlSyntaxError, msg, len(sql)) from error
    return Source(sql, tuple(tokens))


def parse(sql: str, sealing: Sealing | None = None) -> tuple[exp.Expr, Source]:
    """The syntax tree of one statement, with its source.

    Args:
        sql: The statement.
        sealing: For a query with EMIT FINAL: the tables of what its table frees; None where it frees nothing.

    Raises:
        SqlSyntaxError: The text does not parse, is empty, or qualifies a name with a string.
        UnsupportedQueryError: There is more than one statement, or one that livejoin does not have, or it is nested too
            deeply.
    """
    tree, source, emit = _without_clauses(sql)
    if emit is not None and not isinstance(tree, exp.Create):
        source, final = closed_windows(tree, source, emit, sealing)
        tree, source = _parsed(source)
        tree.meta[FINAL] = final
    return _with_times(tree, source)


def parse_as_written(sql: str) -> tuple[exp.Expr, Source]:
    """As `parse`, but a query with EMIT FINAL is the one before these words: offsets are those of the text."""
    tree, source, _ = _without_clauses(sql)
    return _with_times(tree, source)


def _without_clauses(sql: str) -> tuple[exp.Expr, Source, Token | None]:
    """The syntax tree of a statement without WATERMARK FOR and EMIT FINAL, and where EMIT was."""
    source, mark = without_watermark(tokenized(sql))
    source, emit = without_emit(source)
    tree, source = _parsed(source)
    if mark is not None:
        tree.meta[WATERMARK] = mark
    return tree, source, emit


def _with_times(tree: exp.Expr, source: Source) -> tuple[exp.Expr, Source]:
    """A statement whose calls of now() in WHERE are read as the row of their table."""
    times = times_in(tree) if isinstance(tree, (exp.Query, exp.Create)) else None
    if not times:
        return tree, source
    tree, source = _parsed(with_times(source, times))
    split_bounds(tree, times)
    return tree, source


def _parsed(source: Source) -> tuple[exp.Expr, Source]:
    """The syntax tree of one statement by its tokens; errors as for `parse`."""
    dialect, tokens = SparkAnsi(), list(source.tokens)
    names_from_keywords(tokens)
    if tokens and tokens[0].token_type in dialect.tokenizer_class.COMMANDS:
        clause = tokens[0].text.upper()
        msg = f"{clause} is not supported{of_statement(clause)}. {STATEMENTS}"
        raise source.unsupported(clause, msg, tokens[0].start)
    if tokens and not _begins_statement(tokens[0]):
        word = tokens[0].text.upper()
        hint = of_statement(word) or meant(word, ("SELECT", "INSERT", "UPDATE", "DELETE", "CREATE", "ALTER", "MERGE"))
        msg = f"no statement begins with {tokens[0].text!r}{hint}. {STATEMENTS}"
        raise source.error(SqlSyntaxError, msg, tokens[0].start)
    try:
        refuse_gaps(source)
    except SqlSyntaxError as error:
        raise _hinted(error, source) from None
    refuse_quoted_qualifiers(source)
    parser = SparkAnsi.Parser(dialect=dialect)
    try:
        statements = [tree for tree in parser.parse(tokens, source.sql) if isinstance(tree, exp.Expr)]
    except NotParsed as error:
        raise _hinted(syntax_error(error, source), source) from None
    except WrongCount as error:
        raise wrong_count(error, parser.offset(), source) from None
    except ParseError as error:  # of the paths within variants, which sqlglot parses as JSON's
        msg = "a path within a value is not understood; write the index or the key in brackets"
        raise source.error(SqlSyntaxError, msg, source.find({TokenType.L_BRACKET})) from error
    except RecursionError:
        raise too_deep(source) from None
    except (
        AttributeError,
        LookupError,
        TypeError,
        ValueError,
    ) as error:  # sqlglot trusts calls to have their arguments
        raise malformed(parser.offset(), source) from error
    refuse_open_parentheses(source)
    statements = [tree for tree in statements if not isinstance(tree, exp.Semicolon)]
    if not statements:
        raise source.error(SqlSyntaxError, "the SQL text is empty; allowed is one statement", 0)
    if len(statements) > 1:
        msg = f"found {len(statements)} statements; allowed is one: pass them one at a time"
        raise source.unsupported(";", msg, source.find({TokenType.SEMICOLON}))
    refuse_nested_queries(statements[0], source)
    if any(token.token_type == TokenType.APPLY for token in tokens):
        _apply_as_lateral(statements[0])
    return statements[0], source


def _apply_as_lateral(tree: exp.Expr) -> None:
    """Make what sqlglot parses of CROSS APPLY and OUTER APPLY what it parses of [LEFT] JOIN LATERAL."""
    for node in tree.find_all(exp.Lateral):
        outer = node.args.get("cross_apply") is False  # None of LATERAL itself
        node.set("cross_apply", None)
        join = node.parent
        if outer and isinstance(join, exp.Join):
            join.set("side", "LEFT")
            if join.args.get("on") is None and not join.args.get("using"):
                join.set("on", exp.true())


def _hinted(error: SqlSyntaxError, source: Source) -> SqlSyntaxError:
    """An error that names a reserved word in place of a name, if there is one."""
    hint = "" if "`" in error.message else reserved_name(source.tokens)
    return SqlSyntaxError(f"{error.message}{hint}", error.sql, error.line, error.column) if hint else error


def _begins_statement(token: Token) -> bool:
    """Whether a token may begin a statement, supported or refused by its name."""
    if token.token_type in (TokenType.L_PAREN, TokenType.SEMICOLON):
        return True
    return token.text.isidentifier() and token.token_type not in _WITHIN_STATEMENTS
