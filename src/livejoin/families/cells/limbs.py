"""Annotations as limbs of 32 bits, so that those of several cells are added up by NumPy, and what does not fit is seen.

A component of an annotation has one word or two, signed. Here it has four limbs in words of their own, the lowest first
and the last one signed. Law: fewer than 2**31 numbers may be added or subtracted limb by limb before `carried`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from livejoin.families.layout.annotation import annotation_starts
from livejoin.kernels.memory.layout import MASK32
from livejoin.query import ConjunctiveQuery
from livejoin.words import Words

LIMBS = 4
_BITS = 32
_TOP = 1 << (_BITS - 1)


def limbs_of(query: ConjunctiveQuery, words: Words) -> Words:
    """The limbs of annotations, of shape (components, LIMBS, n).

    Args:
        query: The query, which says how wide the components are.
        words: int64 of shape (words of an annotation, n).
    """
    found = np.empty((len(query.sums), LIMBS, words.shape[1]), np.int64)
    for limbs, product, start in zip(found, query.sums, annotation_starts(query), strict=True):
        low = words[start]
        high = words[start + 1] if product.wide else low >> 63
        limbs[0], limbs[1], limbs[2], limbs[3] = low & MASK32, (low >> _BITS) & MASK32, high & MASK32, high >> _BITS
    return found


def carried(limbs: Words) -> Words:
    """The same numbers with limbs of 32 bits, but for the last one, which has what is beyond too."""
    found = limbs.copy()
    for i in range(LIMBS - 1):
        found[:, i + 1] += found[:, i] >> _BITS
        found[:, i] &= MASK32
    return found


def fit(query: ConjunctiveQuery, limbs: Words) -> npt.NDArray[np.bool_]:
    """Which annotations fit their words; their limbs are `carried`."""
    fits = np.ones(limbs.shape[2], bool)
    for one, product in zip(limbs, query.sums, strict=True):
        fits &= (one[3] >= -_TOP) & (one[3] < _TOP)
        if not product.wide:
            fits &= (one[2] | one[3] << _BITS) == (one[1] << _BITS) >> 63
    return fits


def words_of(query: ConjunctiveQuery, limbs: Words) -> Words:
    """The words of annotations that fit, int64 of shape (words of an annotation, n); their limbs are `carried`."""
    lines = []
    for one, product in zip(limbs, query.sums, strict=True):
        lines.append(one[0] | one[1] << _BITS)
        if product.wide:
            lines.append(one[2] | one[3] << _BITS)
    return np.array(lines, np.int64).reshape(len(lines), limbs.shape[2])
