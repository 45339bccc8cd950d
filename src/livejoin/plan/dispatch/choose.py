"""The choice of a dispatch, from a query and samples of its tables."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np

from livejoin.errors import CapacityError, UnknownNameError
from livejoin.plan.dispatch.atoms import RoutedAtom, routed_atoms, variables_to_share
from livejoin.plan.dispatch.dispatch import Dispatch, Estimate
from livejoin.plan.dispatch.router import Router
from livejoin.plan.dispatch.sample import TableSample, sampled
from livejoin.query import ConjunctiveQuery
from livejoin.theory.hypercube.frequencies import Frequencies
from livejoin.theory.hypercube.residual import CellProblem, Division, divided, hot_product, plain, regardless

MOST_CELLS = 1 << 16
SALTS = 8
"""So many places of values are tried, and the best of them taken: it matters which heavy values are neighbours."""
TRIED_CELLS = 256
"""Cells at most for which the samples are sent to see how busy each is; for more it is estimated."""
_EACH = 256  # rows of a sample for each cell, so that chance makes a tenth at most
_MORE = 16  # times as many are sent, if there are
_ROWS = 1_000_000.0  # of a table of which nothing is known, as of all others
_NAMED = 3  # heavy values of each condition that are named
WHOLE = 100_000
"""Rows of a static table that every cell may have without a thought: they come once, and changes for ever."""
_ONCE = 1e-3  # of a row that comes once, beside one that is a change


def choose(
    query: ConjunctiveQuery,
    samples: Mapping[str, TableSample],
    cells: int,
    among: Collection[str] | None = None,
    weights: Sequence[float] | None = None,
    residual: bool = True,
) -> Dispatch:
    """Shares and heavy values with the least expected load of the busiest cell.

    Args:
        query: The query.
        samples: Samples of the tables, by name. A table without a sample is taken to have even values, and the average
            number of rows.
        cells: How many cells there are at most.
        among: The variables that may have a share; None for all of the core. A query with distinct results or groups is
            the disjoint union of its cells' results only if these are output variables. If none may have a share, all
            rows go to one cell.
        weights: The expected rows, or changes, of each atom, in proportion; None for those of the samples.
        residual: Whether heavy values may have grids of their own.

    Raises:
        CapacityError: The number of cells is not from 1 to `MOST_CELLS`.
        UnknownNameError: A variable in ``among`` is none of the core that may have a share.

    Cost: that of `livejoin.theory.hypercube.residual.divided`, and `SALTS` times twice the samples are sent: tenths of
    a second for 4 cells, one for 64, ten for 10,000.
    """
    if not 1 <= cells <= MOST_CELLS:
        msg = f"{cells:,} cells; allowed are 1 to {MOST_CELLS:,}"
        raise CapacityError(msg)
    atoms, variables = routed_atoms(query), variables_to_share(query)
    if among is not None:
        if lost := sorted(set(among) - set(variables)):
            msg = f"the variables {', '.join(lost)} cannot have a share; allowed are {', '.join(variables) or 'none'}"
            raise UnknownNameError(msg)
        variables = tuple(v for v in variables if v in among)
    known = {name.lower(): sample for name, sample in samples.items()}
    found = _frequencies(atoms, variables, known, weights)
    once = _small_static(query, known) if weights is None else frozenset()
    problem = CellProblem(
        tuple(replace(one, rows=one.rows * _ONCE) if i in once else one for i, one in enumerate(found)),
        variables,
        cells,
    )
    blind, even = regardless(problem)
    offered = [plain(problem), blind]
    can_be_tried = _can_be_tried(problem, atoms, known)
    if residual:
        offered += [divided(problem), *([divided(problem, (1,))] if can_be_tried else [])]
    divisions: list[Division] = []
    for division in offered:
        if all(division.grids != other.grids for other in divisions):
            divisions.append(division)
    tried = [_dispatch(problem, division, even, atoms, known) for division in divisions]
    if can_be_tried:
        most = _EACH * _MORE * cells
        fewer = {name: sampled(sample.table, sample.rows, most=most) for name, sample in known.items()}
        tried = [_as_tried(replace(one, salt=salt), problem, fewer) for one in tried for salt in range(SALTS)]
    best = min(tried, key=lambda one: (one.estimate.busiest, one.estimate.sent))
    if among is not None or weights is not None:
        return best
    return replace(best, divided=_divided(query, known, best, once))


def _divided(
    query: ConjunctiveQuery, known: Mapping[str, TableSample], best: Dispatch, once: Collection[int]
) -> int | None:
    """The atom that may be divided by its key where that takes least, of tables of which all is known.

    With owners the busiest cell takes an even part of the tables with a key, and what the grids send it; else an even
    part of the divided table, and all of the others. Static tables have no owners, and small ones count for nothing.
    """
    tables = [atom.table for atom in query.atoms]
    keyed = {table.name.lower() for table in tables if table.primary_key and not table.static}
    is_known = all(table.name.lower() in known and not (table.has_window or table.unique) for table in tables)
    if not keyed or not is_known:
        return None
    rows = [known[one.name.lower()].total * (_ONCE if i in once else 1.0) for i, one in enumerate(tables)]
    found = max((i for i in query.core if tables[i].primary_key), key=lambda i: rows[i], default=None)
    if found is None:
        return None
    owners = sum(known[name].total for name in keyed) / best.cells
    takes = sum(rows) - rows[found] * (1 - 1 / best.cells)
    return found if takes <= owners + best.estimate.busiest else None


def _small_static(query: ConjunctiveQuery, known: Mapping[str, TableSample]) -> frozenset[int]:
    """The atoms over static tables that are so small that only where changes go counts; none where nothing changes."""
    static = [i for i, atom in enumerate(query.atoms) if atom.table.static]
    small = [i for i in static if (one := known.get(query.atoms[i].table.name.lower())) and one.total <= WHOLE]
    return frozenset(small if len(static) < len(query.atoms) else ())


def _frequencies(
    atoms: Sequence[RoutedAtom],
    variables: Sequence[str],
    known: Mapping[str, TableSample],
    weights: Sequence[float] | None,
) -> tuple[Frequencies, ...]:
    """What is known of each atom."""
    totals = [known[atom.table.lower()].total for atom in atoms if atom.table.lower() in known]
    mean = sum(totals) / len(totals) if totals else _ROWS
    found = []
    for atom in atoms:
        sample = known.get(atom.table.lower())
        if sample is None:
            nothing = {v: np.empty(0, np.uint64) for v, _ in atom.columns if v in variables}
            found.append(Frequencies(mean, nothing))
        else:
            found.append(sample.frequencies(atom, variables))
    if weights is not None and sum(weights) > 0:
        scale = sum(atom.rows for atom in found) / sum(weights)
        found = [replace(atom, rows=weight * scale) for atom, weight in zip(found, weights, strict=True)]
    return tuple(found)


def _dispatch(
    problem: CellProblem,
    division: Division,
    even: float,
    atoms: tuple[RoutedAtom, ...],
    known: Mapping[str, TableSample],
) -> Dispatch:
    """Grids as a dispatch, with what is expected of them."""
    rows = sum(atom.rows for atom in problem.atoms)
    bound, variable, value = hot_product(problem)
    is_hot = bound > rows / problem.cells
    hot = f"{variable} = {_shown(variable, value, atoms, known)}" if is_hot else ""
    estimate = Estimate(rows, division.load, division.sent, even, max(bound, rows / problem.cells), hot)
    named = _named(division, atoms, known)
    return Dispatch(problem.cells, problem.variables, atoms, division.grids, 0, estimate, named)


def _can_be_tried(problem: CellProblem, atoms: Sequence[RoutedAtom], known: Mapping[str, TableSample]) -> bool:
    """Whether samples of all tables are there, and large enough that chance does not decide which cell is busiest."""
    samples = [known.get(atom.table.lower()) for atom in atoms]
    rows = [sample.rows.num_rows for sample in samples if sample is not None]
    return len(rows) == len(atoms) and 1 < problem.cells <= TRIED_CELLS and min(rows) >= _EACH * problem.cells


def _as_tried(dispatch: Dispatch, problem: CellProblem, known: Mapping[str, TableSample]) -> Dispatch:
    """A dispatch with what becomes of the samples in place of what was expected."""
    load = np.zeros(dispatch.cells)
    for name in {atom.table.lower() for atom in dispatch.atoms}:
        sent = Router(dispatch, known[name].table).send(known[name].rows)
        for position, atom in enumerate(dispatch.atoms):
            if atom.table.lower() == name:
                of_atom = np.flatnonzero(sent.masks & (1 << position))
                drawn = 1 + np.count_nonzero(np.diff(sent.rows[of_atom]))  # rows ascend
                counts = np.bincount(sent.cells[of_atom], minlength=dispatch.cells)
                load += counts * (problem.atoms[position].rows / drawn)
    estimate = replace(dispatch.estimate, busiest=float(load.max()), sent=float(load.sum()))
    return replace(dispatch, estimate=estimate)


def _named(division: Division, atoms: Sequence[RoutedAtom], known: Mapping[str, TableSample]) -> dict[int, str]:
    """Some values of each condition, for people."""
    wanted = {(v, value) for grid in division.grids for v, said in grid.box.items() for value in said.values[:_NAMED]}
    found = {value: _shown(variable, value, atoms, known) for variable, value in sorted(wanted)}
    return {value: text for value, text in found.items() if text}


def _shown(variable: str, value: int, atoms: Sequence[RoutedAtom], known: Mapping[str, TableSample]) -> str:
    """A value of a variable by its hash; empty if no sample has it."""
    for atom in atoms:
        column = dict(atom.columns).get(variable)
        if column is not None and (sample := known.get(atom.table.lower())) is not None:
            text = sample.shown(column, value)
            if text is not None:
                return text
    return ""
