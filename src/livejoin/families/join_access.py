"""Access to the results of a join, by rank and by the values of variables; what it is for every plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from livejoin.families.cells.rows import CellRows
from livejoin.families.kept_rows import KeptRows
from livejoin.state.derived_rows import DerivedRows
from livejoin.state.table import BaseTable
from livejoin.words import Words

Values = Mapping[str, Words]
"""The words of variables, one a row."""

RowIndexes = Mapping[str, BaseTable | DerivedRows | CellRows | KeptRows]
"""Tables by their names in lower case."""


@dataclass(frozen=True, eq=False)
class Found:
    """Results that were looked up.

    Args:
        times: int64, their multiplicities; of distinct and annotated results 0 or 1.
        annotations: int64 of shape (words of an annotation, length), which means nothing where there is no such result.
        values: The words of all variables that results show, those too that the others tell, as the key of what an
            outer join brings; they mean nothing where there is no such result.
    """

    times: Words
    annotations: Words
    values: Values


class JoinAccess(Protocol):
    """The results of a join as they are now.

    Attributes:
        needed: The variables whose values name a result.
    """

    needed: frozenset[str]

    def total(self) -> int:
        """Results, with multiplicities under bag semantics."""

    def results(self, ranks: Words) -> Words:
        """The results at some ranks, as the join's scan writes them, of shape (columns, n)."""

    def find(self, values: Values, length: int) -> Found:
        """Look results up.

        Args:
            values: The words of the needed variables, and perhaps of others.
            length: Number of results that are asked for.

        Raises:
            ReadError: The state has no index for it.
        """


@runtime_checkable
class RowLists(Protocol):
    """A join that keeps lists of the rows of its atoms, by some of their variables."""

    def lists(self, atom: int) -> tuple[tuple[str, ...], ...]:
        """The sets of variables by which rows of an atom are listed."""

    def rows_by(self, atom: int, variables: tuple[str, ...], given: Words) -> tuple[Words, Words]:
        """The rows of an atom with given values; all that results are made of, and perhaps others.

        Args:
            atom: Position of the atom.
            variables: A set that `lists` has of it.
            given: The words of these variables, of shape (variables, n).

        Returns:
            The words of the atom's variables, of shape (variables, rows), and for each row the position of its values.

        Cost: O(rows).
        """
