"""How results and their annotations lie in words, alike in every family.

An annotation has a component for each product of the query; a wide one has two words, the others one.
"""

from __future__ import annotations

import numpy as np

from livejoin.kernels.join import layout as q
from livejoin.query import ConjunctiveQuery
from livejoin.words import Words


def annotation_widths(query: ConjunctiveQuery) -> list[int]:
    """Words of each component of an annotation; none without annotations."""
    return [2 if product.wide else 1 for product in query.sums]


def annotation_starts(query: ConjunctiveQuery) -> Words:
    """First word of each component, counted from the annotation's first word."""
    return np.cumsum([0, *annotation_widths(query)])[:-1]


def result_mode(query: ConjunctiveQuery) -> int:
    """What results are to the kernels: with multiplicities, distinct, or annotated."""
    return q.BAG if query.free is None else q.RING if query.sums else q.SET
