"""Rows of relations, made of the rows that tables have or drawn from these: how many fit a condition across tables.

The law of an estimate: if all rows of the tables are known, and a join of them has no more results than `MOST`, all of
them are there. Else each result is drawn as likely as any other one: a row of one side as often as it has partners, and
one of these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias
from zlib import crc32

import numpy as np

from livejoin.plan.explain.effects.figures import FEW_PAIRS, Figures, Marks, TableSample, key_words
from livejoin.plan.operators import (
    AggregateOperator,
    InequalityJoinOperator,
    JoinOperator,
    Operator,
    ProjectOperator,
    RankedOperator,
    RepeatedOperator,
    RunningOperator,
    SelectedOperator,
    StoredOperator,
)
from livejoin.query import Atom, ConjunctiveQuery
from livejoin.query.conjunctive import ColumnRef, Output
from livejoin.query.scalar import Call, Expression, Field, Function
from livejoin.schema import SqlType
from livejoin.words import NULL_CODE, Words

MOST = 1 << 16
"""Results of a join that are made, or drawn."""

PARTS = 4
"""Parts of a sample, of which each occurrence of a table takes one, so that no row is joined with itself by chance."""

_COMPARISONS: Mapping[str, Function] = {
    "less": "less",
    "less_equal": "less_equal",
    "greater": "greater",
    "greater_equal": "greater_equal",
}

Lines: TypeAlias = dict[int, Words]
"""The words of the columns that are known, by their positions."""


@dataclass(frozen=True)
class Drawn:
    """Some rows of a relation, each of which stands for as many.

    Args:
        columns: The words of the columns that are known.
        number: How many rows were drawn.
        rows: How many rows the relation has, as far as that is known.
        is_whole: Whether all of them were drawn.
    """

    columns: Lines
    number: int
    rows: float
    is_whole: bool

    def at(self, places: Words | Marks, rows: float, is_whole: bool) -> Drawn:
        """The rows at some places."""
        columns = {column: line[places] for column, line in self.columns.items()}
        number = int(np.count_nonzero(places)) if places.dtype == np.bool_ else places.shape[0]
        return Drawn(columns, number, rows, self.is_whole and is_whole)

    def joined(
        self, other: Drawn, mine: Sequence[int], theirs: Sequence[int], is_optional: bool = False
    ) -> Drawn | None:
        """The pairs with equal keys, the columns of the other side behind; None if too few to count.

        Cost: O(n log n) for n rows.

        Args:
            other: The other side.
            mine: The columns that are compared.
            theirs: The columns of the other side that are equal to them.
            is_optional: Whether a row without a partner is there with NULLs; then all of the other side must be there.
        """
        if is_optional and not other.is_whole:
            return None
        left, right = key_words(self.columns, mine, self.number), key_words(other.columns, theirs, other.number)
        if left is None or right is None:
            return None
        (words, has), (others, have) = left, right
        order = np.flatnonzero(have)[np.argsort(others[have], kind="stable")]
        keys = others[order]
        first = np.searchsorted(keys, words, "left")
        counts = np.where(has, np.searchsorted(keys, words, "right") - first, 0)
        partners, counts = counts, np.maximum(counts, 1) if is_optional else counts
        ends = np.cumsum(counts)
        pairs = int(ends[-1]) if ends.shape[0] else 0
        is_whole = self.is_whole and other.is_whole
        if not is_whole and pairs < FEW_PAIRS:
            return None
        each = self.rows / max(1, self.number) * other.rows / max(1, other.number)
        draw = np.arange(pairs) if pairs <= MOST else np.random.default_rng(pairs).integers(0, pairs, MOST)
        one = np.searchsorted(ends, draw, "right")
        is_pair = partners[one] > 0
        place = first[one] + draw - (ends[one] - counts[one])
        two = order[place] if not is_optional else np.append(order, 0)[np.where(is_pair, place, order.shape[0])]
        found = self.at(one, pairs * each, is_whole and pairs <= MOST)
        shift = width(self.columns)
        at = np.where(is_pair, two, -1)
        behind = {shift + c: np.append(line, NULL_CODE)[at] for c, line in other.columns.items()}
        return replace(found, columns=found.columns | behind)


def width(columns: Mapping[int, Words]) -> int:
    """How many columns there are up to the last one that is known."""
    return max(columns, default=-1) + 1


class Draws:
    """The rows that are drawn of relations; mutable: those of each are drawn once.

    Args:
        figures: The known figures of the tables.
    """

    def __init__(self, figures: Figures) -> None:
        self._figures = figures
        self._found: dict[Operator, Drawn | None] = {}
        self._shares: dict[ProjectOperator, float | None] = {}
        self._read: dict[str, int] = {}

    def share(self, plan: ProjectOperator) -> float | None:
        """The share of the rows below that fit a condition; None if that is not known."""
        if plan.predicate is None:
            return 1.0
        if plan not in self._shares:
            below = self.of(plan.input)
            fits = None if below is None or not below.number else self._fitting(plan.predicate, below)
            passed = None if fits is None else int(np.count_nonzero(fits))
            self._shares[plan] = None if passed is None or below is None else passed / below.number
        return self._shares[plan]

    def has_all_ranks(self, plan: ProjectOperator, ranked: RankedOperator) -> bool:
        """Whether a condition asks for no more than the ranks that are kept anyway."""
        if not ranked.is_limited or ranked.limit > MOST or plan.predicate is None:
            return ranked.is_limited and plan.predicate is None
        ranks = np.arange(1, ranked.limit + 1)
        fits = self._fitting(plan.predicate, Drawn({len(ranked.input.types): ranks}, ranked.limit, ranked.limit, True))
        return fits is not None and bool(fits.all())

    def of(self, plan: Operator) -> Drawn | None:
        """Rows of a relation; None if none can be drawn."""
        if plan not in self._found:
            self._found[plan] = self._of(plan)
        return self._found[plan]

    def values(self, plans: Sequence[Operator], columns: Sequence[int]) -> float | None:
        """The different values of some columns of several relations together, NULL as any other one.

        None if not all of their rows are there.
        """
        found = [self.of(plan) for plan in plans]
        words = []
        for one in found:
            known = key_words(one.columns, columns, one.number, nulls=True) if one and one.is_whole else None
            if known is None:
                return None
            words.append(known[0])
        return float(np.unique(np.concatenate(words)).shape[0]) if words else 0.0

    def sample(self, plan: Operator) -> TableSample | None:
        """Rows of a relation, as those of a table."""
        found = self.of(plan)
        return None if found is None else self.as_sample(found)

    def as_sample(self, found: Drawn) -> TableSample:
        """Rows that were drawn, as those of a table."""

        def passing(condition: Expression) -> Marks | None:
            return self._fitting(condition, found)

        weights = np.ones(found.number, np.int64)
        return TableSample(found.number if found.is_whole else round(found.rows), weights, found.columns, passing)

    def core(
        self, query: ConjunctiveQuery, named: Mapping[str, Operator]
    ) -> tuple[Drawn, Mapping[ColumnRef, int]] | None:
        """Results of the inner part of a join, and where each column of its atoms stands; None if none can be drawn.

        Args:
            query: The join.
            named: The operators of derived relations, by the names that they have in it.
        """
        found: Drawn | None = None
        places: dict[ColumnRef, int] = {}
        variables: dict[str, int] = {}
        waiting = list(query.core)
        while waiting:
            position = next((one for one in waiting if variables.keys() & {*query.atoms[one].variables}), waiting[0])
            waiting.remove(position)
            atom = query.atoms[position]
            rows = self._atom(atom, named)
            if rows is None:
                return None
            place = dict(zip(atom.variables, atom.columns, strict=True))
            known = [v for v in place if v in variables]
            shift = 0 if found is None else width(found.columns)
            if found is None:
                found = rows
            else:
                found = found.joined(rows, [variables[v] for v in known], [place[v] for v in known])
            if found is None:
                return None
            places |= {ColumnRef(position, column): shift + column for column in rows.columns}
            variables |= {v: shift + column for v, column in place.items() if v not in variables}
        return None if found is None else (found, places)

    def _with_optional(
        self, query: ConjunctiveQuery, named: Mapping[str, Operator]
    ) -> tuple[Drawn, Mapping[ColumnRef, int]] | None:
        """Results of a join, with NULLs where an outer join has no row; None if none can be drawn."""
        core = self.core(query, named)
        if core is None or not query.branches:
            return core
        found, places = core[0], dict(core[1])
        atoms = [(position, query.atoms[position]) for position in query.core]
        refs = {v: ColumnRef(i, c) for i, one in atoms for c, v in zip(one.columns, one.variables, strict=True)}
        above = {v: ref for v, ref in refs.items() if ref in places}
        for branch in query.branches:
            if branch.kind != "optional" or branch.above is not None or len(branch.atoms) != 1 or not branch.key:
                return None
            (position,) = branch.atoms
            atom = query.atoms[position]
            rows = self._atom(atom, named)
            if rows is None or any(outer not in above for outer, _ in branch.key):
                return None
            place = dict(zip(atom.variables, atom.columns, strict=True))
            mine, theirs = [places[above[outer]] for outer, _ in branch.key], [place[inner] for _, inner in branch.key]
            shift = width(found.columns)
            joined = found.joined(rows, mine, theirs, is_optional=True)
            if joined is None:
                return None
            found = joined
            places |= {ColumnRef(position, column): shift + column for column in rows.columns}
        return found, places

    def _of(self, plan: Operator) -> Drawn | None:
        match plan:
            case StoredOperator() | RunningOperator():  # what a window adds is not known
                return self.of(plan.input)
            case RankedOperator() if not plan.is_limited:
                return self.of(plan.input)
            case ProjectOperator():
                below = self.of(plan.input)
                if below is not None and plan.predicate is not None:
                    below = self._selected(plan.predicate, below)
                return None if below is None else self._shown(plan.outputs, below)
            case SelectedOperator():
                query, named = plan.query, dict(zip([plan.name], plan.inputs, strict=False))
                rows = self._atom(query.atoms[0], named)
                if rows is None:
                    return None
                head = {place: rows.columns[r.column] for place, r in enumerate(query.head) if r.column in rows.columns}
                return self._shown(query.outputs, replace(rows, columns=head))
            case RepeatedOperator():
                return self._repeated(plan)
            case AggregateOperator() if plan.groups:
                return self._groups(plan)
            case JoinOperator() if plan.query.free is None and not plan.query.sums:
                core = self._with_optional(plan.query, dict(plan.named))
                if core is None:
                    return None
                rows, places = core
                at = {place: places[ref] for place, ref in enumerate(plan.query.head) if ref in places}
                columns = {place: rows.columns[column] for place, column in at.items()}
                return self._shown(plan.query.outputs, replace(rows, columns=columns))
            case InequalityJoinOperator():
                return self._compared(plan)
            case _:
                return None

    def _repeated(self, plan: RepeatedOperator) -> Drawn | None:
        found = self.of(plan.input)
        if found is None or found.number * plan.count > 4 * MOST:
            return None
        places = np.repeat(np.arange(found.number), plan.count)
        numbers = {len(plan.input.types): np.tile(np.arange(plan.count), found.number)}
        copies = found.at(places, found.rows * plan.count, True)
        return replace(copies, columns=copies.columns | numbers)

    def _groups(self, plan: AggregateOperator) -> Drawn | None:
        """The groups of rows that are all there; what is added up in them is not known."""
        found = self.of(plan.input)
        if found is None or not found.is_whole:
            return None
        known = key_words(found.columns, range(plan.groups), found.number, nulls=True)
        if known is None:
            return None
        first = np.unique(known[0], return_index=True)[1]
        groups = found.at(first, first.shape[0], True)
        return replace(groups, columns={c: line for c, line in groups.columns.items() if c < plan.groups})

    def _atom(self, atom: Atom, named: Mapping[str, Operator]) -> Drawn | None:
        """The rows of an atom that fit its condition."""
        name = atom.table.name
        if name in named:
            found = self.of(named[name])
            return found if found is None or atom.predicate is None else self._selected(atom.predicate, found)
        sample, given = self._figures.samples.get(name.lower()), self._figures.statistics.of(name)
        if sample is None or "given" in (given.rows.known, *(one.known for _, one in given.distinct)):
            return None
        places = np.repeat(np.arange(sample.weights.shape[0]), sample.weights)
        if sample.weights.sum() > MOST:
            places = np.random.default_rng(crc32(name.encode())).permutation(places)
        if not sample.is_whole:
            self._read[name] = part = self._read.get(name, -1) + 1
            places = places[part % PARTS :: PARTS]
        rows, fits = float(sample.rows), None
        if atom.predicate is not None:
            fits = None if self._figures.is_given(atom.table, atom.predicate) else sample.passing(atom.predicate)
            if fits is None:
                return None
            before, places = places.shape[0], places[fits[places]]
            rows *= places.shape[0] / max(1, before)
        columns = {column: line[places] for column, line in sample.columns.items()}
        return Drawn(columns, places.shape[0], rows, sample.is_whole)

    def _compared(self, plan: InequalityJoinOperator) -> Drawn | None:
        """The pairs of an inequality join: those with one key that compare as it says."""
        left, right = self.of(plan.left), self.of(plan.right)
        key = [*range(plan.keys)]
        found = None if left is None or right is None else left.joined(right, key, key)
        if left is None or found is None:
            return None
        shift = width(left.columns)
        point = Field(shift + plan.keys, plan.right.types[plan.keys])
        bounds = [
            _COMPARISONS[one] for one in (plan.high, plan.low) if one
        ]  # the upper one stands before the lower one
        for place, comparison in enumerate(bounds):
            bound = Field(plan.keys + place, plan.left.types[plan.keys + place])
            compared = Call(comparison, (point, bound), SqlType("boolean"))
            kept = self._selected(Expression(comparison, compared), found)
            if kept is None:
                return None
            found = kept
        at = {place: one.column + one.side * shift for place, one in enumerate(plan.columns)}
        return replace(found, columns={p: found.columns[c] for p, c in at.items() if c in found.columns})

    def _selected(self, condition: Expression, found: Drawn) -> Drawn | None:
        fits = self._fitting(condition, found)
        if fits is None:
            return None
        share = np.count_nonzero(fits) / max(1, found.number)
        return found.at(fits, found.rows * float(share), True)

    def _fitting(self, condition: Expression, found: Drawn) -> Marks | None:
        values = self._values((condition,), found)
        return None if values is None else values[0] == 1

    def _shown(self, outputs: Sequence[Output], found: Drawn) -> Drawn:
        """The columns of some outputs; those that are not known are left out."""
        columns: Lines = {}
        for place, output in enumerate(outputs):
            source = output.source
            if isinstance(source, Expression):
                values = self._values((source,), found)
                columns |= {} if values is None else {place: values[0]}
            elif source in found.columns:
                columns[place] = found.columns[source]
        return replace(found, columns=columns)

    def _values(self, expressions: Sequence[Expression], found: Drawn) -> Words | None:
        parts = [step for one in expressions for step in one.steps or (one,)]
        if any(one.scalar is None for one in parts):
            return None
        if not found.columns.keys() >= {field.position for one in parts for field in one.fields()}:
            return None
        lines = np.zeros((width(found.columns), found.number), np.int64)
        for column, line in found.columns.items():
            lines[column] = line
        return self._figures.evaluate(expressions, lines)
