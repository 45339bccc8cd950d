"""Conditions rewritten to equal ones of which more conjuncts join or filter.

A disjunction whose terms share conjuncts is a conjunction of these and of the rest,

    (c AND p) OR (c AND q)  =  c AND (p OR q),        c OR (c AND q)  =  c,

in three-valued logic too. So NOT goes inwards: ``NOT (a >= b)`` is ``a < b``. An equality of tuples is split into its
parts. Spark compares structs there, in which NULL equals NULL. ``x IN (y)`` is ``x = y``. A disjunction also implies a
filter for each table that occurs in all of its terms,

    (p_1 AND q_1) OR (p_2 AND q_2)  =>  p_1 OR p_2,        p_i over that table alone,

which is applied before the join.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from sqlglot import exp

from livejoin.sql.parse.copying import rewritten
from livejoin.sql.resolved.column import REF, refs_of

Conjuncts: TypeAlias = Callable[[exp.Expr], Iterator[exp.Expr]]
_TURNED: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.LT: exp.GTE,
    exp.LTE: exp.GT,
    exp.GT: exp.LTE,
    exp.GTE: exp.LT,
    exp.NEQ: exp.EQ,
    exp.NullSafeNEQ: exp.NullSafeEQ,
}
_Key: TypeAlias = "tuple[type[exp.Expr], frozenset[exp.Expr]] | exp.Expr"


def parts(node: exp.Expr) -> list[exp.Expr]:
    """The equalities of an equality of tuples or of an IN of one value; else the condition itself."""
    if isinstance(node, exp.In) and len(node.expressions) == 1 and not node.args.get("unnest"):
        node = exp.EQ(this=node.this.unnest(), expression=node.expressions[0].unnest())
    if not isinstance(node, (exp.EQ, exp.NullSafeEQ)):
        return [node]
    left, right = node.this, node.expression
    if not (isinstance(left, exp.Tuple) and isinstance(right, exp.Tuple)):
        return [node]
    if len(left.expressions) != len(right.expressions):
        return [node]
    pairs = zip(left.expressions, right.expressions, strict=True)
    return [exp.NullSafeEQ(this=one.unnest(), expression=other.unnest()) for one, other in pairs]


def without_not(node: exp.Not) -> exp.Expr | None:
    """A negation as a condition that has the same value in three-valued logic; None where it stays one.

    So ``NOT (a >= b)`` is ``a < b``, unknown where a side is NULL as that is, and ``NOT (p OR q)`` is two conjuncts.
    """
    inner: exp.Expr = node.this.unnest()
    match inner:
        case exp.Not():
            within: exp.Expr = inner.this.unnest()
            return within
        case exp.Or():
            return exp.And(this=exp.Not(this=inner.this), expression=exp.Not(this=inner.expression))
    turned = _TURNED.get(type(inner))
    if turned is None:
        return None
    left, right = inner.this.unnest(), inner.expression.unnest()
    return None if isinstance(left, exp.Tuple) or isinstance(right, exp.Tuple) else turned(this=left, expression=right)


def factors(node: exp.Or, conjuncts: Conjuncts) -> tuple[list[exp.Expr], exp.Expr | None]:
    """The conjuncts that all terms of a disjunction share, and the disjunction of the rest.

    Args:
        node: A resolved condition.
        conjuncts: Gives the conjuncts of a term.

    Returns:
        No conjuncts, and the node itself, if the terms have none in common; None for the rest if a term has
        nothing else.
    """
    terms = [{_key(part): part for part in conjuncts(term)} for term in _terms(node)]
    common = [key for key in terms[0] if all(key in term for term in terms)]
    if not common:
        return [], node
    left = [[part for key, part in term.items() if key not in common] for term in terms]
    rest = None if not all(left) else exp.or_(*(exp.and_(*term) for term in left))
    return [terms[0][key] for key in common], rest


def implied(node: exp.Expr, conjuncts: Conjuncts) -> Iterator[tuple[int, exp.Expr]]:
    """Conditions over one atom each that a disjunction implies, with their atoms.

    Args:
        node: A resolved condition.
        conjuncts: Gives the conjuncts of a term.
    """
    if not isinstance(node, exp.Or):
        return
    terms = [[(part, {ref.atom for ref in refs_of(part)}) for part in conjuncts(term)] for term in _terms(node)]
    for atom in sorted({ref.atom for ref in refs_of(node)}):
        own = [[part.copy() for part, atoms in term if atoms == {atom}] for term in terms]
        if all(own):
            yield atom, exp.or_(*(exp.and_(*term) for term in own))


def _terms(node: exp.Expr) -> list[exp.Expr]:
    """The terms of a disjunction, without parentheses around them."""
    waiting, found = [node], []
    while waiting:
        part = waiting.pop().unnest()
        if isinstance(part, exp.Or):
            waiting += [part.expression, part.this]
        else:
            found.append(part)
    return found


def _key(node: exp.Expr) -> _Key:
    """A key that is equal for conditions that read alike over the same columns; sides of = may be exchanged."""
    if isinstance(node, (exp.EQ, exp.NullSafeEQ)):
        return type(node), frozenset(map(_named, (node.this, node.expression)))
    return _named(node)


def _named(node: exp.Expr) -> exp.Expr:
    def by_place(part: exp.Expr) -> exp.Expr:
        if isinstance(part, exp.Column) and REF in part.meta:
            ref = part.meta[REF]
            return exp.column(exp.to_identifier(f"{ref.atom}.{ref.column}", quoted=True))
        return part

    return rewritten(node.unnest(), by_place)
