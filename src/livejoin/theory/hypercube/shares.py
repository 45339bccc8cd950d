"""Integer shares of a grid: how many cells lie along each variable, so that the busiest cell has the least to do.

A grid has a share p_x for each variable x, and the product of the shares is the number of its cells. An atom sends a
row to the cells that have the row's coordinates in the atom's own variables, whatever the others are, so that a cell
has about ``n_a / prod(p_x for x in a)`` rows of atom a (Afrati, Ullman: Optimizing joins in a map-reduce environment,
EDBT 2010; Beame, Koutris, Suciu: Communication steps for parallel query processing, PODS 2013, section 3).

The exponents of the paper's linear program are rounded badly by few cells. So shares are searched for as integers, and
their product may be below the number of cells: 7 cells of a triangle are 2 x 2 x 1 or 7 x 1 x 1, whichever is better
(Chu, Balazinska, Suciu: From theory to practice, SIGMOD 2015, section 4).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

import numpy as np
import numpy.typing as npt

from livejoin.theory.hypercube.frequencies import Skew

Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]

ALL = 20_000
"""Where there are at most so many ways to share out cells, all of them are looked at."""
_SWEEPS = 6
_NEARBY = 32  # shares up to here are tried one by one, larger ones in steps of a twelfth


@dataclass(frozen=True)
class Spread:
    """An atom as a grid sees it.

    Args:
        rows: How many rows it has in the grid.
        skews: For each of its variables that may have a share how uneven the values are.
    """

    rows: float
    skews: Mapping[str, Skew]


@dataclass(frozen=True)
class Shared:
    """Shares of a grid and what they lead to.

    Args:
        shares: The share of each variable that was asked for, in the same order.
        load: Rows of all atoms that are expected in the busiest cell.
        sent: Rows of all atoms that are sent, a row as often as it is.
    """

    shares: tuple[int, ...]
    load: float
    sent: float

    @property
    def cells(self) -> int:
        """Cells of the grid."""
        return int(np.prod(np.array(self.shares, dtype=object)))


def slices(skew: Skew, share: Floats) -> Floats:
    """The part of the rows that is in the busiest of so many slices: see `livejoin.theory.hypercube.frequencies`.

    >>> slices(Skew(0.5, 0.25), np.array([1.0, 2.0])).round(2).tolist()
    [1.0, 0.92]
    """
    even = 1 / share
    uneven = even + np.sqrt(2 * np.log(share) * skew.squares * even)
    largest: Floats = np.maximum(skew.top + (1 - skew.top) * even, np.minimum(uneven, 1.0))
    return largest


def loads(spreads: Sequence[Spread], variables: Sequence[str], shares: Floats) -> tuple[Floats, Floats]:
    """The load of the busiest cell, and the rows that are sent, for each choice of shares.

    The busiest slices of an atom's variables are taken to be independent, and those of several atoms to meet in one
    cell. Rows that differ are spread by chance, so that the busiest of K cells with m rows each has about
    ``m + sqrt(2 ln(K) m)``.

    Args:
        spreads: The atoms.
        variables: The variables.
        shares: The choices, of shape (variables, choices).

    Cost: O(atoms * variables * choices).
    """
    load, sent = np.zeros(shares.shape[1]), np.zeros(shares.shape[1])
    whole = shares.prod(axis=0)
    for spread in spreads:
        part, cells = np.ones(shares.shape[1]), np.ones(shares.shape[1])
        for variable, share in zip(variables, shares, strict=True):
            if variable in spread.skews:
                part *= slices(spread.skews[variable], share)
                cells *= share
        chance = np.sqrt(2 * np.log(cells) * spread.rows / cells)
        load += np.minimum(spread.rows, spread.rows * part + chance)
        sent += spread.rows * whole / cells
    return load, sent


def integer_shares(spreads: Sequence[Spread], variables: Sequence[str], cells: int) -> Shared:
    """The shares with the least load in the busiest cell; among equals those that send the fewest rows.

    Cost: O(atoms * variables) for each of the ways to share out the cells, at most `ALL`; where there are more, pairs
    of shares are changed until no pair is better, which without skew, where the load is a posynomial, and convex in the
    logarithms of the shares, comes to the least one but for rounding.

    Args:
        spreads: The atoms.
        variables: The variables that may have a share.
        cells: The cells of the grid at most, at least 1.

    >>> edge = [Spread(1_000, dict.fromkeys(pair, Skew())) for pair in ("ab", "bc", "ca")]
    >>> integer_shares(edge, "abc", 64).shares, integer_shares(edge, "abc", 7).shares
    ((4, 4, 4), (1, 2, 3))
    """
    if not variables:
        return _shared(spreads, variables, ())
    if _ways(len(variables), cells) <= ALL:
        choices = _all_shares(len(variables), cells)
        return _shared(spreads, variables, tuple(int(p) for p in choices[:, _best(spreads, variables, choices)]))
    starts = [tuple(cells if i == k else 1 for i in range(len(variables))) for k in range(len(variables))]
    single = min(starts, key=lambda shares: _shared(spreads, variables, shares).load)
    even = (max(1, int(cells ** (1 / len(variables)) + 1e-9)),) * len(variables)
    found = [_descend(spreads, variables, cells, start) for start in (single, even)]
    return min(found, key=lambda one: (one.load, one.sent))


def _descend(spreads: Sequence[Spread], variables: Sequence[str], cells: int, start: tuple[int, ...]) -> Shared:
    """Better shares from some on, changing two at a time."""
    best = _shared(spreads, variables, start)
    pairs = list(combinations(range(len(variables)), 2)) or [(0, 0)]
    for _ in range(_SWEEPS):
        before = best.load
        for one, other in pairs:
            rest = int(np.prod([p for k, p in enumerate(best.shares) if k not in (one, other)], dtype=np.int64))
            firsts = _rungs(cells // rest)
            choices = np.repeat(np.array(best.shares, np.int64)[:, None], len(firsts), axis=1)
            choices[other] = cells // rest // firsts
            choices[one] = firsts if one != other else cells
            place = _best(spreads, variables, choices)
            tried = _shared(spreads, variables, tuple(int(p) for p in choices[:, place]))
            if (tried.load, tried.sent) < (best.load, best.sent):
                best = tried
        if best.load > before * (1 - 1e-9):
            break
    return best


def _shared(spreads: Sequence[Spread], variables: Sequence[str], shares: tuple[int, ...]) -> Shared:
    load, sent = loads(spreads, variables, np.array(shares, float).reshape(len(variables), 1))
    return Shared(shares, float(load[0]), float(sent[0]))


def _best(spreads: Sequence[Spread], variables: Sequence[str], choices: Counts) -> int:
    """Which choice has the least load, then the fewest rows sent, then the fewest cells."""
    load, sent = loads(spreads, variables, choices.astype(float))
    least = np.flatnonzero(load <= load.min() * (1 + 1e-12))
    return int(least[np.lexsort((choices[:, least].prod(axis=0), sent[least]))[0]])


def _rungs(budget: int) -> Counts:
    """Shares to try for one variable of two that have so many cells together: small ones, then in steps, and mirrored.

    >>> _rungs(6).tolist()
    [1, 2, 3, 6]
    """
    small = np.arange(1, min(budget, _NEARBY) + 1)
    steps = (
        np.geomspace(1, budget, max(2, 1 + int(12 * np.log2(budget)))).astype(np.int64) if budget > _NEARBY else small
    )
    first = np.concatenate([small, steps])
    first = np.concatenate([first, budget // first])
    return np.unique(budget // (budget // first))


@lru_cache(maxsize=4_096)
def _ways(variables: int, cells: int) -> int:
    """How many choices `_all_shares` has, or a number beyond `ALL`."""
    if variables == 1:
        return 1
    total = 0
    for share in range(1, cells + 1):
        total += _ways(variables - 1, cells // share)
        if total > ALL:
            break
    return total


@lru_cache(maxsize=256)
def _all_shares(variables: int, cells: int) -> Counts:
    """All shares of so many variables, the last of which has as large a one as there are cells for."""
    if variables == 1:
        return np.array([[cells]], np.int64)
    parts = []
    for share in range(1, cells + 1):
        rest = _all_shares(variables - 1, cells // share)
        parts.append(np.concatenate([np.full((1, rest.shape[1]), share, np.int64), rest]))
    return np.concatenate(parts, axis=1)
