"""Aggregates as annotations of a join tree: sums of products of factors of its atoms (CROWN, section 7.3)."""

from __future__ import annotations

from dataclasses import dataclass

from livejoin.plan.equal_atoms import Counted
from livejoin.plan.operators import Result, ResultKind
from livejoin.query import ConjunctiveQuery, Factor, Product
from livejoin.query.aggregates import AggregateCall
from livejoin.query.conjunctive import present
from livejoin.query.scalar import Constant, Field
from livejoin.schema import SqlType

_NARROW_ATOMS = 2  # a count of results that join more atoms than this is kept in 128 bits
# Sums of squares are exact modulo 2**128, and 2**32 squares of such numbers stay within; a store sums larger ones.
_SQUARED_BITS = 32
_SQUARED_DIGITS = 14
_KINDS: dict[str, ResultKind] = {
    "count": "count",
    "sum": "sum",
    "avg": "avg",
    "var_pop": "var_pop",
    "var_samp": "var_samp",
}


@dataclass(frozen=True)
class Annotation:
    """Aggregates that are read off sums of products.

    Args:
        sums: The components: the number of results first.
        results: The aggregates, in the order of the calls.
    """

    sums: tuple[Product, ...]
    results: tuple[Result, ...]


def annotation_of(counted: Counted) -> Annotation | None:
    """The annotation that all calls of an aggregation are read off; None if one is no sum of products."""
    relation, query, more = counted.relation, counted.join.query, counted.factors
    sums = [number_of_results(query, more)]
    results = []
    for call in relation.calls:
        argument = None if call.argument is None else relation.input.types[call.argument]
        result = _result(call, argument, query, sums, more)
        if result is None:
            return None
        results.append(result)
    return Annotation(tuple(sums), tuple(results))


def number_of_results(query: ConjunctiveQuery, factors: tuple[Factor, ...]) -> Product:
    """The multiplicity of a result, times some factors, as a sum of products."""
    return Product(factors, bool(factors) or len(query.atoms) > _NARROW_ATOMS)


def _result(
    call: AggregateCall,
    argument: SqlType | None,
    query: ConjunctiveQuery,
    sums: list[Product],
    more: tuple[Factor, ...],
) -> Result | None:
    """How a call is read off an annotation whose components are added to ``sums``; None if it is no sum of products.

    Each component has some factors more.
    """
    if call.distinct or call.function not in _KINDS:
        return None
    if argument is None:
        return Result("count", (0,), call.type)
    product = call.product
    if product is None:
        return None
    squares = call.function in ("var_pop", "var_samp")
    if squares and (argument.bits > _SQUARED_BITS or argument.precision > _SQUARED_DIGITS):
        return None
    wide = Product(product.factors + more, True)
    if call.function == "count":
        return Result("count", (_place(sums, wide),), call.type)
    may_lack = {atom for branch in query.branches if branch.kind == "optional" for atom in branch.atoms}
    counted = tuple(present(f) for f in product.factors if f.atom in may_lack or not _never_null(f))
    places = [_place(sums, Product(counted + more, sums[0].wide)), _place(sums, wide)]
    if squares:
        places.append(_place(sums, Product(product.factors + product.factors + more, True)))
    return Result(_KINDS[call.function], tuple(places), call.type, argument.scale)


def _place(sums: list[Product], product: Product) -> int:
    """Position of a component, which is added if it is not there."""
    if product not in sums:
        sums.append(product)
    return sums.index(product)


def _never_null(factor: Factor) -> bool:
    """Whether a factor is a column that is declared NOT NULL, or a number."""
    match factor.expression.scalar:
        case Field(nullable=nullable):
            return not nullable
        case Constant(value=value):
            return value is not None
        case _:
            return False
