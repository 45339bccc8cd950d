"""The preprocessing width of a variable order, which is the exponent of what it costs to build its views.

For a variable X of an order, Q_X joins the atoms below X. The *preprocessing width* of the order is the largest, over
all X, fractional edge cover number in Q_X of X and the variables that it depends on (Kara, Luo, Nikolic, Olteanu,
Zhang: Tractable Conjunctive Queries over Static and Dynamic Relations, ICDT 2025, section 5.1): the view that is built
at X has these variables, and only the atoms below X to be built from. That is why the triangle over one dynamic and two
static relations has width 2, although its cover number is 3/2 (example 4).

If S are the variables of the subtree of X, then the atoms below X are those that have a variable in S, and X depends on
their other variables. So the width at X is a function of X and S, whatever the shape of the order.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from livejoin.theory.variable_order import VariableOrder


def order_width(order: VariableOrder, edges: Sequence[frozenset[str]]) -> Fraction:
    """The preprocessing width of an order; 1 if there are no variables. Cost: one linear program for each variable.

    >>> from livejoin.theory.variable_order import variable_order
    >>> triangle = [frozenset("ab"), frozenset("bc"), frozenset("ac")]
    >>> print(order_width(variable_order(triangle, {"a": None, "b": "a", "c": "b"}), triangle))
    2
    """
    widths = (width_at(node.variable, node.variables, edges) for node in order.walk())
    return max(widths, default=Fraction(1))


def width_at(variable: str, subtree: frozenset[str], edges: Sequence[frozenset[str]]) -> Fraction:
    """The width at the top variable of a subtree with these variables.

    >>> print(width_at("c", frozenset("c"), [frozenset("ab"), frozenset("bc"), frozenset("ac")]))
    2
    """
    below = tuple(edge for edge in edges if edge & subtree)
    return cover_number(depends_on(subtree, edges) | {variable}, below)


def depends_on(subtree: frozenset[str], edges: Sequence[frozenset[str]]) -> frozenset[str]:
    """The variables outside of a subtree that share an atom with one inside of it."""
    return frozenset[str]().union(*(edge for edge in edges if edge & subtree)) - subtree


def cover_number(variables: frozenset[str], edges: Sequence[frozenset[str]]) -> Fraction:
    """The fractional edge cover number of variables (definition 9), exactly.

    It is the largest sum of weights of the variables where no edge has weights of more than 1 (the dual linear
    program), found by the simplex method over rationals with Bland's rule, which begins at weights of 0.

    Args:
        variables: The variables to cover; each is in an edge.
        edges: The edges that may cover them.

    >>> print(cover_number(frozenset("abc"), [frozenset("ab"), frozenset("bc"), frozenset("ac")]))
    3/2
    """
    parts = {edge & variables for edge in edges}
    rows = [part for part in parts if not any(part < other for other in parts)]
    if len(rows) <= 1:
        return Fraction(min(1, len(variables)))
    return _packing([[Fraction(v in row) for v in sorted(variables)] for row in sorted(rows, key=sorted)])


def _packing(rows: list[list[Fraction]]) -> Fraction:
    """The largest sum(x) with x >= 0 and rows @ x <= 1, where every column has an entry that is not 0."""
    size, slack = len(rows[0]), len(rows)
    table = [[*row, *(Fraction(i == j) for j in range(slack)), Fraction(1)] for i, row in enumerate(rows)]
    gain = [Fraction(1)] * size + [Fraction(0)] * (slack + 1)
    basis = [size + i for i in range(slack)]
    while (enter := next((j for j in range(size + slack) if gain[j] > 0), None)) is not None:
        ratios = [(row[-1] / row[enter], basis[i], i) for i, row in enumerate(table) if row[enter] > 0]
        leave = min(ratios)[2]
        basis[leave] = enter
        pivot = [value / table[leave][enter] for value in table[leave]]
        table = [
            pivot if i == leave else [a - row[enter] * b for a, b in zip(row, pivot, strict=True)]
            for i, row in enumerate(table)
        ]
        gain = [a - gain[enter] * b for a, b in zip(gain, pivot, strict=True)]
    return -gain[-1]
