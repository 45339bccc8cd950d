"""Sizes and multiplicities of results, and their annotations, which may not fit though the state is small."""

from __future__ import annotations

import numpy as np

from livejoin.errors import CapacityError
from livejoin.kernels.memory.layout import MASK32
from livejoin.query import ConjunctiveQuery
from livejoin.words import Words

MAX_COUNT = 9.0e18
"""From here on a size is told about, as a float."""


def whole_sum(words: Words) -> int:
    """The sum of fewer than 2**31 words, which need not fit one."""
    return (int(np.sum(words >> 32)) << 32) + int(np.sum(words & MASK32))


def exactly(size: int | float) -> int:
    """A size that must be exact.

    Raises:
        CapacityError: The size is beyond 64 bits.
    """
    if isinstance(size, float) or size > MAX_COUNT:
        msg = f"the result has about {float(size):.3g} rows, more than 64 bits count"
        raise CapacityError(msg)
    return size


def too_many(query: ConjunctiveQuery) -> CapacityError:
    """The error for a result whose annotation, or whose multiplicity, does not fit the words that it has."""
    names = ", ".join(atom.alias for atom in query.atoms)
    if not query.sums:
        return CapacityError(
            f"a row stands more often in the join of {names} than 64 bits count, which is the product of the "
            "multiplicities of the rows that it is made of; let fewer copies of them match, or select distinct rows"
        )
    bits = " or ".join(sorted({"128" if product.wide else "64" for product in query.sums}, key=int))
    return CapacityError(
        f"a count or a sum over the join of {names}, or over a part of it, does not fit {bits} bits; let fewer rows "
        "match, or join fewer tables in one view"
    )
