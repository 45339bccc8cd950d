"""Covering programs, solved exactly: the simplex method over fractions, by the rule of Bland.

A *covering program* asks for weights ``x >= 0`` of least cost so that for each row the weights of its columns sum up to
at least 1. Its dual, a *packing program*, asks for values ``y >= 0`` of the rows, of the largest total, so that the
values within each column sum up to at most the column's cost. With costs that are not negative ``y = 0`` is feasible,
so that the method starts there and needs no first phase; the cover is read from the last line of the tableau.

The laws: the cover and the packing are feasible, and weigh the same, so that each proves the other best. With the rule
of Bland (the first column that helps, and of the lines that bind it the one whose basic variable comes first) no basis
comes twice, so that the method ends (R. G. Bland, New finite pivoting rules for the simplex method, Mathematics of
Operations Research 2(2), 1977).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

_NONE = Fraction(0)
_WHOLE = Fraction(1)


def cover_at_least_cost(
    costs: Sequence[Fraction], columns: Sequence[frozenset[int]], rows: int
) -> tuple[tuple[Fraction, ...], tuple[Fraction, ...]]:
    """The weights of columns that cover all rows at least cost, and the values of the rows that prove it.

    Cost: O(rows * columns) operations on fractions a pivot; there are about as many pivots as rows, exponentially many
    at worst.

    Args:
        costs: The cost of each column, not negative.
        columns: The rows, as numbers from 0, that each column covers.
        rows: How many there are; each is in some column.

    >>> triangle = [frozenset({0, 1}), frozenset({1, 2}), frozenset({0, 2})]
    >>> cover, packing = cover_at_least_cost([Fraction(1)] * 3, triangle, 3)
    >>> print(*cover, "=", *packing)
    1/2 1/2 1/2 = 1/2 1/2 1/2
    """
    # One line a column of the program: y . column + slack = cost; the values of rows come first, then the slacks.
    width = rows + len(columns)
    tableau = [
        [*(_WHOLE if row in column else _NONE for row in range(rows)), *_unit(at, len(columns)), Fraction(costs[at])]
        for at, column in enumerate(columns)
    ]
    gains = [*([-_WHOLE] * rows), *([_NONE] * len(columns)), _NONE]  # the reduced costs, and the total at the end
    basis = list(range(rows, width))
    while (enters := next((place for place in range(width) if gains[place] < 0), None)) is not None:
        binding = [line for line in range(len(columns)) if tableau[line][enters] > 0]
        leaves = min(binding, key=lambda line: (tableau[line][-1] / tableau[line][enters], basis[line]))
        _pivot(tableau, gains, leaves, enters)
        basis[leaves] = enters
    packing = [_NONE] * width
    for line, place in enumerate(basis):
        packing[place] = tableau[line][-1]
    return tuple(gains[rows:width]), tuple(packing[:rows])


def _unit(at: int, length: int) -> list[Fraction]:
    return [_WHOLE if place == at else _NONE for place in range(length)]


def _pivot(tableau: list[list[Fraction]], gains: list[Fraction], leaves: int, enters: int) -> None:
    """Make the variable of a place basic, in place of that of a line."""
    divisor = tableau[leaves][enters]
    pivot = tableau[leaves] = [value / divisor for value in tableau[leaves]]
    used = [(place, value) for place, value in enumerate(pivot) if value]
    for line in (*tableau[:leaves], *tableau[leaves + 1 :], gains):
        if factor := line[enters]:
            for place, value in used:
                line[place] -= factor * value
