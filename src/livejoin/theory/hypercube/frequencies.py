"""How often values occur in the relation of an atom: a sample of its rows, as hashes of their values.

Two figures say how evenly the values of a variable go to p slices. With frequencies f as shares of the rows,

    busiest slice  >=  max(f_1 + (1 - f_1) / p,  1/p + sqrt(2 ln(p) F_2 / p)),    F_2 = sum of f**2,

where f_1 is the largest one: the slice of the most frequent value has its even part of the others too, and the slices
vary as sums of independent values do. A sample keeps which values come together, so that what is left where a variable
has some values, or has not, is a sample again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

Hashes = npt.NDArray[np.uint64]

SEEN = 8
"""A value counts as frequent if a sample has it so often: by chance a value has half of that once in some thousands."""


@dataclass(frozen=True)
class Skew:
    """How uneven the values of a variable are in an atom.

    Args:
        top: The share of the rows that have the most frequent value, 0 if no value is known to be frequent.
        squares: The sum of the squared shares of all values.
    """

    top: float = 0.0
    squares: float = 0.0


@dataclass(frozen=True, eq=False)
class Frequencies:
    """A sample of the rows of an atom.

    Args:
        rows: How many rows, or changes, the atom has.
        hashes: For each variable the hashes of its values in the rows of the sample, in the same order. Nothing is
            known of the values if there are none.
        whole: Whether the sample is the relation.
    """

    rows: float
    hashes: Mapping[str, Hashes]
    whole: bool = False

    @property
    def sampled(self) -> int:
        """Rows in the sample."""
        return min((len(hashes) for hashes in self.hashes.values()), default=0)

    @cached_property
    def _values(self) -> dict[str, tuple[Hashes, npt.NDArray[np.intp]]]:
        """The distinct values of each variable, ascending, and which one each row has."""
        found = {}
        for variable, hashes in self.hashes.items():
            values, places = np.unique(hashes, return_inverse=True)
            found[variable] = values, places
        return found

    def counts(self, variable: str, within: npt.NDArray[np.bool_] | None = None) -> tuple[Hashes, npt.NDArray[np.intp]]:
        """The values of a variable, and how often each stands in the sample, or in those of its rows. O(sample)."""
        values, places = self._values[variable]
        return values, np.bincount(places if within is None else places[within], minlength=len(values))

    def has(self, variable: str, values: Hashes) -> npt.NDArray[np.bool_]:
        """Which rows of the sample have one of some values. Cost: O(sample)."""
        known, places = self._values[variable]
        return np.isin(known, values)[places]

    def skew(self, variable: str, within: npt.NDArray[np.bool_] | None = None) -> Skew:
        """How uneven the values of a variable are among all rows, or among those of the sample. Cost: O(sample).

        >>> rows = Frequencies(4, {"x": np.array([7, 7, 7, 9], np.uint64)}, whole=True)
        >>> rows.skew("x")
        Skew(top=0.75, squares=0.625)
        """
        _, counts = self.counts(variable, within)
        size = int(counts.sum())
        if size < 2:
            return Skew(float(size), float(size)) if self.whole else Skew()
        most = int(counts.max())
        if self.whole:
            return Skew(most / size, float(np.square(counts / size).sum()))
        pairs = float((counts * (counts - 1.0)).sum()) / (size * (size - 1.0))  # of two rows that were drawn
        return Skew(most / size if most >= SEEN else 0.0, pairs)
