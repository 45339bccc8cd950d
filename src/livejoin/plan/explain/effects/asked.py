"""How many rows of a query with EXISTS and NOT EXISTS a change changes on average, counted over the rows there are.

A row above the sub-queries is a result if it has a match in each EXISTS, and none in each NOT EXISTS. So a change above
changes one row as often as rows above are results. A change in a sub-query changes the rows above of which it is the
only match, if the other sub-queries let them through.

The law: if each row of a table leaves and comes back once, the mean of what changes is the number that is told.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from livejoin.plan.explain.effects.amount import Amount
from livejoin.plan.explain.effects.figures import FEW_PAIRS, Figures, Marks, TableSample
from livejoin.query import Atom, ConjunctiveQuery
from livejoin.words import Words


def on_average(found: Amount, query: ConjunctiveQuery, start: int, figures: Figures) -> Amount:
    """The rows that a change of an atom changes, with their mean where it can be counted; else as they were.

    It is counted if all rows are of tables, one above the sub-queries and one in each of them, and not too few of them
    are known. Cost: O(rows log rows) for the rows that are known of each table.

    Args:
        found: The rows that it changes at most.
        query: The join.
        start: Position of the atom.
        figures: The known figures of the tables.
    """
    mean = _mean(query, start, figures)
    return found if mean is None else replace(found, expected=mean, is_bound=False)


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


def _mean(query: ConjunctiveQuery, start: int, figures: Figures) -> float | None:
    if len(query.core) != 1 or query.free is not None or not query.branches:
        return None
    if any(one.kind == "optional" or one.above is not None or len(one.atoms) != 1 for one in query.branches):
        return None
    above = _known(query.atoms[query.core[0]], figures)
    if above is None:
        return None
    sample, there = above
    parts: dict[int, _Part] = {}
    for place, branch in enumerate(query.branches):
        part = _part(query, place, sample, figures)
        if part is None:
            return None
        parts[branch.atoms[0]] = part
    for atom, part in parts.items():
        if atom == start and not part.is_whole:
            return None  # which row is an only match is not known
        there = there & (part.matches == 1 if atom == start else part.passes)
    changed = float(sample.weights[there].sum())
    if start == query.core[0]:
        rows = float(sample.weights.sum())
    else:
        if not sample.is_whole:
            if changed < FEW_PAIRS:
                return None
            changed *= sample.rows / max(1.0, float(sample.weights.sum()))
        rows = float(figures.samples[query.atoms[start].table.name.lower()].rows)
    return max(changed, rows / (rows + 2.0)) / max(1.0, rows)  # if none of n rows changes one, the next one still may


def _known(atom: Atom, figures: Figures) -> tuple[TableSample, Marks] | None:
    """The rows of an atom that are there, and which of them fit its condition; None if that is not known."""
    sample, given = figures.samples.get(atom.table.name.lower()), figures.statistics.of(atom.table.name)
    if sample is None or "given" in (given.rows.known, given.distinct_of(atom.columns).known):
        return None
    if atom.predicate is None:
        return sample, np.ones(sample.weights.shape[0], np.bool_)
    fits = None if figures.is_given(atom.table, atom.predicate) else sample.passing(atom.predicate)
    return None if fits is None else (sample, fits)


def _part(query: ConjunctiveQuery, place: int, above: TableSample, figures: Figures) -> _Part | None:
    branch = query.branches[place]
    atom, outer = query.atoms[branch.atoms[0]], query.atoms[query.core[0]]
    known = _known(atom, figures)
    if known is None:
        return None
    sample, fits = known
    if branch.key:
        own, inner = (
            dict(zip(outer.variables, outer.columns, strict=True)),
            dict(zip(atom.variables, atom.columns, strict=True)),
        )
        mine = above.keys([own[v] for v, _ in branch.key])
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
        matches = np.full(above.weights.shape[0], int(sample.weights[fits].sum()), np.int64)
    passes = matches > 0 if branch.kind == "exists" else matches == 0
    return _Part(matches, passes, sample.is_whole)
