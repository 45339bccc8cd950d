"""A dispatch: which cells the rows of a join's tables go to, as a value that can be stored and shown.

Law (HyperCube; AJU, section 6.1; CROWN, section 8.1): each combination of rows that join, with what hangs on it by
edges that are not inner, is in exactly one cell, so that the disjoint union of the cells' results is the result. It
follows from `livejoin.theory.hypercube.grid` and `livejoin.plan.dispatch.atoms`. Where a row goes is a function of its
values and of the dispatch alone: an insertion and the deletion of the row go to the same cells, in every process.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

from livejoin.errors import StateError
from livejoin.plan.dispatch.atoms import RoutedAtom
from livejoin.theory.hypercube.grid import Condition, Grid

HASH = 1
"""The version of the hash of values; a dispatch with another one would send rows elsewhere."""
_SHOWN = 3  # heavy values of a grid that are shown


@dataclass(frozen=True)
class Estimate:
    """The expected load of a dispatch, by the statistics that it was chosen from.

    Args:
        rows: Rows, or changes, of all atoms.
        busiest: The rows of the busiest cell.
        sent: The rows that are sent, copies included.
        even: The rows of the busiest cell of the best grid if all values were equally frequent.
        bound: A lower bound of the busiest cell's rows for one round: an even part of all rows, or the rows that the
            product of one hot value needs.
        hot: The hot value, as `variable = value`; empty if the even part is the larger bound.
    """

    rows: float
    busiest: float
    sent: float
    even: float
    bound: float
    hot: str = ""

    @property
    def replication(self) -> float:
        """How often a row of an atom is sent."""
        return self.sent / self.rows if self.rows else 1.0


@dataclass(frozen=True)
class Dispatch:
    """Where rows go.

    Args:
        cells: How many cells there are; the last ones may be in no grid, and get nothing.
        dimensions: The variables that may have a share, in an order that sets them apart.
        atoms: The query's atoms.
        grids: The grids.
        salt: A number that makes the places independent of those of another dispatch.
        estimate: The expected load; no part of where rows go.
        named: Heavy values by their hashes, for people; no part of where rows go either.
        divided: An atom of the core whose table had better be divided by its key, with all others whole in every cell
            (fragment and replicate). The alternative is that cells own the rows of each table with a key and send them
            on by the grids. This is an offer for tables with changes by key; None if there is none.
    """

    cells: int
    dimensions: tuple[str, ...]
    atoms: tuple[RoutedAtom, ...]
    grids: tuple[Grid, ...]
    salt: int
    estimate: Estimate = field(compare=False)
    named: Mapping[int, str] = field(default_factory=dict, compare=False)
    divided: int | None = None

    @cached_property
    def variables(self) -> frozenset[str]:
        """The variables whose values decide: combinations of rows that agree on them are in one cell."""
        return frozenset[str]().union(*(grid.shares.keys() | grid.box.keys() for grid in self.grids))

    @property
    def skew(self) -> float:
        """How many times the expected load of a cell on average the busiest one has."""
        mean = self.estimate.sent / self.cells
        return self.estimate.busiest / mean if mean else 1.0

    @property
    def digest(self) -> str:
        """The same for two dispatches only if all rows go to the same cells."""
        text = json.dumps(self._routing(), separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def plain(self) -> dict[str, Any]:
        """The same as JSON values; `from_plain` reads them."""
        named = {f"{value:016x}": text for value, text in self.named.items()}
        return {**self._routing(), "estimate": asdict(self.estimate), "named": named, "digest": self.digest}

    def _routing(self) -> dict[str, Any]:
        grids = [
            {
                "first": grid.first,
                "shares": [[variable, share] for variable, share in grid.shares.items()],
                "box": [
                    [variable, "in" if said.inside else "not in", [f"{value:016x}" for value in said.values]]
                    for variable, said in grid.box.items()
                ],
            }
            for grid in self.grids
        ]
        atoms = [
            [atom.alias, atom.table, [list(pair) for pair in atom.columns], list(atom.required)] for atom in self.atoms
        ]
        facts = {"hash": HASH, "salt": self.salt, "cells": self.cells, "dimensions": list(self.dimensions)}
        divided = {} if self.divided is None else {"divided": self.divided}
        return {**facts, **divided, "atoms": atoms, "grids": grids}

    @staticmethod
    def from_plain(values: Mapping[str, Any]) -> Dispatch:
        """A dispatch from the JSON values that `plain` made.

        Raises:
            StateError: The values are damaged, or of a version with other hashes.
        """
        if values.get("hash") != HASH:
            msg = (
                f"the stored dispatch hashes values by version {values.get('hash')!r}, and this is version {HASH}: "
                "rows would go to other cells; choose a new one, and send all rows again"
            )
            raise StateError(msg)
        try:
            found = Dispatch(
                values["cells"],
                tuple(values["dimensions"]),
                tuple(
                    RoutedAtom(alias, table, tuple((v, column) for v, column in columns), tuple(required))
                    for alias, table, columns, required in values["atoms"]
                ),
                tuple(
                    Grid(grid["first"], dict(grid["shares"]), {v: _condition(*said) for v, *said in grid["box"]})
                    for grid in values["grids"]
                ),
                values["salt"],
                Estimate(**values["estimate"]),
                {int(value, 16): text for value, text in values["named"].items()},
                values.get("divided"),
            )
            digest = found.digest
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            msg = f"the stored dispatch is damaged: {error!r}; choose a new one, and send all rows again"
            raise StateError(msg) from error
        if values.get("digest") != digest:
            msg = (
                f"the stored dispatch is damaged: its digest is {digest}, and {values.get('digest')!r} was written; "
                "choose a new one, and send all rows again"
            )
            raise StateError(msg)
        return found

    def lines(self) -> list[str]:
        """What it does and what is expected, a line each, for people."""
        used = sum(grid.cells for grid in self.grids)
        estimate = self.estimate
        if self.divided is not None:
            atom = self.atoms[self.divided]
            return [f"{self.cells:,} cells: the rows of {atom.alias} are divided by their key, others are in all cells"]
        found = [
            f"{self.cells:,} cells{'' if used == self.cells else f', {used:,} of them used'}: a row is sent "
            f"{estimate.replication:.1f} times, the busiest cell is expected to get {self.skew:.2f} times the mean",
            *(self._line(grid) for grid in self.grids),
        ]
        if estimate.hot:
            found.append(
                f"no dispatch gets below {estimate.bound / estimate.busiest:.0%} of that: rows with {estimate.hot} "
                "join one with another"
            )
        return found

    def _line(self, grid: Grid) -> str:
        """One grid."""
        shares = " x ".join(f"{variable}: {share}" for variable, share in grid.shares.items()) or "one cell"
        return f"{shares} for {self.box(grid)}"

    def box(self, grid: Grid) -> str:
        """The values that a grid is for, for people."""
        said = [f"{variable} {self._said(condition)}" for variable, condition in grid.box.items()]
        return " and ".join(said) or "all values"

    def _said(self, condition: Condition) -> str:
        known = [self.named[value] for value in condition.values if value in self.named]
        rest = len(condition.values) - len(known[:_SHOWN])
        listed = [*known[:_SHOWN], *([f"{rest} more" if known else f"{rest} values"] if rest else [])]
        return f"{'in' if condition.inside else 'not in'} ({', '.join(listed)})"


def _condition(said: str, values: list[str]) -> Condition:
    return Condition({"in": True, "not in": False}[said], tuple(int(value, 16) for value in values))
