"""How many rows of a query with EXISTS and NOT EXISTS a change changes on average, counted over the rows there are.

A row above the sub-queries is a result if it has a match in each EXISTS, and none in each NOT EXISTS. So a change above
changes one row as often as rows above are results. A change in a sub-query changes the rows above of which it is the
only match, if the other sub-queries let them through.

The law: if each row of a table leaves and comes back once, the mean of what changes is the number that is told.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from livejoin.plan.explain.effects.amount import Amount
from livejoin.plan.explain.effects.drawn import Draws
from livejoin.plan.explain.effects.figures import FEW_PAIRS, Figures, Marks, TableSample
from livejoin.plan.operators import Operator
from livejoin.query import Atom, Branch, ConjunctiveQuery
from livejoin.query.conjunctive import ColumnRef
from livejoin.words import Words

NO_NAMED: Mapping[str, Operator] = {}


def on_average(
    found: Amount,
    query: ConjunctiveQuery,
    start: int,
    figures: Figures,
    draws: Draws,
    named: Mapping[str, Operator] = NO_NAMED,
) -> Amount:
    """The rows that a change of an atom changes, with their mean where it can be counted; else as they were.

    It is counted if each sub-query has one table, and not too few rows are known of all tables. Of several tables above
    the sub-queries the results are made, or drawn. Cost: O(rows log rows) for the rows that are known of each table.

    Args:
        found: The rows that it changes at most.
        query: The join.
        start: Position of the atom.
        figures: The known figures of the tables.
        draws: The rows that are drawn of derived relations, and of the join above the sub-queries.
        named: The operators of the derived relations, by the names that they have in the join.
    """
    if query.free is not None or not query.branches:
        return found
    if any(one.kind == "optional" or one.above is not None or len(one.atoms) != 1 for one in query.branches):
        return found
    mean = _Asked(query, figures, draws, named).mean(start)
    if mean is None:
        return found
    most = math.inf if found.most is None else found.most
    return replace(found, expected=min(mean, most), is_bound=False)


def only_match(
    query: ConjunctiveQuery, start: int, figures: Figures, draws: Draws, named: Mapping[str, Operator] = NO_NAMED
) -> float | None:
    """The share of the rows of a sub-query that are the only match of their key: others meet no row above.

    Args:
        query: The join.
        start: Position of the atom of the sub-query.
        figures: The known figures of the tables.
        draws: The rows that are drawn of derived relations.
        named: The operators of the derived relations, by the names that they have in the join.

    Returns:
        The share among the rows that fit the sub-query's condition; None where it is not known.
    """
    branch = next((one for one in query.branches if one.atoms == (start,)), None)
    known = None if branch is None else _Asked(query, figures, draws, named).known(query.atoms[start])
    if branch is None or known is None or not known[0].is_whole:
        return None
    (sample, fits), atom = known, query.atoms[start]
    inner = dict(zip(atom.variables, atom.columns, strict=True))
    keys = sample.keys([inner[v] for _, v in branch.key])
    if keys is None:
        return None
    words, has = keys
    found, inverse = np.unique(words[has & fits], return_inverse=True)
    counts = np.bincount(inverse, sample.weights[has & fits], found.shape[0])
    return float(np.count_nonzero(counts == 1) / max(1.0, float(sample.weights[fits].sum())))


@dataclass(frozen=True)
class _Part:
    """What a sub-query says of the rows above it.

    Args:
        matches: How many matches each row above has.
        passes: Whether the sub-query lets it through.
        is_whole: Whether all rows of the sub-query's table were counted.
    """

    matches: Words
    passes: Marks
    is_whole: bool


@dataclass(frozen=True)
class _Above:
    """The rows above the sub-queries.

    Args:
        sample: The rows.
        there: The rows that fit the conditions.
        columns: The column of each variable.
    """

    sample: TableSample
    there: Marks
    columns: Mapping[str, int]


@dataclass(frozen=True)
class _Asked:
    """A join with sub-queries of which it is only asked whether there is a row.

    Args:
        query: The join.
        figures: The known figures of the tables.
        draws: The rows that are drawn.
        named: The operators of the derived relations.
    """

    query: ConjunctiveQuery
    figures: Figures
    draws: Draws
    named: Mapping[str, Operator]

    def mean(self, start: int) -> float | None:
        """The rows that a change of an atom changes on average; None if that is not known."""
        query = self.query
        above, begin = self._above(), self._sample(query.atoms[start])
        if above is None or begin is None:
            return None
        sample, there = above.sample, above.there
        parts: dict[int, _Part] = {}
        for branch in query.branches:
            part = self._part(branch, above)
            if part is None:
                return None
            parts[branch.atoms[0]] = part
        for atom, part in parts.items():
            if atom == start and not part.is_whole:
                return None  # which row is an only match is not known
            there = there & (part.matches == 1 if atom == start else part.passes)
        changed, seen = float(sample.weights[there].sum()), float(sample.weights.sum())
        if (start,) == query.core:
            return changed / max(1.0, seen)
        if not sample.is_whole:
            if changed < FEW_PAIRS:
                return None
            changed *= sample.rows / max(1.0, seen)
        return changed / max(1.0, float(begin.rows))

    def _sample(self, atom: Atom) -> TableSample | None:
        if atom.table.name in self.named:
            return self.draws.sample(self.named[atom.table.name])
        given = self.figures.statistics.of(atom.table.name)
        if "given" in (given.rows.known, given.distinct_of(atom.columns).known):
            return None
        return self.figures.samples.get(atom.table.name.lower())

    def known(self, atom: Atom) -> tuple[TableSample, Marks] | None:
        """The rows of an atom that are there, and which of them fit its condition; None if that is not known."""
        sample = self._sample(atom)
        if sample is None:
            return None
        if atom.predicate is None:
            return sample, np.ones(sample.weights.shape[0], np.bool_)
        fits = None if self.figures.is_given(atom.table, atom.predicate) else sample.passing(atom.predicate)
        return None if fits is None else (sample, fits)

    def _above(self) -> _Above | None:
        query = self.query
        if len(query.core) == 1:
            atom = query.atoms[query.core[0]]
            known = self.known(atom)
            return None if known is None else _Above(*known, dict(zip(atom.variables, atom.columns, strict=True)))
        core = self.draws.core(query, self.named)
        if core is None:
            return None
        rows, places = core
        columns: dict[str, int] = {}
        for position in query.core:
            one = query.atoms[position]
            for v, column in zip(one.variables, one.columns, strict=True):
                if ColumnRef(position, column) not in places:
                    return None
                columns.setdefault(v, places[ColumnRef(position, column)])
        return _Above(self.draws.as_sample(rows), np.ones(rows.number, np.bool_), columns)

    def _part(self, branch: Branch, above: _Above) -> _Part | None:
        atom = self.query.atoms[branch.atoms[0]]
        known = self.known(atom)
        if known is None:
            return None
        sample, fits = known
        if branch.key:
            inner = dict(zip(atom.variables, atom.columns, strict=True))
            mine = above.sample.keys([above.columns[v] for v, _ in branch.key])
            theirs = sample.keys([inner[v] for _, v in branch.key])
            if mine is None or theirs is None:
                return None
            (words, has), (others, have) = mine, theirs
            found, inverse = np.unique(others[have & fits], return_inverse=True)
            counts = np.bincount(inverse, sample.weights[have & fits], found.shape[0]).astype(np.int64)
            if not sample.has_all_keys(counts):
                return None
            at = np.searchsorted(found, words)
            is_there = has & (at < found.shape[0])
            is_there[is_there] = found[at[is_there]] == words[is_there]
            matches = np.zeros(words.shape[0], np.int64)
            matches[is_there] = counts[at[is_there]]
        else:
            if not sample.is_whole:
                return None
            matches = np.full(above.sample.weights.shape[0], int(sample.weights[fits].sum()), np.int64)
        passes = matches > 0 if branch.kind == "exists" else matches == 0
        return _Part(matches, passes, sample.is_whole)
