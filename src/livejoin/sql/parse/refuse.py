"""Refuse what lies outside of the queries that livejoin maintains, by clause and position.

What is allowed is a list, and everything else is refused, so that no clause is ever ignored in silence.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import TokenType, exp

from livejoin.errors import UnsupportedQueryError
from livejoin.sql.parse.source import Source, offset_of, shown

_ALLOWED = (
    "allowed is SELECT expressions and aggregates FROM tables, joined on equal columns, with WHERE, GROUP BY, HAVING, "
    "ORDER BY ... LIMIT, and set operations of such queries"
)

# Arguments of a SELECT node: clause, tokens of its keyword, what works instead.
_CLAUSES: dict[str, tuple[str, tuple[TokenType, ...], str]] = {
    "with_": ("WITH", (TokenType.WITH,), "sub-queries come later; write the tables into FROM"),
    "distinct": ("DISTINCT", (TokenType.DISTINCT,), "it comes later; leave it out, and the result keeps duplicates"),
    "into": ("INTO", (TokenType.INTO,), "create a view of the query instead"),
    "hint": ("hint", (TokenType.HINT,), "leave it out; livejoin chooses its own plan"),
    "laterals": ("LATERAL VIEW", (TokenType.LATERAL,), "store its rows in a table and join that"),
    "group": ("GROUP BY", (TokenType.GROUP_BY,), "aggregates come later; maintain the join and aggregate its result"),
    "having": ("HAVING", (TokenType.HAVING,), "aggregates come later; maintain the join and aggregate its result"),
    "qualify": ("QUALIFY", (TokenType.QUALIFY,), "window functions come later"),
    "windows": ("WINDOW", (TokenType.WINDOW,), "window functions come later"),
    "order": (
        "ORDER BY",
        (TokenType.ORDER_BY,),
        "a maintained result has no order; sort what you read from it, or keep the first rows with LIMIT",
    ),
    "sort": ("SORT BY", (TokenType.SORT_BY,), "a maintained result has no order; sort what you read from it"),
    "cluster": ("CLUSTER BY", (TokenType.CLUSTER_BY,), "a maintained result has no order; sort what you read from it"),
    "distribute": ("DISTRIBUTE BY", (TokenType.DISTRIBUTE_BY,), "leave it out"),
    "limit": ("LIMIT", (TokenType.LIMIT, TokenType.FETCH), "it comes later; take the first rows of what you read"),
    "offset": ("OFFSET", (TokenType.OFFSET,), "it comes later; skip rows of what you read"),
    "locks": ("FOR UPDATE", (TokenType.FOR,), "leave it out"),
    "sample": ("TABLESAMPLE", (TokenType.TABLE_SAMPLE,), "filter on a hash of a column instead"),
    "pivots": (
        "PIVOT",
        (TokenType.PIVOT, TokenType.UNPIVOT),
        "write an aggregate with FILTER (WHERE ...) for each column",
    ),
}
_LEADING_CLAUSES = {"with_", "distinct", "into", "hint"}
_JOIN_CLAUSES = frozenset({"expressions", "from_", "joins", "where"})
_SELECT_CLAUSES = _JOIN_CLAUSES | {"distinct", "group", "having", "order", "limit", "offset"}
_MODIFIERS = frozenset({"this", "expression", "distinct", "order", "limit", "offset"})

# Arguments of a table in FROM.
_TABLE_CLAUSES: dict[str, tuple[str, tuple[TokenType, ...], str]] = {
    "sample": _CLAUSES["sample"],
    "pivots": _CLAUSES["pivots"],
    "laterals": _CLAUSES["laterals"],
    "version": ("VERSION AS OF", (), "a view shows the present"),
}
_ALLOWED_TABLE = {"this", "alias", "joins", "db", "catalog"}
_ALLOWED_JOIN = {"this", "on", "using", "side", "kind", "method"}

_PARAMETERS = (TokenType.PLACEHOLDER, TokenType.PARAMETER, TokenType.COLON)
SET_OPERATIONS = (TokenType.UNION, TokenType.EXCEPT, TokenType.INTERSECT)


def the_select(tree: exp.Expr, source: Source) -> exp.Select:
    """The SELECT of a statement that is one, possibly in parentheses.

    Raises:
        UnsupportedQueryError: The statement is something else, or has a clause outside.
    """
    start = source.tokens[0].start
    if isinstance(tree, exp.SetOperation):
        clause = tree.key.upper()
        msg = f"{clause} is not supported yet; create a view of each side"
        raise source.unsupported(clause, msg, source.find_outermost(SET_OPERATIONS, default=start))
    if isinstance(tree, exp.Subquery) and isinstance(tree.this, exp.Query) and _is_bare(tree):
        return the_select(tree.this, source)
    if not isinstance(tree, exp.Select):
        raise refuse_statement(tree, source)
    _refuse_clauses(tree, source, _JOIN_CLAUSES)
    return tree


def check_select(select: exp.Select, source: Source) -> None:
    """A SELECT, which may aggregate, without clauses outside; ``source`` has its tokens only.

    Raises:
        UnsupportedQueryError: It has a clause outside.
    """
    _refuse_clauses(select, source, _SELECT_CLAUSES)


def refuse_modifiers(tree: exp.Expr, source: Source) -> None:
    """Refuse what stands around a query in parentheses or a set operation, but ORDER BY, LIMIT and OFFSET.

    Raises:
        UnsupportedQueryError: There is something else, as WITH or UNION BY NAME.
    """
    start = source.tokens[0].start
    for name, value in tree.args.items():
        if value and name not in _MODIFIERS:
            clause, kinds, remedy = _CLAUSES.get(name, (name.strip("_").replace("_", " ").upper(), (), _ALLOWED))
            at = source.find_outermost(kinds, 0, source.clause(clause, start))
            raise source.unsupported(clause, f"{clause} is not supported: {remedy}", at)


def clause_refusal(name: str, source: Source, offset: int) -> UnsupportedQueryError:
    """The refusal of a clause by the name that sqlglot has for it."""
    clause, _, remedy = _CLAUSES[name]
    return source.unsupported(clause, f"{clause} is not supported: {remedy}", offset)


def refuse_statement(tree: exp.Expr, source: Source) -> UnsupportedQueryError:
    """The refusal of a statement that is no query."""
    clause = source.tokens[0].text.upper()
    msg = f"{clause} is not a query that can be maintained; {_ALLOWED}{_elsewhere(tree)}"
    return source.unsupported(clause, msg, source.tokens[0].start)


def _elsewhere(tree: exp.Expr) -> str:
    if isinstance(tree, (exp.Create, exp.Drop)):
        return ". Tables and views are created and dropped by Database.execute"
    if isinstance(tree, (exp.DML, exp.Merge)):
        return ". Rows change through Database.apply"
    return ""


def _is_bare(tree: exp.Expr) -> bool:
    return all(not value for name, value in tree.args.items() if name != "this")


def _refuse_clauses(select: exp.Select, source: Source, allowed: frozenset[str]) -> None:
    start = source.find({TokenType.SELECT})
    behind = source.find_outermost({TokenType.FROM})
    found = []
    for name, value in select.args.items():
        if value and name not in allowed:
            clause, kinds, remedy = _CLAUSES.get(name, (name.strip("_").upper(), (), _ALLOWED))
            at = source.find_outermost(kinds, 0 if name in _LEADING_CLAUSES else behind, start)
            found.append((at, clause, f"{clause} is not supported: {remedy}"))
    found += _sub_queries(select, source)
    if select.args.get("from_") is None:
        found.append((start, "SELECT", f"SELECT without FROM is constant; {_ALLOWED}"))
    for node in select.find_all(exp.Placeholder, exp.Parameter):
        at = source.find(_PARAMETERS, default=start)
        found.append((at, "parameter", f"the parameter {shown(node)} has no value here; write the value itself"))
    for at, clause, message in sorted(found)[:1]:
        raise source.unsupported(clause, message, at)


def _sub_queries(select: exp.Select, source: Source) -> Iterator[tuple[int, str, str]]:
    """Queries within the query: a parenthesised table is none, and WITH has its own message."""
    inner = (node for node in select.find_all(exp.Query) if node is not select and not select.args.get("with_"))
    if any(not isinstance(node, exp.Subquery) for node in inner):
        outer = source.find({TokenType.SELECT})
        at = source.find({TokenType.SELECT, TokenType.VALUES}, outer + 1, outer)
        yield at, "sub-query", "sub-queries are not supported yet; write the tables into FROM and join them"


def check_table(table: exp.Expr, source: Source, default: int) -> exp.Table:
    """A plain table in FROM.

    Raises:
        UnsupportedQueryError: It is something else, or has a clause outside.
    """
    offset = offset_of(table, default)
    if not isinstance(table, exp.Table) or not isinstance(table.this, exp.Identifier):
        clause = "LATERAL" if isinstance(table, exp.Lateral) else "table function"
        if isinstance(table, exp.Values):
            clause = "VALUES"
        msg = f"{clause} in FROM is not supported; allowed are tables: store its rows in one"
        raise source.unsupported(clause, msg, source.find_back({TokenType.LATERAL, TokenType.VALUES}, offset, offset))
    for name, value in table.args.items():
        if value and name not in _ALLOWED_TABLE:
            clause, kinds, remedy = _TABLE_CLAUSES.get(name, (name.strip("_").upper(), (), _ALLOWED))
            at = source.find(kinds, offset, source.word(clause.split()[0], offset, offset))
            raise source.unsupported(clause, f"{clause} is not supported: {remedy}", at)
    alias = table.args.get("alias")
    if alias is not None and alias.args.get("columns"):
        at = offset_of(alias.args["columns"][0], offset)
        msg = "a list of column names behind an alias is not supported; rename columns in SELECT with AS"
        raise source.unsupported("AS", msg, at)
    return table


def check_join(join: exp.Join, source: Source, default: int) -> None:
    """An inner, cross or natural join.

    Raises:
        UnsupportedQueryError: It is another one.
    """
    offset = offset_of(join.this, default)
    parts = [str(join.args.get(name) or "").upper() for name in ("method", "side", "kind")]
    odd = next((name for name, value in join.args.items() if value and name not in _ALLOWED_JOIN), None)
    if parts[0] in ("", "NATURAL") and parts[1] == "" and parts[2] in ("", "INNER", "CROSS") and odd is None:
        return
    clause = " ".join(part for part in parts if part)
    clause = clause if clause.endswith("JOIN") else f"{clause} JOIN".strip()
    word = next((part for part in parts if part not in ("", "NATURAL")), "JOIN")
    at = next((t.start for t in reversed(source.tokens) if t.start < offset and t.text.upper() == word), offset)
    msg = f"{clause} is not supported yet; allowed are [INNER] JOIN, CROSS JOIN, NATURAL JOIN and commas"
    raise source.unsupported(clause, msg, at)
