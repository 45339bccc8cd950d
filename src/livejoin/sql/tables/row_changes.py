"""INSERT, UPDATE, DELETE and MERGE INTO: which rows of a table change, as queries over the tables as they are.

    DELETE FROM t WHERE c                 the rows of   SELECT t.* FROM t WHERE c   go
    UPDATE t SET a = e WHERE c            those of      SELECT t.*, e FROM t WHERE c   go, and come with e for a
    INSERT INTO t (a, b) VALUES (1, 2)    the rows of   SELECT * FROM VALUES (1, 2)   come
    ... a = DEFAULT, VALUES (DEFAULT)     the query has NULL there, and `DefaultValue` says where
    MERGE INTO t USING s ON c ...         each clause is one of these: over t JOIN s ON c where rows match, else over
                                          those of s, or of t, for which none EXISTS in the other

A statement is read from its tokens, and its parts are taken from the text as they stand: what a query means is said in
one place, `livejoin.sql.bind`. Of several clauses of MERGE the first counts whose condition is true.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NoReturn

from sqlglot import Token, TokenType

from livejoin.errors import SqlError, SqlSyntaxError
from livejoin.schema.names import backticked
from livejoin.sql.parse.source import Source
from livejoin.sql.tables.default_values import CLOSES, DEFAULT, OPENS, DefaultValue, is_default, values_with_defaults
from livejoin.sql.tables.said_where import at_its_place, marked

VALUE = "livejoin_value_"
"""Names of the columns that `ChangedRows` computes begin so."""
ALL_OF_SOURCE = f"{VALUE}of_source"
"""A name in the place of all columns of a source."""

_FIRST_WORDS = frozenset({"INSERT", "UPDATE", "DELETE", "MERGE"})


@dataclass(frozen=True)
class NewRows:
    """Rows that come.

    Args:
        columns: The columns that the query gives, in its order; None for all of the table, or for those with the names
            of the query's where ``by_name``; no name for a row of which nothing is said (DEFAULT VALUES).
        query: Gives the rows, behind the columns that say where a value is DEFAULT.
        by_name: Whether the query's columns are matched by their names.
        defaults: The values that are DEFAULT.
    """

    columns: tuple[str, ...] | None
    query: str
    by_name: bool = False
    defaults: tuple[DefaultValue, ...] = ()


@dataclass(frozen=True)
class ChangedRows:
    """Rows that go, or that come again with other values.

    Args:
        columns: The columns that get other values; none where the rows go; None for all that the source of a MERGE has
            too.
        query: Gives all columns of the table, and behind them the values, called `VALUE` and a number.
        source: With all columns: the text of the source, by which these are found, and how it is called. The query has
            `ALL_OF_SOURCE` in the place of the values then.
        defaults: Which of the columns that get other values get their DEFAULT, in all rows.
    """

    columns: tuple[str, ...] | None
    query: str
    source: tuple[str, str] | None = None
    defaults: tuple[DefaultValue, ...] = ()


@dataclass(frozen=True)
class RowChanges:
    """A statement that changes rows of one table.

    Args:
        verb: The first word.
        table: The table.
        parts: The changes, of which a MERGE may have several.
        source: The statement, of which the queries are made.
        matches: In a MERGE: count the pairs of rows that match, and the rows of the table that have a match.
    """

    verb: Literal["INSERT", "UPDATE", "DELETE", "MERGE"]
    table: str
    parts: tuple[NewRows | ChangedRows, ...]
    source: Source
    matches: tuple[str, str] | None = None

    def at_its_place(self, error: SqlError) -> SqlError:
        """An error of one of the queries, as one of the statement."""
        moved = at_its_place(error, self.source, [*(part.query for part in self.parts), *(self.matches or ())])
        at = self.source.offset(moved.line, moved.column)
        for place, token in enumerate(self.source.tokens if moved.line else ()):
            behind = self.source.tokens[place + 1].start if place + 1 < len(self.source.tokens) else -1
            if is_default([token]) and at in (token.start, behind):
                return self.source.unsupported(DEFAULT, _DEFAULT_ALONE, token.start)
        return moved


def changes_rows(source: Source) -> bool:
    """Whether a text is one of these statements."""
    return bool(source.tokens) and source.tokens[0].text.upper() in _FIRST_WORDS


def read_row_changes(source: Source) -> RowChanges:
    """The statement of a text.

    Raises:
        SqlSyntaxError: The text is not written as such a statement is.
    """
    words = _Words(source)
    match words.next().text.upper():
        case "INSERT":
            return _insert(words)
        case "UPDATE":
            return _update(words)
        case "DELETE":
            return _delete(words)
        case _:
            return _merge(words)


class _Words:
    """The tokens of a statement, from the first one on; mutable."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.tokens = [token for token in source.tokens if token.token_type is not TokenType.SEMICOLON]
        self.at = 0

    def word(self, ahead: int = 0) -> str:
        """A word that comes, in upper case; empty behind the end, and for a quoted name."""
        place = self.at + ahead
        if place >= len(self.tokens) or self.tokens[place].token_type in (TokenType.IDENTIFIER, TokenType.STRING):
            return ""
        return self.tokens[place].text.upper()

    def next(self) -> Token:
        """Take the token that comes."""
        if self.at == len(self.tokens):
            self.refuse("more is expected")
        self.at += 1
        return self.tokens[self.at - 1]

    def take(self, *words: str) -> bool:
        """Take some words if they come."""
        if all(self.word(place) == word for place, word in enumerate(words)):
            self.at += len(words)
            return True
        return False

    def expect(self, *words: str) -> None:
        """Take some words.

        Raises:
            SqlSyntaxError: Other words come.
        """
        for word in words:
            if not self.take(word):
                self.refuse(f"expected {' '.join(words)}")

    def name(self, what: str) -> str:
        """Take a name."""
        token = self.next()
        if token.token_type is TokenType.STRING or not (
            token.token_type is TokenType.IDENTIFIER or token.text.replace("_", "a").isalnum()
        ):
            self.at -= 1
            self.refuse(f"expected the name of {what}")
        if self.word() == ".":
            self.refuse("a name with a database is not known here; allowed is a plain name")
        return token.text

    def names(self) -> tuple[str, ...]:
        """Take names in parentheses."""
        self.expect("(")
        found = [self.name("a column")]
        while self.take(","):
            found.append(self.name("a column"))
        self.expect(")")
        return tuple(found)

    def value(self, *ends: str) -> str | None:
        """As `until`; None for the word DEFAULT alone."""
        begin = self.at
        text = self.until(*ends)
        return None if is_default(self.tokens[begin : self.at]) else text

    def until(self, *ends: str) -> str:
        """Take the text up to one of some words outside of parentheses and CASE, or to the end; marked, not empty.

        Raises:
            SqlSyntaxError: Nothing stands there.
        """
        begin, depth = self.at, 0
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            if not depth and self.word() in ends:
                break
            depth += (token.token_type in OPENS) - (token.token_type in CLOSES)
            if depth < 0:
                break
            self.at += 1
        if begin == self.at:
            self.refuse("an expression is expected")
        offset = self.tokens[begin].start
        return marked(self.source.sql[offset : self.tokens[self.at - 1].end + 1], offset)

    def end(self) -> None:
        """Assert that nothing more comes.

        Raises:
            SqlSyntaxError: Something does.
        """
        if self.at < len(self.tokens):
            self.refuse(f"found {self.tokens[self.at].text!r}, which is not expected here")

    def refuse(self, why: str) -> NoReturn:
        """Refuse what comes."""
        offset = self.tokens[self.at].start if self.at < len(self.tokens) else len(self.source.sql)
        raise self.source.error(SqlSyntaxError, f"{why}; allowed are {_FORMS}", offset)


_DEFAULT_ALONE = (
    "DEFAULT is a whole value, in VALUES of INSERT or MERGE and in SET; it is no part of an expression or of a query. "
    "Write the value, or leave the column out (a column that is called so: `default`)"
)
_FORMS = (
    "INSERT INTO t [(columns)] VALUES (...), SELECT ... or DEFAULT VALUES, UPDATE t SET column = value [WHERE ...], "
    "DELETE FROM t [WHERE ...] and MERGE INTO t USING s ON ... WHEN [NOT] MATCHED ... THEN ..."
)


def _insert(words: _Words) -> RowChanges:
    if words.word() == "OVERWRITE":
        words.refuse("INSERT OVERWRITE is not supported: DELETE FROM t in the same script, or refresh a static table")
    words.expect("INTO")
    words.take("TABLE")
    table = words.name("a table")
    by_name = words.take("BY", "NAME")
    columns = words.names() if words.word() == "(" and words.word(1) not in ("SELECT", "WITH", "VALUES") else None
    if words.word() == DEFAULT:
        if columns is not None:
            words.refuse("DEFAULT VALUES is a row of which nothing is said, and takes no list of columns")
        words.expect("DEFAULT", "VALUES")
        words.end()
        return RowChanges("INSERT", table, (NewRows((), f"SELECT TRUE AS {VALUE}0"),), words.source)
    is_values, begin = words.word() == "VALUES", words.at + 1
    query = words.until("ON") if is_values else words.until()
    defaults: tuple[DefaultValue, ...] = ()
    found = values_with_defaults(words.source, words.tokens[begin : words.at]) if is_values and not by_name else None
    if found is not None:
        query, defaults = found
    if words.word() == "ON":
        words.refuse("ON CONFLICT is not supported: MERGE INTO says it, or apply(..., on_conflict='update')")
    words.end()
    rows = NewRows(columns, f"SELECT * FROM {query}" if is_values else query, by_name, defaults)
    return RowChanges("INSERT", table, (rows,), words.source)


def _target(words: _Words, ends: Iterable[str]) -> tuple[str, str]:
    """A table and the name by which it goes."""
    table = words.name("a table")
    if words.take("AS") or (words.word() not in ends and words.at < len(words.tokens)):
        return table, words.name("a table's other name")
    return table, table


def _delete(words: _Words) -> RowChanges:
    words.expect("FROM")
    table, alias = _target(words, ("WHERE",))
    where = words.until() if words.take("WHERE") else None
    words.end()
    query = f"SELECT {backticked(alias)}.* FROM {backticked(table)} {backticked(alias)}{_where(where)}"
    return RowChanges("DELETE", table, (ChangedRows((), query),), words.source)


def _where(condition: str | None) -> str:
    return "" if condition is None else f" WHERE {condition}"


def _update(words: _Words) -> RowChanges:
    table, alias = _target(words, ("SET",))
    words.expect("SET")
    columns, values = _assignments(words, alias, ("WHERE", "FROM"))
    if words.word() == "FROM":
        words.refuse("UPDATE ... FROM is not supported: MERGE INTO changes rows by those of another table")
    where = words.until() if words.take("WHERE") else None
    words.end()
    query = (
        f"SELECT {backticked(alias)}.*, {_computed(values)} FROM {backticked(table)} {backticked(alias)}{_where(where)}"
    )
    return RowChanges("UPDATE", table, (ChangedRows(columns, query, defaults=_defaults(values)),), words.source)


def _assignments(words: _Words, alias: str, ends: tuple[str, ...]) -> tuple[tuple[str, ...], list[str | None]]:
    """The columns that get values, and these; None for DEFAULT."""
    columns, values = list[str](), list[str | None]()
    while not columns or words.take(","):
        if words.word(1) == ".":
            if words.next().text.lower() != alias.lower():
                words.at -= 1
                words.refuse(f"only columns of {alias} get values")
            words.expect(".")
        name = words.name("a column")
        if name.lower() in map(str.lower, columns):
            words.refuse(f"column {name!r} gets a value twice")
        columns.append(name)
        words.expect("=")
        values.append(words.value(",", *ends))
    return tuple(columns), values


def _computed(values: Sequence[str | None]) -> str:
    return ", ".join(f"{value or 'NULL'} AS {VALUE}{number}" for number, value in enumerate(values))


def _defaults(values: Sequence[str | None]) -> tuple[DefaultValue, ...]:
    return tuple(DefaultValue(number) for number, value in enumerate(values) if value is None)


@dataclass(frozen=True)
class _Sides:
    """The two sides of a MERGE."""

    table: str
    alias: str
    source: str
    other: str
    on: str

    @property
    def target(self) -> str:
        return f"{backticked(self.table)} {backticked(self.alias)}"

    @property
    def joined(self) -> str:
        return f"{self.target} JOIN {self.source} {backticked(self.other)} ON {self.on}"

    def without_match(self, of: Literal["target", "source"]) -> str:
        mine, others = self.target, f"{self.source} {backticked(self.other)}"
        if of == "source":
            mine, others = others, mine
        return f"{mine} WHERE NOT EXISTS (SELECT 1 FROM {others} WHERE {self.on})"


def _merge(words: _Words) -> RowChanges:
    words.expect("INTO")
    table, alias = _target(words, ("USING",))
    words.expect("USING")
    if words.word() == "VALUES":
        words.refuse("VALUES stands in parentheses there, with names: USING (VALUES (1, 'x'), (2, 'y')) AS s(id, name)")
    if words.take("("):
        source = f"({words.until()})"
        words.expect(")")
        words.take("AS")
        other = words.name("the source")
    else:
        source, other = _target(words, ("ON", "("))
        source = backticked(source)
    if words.word() == "(":
        columns = ", ".join(map(backticked, words.names()))
        source = f"(SELECT * FROM {source} AS {backticked(other)}({columns}))"
    words.expect("ON")
    sides = _Sides(table, alias, source, other, words.until("WHEN"))
    parts: list[NewRows | ChangedRows] = []
    before: dict[str, list[str]] = {"matched": [], "source": [], "target": []}
    while words.take("WHEN"):
        of = "matched"
        if words.take("NOT"):
            of = "source"
            words.expect("MATCHED")
            if words.take("BY"):
                of = "target" if words.take("SOURCE") else of
                if of == "source":
                    words.expect("TARGET")
        else:
            words.expect("MATCHED")
        condition = words.until("THEN") if words.take("AND") else "TRUE"
        words.expect("THEN")
        where = [f"({condition})", *(f"NOT coalesce({one}, FALSE)" for one in before[of])]
        before[of].append(where[0])
        parts.append(_action(words, sides, of, " AND ".join(where)))
    if not parts:
        words.refuse("expected WHEN [NOT] MATCHED ... THEN ...")
    words.end()
    matched = f"{sides.target} WHERE EXISTS (SELECT 1 FROM {source} {backticked(other)} WHERE {sides.on})"
    matches = f"SELECT COUNT(*) AS n FROM {sides.joined}", f"SELECT COUNT(*) AS n FROM {matched}"
    return RowChanges("MERGE", table, tuple(parts), words.source, matches)


def _action(words: _Words, sides: _Sides, of: str, where: str) -> NewRows | ChangedRows:
    """What a clause of a MERGE does."""
    mine = f"{backticked(sides.alias)}.*"
    if of == "source":
        words.expect("INSERT")
        rows = sides.without_match("source")
        if words.take("*"):
            return NewRows(None, f"SELECT {backticked(sides.other)}.* FROM {rows} AND {where}", by_name=True)
        columns = words.names() if words.word() == "(" else None
        words.expect("VALUES", "(")
        values = [words.value(",")]
        while words.take(","):
            values.append(words.value(","))
        words.expect(")")
        query = f"SELECT {_computed(values)} FROM {rows} AND {where}"
        return NewRows(columns, query, defaults=_defaults(values))
    rows = f"{sides.joined} WHERE {where}" if of == "matched" else f"{sides.without_match('target')} AND {where}"
    if words.take("DELETE"):
        return ChangedRows((), f"SELECT {mine} FROM {rows}")
    words.expect("UPDATE", "SET")
    if of == "matched" and words.take("*"):
        return ChangedRows(None, f"SELECT {mine}, {ALL_OF_SOURCE} FROM {rows}", (sides.source, sides.other))
    columns, values = _assignments(words, sides.alias, ("WHEN",))
    return ChangedRows(columns, f"SELECT {mine}, {_computed(values)} FROM {rows}", defaults=_defaults(values))
