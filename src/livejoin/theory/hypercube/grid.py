"""Grids of cells, and which combinations of values come to which grid.

A *box* says of each variable nothing, or that its value is one of some, or that it is none of some. A *grid* is a box
with shares and cells of its own. The boxes of a dispatch are disjoint, and every combination of values is in one.

Law: a combination of rows that join agrees on the variables, so it is in one box, and has one coordinate along each
variable that has a share there: it meets in one cell. In no other cell are all of its rows: each row is sent only to
grids whose box has its values, and there to its coordinates, and every variable is that of some row. For that, boxes
must be products of sets, one a variable; a union of two of them would take in rows that are in it one by one, and
whose combination is not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from types import MappingProxyType


@dataclass(frozen=True)
class Condition:
    """What a box says of a variable.

    Args:
        inside: Whether its value is one of these, or none of them.
        values: Hashes of values, ascending.
    """

    inside: bool
    values: tuple[int, ...]

    def but(self, inside: bool, values: tuple[int, ...]) -> Condition:
        """This, and that the value is one of some others too, or none of them.

        >>> Condition(True, (1, 2, 3)).but(False, (2,)), Condition(False, (1,)).but(False, (5,))
        (Condition(inside=True, values=(1, 3)), Condition(inside=False, values=(1, 5)))
        """
        own, other = set(self.values), set(values)
        if inside:
            return Condition(True, tuple(sorted(own & other if self.inside else other - own)))
        return Condition(self.inside, tuple(sorted(own - other if self.inside else own | other)))


EVERYTHING = Condition(False, ())
Box = Mapping[str, Condition]
"""What is said of each variable; nothing of those that are not named."""


def narrowed(box: Box, variable: str, inside: bool, values: tuple[int, ...]) -> Box:
    """The part of a box where a variable has one of some values, or none of them."""
    return {**box, variable: box.get(variable, EVERYTHING).but(inside, values)}


@dataclass(frozen=True)
class Grid:
    """A grid of cells.

    Args:
        first: The number of its first cell. The others follow; along the last variable they are neighbours.
        shares: The variables with more than one cell along them, and how many.
        box: The combinations of values that come to it.
    """

    first: int
    shares: Mapping[str, int]
    box: Box = field(default_factory=lambda: MappingProxyType({}))

    @property
    def cells(self) -> int:
        """How many there are."""
        return prod(self.shares.values())

    @property
    def strides(self) -> dict[str, int]:
        """How far it is from one cell to the next along each variable.

        >>> Grid(0, {"a": 2, "b": 3}).strides
        {'a': 3, 'b': 1}
        """
        found, left = {}, self.cells
        for variable, share in self.shares.items():
            left //= share
            found[variable] = left
        return found
