"""Conjunctive queries with branches by their definition, over Python rows: what `ConjunctiveQuery.branches` says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from factors import in_duckdb
from livejoin.query import Atom, ConjunctiveQuery
from livejoin.query.expression import evaluate

Row = tuple[Any, ...]
Combination = dict[int, Row | None]  # the row of each atom; None where an optional branch has no match


def heads(query: ConjunctiveQuery, tables: Mapping[str, Sequence[Row]]) -> list[Row]:
    """The values of the head for every result, each as often as it comes.

    Args:
        query: A query; its outputs, ``free`` and ``sums`` do not count here.
        tables: The rows of each table by its name, each as often as it is there.
    """
    kept = [_kept(atom, tables[atom.table.name]) for atom in query.atoms]
    parts = [_Part(query, kept, position) for position in range(-1, len(query.branches))]
    found = parts[0].combinations(parts[1:])
    return [tuple(_value(one.get(ref.atom), ref.column) for ref in query.head) for one in found]


class _Part:
    """The core (position -1) or a branch of a query."""

    def __init__(self, query: ConjunctiveQuery, kept: Sequence[Sequence[Row]], position: int) -> None:
        self.query, self.kept, self.position = query, kept, position
        self.branch = None if position < 0 else query.branches[position]
        self.atoms = query.core if self.branch is None else self.branch.atoms

    def combinations(self, branches: Sequence[_Part]) -> list[Combination]:
        """The joined rows of the part, with those of optional branches that hang on it beside them."""
        found: list[Combination] = [dict(zip(self.atoms, rows, strict=True)) for rows in self._joined(0, {})]
        for child in branches:
            assert child.branch is not None
            if (-1 if child.branch.above is None else child.branch.above) != self.position:
                continue
            inner = child.combinations(branches)
            matches = [[other for other in inner if child.matches(one, other)] for one in found]
            match child.branch.kind:
                case "exists":
                    found = [one for one, own in zip(found, matches, strict=True) if own]
                case "not exists":
                    found = [one for one, own in zip(found, matches, strict=True) if not own]
                case "optional":
                    nothing: Combination = dict.fromkeys(atom for other in inner for atom in other)
                    found = [
                        {**one, **other} for one, own in zip(found, matches, strict=True) for other in own or [nothing]
                    ]
        return found

    def matches(self, above: Combination, own: Combination) -> bool:
        """Whether the values of the key are equal, none of them NULL."""
        assert self.branch is not None
        pairs = [(self._of(above, outer), self._of(own, inner)) for outer, inner in self.branch.key]
        return all(outer is not None and outer == inner for outer, inner in pairs)

    def _of(self, combination: Combination, variable: str) -> Any:
        """The value of a variable; in a row of NULLs it is NULL."""
        atoms = [i for i, atom in enumerate(self.query.atoms) if variable in atom.variables]
        return _value(combination.get(atoms[0]), self.query.atoms[atoms[0]].column_of(variable))

    def _joined(self, place: int, known: dict[str, Any]) -> Iterator[Row]:
        """The rows of the atoms from a place on that agree with the values of some variables."""
        if place == len(self.atoms):
            yield ()
            return
        atom = self.query.atoms[self.atoms[place]]
        for row in self.kept[self.atoms[place]]:
            values = {v: row[c] for v, c in zip(atom.variables, atom.columns, strict=True)}
            if all(known[v] is not None and known[v] == value for v, value in values.items() if v in known):
                for rest in self._joined(place + 1, {**known, **values}):
                    yield (row, *rest)


def _value(row: Row | None, column: int) -> Any:
    return None if row is None else row[column]


def _kept(atom: Atom, rows: Sequence[Row]) -> list[Row]:
    """The rows for which the predicate of an atom is true."""
    if atom.predicate is None or not rows:
        return list(rows)
    table = pa.table(
        [pa.array(column, f.type) for column, f in zip(zip(*rows, strict=True), atom.table.arrow, strict=True)],
        schema=atom.table.arrow,
    )
    (kept,) = evaluate([in_duckdb(atom.predicate)], table)
    return [row for row, is_kept in zip(rows, kept.to_pylist(), strict=True) if is_kept]
