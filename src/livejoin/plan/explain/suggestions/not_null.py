"""What columns that are declared NOT NULL would spare a query: relations, edges and checks that are there for NULLs.

NOT IN asks for NULLs on both sides of each comparison, an outer join filtered by IS NULL is an anti join only where the
column is never NULL. Each column that may be NULL is declared NOT NULL in turn, and the query bound anew: it is
suggested if there is less to maintain then, whatever the bound on the cost of a change is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import islice

from livejoin.catalog import Catalog
from livejoin.plan.explain.explanation import Explanation, Suggestion
from livejoin.plan.explain.suggestions.suggestions import in_order
from livejoin.plan.explain.suggestions.supposed import Supposed
from livejoin.query.bound_query import Query
from livejoin.query.relational import Join, Relation
from livejoin.schema import Table

_MOST_TRIALS = 40

Column = tuple[str, int]
"""A column: its table in lower case, and its position."""


@dataclass(frozen=True, order=True)
class _Size:
    """How much there is to maintain: optional edges count, as an anti edge is cheaper.

    Args:
        atoms: Relations that are joined.
        optional: Edges that give NULLs where there is no match.
        relations: Operators.
    """

    atoms: int
    optional: int
    relations: int


def with_not_null(
    explanation: Explanation,
    query: Query,
    tables: Iterable[Table],
    bind: Callable[[Catalog], Query],
    describe: Callable[[Query], Explanation],
) -> Explanation:
    """An explanation that also suggests NOT NULL where that spares something.

    Args:
        explanation: The explanation of the query.
        query: The query.
        tables: All tables, in an order in which each refers to those before it.
        bind: Binds the query's text over other declarations of them.
        describe: Explains such a query.

    Cost: some ms for each of at most 40 columns, and one explanation more if one helps.
    """
    tables = tuple(tables)
    used = query.used_columns()
    trials = [
        (table.name.lower(), place)
        for table in query.tables
        for place in sorted(used[table.name])
        if not table.requires(place)
    ]
    if all(not join.branches for join in query.joins):
        return explanation  # NULLs cost inner joins nothing
    before = _size(query.root)
    helping = [one for one in islice(trials, _MOST_TRIALS) if _size(bind(_catalog(tables, [one])).root) < before]
    if not helping:
        return explanation
    declared = bind(_catalog(tables, helping))
    after = _size(declared.root)
    by_name = {table.name.lower(): table for table in query.tables}
    named = [f"{by_name[name].name}.{by_name[name].columns[place].name}" for name, place in helping]
    clauses = [f"{by_name[name].name}: {_declaration(by_name[name], place)}" for name, place in helping]
    condition = "if it never is" if len(named) == 1 else "if they never are"
    text = f"Declare {' and '.join(named)} NOT NULL, {condition}: {_spared(before, after)}."
    supposed = tuple(
        Supposed(by_name[name].name, "not null", (by_name[name].columns[place].name,)) for name, place in helping
    )
    suggestion = Suggestion("not null", text, "; ".join(clauses), describe(declared).guarantee, True, supposed)
    return replace(explanation, suggestions=in_order((*explanation.suggestions, suggestion)))


def _spared(before: _Size, after: _Size) -> str:
    if after.atoms < before.atoms:
        return f"{after.atoms} relations are read then instead of {before.atoms}"
    if after.optional < before.optional:
        return "an edge that gives NULLs where there is no match becomes one that asks whether there is one"
    return f"{after.relations} operators maintain it then instead of {before.relations}"


def _declaration(table: Table, place: int) -> str:
    return str(replace(table.columns[place], nullable=False))


def _catalog(tables: Iterable[Table], columns: Iterable[Column]) -> Catalog:
    """The tables with some columns NOT NULL."""
    changed: Mapping[str, list[int]] = {table.name.lower(): [] for table in tables}
    for name, place in columns:
        changed[name].append(place)
    found = Catalog()
    for table in tables:
        places = changed[table.name.lower()]
        own = tuple(replace(c, nullable=c.nullable and i not in places) for i, c in enumerate(table.columns))
        found.add(replace(table, columns=own))
    return found


def _size(root: Relation) -> _Size:
    atoms = optional = relations = 0
    waiting = [root]
    while waiting:
        relation = waiting.pop()
        relations += 1
        waiting += relation.below
        if isinstance(relation, Join):
            atoms += len(relation.query.atoms)
            optional += sum(branch.kind == "optional" for branch in relation.query.branches)
    return _Size(atoms, optional, relations)
