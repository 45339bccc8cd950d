"""Queries over static and dynamic relations: which of them are maintained in constant time, and after what preparation.

A dynamic relation has inserts and deletes, a static one never changes. A query is *tractable* if it has constant update
time and constant enumeration delay. Three classes of tractable queries, each within the next (Kara, Luo, Nikolic,
Olteanu, Zhang: Tractable Conjunctive Queries over Static and Dynamic Relations, ICDT 2025, definitions 22, 23 and 25;
set semantics), for a database of size N:

- C_lin: well-behaved and free-connex. Preprocessing O(N) (theorem 1). Without dynamic atoms this is free-connex,
  without static ones q-hierarchical (example 2). Outside of it, no query whose relations do not repeat is tractable
  after O(N) preprocessing, unless the OMv or the Boolean matrix multiplication conjecture fails.
- C_poly: well-behaved. Preprocessing O(N^w) for the preprocessing width w (theorem 3), which is 1 if and only if the
  query is in C_lin.
- C_exp: well-behaved, or every variable of a dynamic atom is also in a static atom. Preprocessing 2^O(N^p) for the
  fractional edge cover number p of the static atoms (theorem 5): a transition system with a state for every set of
  dynamic rows that can matter (`livejoin.theory.static.transition_system`).

Outside of C_exp, the *reduced* dynamic sub-query decides some cases: it is the query without the static atoms and
without all of their variables. If it is not q-hierarchical, then no algorithm makes the query tractable, unless the OMv
conjecture fails; else it is open (section 8; q-hierarchical is well-behaved without static atoms, proposition 21).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from livejoin.errors import SchemaError, UnknownNameError
from livejoin.theory.classes.gyo import is_acyclic
from livejoin.theory.cyclic.edge_cover import fractional_edge_cover
from livejoin.theory.static.least_width_order import LeastWidth, least_width_order
from livejoin.theory.static.view_tree import Rewriting, rewrite
from livejoin.theory.static.well_behaved import WellBehaved, well_behaved


class Tractability(StrEnum):
    """The smallest class that a query is in, the best one first."""

    LINEAR = "C_lin"
    POLYNOMIAL = "C_poly"
    EXPONENTIAL = "C_exp"
    NONE = "none"


@dataclass(frozen=True)
class StaticDynamic:
    """What static relations make of a query.

    Args:
        tractability: The smallest class that it is in.
        well_behaved: Whether it is well-behaved, with the unsafe paths where not.
        free_connex: Whether it is free-connex (acyclic with and without its head).
        uncovered: The variables of dynamic atoms that no static atom has; empty makes C_exp.
        reduced: Whether the reduced dynamic sub-query is q-hierarchical, with its unsafe paths where not; their
            positions are those of the query's atoms.
        order: A well-structured variable order of least preprocessing width, None if the query is not well-behaved.
        rewriting: The safe rewriting by this order, None if the query is not well-behaved.
        exponent: The power of N that bounds preprocessing and space: the width of ``order`` in C_lin and C_poly, the
            edge cover number of the static atoms in C_exp (then the power of N in the power of 2), else None.
    """

    tractability: Tractability
    well_behaved: WellBehaved
    free_connex: bool
    uncovered: frozenset[str]
    reduced: WellBehaved
    order: LeastWidth | None
    rewriting: Rewriting | None
    exponent: Fraction | None

    @property
    def update(self) -> str:
        """The time that a change of a dynamic relation takes, in words."""
        if self.tractability is not Tractability.NONE:
            return "O(1) a change of a dynamic relation"
        if self.reduced:
            return "not known to be O(1): the query is outside of C_exp"
        return "not O(1) together with constant delay, unless the OMv conjecture fails or a relation repeats"

    @property
    def delay(self) -> str:
        """The time between two rows of the result, in words."""
        return "not known to be constant" if self.tractability is Tractability.NONE else "O(1) a row"

    @property
    def preprocessing(self) -> str:
        """The time to build the state before the first change, and its size, in words."""
        if self.exponent is None:
            return "no preprocessing is known that makes changes O(1)"
        exponent = str(self.exponent) if self.exponent.denominator == 1 else f"({self.exponent})"
        power = "O(N)" if self.exponent == 1 else f"O(N^{exponent})"
        return f"2^{power}" if self.tractability is Tractability.EXPONENTIAL else power


def static_dynamic(
    edges: Sequence[frozenset[str]],
    free: frozenset[str] | None = None,
    dynamic: frozenset[int] | None = None,
    budget: int = 4_000,
) -> StaticDynamic:
    """Classify a query over static and dynamic relations, and rewrite it safely where that is possible.

    Cost: that of `well_behaved` and of `least_width_order`.

    Args:
        edges: The variables of each atom.
        free: The output variables, None for all.
        dynamic: Positions of the atoms over dynamic relations, None for all; the others are static.
        budget: For `least_width_order`.

    Raises:
        UnknownNameError: An output variable is in no atom.
        SchemaError: A position of ``dynamic`` is not one of an atom.

    >>> found = static_dynamic([frozenset("ab"), frozenset("bc"), frozenset("ac")], dynamic=frozenset({0}))
    >>> found.tractability.value, found.preprocessing, str(found.rewriting)
    ('C_poly', 'O(N^2)', '(a){(a, b){0, (a, b){(a, b, c){1, 2}}}}')
    """
    variables = frozenset[str]().union(*edges)
    head = variables if free is None else free
    changing = frozenset(range(len(edges))) if dynamic is None else dynamic
    _check(variables, head, len(edges), changing)
    answer = well_behaved(edges, head, changing)
    connex = is_acyclic(edges) and is_acyclic([*edges, head])
    static = [edge for atom, edge in enumerate(edges) if atom not in changing]
    fixed = frozenset[str]().union(*static)
    uncovered = frozenset[str]().union(*(edges[atom] for atom in changing)) - fixed
    reduced = [edge - fixed if atom in changing else frozenset[str]() for atom, edge in enumerate(edges)]
    order = least_width_order(edges, head, changing, budget) if answer else None
    exponent = order.width if order else None
    if answer:
        tractability = Tractability.LINEAR if connex else Tractability.POLYNOMIAL
    elif not uncovered:
        tractability = Tractability.EXPONENTIAL
        exponent = fractional_edge_cover(static).number
    else:
        tractability = Tractability.NONE
    return StaticDynamic(
        tractability=tractability,
        well_behaved=answer,
        free_connex=connex,
        uncovered=uncovered,
        reduced=well_behaved(reduced, head - fixed, changing),
        order=order,
        rewriting=rewrite(order.order, edges, head) if order else None,
        exponent=exponent,
    )


def _check(variables: frozenset[str], free: frozenset[str], atoms: int, dynamic: frozenset[int]) -> None:
    if lost := sorted(free - variables):
        known = ", ".join(sorted(variables)) or "none"
        msg = f"no atom has the output variables {', '.join(lost)}; the atoms have {known}: return only these"
        raise UnknownNameError(msg)
    if wrong := sorted(position for position in dynamic if not 0 <= position < atoms):
        msg = f"dynamic atoms {', '.join(map(str, wrong))} do not exist; the query has atoms 0 to {atoms - 1}"
        raise SchemaError(msg)
