"""Transition systems: which dynamic rows a state is made of, for queries in C_exp and some beyond.

Every variable of a dynamic atom R(Y) of a query in C_exp is in a static atom too. So the static tables alone decide
which rows of R can be part of a result: those of the *maximum dynamic database*, the join of the static atoms projected
to Y. A set of such rows is a *state*. The result is a function of the state, and a change of a dynamic row either
belongs to no state, and changes nothing, or leads from a state to another one (Kara, Luo, Nikolic, Olteanu, Zhang:
Tractable Conjunctive Queries over Static and Dynamic Relations, ICDT 2025, definitions 34 and 37, section 6). For
static tables of N rows, p the fractional edge cover number of the static atoms, there are O(N^p) such rows and 2 to
that power states.

    has(user, feature) static, users(user) and features(feature) dynamic

has the rows of ``users`` and ``features`` with a user or a feature of ``has``; what else these tables hold does not
matter.

Section 8 has a state for each value of variables that all dynamic atoms share, that no static atom has and that are
returned. Of a row, the part without these variables belongs to a state. One system serves all values: two values with
equal sets are in one state.

    members(room, user), open(room, feature) dynamic, has(user, feature) static; room, user and feature are returned
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from livejoin.theory.cyclic.edge_cover import fractional_edge_cover


@dataclass(frozen=True)
class TransitionSystem:
    """What the states of a query are made of.

    Args:
        dynamic: Positions of the dynamic atoms, ascending.
        shared: The variables that have a state for each of their values; none in C_exp.
        decided: For each dynamic atom the variables of its rows in a state, which static atoms decide on.
        exponent: The power of N that bounds the rows that matter: the edge cover number of the static atoms.
    """

    dynamic: tuple[int, ...]
    shared: frozenset[str]
    decided: tuple[frozenset[str], ...]
    exponent: Fraction


@dataclass(frozen=True)
class NoTransitionSystem:
    """Why a query has no transition system.

    Args:
        reason: A clause.
        atom: Position of the dynamic atom that is the reason; None where it is none.
        variables: The atom's variables that are the reason.
    """

    reason: str
    atom: int | None = None
    variables: frozenset[str] = frozenset()


def transition_system(
    edges: Sequence[frozenset[str]], free: frozenset[str] | None, dynamic: frozenset[int]
) -> TransitionSystem | NoTransitionSystem:
    """What the states of a query are made of, or why there are none. Cost: a linear program.

    Args:
        edges: The variables of each atom.
        free: The variables whose values results differ in, None for all.
        dynamic: Positions of the dynamic atoms.

    >>> found = transition_system([frozenset("a"), frozenset("b"), frozenset("ab")], None, frozenset({0, 1}))
    >>> sorted(found.shared), [sorted(one) for one in found.decided], str(found.exponent)
    ([], [['a'], ['b']], '1')
    >>> found = transition_system([frozenset("xa"), frozenset("xb"), frozenset("ab")], None, frozenset({0, 1}))
    >>> sorted(found.shared), [sorted(one) for one in found.decided]
    (['x'], [['a'], ['b']])
    >>> transition_system([frozenset("xa"), frozenset("b"), frozenset("ab")], None, frozenset({0, 1})).reason
    'a changing table has a column that no static table has, and that some other changing table lacks'
    """
    changing = tuple(sorted(dynamic))
    static = [edge for atom, edge in enumerate(edges) if atom not in dynamic]
    if not changing or not static:
        return NoTransitionSystem("no table is static" if not static else "every table is static")
    fixed = frozenset[str]().union(*static)
    shared = frozenset[str]().union(*(edges[atom] for atom in changing)) - fixed
    for atom in changing:
        own = (edges[atom] - fixed) - frozenset.intersection(*(edges[other] for other in changing))
        if own:
            reason = "a changing table has a column that no static table has, and that some other changing table lacks"
            return NoTransitionSystem(reason, atom, own)
    if free is not None and not shared <= free:
        reason = "the changing tables share a column that no static table has, and it is not returned"
        return NoTransitionSystem(reason, changing[0], shared - free)
    decided = tuple(edges[atom] & fixed for atom in changing)
    return TransitionSystem(changing, shared, decided, fractional_edge_cover(static).number)
