"""Refuse queries that compare payload (ARRAY, STRUCT, MAP, VARIANT): it is only passed through.

Expressions are checked when they are bound (`livejoin.sql.scalars.payload`), relations here, when the query is
complete. The law: below a query that passes, no operator groups, orders or aggregates by a column of payload, except to
count it. Rows with payload are compared by their bytes, as deletions compare them.
"""

from __future__ import annotations

from sqlglot import TokenType

from livejoin.query.bound_query import Query
from livejoin.sql.parse.source import Source


def refuse_payload(query: Query, source: Source) -> None:
    """Refuse a query that groups, orders or aggregates by payload.

    Raises:
        UnsupportedQueryError: The query does; the position is that of the first such clause in the text.
    """
    found = [*query.root.compared(), *(("ORDER BY", query.read, key.column) for key in query.order)]
    for clause, relation, column in found:
        kind = relation.types[column]
        if not kind.is_payload:
            continue
        says_distinct = any(token.token_type == TokenType.DISTINCT for token in source.tokens)
        written = "GROUP BY" if clause == "DISTINCT" and not says_distinct else clause
        msg = (
            f"{written} of the column {relation.schema.names[column]!r}, which is {kind} and only passed through: it "
            "may be selected, counted and tested for NULL; keep what is compared in a column of its own"
        )
        raise source.unsupported(written, msg, source.clause(written, source.tokens[0].start))
