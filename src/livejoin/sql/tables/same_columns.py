"""Texts that go on when the columns of a table change: what a view says of the table as it was.

Law: the new text gives over the new table what the old one gave over the old table. Where a text may mean something
else, because it has a star or one of the names that come or go, it reads the table through a sub-query that has the
columns of before: ``FROM t`` becomes ``FROM (SELECT b AS a, c FROM t) t``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from sqlglot import TokenType, exp

from livejoin.schema.names import backticked
from livejoin.sql.parse.parse import parse, parse_as_written
from livejoin.sql.parse.source import shown

_OF_ALL = (TokenType.NATURAL,)


def same_columns_text(sql: str, table: str, columns: Sequence[tuple[str, str]], come: Collection[str]) -> str | None:
    """The text of a query, over a table whose columns have changed; None if there is none.

    Args:
        sql: The query.
        table: The table.
        columns: For each column that the table had and has: what it is called now, and what it was called.
        come: The names that mean something else now: of new columns, and both names of one that is renamed.

    >>> same_columns_text("SELECT a FROM t WHERE c > 1", "t", [("a", "a"), ("c", "c")], {"d"})
    'SELECT a FROM t WHERE c > 1'
    >>> same_columns_text("SELECT a FROM t x", "t", [("b", "a"), ("c", "c")], {"a", "b"})
    'SELECT a FROM (SELECT `b` AS `a` FROM `t`) x'
    >>> same_columns_text("SELECT * FROM T JOIN s ON T.c = s.c", "t", [("c", "c")], {"d"})
    'SELECT * FROM (SELECT `c` FROM `t`) T JOIN s ON T.c = s.c'
    >>> same_columns_text("SELECT a FROM (SELECT `b` AS `a`, `c` FROM `t`) x", "t", [("d", "b")], {"b", "d"})
    'SELECT a FROM (SELECT `d` AS `a` FROM `t`) x'
    """
    tree, source = parse_as_written(sql)
    read = [one for one in tree.find_all(exp.Table) if one.name.lower() == table.lower()]
    if any(one.alias.lower() == table.lower() for one in tree.find_all(exp.CTE)) and read:
        return None
    said = {token.text.lower() for token in source.tokens}
    is_named = not said.isdisjoint(name.lower() for name in come)
    is_natural = any(token.token_type in _OF_ALL for token in source.tokens)
    stars = [star for star in tree.find_all(exp.Star) if not isinstance(star.parent, exp.Count)]
    starred = {star.parent.table.lower() if isinstance(star.parent, exp.Column) else "" for star in stars}
    for one in sorted(read, key=lambda one: -int(one.this.meta["start"])):
        begin, end = int(one.this.meta["start"]), int(one.this.meta["end"]) + 1
        items = _items(one)
        if items is not None:
            kept = [(now, called) for name, called in items for now, was in columns if was.lower() == name.lower()]
            opened = max(t.start for t in source.tokens if t.start < begin and t.token_type is TokenType.L_PAREN)
            sql = f"{sql[:opened]}{_presented(table, kept)[:-1]}{sql[end:]}"
            continue
        of_all = is_natural or not starred.isdisjoint(("", one.alias_or_name.lower()))
        if come and (is_named or of_all):
            shown_columns = [(now, was) for now, was in columns if of_all or was.lower() in said]
            called = "" if one.alias else f" {sql[begin:end]}"
            sql = f"{sql[:begin]}{_presented(table, shown_columns or columns)}{called}{sql[end:]}"
    return sql


def other_table_text(sql: str, table: str, to: str) -> str | None:
    """The text of a query, over a table that has another name; None if there is none.

    >>> other_table_text("SELECT t.a FROM t JOIN s ON t.a = s.a", "t", "u")
    'SELECT t.a FROM `u` t JOIN s ON t.a = s.a'
    >>> other_table_text("SELECT x.a FROM `t` x", "t", "u")
    'SELECT x.a FROM `u` x'
    """
    tree, _ = parse_as_written(sql)
    read = [one for one in tree.find_all(exp.Table) if one.name.lower() == table.lower()]
    defined = {one.alias.lower() for one in tree.find_all(exp.CTE)}
    if read and not defined.isdisjoint((table.lower(), to.lower())):
        return None
    for one in sorted(read, key=lambda one: -int(one.this.meta["start"])):
        begin, end = int(one.this.meta["start"]), int(one.this.meta["end"]) + 1
        called = "" if one.alias or _items(one) is not None else f" {sql[begin:end]}"
        sql = f"{sql[:begin]}{backticked(to)}{called}{sql[end:]}"
    return sql


def _presented(table: str, columns: Sequence[tuple[str, str]]) -> str:
    """The sub-query that shows columns of a table, each by its name and what it is called."""
    items = (
        backticked(name) if name == called else f"{backticked(name)} AS {backticked(called)}"
        for name, called in columns
    )
    return f"(SELECT {', '.join(items)} FROM {backticked(table)})"


def _items(read: exp.Table) -> list[tuple[str, str]] | None:
    """The columns of a sub-query that does nothing but give them names, as `_presented` writes it; None for another."""
    select = read.parent.parent if read.parent is not None else None
    if not isinstance(select, exp.Select) or not isinstance(select.parent, exp.Subquery) or read.alias:
        return None
    if any(value for name, value in select.args.items() if name not in ("expressions", "from_", "from", "kind")):
        return None
    found = list[tuple[str, str]]()
    for item in select.expressions:
        column = item.this if isinstance(item, exp.Alias) else item
        if not isinstance(column, exp.Column) or column.table or not isinstance(column.this, exp.Identifier):
            return None
        found.append((column.name, item.alias_or_name))
    return found


def renamed_text(expression: str, names: Mapping[str, str]) -> str:
    """An expression over the columns of one table, some of which have other names.

    >>> renamed_text("a > 0 AND A < b", {"a": "x y"})
    '`x y` > 0 AND `x y` < b'
    """
    tree, _ = parse(f"SELECT {expression}")
    for column in tree.find_all(exp.Column):
        if column.name.lower() in names:
            column.this.replace(exp.to_identifier(names[column.name.lower()], quoted=True))
    return shown(tree.expressions[0])


def columns_named(expression: str) -> set[str]:
    """The columns that an expression names, in lower case."""
    tree, _ = parse(f"SELECT {expression}")
    return {column.name.lower() for column in tree.find_all(exp.Column)}
