"""What NOT IN does with NULL: the sentences that say that one NULL of the sub-query empties the result."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from livejoin.plan.operators import AnyJoin, Operator
from livejoin.query import Atom, Branch, ConjunctiveQuery
from livejoin.query.scalar import Call, Expression, Field, Scalar

_SAYS_NOT_IN = re.compile(r"\bNOT\s+IN\b|\bALL\s*\(", re.IGNORECASE)


def not_in_sentences(sql: str, operators: Sequence[Operator]) -> Iterator[str]:
    """A sentence for each NOT IN over a column that may be NULL.

    Args:
        sql: The text of the query.
        operators: The operators that maintain it.
    """
    if _SAYS_NOT_IN.search(sql) is None:
        return
    for plan in operators:
        if isinstance(plan, AnyJoin):
            for branch in plan.query.branches:
                if (found := _null_of(plan.query, branch)) is not None:
                    yield _sentence(plan.query, branch, *found)


def _null_of(query: ConjunctiveQuery, branch: Branch) -> tuple[Atom, str] | None:
    """The table and the column of which a NULL lets no row pass; None if the branch asks for something else."""
    if branch.kind != "not exists" or branch.key or len(branch.atoms) != 1:
        return None
    atom = query.atoms[branch.atoms[0]]
    for scalar in _parts(atom.predicate):
        match scalar:
            case Call("is_null", (Field(position=place),)):
                return atom, atom.table.columns[place].name
    return None


def _parts(condition: Expression | None) -> Iterator[Scalar]:
    """The conditions that are all to be true."""
    waiting = [] if condition is None else [one.scalar for one in (condition.steps or (condition,))]
    while waiting:
        match waiting.pop():
            case Call("and", parts):
                waiting += parts
            case Call() as one:
                yield one


def _sentence(query: ConjunctiveQuery, branch: Branch, atom: Atom, column: str) -> str:
    table = atom.table.name
    beside = (one for one in query.branches if one.kind == "not exists" and one.key and one.above == branch.above)
    outer = next(
        (one.key[0][0] for one in beside if query.atoms[one.atoms[0]].table.name == table and len(one.key) == 1), "..."
    )
    return (
        f"{table}.{column} may be NULL. In SQL, one row of {table} whose {column} is NULL empties the result of NOT "
        f"IN. NOT EXISTS (SELECT 1 FROM {table} WHERE {table}.{column} = {outer}) takes NULL as no match, and costs "
        "less."
    )
