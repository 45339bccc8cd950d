"""Heavy values get grids of their own: residual queries (Beame, Koutris, Suciu: Skew in parallel query processing,
PODS 2014, section 4).

All rows with one value of a variable lie in one slice of a grid, so that no share of that variable helps where the
value is frequent. What is left of the query where the variable has that value does not have the variable any more: its
residual query, of which the other variables share the cells. R(a, b) joined with S(b, c) at a heavy b is the product of
a's and c's, a grid of its own.

Cells are shared out between boxes so that the busiest ones of each have about equally much to do. Boxes are split one
after the other: of the one that takes the most cells is taken apart what has some of the most frequent values of a
variable, by the variable and the number of values that leave the least to the busiest cell of all. Where no split of it
is better by `GAIN`, the next one is tried; where none of any is, those of all variables are taken apart at once, as the
rest of a query with one of them has less to do only if the others are gone too; and where that does not help, that is
all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod

import numpy as np
import numpy.typing as npt

from livejoin.theory.hypercube.frequencies import SEEN, Frequencies, Skew
from livejoin.theory.hypercube.grid import Box, Grid, narrowed
from livejoin.theory.hypercube.shares import Shared, Spread, integer_shares, loads

GRIDS = 12
"""Grids at most: a row looks at all of them."""
GAIN = 0.985
"""A split must leave the busiest cell so much of what it had, or less."""
AT_ONCE = (1, 4, 16, 64, 256)
"""How many values are split off at once."""
_STEP = 1.15  # between numbers of cells that are tried for a box
_HALVINGS = 16  # of the interval in which the load of the busiest cell is searched


@dataclass(frozen=True, eq=False)
class CellProblem:
    """A join whose rows are to be sent to cells.

    Args:
        atoms: The sample of each atom, over the variables that may have a share.
        variables: The variables that may have a share.
        cells: How many cells there are at most.
    """

    atoms: tuple[Frequencies, ...]
    variables: tuple[str, ...]
    cells: int


@dataclass(frozen=True)
class Division:
    """Grids, and what is expected of them.

    Args:
        grids: The grids.
        load: Rows of all atoms in the busiest cell.
        sent: Rows of all atoms, as often as they are sent.
    """

    grids: tuple[Grid, ...]
    load: float
    sent: float


def plain(problem: CellProblem) -> Division:
    """One grid for all values. Cost: `integer_shares`, and O(samples)."""
    return _divided((_Part(problem, {}),), (problem.cells,))


def regardless(problem: CellProblem) -> tuple[Division, float]:
    """The grid that would be best if all values were equally frequent, and the load of its busiest cell in that case.

    Where few cells share a few frequent values, chance may well put them into different cells.
    """
    whole = _Part(problem, {})
    even = [Spread(atom.rows, dict.fromkeys(atom.hashes, Skew())) for atom in problem.atoms]
    best = integer_shares(even, problem.variables, problem.cells)
    load, sent = loads(whole.spreads, problem.variables, np.array(best.shares, float).reshape(-1, 1))
    shares = {v: p for v, p in zip(problem.variables, best.shares, strict=True) if p > 1}
    return Division((Grid(0, shares),), float(load[0]), float(sent[0])), best.load


def divided(problem: CellProblem, at_once: Sequence[int] = AT_ONCE) -> Division:
    """The grids with the least expected load of the busiest cell that splitting finds.

    Args:
        problem: The join.
        at_once: How many values may be split off at once, ascending.

    Cost: `GRIDS` times variables times five times O(samples), and `integer_shares` for some twenty numbers of cells
    each.
    """
    parts: tuple[_Part, ...] = (_Part(problem, {}),)
    given: tuple[int, ...] = (problem.cells,)
    load = parts[0].least(problem.cells).load
    while found := _better(parts, given, problem.cells, load, at_once):
        parts, given, load = found
    return _divided(parts, given)


def _better(
    parts: tuple[_Part, ...], given: Sequence[int], cells: int, load: float, at_once: Sequence[int]
) -> tuple[tuple[_Part, ...], tuple[int, ...], float] | None:
    """A split that leaves less to the busiest cell, the cells of its parts, and what it leaves; None if none does."""
    order = sorted(range(len(parts)), key=lambda k: -given[k])
    for several in (False, True):
        for place in order:
            found, most = None, load * GAIN
            for into in parts[place].splits(load, at_once, several):
                tried = (*parts[:place], *into, *parts[place + 1 :])
                shared = _share_out(tried, cells, most) if len(tried) <= min(GRIDS, cells) else None
                if shared is not None:
                    most, found = shared[0], (tried, shared[1], shared[0])
            if found is not None:
                return found
    return None


def _divided(parts: Sequence[_Part], given: Sequence[int]) -> Division:
    grids, first, load, sent = [], 0, 0.0, 0.0
    for part, cells in zip(parts, given, strict=True):
        shared = part.least(cells)
        shares = {v: p for v, p in zip(part.variables, shared.shares, strict=True) if p > 1}
        grids.append(Grid(first, shares, part.box))
        first += prod(shares.values())
        load, sent = max(load, shared.load), sent + shared.sent
    return Division(tuple(grids), load, sent)


@dataclass(frozen=True, eq=False)
class _Part:
    """A box of a problem, and what is known of the rows in it."""

    problem: CellProblem
    box: Box
    _found: dict[int, Shared] = field(default_factory=dict)

    @cached_property
    def _within(self) -> tuple[npt.NDArray[np.bool_] | None, ...]:
        """Which rows of each atom's sample are in the box; None for all."""
        return tuple(_rows_within(atom, self.box) for atom in self.problem.atoms)

    @cached_property
    def rows(self) -> tuple[float, ...]:
        """Rows of each atom."""
        return tuple(
            atom.rows if within is None else atom.rows * float(within.mean())
            for atom, within in zip(self.problem.atoms, self._within, strict=True)
        )

    @cached_property
    def spreads(self) -> tuple[Spread, ...]:
        return tuple(
            Spread(rows, {v: atom.skew(v, within) for v in atom.hashes})
            for atom, within, rows in zip(self.problem.atoms, self._within, self.rows, strict=True)
        )

    @cached_property
    def variables(self) -> tuple[str, ...]:
        """The variables that may have a share; of those that are in the same atoms only the most even one."""
        by_atoms: dict[frozenset[int], list[str]] = {}
        for variable in self.problem.variables:
            atoms = frozenset(i for i, spread in enumerate(self.spreads) if variable in spread.skews)
            by_atoms.setdefault(atoms, []).append(variable)
        even = {min(same, key=lambda v: self._unevenness(v, atoms)) for atoms, same in by_atoms.items()}
        return tuple(v for v in self.problem.variables if v in even)

    def _unevenness(self, variable: str, atoms: frozenset[int]) -> tuple[float, float]:
        skews: list[Skew] = [self.spreads[i].skews[variable] for i in atoms]
        return max(s.top for s in skews), max(s.squares for s in skews)

    def least(self, cells: int) -> Shared:
        """The best shares of so many cells."""
        if cells not in self._found:
            self._found[cells] = integer_shares(self.spreads, self.variables, cells)
        return self._found[cells]

    def enough(self, load: float) -> int | None:
        """About the fewest cells with which no cell has more to do than that; None if all are too few."""
        rungs = _rungs(self.problem.cells)
        low, high = 0, len(rungs)
        while low < high:
            middle = (low + high) // 2
            if self.least(rungs[middle]).load <= load:
                high = middle
            else:
                low = middle + 1
        return rungs[low] if low < len(rungs) else None

    def splits(self, load: float, at_once: Sequence[int], several: bool) -> Iterator[tuple[_Part, ...]]:
        """The ways to split the box: by some of the most frequent values of one variable, or by those of each in turn.

        Values that make up less than a tenth of the load need no grid of their own.
        """
        for count in at_once:
            rest, parts = self, []
            for variable in self.problem.variables:
                if heavy := self._heavy(variable, count, load):
                    if not several:
                        yield self.split(variable, heavy)
                    inside, rest = rest.split(variable, heavy)
                    parts.append(inside)
            if several and len(parts) > 1:
                yield (*parts, rest)

    def split(self, variable: str, values: tuple[int, ...]) -> tuple[_Part, _Part]:
        """What has one of some values of a variable, and the rest."""
        inside, outside = (narrowed(self.box, variable, inside, values) for inside in (True, False))
        return _Part(self.problem, inside), _Part(self.problem, outside)

    def _heavy(self, variable: str, count: int, load: float) -> tuple[int, ...]:
        """The most frequent values of a variable, ascending, enough for ``load``; none if fewer matter."""
        values, rows = self._heaviest(variable)
        chosen = values[: min(count, int(np.count_nonzero(rows * 10 >= load)))]
        fewer = count // 4 if count > 1 else 0
        return tuple(sorted(int(value) for value in chosen)) if len(chosen) > fewer else ()

    def _heaviest(self, variable: str) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.float64]]:
        """The values that are frequent in some atom, and their rows in all atoms, the most frequent ones first."""
        found: list[npt.NDArray[np.uint64]] = []
        rows: list[npt.NDArray[np.float64]] = []
        for atom, within in zip(self.problem.atoms, self._within, strict=True):
            if variable in atom.hashes and atom.sampled:
                values, counts = atom.counts(variable, within)
                often = counts >= (1 if atom.whole else SEEN)
                found.append(values[often])
                rows.append(counts[often].astype(np.float64) * (atom.rows / atom.sampled))
        if not found:
            return np.empty(0, np.uint64), np.empty(0)
        values, places = np.unique(np.concatenate(found), return_inverse=True)
        total = np.bincount(places, np.concatenate(rows), len(values)).astype(np.float64)
        order = np.argsort(-total, kind="stable")[: max(AT_ONCE)]
        return values[order], total[order]


def _rows_within(atom: Frequencies, box: Box) -> npt.NDArray[np.bool_] | None:
    """Which rows of an atom's sample are in a box; None for all."""
    within = None
    for variable, condition in box.items():
        if variable in atom.hashes and atom.sampled:
            met = atom.has(variable, np.array(condition.values, np.uint64)) == condition.inside
            within = met if within is None else within & met
    return within


def _share_out(parts: Sequence[_Part], cells: int, most: float) -> tuple[float, tuple[int, ...]] | None:
    """Cells for each part so that the busiest one has the least to do; None if it has more than ``most``.

    Returns:
        The load of the busiest cell, and how many cells each part has.
    """
    found = _given(parts, most, cells)
    if found is None:
        return None
    low, high = 0.0, most
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        tried = _given(parts, middle, cells)
        if tried is None:
            low = middle
        else:
            found, high = tried, middle
    given = [count * cells // sum(found) for count in found]
    busiest = max(range(len(parts)), key=lambda k: parts[k].least(given[k]).load)
    given[busiest] += cells - sum(given)
    return max(part.least(count).load for part, count in zip(parts, given, strict=True)), tuple(given)


def _given(parts: Sequence[_Part], load: float, cells: int) -> tuple[int, ...] | None:
    """Cells with which no part's busiest cell has more to do than that; None if there are too few."""
    found: list[int] = []
    for part in parts:
        wanted = part.enough(load)
        if wanted is None or sum(found) + wanted > cells:
            return None
        found.append(wanted)
    return tuple(found)


def _rungs(cells: int) -> list[int]:
    """Numbers of cells that are tried, up to all."""
    found = [1]
    while found[-1] < cells:
        found.append(min(cells, max(found[-1] + 1, int(found[-1] * _STEP))))
    return found


def hot_product(problem: CellProblem) -> tuple[float, str, int]:
    """What no way to send rows can go below because of one value: the load, its variable, and its hash.

    Rows of k atoms that agree on a value and share no other variable join one with another. A cell with r_i rows of
    atom i has at most their product of these combinations, so that ``N`` cells with L rows each have at most
    ``N (L/k)**k``, and ``L >= k (n_1 ... n_k / N)**(1/k)``, if each of the combinations goes on to some result.

    Returns:
        The largest of these bounds over all values that are known to be frequent; 0, and no variable, if none is.
    """
    best = (0.0, "", 0)
    for variable in problem.variables:
        having = [atom for atom in problem.atoms if variable in atom.hashes and atom.sampled]
        counted: list[Mapping[int, float]] = []
        for atom in having:
            values, counts = atom.counts(variable)
            often = counts >= (1 if atom.whole else SEEN)
            rows = counts[often] * (atom.rows / atom.sampled)
            counted.append(dict(zip(values[often].tolist(), rows.tolist(), strict=True)))
        for value in set().union(*counted):
            bound = _product(having, variable, [rows.get(value, 0.0) for rows in counted], problem.cells)
            best = max(best, (bound, variable, value))
    return best


def _product(atoms: Sequence[Frequencies], variable: str, rows: Sequence[float], cells: int) -> float:
    """The bound of `hot_product` for one value that has so many rows in each atom."""
    seen: set[str] = set()
    taken: list[float] = []
    best = 0.0
    for count, atom in sorted(zip(rows, atoms, strict=True), key=lambda pair: -pair[0]):
        others = set(atom.hashes) - {variable}
        if count > 0 and not others & seen:
            seen |= others
            taken.append(count)
            best = max(best, len(taken) * (prod(taken) / cells) ** (1 / len(taken)))
    return best
