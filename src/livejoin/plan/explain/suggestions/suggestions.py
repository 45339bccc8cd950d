"""What would make a guarantee better, found by trying it.

Each suggestion changes one thing in the query or its tables, or more where one is not enough, and plans the result
anew. It is made only if the bound on the cost of a change is really better then. The search for its plan is shorter
than for a query's own plan, which may need less preprocessing than the suggestion says. A key, or a static or
append-only table, is a suggestion for someone who knows the data: livejoin cannot tell whether it is true.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, islice

from livejoin.families.family import Candidate
from livejoin.families.registry import families_of
from livejoin.plan.explain.describing.classify import listed
from livejoin.plan.explain.explanation import Suggestion, SuggestionKind
from livejoin.plan.explain.suggestions.seen import NOTHING_SEEN, Seen
from livejoin.plan.explain.suggestions.supposed import Supposed
from livejoin.query import Atom, ConjunctiveQuery
from livejoin.schema import ForeignKey, Table
from livejoin.search.algorithm import Algorithm
from livejoin.search.guarantee import UpdateBound
from livejoin.search.statistics import Statistics
from livejoin.theory.classes.free_connex import is_free_connex
from livejoin.theory.classes.hypergraph import Hypergraph

_MOST_TRIALS = 100  # of each kind
_MOST_SHOWN = 3  # of each kind


@dataclass(frozen=True)
class _Trial:
    """A change of the query or its tables that is to be tried, made of one or several parts."""

    kind: SuggestionKind
    text: str
    sql: str
    query: ConjunctiveQuery
    free: frozenset[str]
    parts: int = 1
    keys: tuple[tuple[Table, tuple[int, ...]], ...] = ()
    supposed: tuple[Supposed, ...] = ()


def suggest(
    query: ConjunctiveQuery,
    statistics: Statistics,
    bound: UpdateBound,
    algorithm: Algorithm = "auto",
    seen: Seen = NOTHING_SEEN,
) -> tuple[Suggestion, ...]:
    """Changes that would give a better bound than ``bound``, those that this version could run first.

    Of a query with branches declarations alone are tried: what leaves an atom or a column out would hang otherwise.

    Cost: at most 100 searches for a tree of each kind of change, each some ms.

    Args:
        query: The query; its free variables are its output.
        statistics: Figures of the tables.
        bound: The bound of the present plan.
        algorithm: The algorithm, which selects the families that are asked.
        seen: The changes that were seen; what they refute is not suggested.
    """
    output = query.variables if query.free is None else query.free
    found: list[Suggestion] = []
    if bound > UpdateBound.ALWAYS:
        for trials in _OF_BRANCHES if query.branches else _OF_JOINS:
            better: list[Suggestion] = []
            fewest = 1
            for trial in islice(trials(query, output), _MOST_TRIALS):
                if better and trial.parts > fewest:
                    break
                if seen.refutes(trial.supposed):
                    continue
                if any(_come_twice(table, columns, statistics) for table, columns in trial.keys):
                    continue
                if (plan := _best(trial, statistics, bound, algorithm)) is not None:
                    told = Suggestion(
                        trial.kind, trial.text, trial.sql, plan.guarantee, not plan.obstacle, trial.supposed
                    )
                    better.append(told)
                    fewest = trial.parts
            most = 1 if trials in _OF_OTHER_QUERIES else _MOST_SHOWN
            found += islice(sorted(better, key=_rank), most)
    return _worth_saying(in_order(found))


def in_order(found: Iterable[Suggestion]) -> tuple[Suggestion, ...]:
    """Suggestions in the order in which they are shown."""
    return tuple(sorted(found, key=_rank))


def _worth_saying(found: Sequence[Suggestion]) -> tuple[Suggestion, ...]:
    """Suggestions without those that ask for another query, where one that keeps the query is as good."""
    kept = [one for one in found if one.kind != "shape"]
    best = min((one.guarantee.bound for one in kept if one.executable), default=None)
    return tuple(one for one in found if one.kind != "shape" or best is None or one.guarantee.bound < best)


def _rank(suggestion: Suggestion) -> tuple[bool, int, int]:
    """What is declared of data comes before what changes the query, and what few would do comes last."""
    return (not suggestion.executable, _KINDS.index(suggestion.kind), suggestion.guarantee.bound)


_KINDS: tuple[SuggestionKind, ...] = (
    "primary key",
    "foreign key",
    "not null",
    "append-only table",
    "output column",
    "all columns",
    "static table",
    "shape",
)


def _best(trial: _Trial, statistics: Statistics, bound: UpdateBound, algorithm: Algorithm) -> Candidate | None:
    """The best plan of a trial if it has a better bound: one that runs, if there is one."""
    query = replace(trial.query, free=trial.free)
    plans = []
    for family in families_of(algorithm, query):
        plan = family.better(query, statistics, bound)
        if plan is not None and plan.guarantee.bound < bound:
            if not plan.obstacle:
                return plan
            plans.append(plan)
    return min(plans, key=lambda plan: (bool(plan.obstacle), plan.guarantee.bound), default=None)


def _all_columns(query: ConjunctiveQuery, free: frozenset[str]) -> Iterator[_Trial]:
    """Return all variables."""
    if query.variables - free:
        more = ", ".join(sorted(query.variables - free))
        yield _Trial("all columns", f"Return all columns of the join, {more} too.", more, query, query.variables)


def _output_columns(query: ConjunctiveQuery, free: frozenset[str]) -> Iterator[_Trial]:
    """Return one or two more variables, unless these are all or do not make it free-connex."""
    bound = sorted(query.variables - free)
    for number in (1, 2):
        for some in combinations(bound, number):
            if len(some) < len(bound) and is_free_connex(query.edges, free | set(some)):
                more = ", ".join(some)
                yield _Trial("output column", f"Return {more} too.", more, query, free | set(some), number)


def _primary_keys(query: ConjunctiveQuery, free: frozenset[str]) -> Iterator[_Trial]:
    """Declare a primary key of one table, or of two, on columns that they are joined on."""
    keys = [(table, columns) for table in _tables(query) if not table.keys for columns in _joined(query, table)]
    for number in (1, 2):
        for some in combinations(keys, number):
            names = [table.name for table, _ in some]
            if len(set(names)) == number:
                changed = {table.name: replace(table, primary_key=columns) for table, columns in some}
                clauses = [f"PRIMARY KEY ({_names(table, columns)})" for table, columns in some]
                text = " and ".join(f"{clause} of {name}" for clause, name in zip(clauses, names, strict=True))
                condition = "if it is one" if number == 1 else "if they are"
                sql = clauses[0] if number == 1 else "; ".join(f"{n}: {c}" for n, c in zip(names, clauses, strict=True))
                what = f"Declare {text}, {condition}."
                supposed = tuple(Supposed(t.name, "primary key", _column_names(t, columns)) for t, columns in some)
                other = _with_tables(query, changed)
                yield _Trial("primary key", what, sql, other, free, number, tuple(some), supposed)


def _come_twice(table: Table, columns: tuple[int, ...], known: Statistics) -> bool:
    """Whether some rows are known to have the same values in some columns, which are no key then.

    Different values of large tables are counted to a few parts in a thousand.
    """
    figures = known.of(table.name)
    rows, different = figures.rows.value, figures.distinct_of(columns).value
    return rows is not None and different is not None and rows > _DIFFERENT * different


_DIFFERENT = 1.02


def _foreign_keys(query: ConjunctiveQuery, free: frozenset[str]) -> Iterator[_Trial]:
    """Declare a foreign key along a join with a primary key."""
    for parent in query.atoms:
        for child in query.atoms:
            columns = _references(parent, child)
            if columns and parent.table.name != child.table.name:
                key = ForeignKey(columns, child.table.name)
                table = replace(parent.table, foreign_keys=(*parent.table.foreign_keys, key))
                declared = any(k.columns == columns and k.refers_to(key.table) for k in parent.table.foreign_keys)
                if not declared:
                    clause = table.describe(key)
                    text = f"Declare {clause} of {table.name}, if it is one."
                    supposed = (Supposed(table.name, "foreign key", _column_names(table, columns), child.table.name),)
                    other = _with_tables(query, {table.name: table})
                    yield _Trial("foreign key", text, clause, other, free, supposed=supposed)


def _static_tables(query: ConjunctiveQuery, free: frozenset[str]) -> Iterator[_Trial]:
    """Declare one table static, or two, or all but one."""
    tables = [table for table in _tables(query) if not table.static and not table.has_window]
    numbers = dict.fromkeys(n for n in (1, 2, len(tables) - 1) if 0 < n < len(tables))
    for number in numbers:
        for some in combinations(tables, number):
            names = listed(table.name for table in some)
            what = "a static table, if it never changes" if number == 1 else "static tables, if they never change"
            changed = {table.name: table.having(static=True, append_only=False) for table in some}
            sql = "TBLPROPERTIES ('livejoin.static' = 'true')"
            supposed = tuple(Supposed(table.name, "static table") for table in some)
            text, other = f"Declare {names} {what}.", _with_tables(query, changed)
            yield _Trial("static table", text, sql, other, free, number, supposed=supposed)


def _append_only_tables(query: ConjunctiveQuery, free: frozenset[str]) -> Iterator[_Trial]:
    """Declare one table append-only, or two, or all of them."""
    tables = [one for one in _tables(query) if not (one.static or one.append_only or one.has_window)]
    tables = [one for one in tables if one.sequence_by is None]
    for number in dict.fromkeys(n for n in (1, 2, len(tables)) if 0 < n <= len(tables)):
        for some in combinations(tables, number):
            text = f"Declare {listed(table.name for table in some)} append-only, if nothing is ever deleted."
            changed = {table.name: table.having(append_only=True) for table in some}
            sql = "TBLPROPERTIES ('livejoin.append_only' = 'true')"
            supposed = tuple(Supposed(table.name, "append-only table") for table in some)
            other = _with_tables(query, changed)
            yield _Trial("append-only table", text, sql, other, free, number, supposed=supposed)


def _fewer_atoms(query: ConjunctiveQuery, free: frozenset[str]) -> Iterator[_Trial]:
    """Leave out one atom, without making a product of the rest; aggregates may be over what it has."""
    if query.sums:
        return
    pieces = len(Hypergraph(query.edges).components())
    for position, atom in enumerate(query.atoms):
        atoms = query.atoms[:position] + query.atoms[position + 1 :]
        rest = _query(query, atoms)
        if atoms and len(Hypergraph(rest.edges).components()) <= pieces:
            on = ", ".join(sorted(query.join_variables(position)))
            text = f"Leave {atom.alias} out of the join, and look its rows up by ({on}) when results are read."
            yield _Trial("shape", text, "", rest, free & rest.variables)


def _fewer_joins(query: ConjunctiveQuery, free: frozenset[str]) -> Iterator[_Trial]:
    """Leave out one condition of the join, without making a product of the rest."""
    pieces = len(Hypergraph(query.edges).components())
    for position, atom in enumerate(query.atoms):
        for variable in sorted(query.join_variables(position)):
            own = f"{atom.alias}.{atom.table.columns[atom.column_of(variable)].name} alone"
            loose = replace(atom, variables=tuple(own if v == variable else v for v in atom.variables))
            rest = _query(query, (*query.atoms[:position], loose, *query.atoms[position + 1 :]))
            if len(Hypergraph(rest.edges).components()) <= pieces:
                text = f"Leave out the condition that joins {atom.alias} on {variable}, and filter what is read on it."
                yield _Trial("shape", text, "", rest, free | ({own} if variable in free else set()))


def _tables(query: ConjunctiveQuery) -> Iterable[Table]:
    return {atom.table.name: atom.table for atom in query.atoms}.values()


def _joined(query: ConjunctiveQuery, table: Table) -> Iterator[tuple[int, ...]]:
    """Sets of a table's columns that one of its atoms shares with another atom, the smallest ones first."""
    found = {
        tuple(sorted(atom.column_of(v) for v in query.edges[i] & query.edges[j]))
        for i, atom in enumerate(query.atoms)
        for j in range(len(query.atoms))
        if i != j and atom.table.name == table.name
    }
    yield from sorted((columns for columns in found if columns), key=lambda columns: (len(columns), columns))


def _references(parent: Atom, child: Atom) -> tuple[int, ...]:
    """The columns of the parent that are joined with the child's primary key, empty if not all of it is."""
    key = child.table.primary_key
    if not key or not set(key) <= set(child.columns):
        return ()
    variables = [child.variables[child.columns.index(column)] for column in key]
    return tuple(parent.column_of(v) for v in variables) if set(variables) <= set(parent.variables) else ()


def _with_tables(query: ConjunctiveQuery, tables: dict[str, Table]) -> ConjunctiveQuery:
    return _query(query, tuple(replace(a, table=tables.get(a.table.name, a.table)) for a in query.atoms))


def _query(query: ConjunctiveQuery, atoms: tuple[Atom, ...]) -> ConjunctiveQuery:
    """A query to be planned and not to be run: it has no outputs."""
    return ConjunctiveQuery(query.sql, atoms, (), (), query.free, query.sums, query.branches)


def _names(table: Table, columns: tuple[int, ...]) -> str:
    return ", ".join(_column_names(table, columns))


def _column_names(table: Table, columns: tuple[int, ...]) -> tuple[str, ...]:
    return tuple(table.columns[column].name for column in columns)


_OF_BRANCHES = (_primary_keys, _foreign_keys, _static_tables, _append_only_tables)
_OF_OTHER_QUERIES = (_fewer_atoms, _fewer_joins)
_OF_JOINS = (_all_columns, _output_columns, *_OF_BRANCHES, _fewer_atoms, _fewer_joins)
