"""The parts of what operators say: nested tuples of plain values. `livejoin.plan.operators.operator` has the law.

Digests of blocks are hashes of their texts, and snapshots find states by them: what is said of a part stays what it is,
whatever the classes are called.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from livejoin.query import Branch, ConjunctiveQuery, Output, Product
from livejoin.query.aggregates import AggregateCall
from livejoin.query.orders import SortKey
from livejoin.query.scalar import Expression
from livejoin.schema import Table

Identity: TypeAlias = tuple["str | int | bool | Identity | None", ...]
"""Nested tuples of plain values, whose text is the same in every process."""


def said_join(query: ConjunctiveQuery, inputs: Sequence[str]) -> Identity:
    """What a join of a program says.

    Args:
        query: The join.
        inputs: The names of the derived relations among its tables, in order.
    """
    atoms, numbers = said_atoms(query, inputs)
    head = said_head(query, numbers)
    free = None if query.free is None else tuple(sorted(numbers[v] for v in query.free))
    sums = tuple(map(_product, query.sums))
    branches = tuple(_branch(branch, numbers) for branch in query.branches)
    return (atoms, head, said_outputs(query.outputs), free, sums, branches)


def said_atoms(query: ConjunctiveQuery, inputs: Sequence[str]) -> tuple[Identity, dict[str, int]]:
    """The atoms of a query, and the numbers of its variables; as `said_join`."""
    places = {name: position for position, name in enumerate(inputs)}
    numbers: dict[str, int] = {}
    atoms = []
    for atom in query.atoms:
        source = places.get(atom.table.name, atom.table.name.lower())
        variables = tuple(numbers.setdefault(v, len(numbers)) for v in atom.variables)
        atoms.append((source, atom.columns, variables, said_predicate(atom.predicate), *_promise(atom.table)))
    return tuple(atoms), numbers


def said_head(query: ConjunctiveQuery, numbers: dict[str, int]) -> Identity:
    """The variables of a query's head, by their numbers."""
    return tuple(numbers[query.variable(ref)] for ref in query.head)


def said_outputs(outputs: Iterable[Output]) -> Identity:
    """The columns that are shown: copies of others, and expressions."""
    return tuple((str(o.type), o.source if isinstance(o.source, int) else o.source.identity) for o in outputs)


def said_calls(calls: Iterable[AggregateCall]) -> Identity:
    """Aggregates."""
    return tuple(
        (c.function, c.argument, c.distinct, str(c.type), c.other, repr(c.fraction), c.descending) for c in calls
    )


def said_keys(keys: Iterable[SortKey]) -> Identity:
    """An order."""
    return tuple((key.column, key.descending, key.nulls_first) for key in keys)


def said_predicate(predicate: Expression | None) -> str | None:
    """A condition, or that there is none."""
    return None if predicate is None else predicate.identity


def said_types(types: Iterable[object]) -> Identity:
    """Types of columns."""
    return tuple(str(one) for one in types)


def _branch(branch: Branch, numbers: dict[str, int]) -> Identity:
    key = tuple(sorted((numbers[outer], numbers[inner]) for outer, inner in branch.key))
    return (branch.kind, branch.atoms, key, branch.above)


def _promise(table: Table) -> Identity:
    """What a table promises, on which a plan rests; nothing of most."""
    return ("static",) if table.static else ("append-only",) if table.append_only else ()


def _product(product: Product) -> Identity:
    return (product.wide, tuple((factor.atom, factor.expression.identity) for factor in product.factors))
