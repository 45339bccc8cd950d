"""When two operators are the same: by what they say, not by how they are laid out.

Law: operators with equal identities over equal inputs maintain equal relations, for every state of the base tables,
and give the same columns in the same order (names aside, which belong to views). Variables count up to renaming: each
is the number of its first occurrence among the atoms. Statistics, and the trees that are chosen by them, do not count;
the algorithm that was asked for does, since who compares algorithms wants both, and so does being adaptive, since a
move of the one must not be seen in the figures of the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple
from typing import TypeAlias

from livejoin.plan.operators import (
    Annotated,
    Bag,
    Combine,
    Compute,
    First,
    FirstOfEach,
    Group,
    JoinInput,
    Numbers,
    Operator,
    RunningOver,
    Scan,
    Selected,
    Stored,
    Threshold,
    ThresholdGroup,
)
from livejoin.query import Branch, ConjunctiveQuery, Output, Product
from livejoin.query.relational import Call
from livejoin.query.scalar import Expression
from livejoin.schema import Table
from livejoin.search.algorithm import Algorithm

Identity: TypeAlias = tuple["str | int | bool | Identity | None", ...]
"""Nested tuples of plain values, whose text is the same in every process."""


def identity(operator: Operator, algorithm: Algorithm, adaptive: bool) -> Identity:
    """What an operator says, without its inputs.

    Args:
        operator: The operator.
        algorithm: What was asked to maintain its joins.
        adaptive: Whether its join may move to another plan.
    """
    match operator:
        case Scan():
            return ("join", *_join(operator, algorithm, adaptive), _types(operator.types))
        case Annotated():
            results = tuple((r.kind, r.sums, str(r.type), r.scale) for r in operator.results)
            what = (*_join(operator, algorithm, adaptive), results, operator.is_global)
            return ("annotated join", *what, _types(operator.types))
        case Selected():
            (atom,) = operator.query.atoms
            source = None if operator.inputs else atom.table.name.lower()
            head = tuple(ref.column for ref in operator.query.head)
            outputs = _outputs(operator.query.outputs)
            return ("selected", source, _said(atom.predicate), head, outputs, _types(operator.types))
        case Compute():
            return ("compute", _outputs(operator.outputs), _said(operator.predicate), _types(operator.types))
        case Combine():
            return (operator.kind, operator.all, _types(operator.types))
        case Group():
            return ("group", operator.groups, _calls(operator.calls), operator.is_global, _types(operator.types))
        case Threshold():
            return ("threshold", operator.keys, operator.comparison, _types(operator.types))
        case ThresholdGroup():
            what = (operator.keys, operator.comparison, operator.groups, _calls(operator.calls), operator.is_global)
            return ("threshold group", *what, _types(operator.rows.types), _types(operator.types))
        case First():
            keys = tuple((key.column, key.descending, key.nulls_first) for key in operator.keys)
            return ("first", keys, operator.limit, operator.offset, _types(operator.types))
        case FirstOfEach():
            keys = tuple((key.column, key.descending, key.nulls_first) for key in operator.keys)
            what = (operator.partition, keys, operator.function, operator.limit)
            return ("first of each", *what, _types(operator.types))
        case RunningOver():
            keys = tuple((key.column, key.descending, key.nulls_first) for key in operator.keys)
            calls = tuple((call.function, call.argument, call.back) for call in operator.calls)
            frame = operator.frame
            rows = frame if isinstance(frame, str) else (type(frame).__name__, *astuple(frame))
            return ("running", operator.partition, keys, rows, calls, _types(operator.types))
        case Numbers():
            return ("numbers", operator.count)
        case Stored():
            return ("stored",)
        case Bag():
            given, query = operator.derived, operator.derived.query
            atoms, numbers = _atoms(query, operator.inputs)
            head = tuple(numbers[query.variable(ref)] for ref in query.head)
            return (
                "bag",
                atoms,
                tuple(sorted(given.filters)),
                tuple(tuple(f.identity for f in own) for own in given.factors),
                head,
                _types(operator.types),
            )


def _join(leaf: Scan | Annotated, algorithm: Algorithm, adaptive: bool) -> Identity:
    query = leaf.physical.query
    atoms, numbers = _atoms(query, leaf.inputs)
    head = tuple(numbers[query.variable(ref)] for ref in query.head)
    free = None if query.free is None else tuple(sorted(numbers[v] for v in query.free))
    sums = tuple(map(_product, query.sums))
    branches = tuple(_branch(branch, numbers) for branch in query.branches)
    return (algorithm, adaptive, atoms, head, _outputs(query.outputs), free, sums, branches)


def _branch(branch: Branch, numbers: dict[str, int]) -> Identity:
    key = tuple(sorted((numbers[outer], numbers[inner]) for outer, inner in branch.key))
    return (branch.kind, branch.atoms, key, branch.above)


def _atoms(query: ConjunctiveQuery, given: Sequence[JoinInput]) -> tuple[Identity, dict[str, int]]:
    """The atoms of a query, and the numbers of its variables."""
    inputs = {one.table.name: position for position, one in enumerate(given)}
    numbers: dict[str, int] = {}
    atoms = []
    for atom in query.atoms:
        source = inputs.get(atom.table.name, atom.table.name.lower())
        variables = tuple(numbers.setdefault(v, len(numbers)) for v in atom.variables)
        atoms.append((source, atom.columns, variables, _said(atom.predicate), *_promise(atom.table)))
    return tuple(atoms), numbers


def _promise(table: Table) -> Identity:
    """What a table promises, on which a plan rests; nothing of most."""
    return ("static",) if table.static else ("append-only",) if table.append_only else ()


def _product(product: Product) -> Identity:
    return (product.wide, tuple((factor.atom, factor.expression.identity) for factor in product.factors))


def _outputs(outputs: tuple[Output, ...]) -> Identity:
    return tuple((str(o.type), o.source if isinstance(o.source, int) else o.source.identity) for o in outputs)


def _calls(calls: tuple[Call, ...]) -> Identity:
    return tuple(
        (c.function, c.argument, c.distinct, str(c.type), c.other, repr(c.fraction), c.descending) for c in calls
    )


def _said(predicate: Expression | None) -> str | None:
    return None if predicate is None else predicate.identity


def _types(types: tuple[object, ...]) -> Identity:
    return tuple(str(one) for one in types)
