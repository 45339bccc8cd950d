"""Refuse what binds and is not maintained yet.

Binding and refusing are apart, so that a query which cannot be maintained can still be explained.
"""

from __future__ import annotations

from sqlglot import TokenType

from livejoin.query.conjunctive import ConjunctiveQuery
from livejoin.sql.parse import parse
from livejoin.theory import cycle


def check_maintained(query: ConjunctiveQuery) -> None:
    """Check that a bound query can be maintained. Cost: parsing the text again, and the GYO reduction.

    Raises:
        UnsupportedQueryError: The join is cyclic; the position is that of FROM.
    """
    found = cycle(query.edges)
    if found:
        _, source = parse(query.sql)
        aliases = ", ".join(query.atoms[position].alias for position in found)
        msg = (
            f"the join is cyclic: {aliases} form a cycle; cyclic joins come later. Allowed are acyclic joins: "
            "maintain the join without one of the cycle's conditions, and filter what you read on that one"
        )
        raise source.unsupported("FROM", msg, source.find({TokenType.FROM}))
