"""Refuse queries that compare payload (ARRAY, STRUCT, MAP, VARIANT): it is only passed through.

Expressions are checked when they are bound (`livejoin.sql.scalars.payload`), relations here, when the query is
complete. The law: below a query that passes, no operator groups, orders or aggregates by a column of payload, except to
count it. Rows with payload are compared by their bytes, as deletions compare them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import TokenType

from livejoin.query.relational import (
    Aggregate,
    Distinct,
    Join,
    Numbers,
    Query,
    Ranked,
    Relation,
    Running,
    SetOperation,
    TopK,
    ignores_copies,
)
from livejoin.sql.parse.source import Source


def refuse_payload(query: Query, source: Source) -> None:
    """Refuse a query that groups, orders or aggregates by payload.

    Raises:
        UnsupportedQueryError: The query does; the position is that of the first such clause in the text.
    """
    found = [*_compared(query.root), *(("ORDER BY", query.read, key.column) for key in query.order)]
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


def _compared(relation: Relation) -> Iterator[tuple[str, Relation, int]]:
    """The columns that operators compare: the clause, the relation, and the column."""
    match relation:
        case Join():
            for one in relation.inputs:
                yield from _compared(one.relation)
            return
        case Numbers():
            return
        case SetOperation():
            yield from _compared(relation.left)
            yield from _compared(relation.right)
            if relation.kind != "union" or not relation.all:
                yield from _all_of(relation.kind.upper(), relation)
            return
        case Distinct():  # of a SELECT DISTINCT, or a GROUP BY without aggregates
            yield from _all_of("DISTINCT", relation)
        case Aggregate():
            yield from (("GROUP BY", relation.input, column) for column in range(relation.groups))
            for call in relation.calls:
                if call.function != "count" or ignores_copies(call):
                    used = (column for column in (call.argument, call.other) if column is not None)
                    yield from ((call.function.upper(), relation.input, column) for column in used)
        case TopK():
            yield from _ordered("ORDER BY", relation.input, [key.column for key in relation.keys])
        case Ranked() | Running():
            yield from _ordered("PARTITION BY", relation.input, relation.partition)
            yield from _ordered("ORDER BY", relation.input, [key.column for key in relation.keys])
        case _:
            pass
    yield from _compared(relation.input)


def _all_of(clause: str, relation: Relation) -> Iterator[tuple[str, Relation, int]]:
    return ((clause, relation, column) for column in range(len(relation.types)))


def _ordered(clause: str, relation: Relation, columns: Sequence[int]) -> Iterator[tuple[str, Relation, int]]:
    return ((clause, relation, column) for column in columns)
