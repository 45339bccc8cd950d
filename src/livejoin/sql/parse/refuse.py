"""Refuse queries with clauses that livejoin does not support, with the clause's position.

Allowed clauses are a list, and all others are refused, so that no clause is ignored.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import TokenType, exp

from livejoin.errors import SqlSyntaxError, UnsupportedQueryError
from livejoin.sql.parse.pivots import PIVOTS
from livejoin.sql.parse.source import Source, offset_of, shown
from livejoin.sql.parse.spans import sub_queries
from livejoin.sql.parse.sub_queries import in_expressions, query_of

_ALLOWED = (
    "write a SELECT over tables and views, or a set operation of such queries. 'livejoin docs clauses' has what they "
    "may contain"
)

# Arguments of a SELECT node: clause, tokens of its keyword, what works instead.
_CLAUSES: dict[str, tuple[str, tuple[TokenType, ...], str]] = {
    "into": ("INTO", (TokenType.INTO,), "create a view of the query instead"),
    "hint": ("hint", (TokenType.HINT,), "leave it out; livejoin chooses its own plan"),
    "laterals": ("LATERAL VIEW", (TokenType.LATERAL,), "store its rows in a table and join that"),
    "qualify": ("QUALIFY", (TokenType.QUALIFY,), "write it in the SELECT that has the window functions"),
    "order": (
        "ORDER BY",
        (TokenType.ORDER_BY,),
        "a maintained result has no order; sort what you read from it, or keep the first rows with LIMIT",
    ),
    "sort": ("SORT BY", (TokenType.SORT_BY,), "a maintained result has no order; sort what you read from it"),
    "cluster": ("CLUSTER BY", (TokenType.CLUSTER_BY,), "a maintained result has no order; sort what you read from it"),
    "distribute": ("DISTRIBUTE BY", (TokenType.DISTRIBUTE_BY,), "leave it out"),
    "locks": ("FOR UPDATE", (TokenType.FOR,), "leave it out"),
    "sample": ("TABLESAMPLE", (TokenType.TABLE_SAMPLE,), "filter on a hash of a column instead"),
    PIVOTS: (
        "PIVOT",
        (TokenType.PIVOT, TokenType.UNPIVOT),
        "it stands in FROM, behind what it is of; write SELECT * FROM (the query) PIVOT (...)",
    ),
}
_LEADING_CLAUSES = {"into", "hint"}
_SELECT_CLAUSES = frozenset({"with_", "expressions", "from_", "joins", "where", "distinct", "group", "having"}) | {
    *("qualify", "order", "limit", "offset", PIVOTS),
}
_MODIFIERS = frozenset({"with_", "this", "expression", "distinct", "order", "limit", "offset"})

# Arguments of a table in FROM.
_TABLE_CLAUSES: dict[str, tuple[str, tuple[TokenType, ...], str]] = {
    "hints": ("WITH behind a table", (TokenType.WITH,), "leave it out; a query reads whole commits, without locks"),
    "sample": _CLAUSES["sample"],
    "laterals": _CLAUSES["laterals"],
    "version": (
        "VERSION AS OF",
        (),
        "a view shows the present; join each row with the one that was valid at its time, as ASOF JOIN v ON t.k = v.k "
        "AND t.ts >= v.valid_from (livejoin docs guides/validity), or read an earlier version by db.snapshot",
    ),
}
_ALLOWED_QUERY = {"this", "alias", "joins", PIVOTS}
_ALLOWED_TABLE = {"this", "alias", "joins", "db", "catalog", PIVOTS}
_ALLOWED_JOIN = {"this", "on", "using", "side", "kind", "method", PIVOTS}
_AS_OF_JOINS = {("", ""), ("", "INNER"), ("LEFT", ""), ("LEFT", "OUTER")}
_JOINS = {
    *(("", kind) for kind in ("", "INNER", "CROSS", "SEMI", "ANTI")),
    *((side, kind) for side in ("LEFT", "RIGHT", "FULL") for kind in ("", "OUTER")),
    *(("LEFT", kind) for kind in ("SEMI", "ANTI")),
}
_ALLOWED_JOINS = (
    "Allowed are [INNER] JOIN, LEFT, RIGHT and FULL [OUTER] JOIN, [LEFT] SEMI JOIN and [LEFT] ANTI JOIN, also with "
    "NATURAL. CROSS JOIN, ASOF [LEFT] JOIN and commas are allowed without it"
)

_PARAMETERS = (TokenType.PLACEHOLDER, TokenType.PARAMETER, TokenType.COLON)


def _no_value(parameter: str) -> str:
    return (
        f"the parameter {parameter} has no value here; sql and execute take values beside the text, as in "
        "db.sql('SELECT ... WHERE id = ?', [5]). A view has none: write the value itself"
    )


def check_select(select: exp.Select, source: Source) -> None:
    """Check the clauses of a SELECT, which may aggregate; ``source`` has its tokens only.

    Raises:
        UnsupportedQueryError: A clause is not supported.
    """
    start = source.find({TokenType.SELECT})
    behind = source.find_outermost({TokenType.FROM})
    found = []
    for name, value in select.args.items():
        if value and name not in _SELECT_CLAUSES:
            clause, kinds, remedy = _CLAUSES.get(name, (name.strip("_").upper(), (), _ALLOWED))
            at = source.find_outermost(kinds, 0 if name in _LEADING_CLAUSES else behind, start)
            found.append((at, clause, f"{clause} is not supported: {remedy}"))
    found += _queries_elsewhere(select, source)
    for node in _own_nodes(select):
        if isinstance(node, (exp.Placeholder, exp.Parameter)):
            at = source.find(_PARAMETERS, default=start)
            found.append((at, "parameter", _no_value(shown(node))))
        elif isinstance(node, exp.Aliases):
            msg = "AS with several names in parentheses is not supported: an expression is one column; give it one name"
            found.append((offset_of(node, start), "AS", msg))
    for at, clause, message in sorted(found)[:1]:
        raise source.unsupported(clause, message, at)


def check_with(clause: exp.With, source: Source, offset: int) -> None:
    """Check that a WITH clause has plain definitions.

    Raises:
        UnsupportedQueryError: The clause is recursive, or has an option.
    """
    if clause.args.get("recursive"):
        msg = "WITH RECURSIVE is not supported: a definition sees those before it, and not itself"
        raise source.unsupported("WITH RECURSIVE", msg, source.find({TokenType.RECURSIVE}, offset, offset))
    for node, known in ((clause, {"expressions"}), *((part, {"this", "alias"}) for part in clause.expressions)):
        odd = next((name for name, value in node.args.items() if value not in (None, []) and name not in known), None)
        if odd is not None:
            option = odd.replace("_", " ").upper()
            msg = f"{option} in WITH is not supported; allowed is WITH name [(column, ...)] AS (query), ..."
            raise source.unsupported(option, msg, source.clause(option, offset))


def refuse_modifiers(tree: exp.Expr, source: Source) -> None:
    """Refuse clauses around a query in parentheses or a set operation, except ORDER BY, LIMIT and OFFSET.

    Raises:
        UnsupportedQueryError: There is another clause, such as WITH or UNION BY NAME.
    """
    start = source.tokens[0].start
    for name, value in tree.args.items():
        if value and name not in _MODIFIERS:
            clause, kinds, remedy = _CLAUSES.get(name, (name.strip("_").replace("_", " ").upper(), (), _ALLOWED))
            at = source.find_outermost(kinds, 0, source.clause(clause, start))
            raise source.unsupported(clause, f"{clause} is not supported: {remedy}", at)


def refuse_statement(tree: exp.Expr, source: Source) -> UnsupportedQueryError:
    """The error for a statement that is no query."""
    clause = source.tokens[0].text.upper()
    msg = f"{clause} is not a query that can be maintained: {_ALLOWED}{_elsewhere(tree)}"
    return source.unsupported(clause, msg, source.tokens[0].start)


def _elsewhere(tree: exp.Expr) -> str:
    if isinstance(tree, (exp.Create, exp.Drop)):
        return ". Tables and views are created and dropped by Database.execute"
    if isinstance(tree, (exp.DML, exp.Merge)):
        return ". Rows change by execute, or by apply"
    return ""


def _own_nodes(select: exp.Select) -> Iterator[exp.Expr]:
    """The nodes of a SELECT without those of its sub-queries and of its WITH clause."""
    apart = [node.this for node in sub_queries(select)]
    apart += [query_of(node) for node in in_expressions(select)]
    if select.args.get("with_"):
        apart.append(select.args["with_"])
    return select.walk(prune=lambda node: any(node is other for other in apart))


def _queries_elsewhere(select: exp.Select, source: Source) -> Iterator[tuple[int, str, str]]:
    """Queries in QUALIFY and in PIVOT."""
    in_from = list(sub_queries(select))
    apart = [*in_from, *(node.this for node in in_from), select.args.get("with_"), select]
    apart += [query_of(node) for node in in_expressions(select)]
    inner = [node for node in _own_nodes(select) if not any(node is other for other in apart)]
    found = next((one for one in inner if isinstance(one, exp.Query) and not isinstance(one, exp.Subquery)), None)
    if found is not None:
        outer = source.find({TokenType.SELECT})
        at = source.find({TokenType.SELECT, TokenType.VALUES}, outer + 1, outer)
        msg = "sub-queries in QUALIFY are not supported; write the condition into WHERE around a query in FROM"
        if found.find_ancestor(exp.Pivot):
            msg = "IN of PIVOT takes constants, and a query stands there; write the values, as IN (2023, 2024)"
        yield at, "sub-query", msg


def check_table(table: exp.Expr, source: Source, default: int) -> exp.Table:
    """Check that an item of FROM is a plain table.

    Raises:
        UnsupportedQueryError: The item is something else, or has a clause that is not supported.
    """
    offset = offset_of(table, default)
    if not isinstance(table, exp.Table) or not isinstance(table.this, exp.Identifier):
        clause = "LATERAL" if isinstance(table, exp.Lateral) else "table function"
        if isinstance(table, exp.Values):
            clause = "VALUES"
        msg = f"{clause} in FROM is not supported; allowed are tables: store its rows in one"
        if clause == "LATERAL":
            msg = "LATERAL of anything but a SELECT is not supported; write LATERAL (SELECT ...), or store its rows"
        raise source.unsupported(clause, msg, source.find_back({TokenType.LATERAL, TokenType.VALUES}, offset, offset))
    for name, value in table.args.items():
        if value and name not in _ALLOWED_TABLE:
            clause, kinds, remedy = _TABLE_CLAUSES.get(name, (name.strip("_").upper(), (), _ALLOWED))
            at = source.find(kinds, offset, source.word(clause.split()[0], offset, offset))
            raise source.unsupported(clause, f"{clause} is not supported: {remedy}", at)
    return table


def refuse_pivot(pivot: exp.Pivot, source: Source, offset: int) -> UnsupportedQueryError:
    """The error for a PIVOT or UNPIVOT between the right side of a join and its condition."""
    called = "UNPIVOT" if pivot.args.get("unpivot") else "PIVOT"
    msg = (
        f"{called} in front of ON or USING is not supported: it is of all that stands before it in FROM. Write it "
        "behind the condition, or write what it is of as a query in parentheses"
    )
    return source.unsupported(called, msg, source.find({TokenType[called]}, offset, offset))


def check_nested(query: exp.Subquery, source: Source, offset: int) -> None:
    """Check a query in parentheses in FROM.

    Raises:
        UnsupportedQueryError: A clause after the parentheses is not supported.
    """
    for name, value in query.args.items():
        if value and name not in _ALLOWED_QUERY:
            clause, kinds, remedy = _CLAUSES.get(name, (name.strip("_").upper(), (), _ALLOWED))
            at = source.find(kinds, offset, source.word(clause.split()[0], offset, offset))
            raise source.unsupported(clause, f"{clause} is not supported: {remedy}", at)


def check_join(join: exp.Join, source: Source, default: int) -> None:
    """Check that a join is an inner, cross, outer, semi or anti join, natural or not.

    Raises:
        SqlSyntaxError: A natural join has a condition.
        UnsupportedQueryError: The join is of another kind.
    """
    offset = offset_of(join.this, default)
    if str(join.args.get("method") or "").upper() == "NATURAL" and (join.args.get("using") or join.args.get("on")):
        given = "USING" if join.args.get("using") else "ON"
        msg = f"NATURAL JOIN with {given} says twice what is joined; leave one out"
        raise source.error(SqlSyntaxError, msg, source.find({TokenType.USING, TokenType.ON}, offset, offset))
    parts = [str(join.args.get(name) or "").upper() for name in ("method", "side", "kind")]
    odd = next((name for name, value in join.args.items() if value and name not in _ALLOWED_JOIN), None)
    if parts[0] == "ASOF" and tuple(parts[1:]) in _AS_OF_JOINS and odd in (None, "match_condition"):
        return
    if parts[0] in ("", "NATURAL") and tuple(parts[1:]) in _JOINS and odd is None:
        return
    clause = " ".join(part for part in parts if part)
    clause = clause if clause.endswith("JOIN") else f"{clause} JOIN".strip()
    word = next((part for part in parts if part not in ("", "NATURAL")), "JOIN")
    at = next((t.start for t in reversed(source.tokens) if t.start < offset and t.text.upper() == word), offset)
    msg = f"{clause} is not supported. {_ALLOWED_JOINS}"
    raise source.unsupported(clause, msg, at)
