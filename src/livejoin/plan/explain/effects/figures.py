"""How many rows of one table meet a row of another one, from the rows that are there, or from statistics.

The law of an estimate: for tables that are counted whole, `Meeting.expected` is the number of pairs of rows with equal
keys divided by the rows of the first table, so that it is right for skewed keys too, and `Meeting.most` is the number
of rows with the most frequent key. From samples of n and m of N and M rows the pairs are counted among these, and
multiplied by N/n * M/m, which is right on average; few pairs say little, and statistics are taken instead. Where the
query has conditions on one of the two tables alone, pairs are counted among the rows that fit: those of frequent keys
may fit more often, or less.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from livejoin.query import ConjunctiveQuery
from livejoin.query.scalar import Expression
from livejoin.schema import Table
from livejoin.search.statistics import Figure, Statistics, TableStatistics
from livejoin.words import NULL_CODE, Words

Source = Literal["counted", "sampled", "given", "observed"]
"""Where a figure is from: all rows of the tables, a sample of them, the user, or a change log."""

Marks: TypeAlias = npt.NDArray[np.bool_]
"""Which rows of a sample it is."""

FEW_PAIRS = 30  # among samples: their number is off by a fifth then
_ODD = np.uint64(0x9E3779B97F4A7C15)
_FEW_ROWS = 8  # of a key in a sample, from which how many it has is told


@dataclass(frozen=True)
class Meeting:
    """How many rows of a table meet one row of another one, or have one of its values.

    Args:
        expected: The mean over the rows that are there.
        most: The rows that meet the row that meets most of them; None if that is not known.
        source: Where the figures are from.
        fits: Whether only rows that fit the conditions were counted.
        is_mean: Whether it is not only a bound.
        is_size: Whether ``most`` is made of the number of rows: no row was counted that meets most.
    """

    expected: float
    most: float | None
    source: Source
    fits: bool = False
    is_mean: bool = True
    is_size: bool = False


@dataclass(frozen=True)
class Matched:
    """The rows of a table that have a key which rows of another one have too.

    Args:
        share: The share of these among all rows of the table.
        most: The rows with the most frequent of these keys.
        source: Where the figures are from.
    """

    share: float
    most: float
    source: Source


@dataclass(frozen=True)
class TableSample:
    """Some rows of a table, or all of them.

    Args:
        rows: How many rows the table has, with their multiplicities.
        weights: How often each row of the sample is there.
        columns: The words of the columns that are known, by their positions.
        passing: The rows of the sample for which a condition is true; None where it has no value.
        is_log: Whether it is of the rows that a change log leaves.
    """

    rows: int
    weights: Words
    columns: Mapping[int, Words]
    passing: Callable[[Expression], Marks | None]
    is_log: bool = False

    @property
    def is_whole(self) -> bool:
        """Whether it has all rows."""
        return int(self.weights.sum()) >= self.rows

    @property
    def source(self) -> Source:
        """Where figures of it are from."""
        if self.is_log:
            return "observed"
        return "counted" if self.is_whole else "sampled"

    def share(self, condition: Expression) -> float | None:
        """The share of the rows for which a condition is true; None where it has no value."""
        passed = self.passing(condition)
        return None if passed is None else float(self.weights[passed].sum() / max(1, int(self.weights.sum())))

    def counts(
        self, columns: Sequence[int], condition: Expression | None = None, nulls: bool = False
    ) -> tuple[Words, Words] | None:
        """A word for each different key, ascending, and how often each is there, in rows that fit a condition.

        The word of several columns is a hash: two keys among 2^17 have one word with a probability of 2^-30. NULL is in
        no key, unless it is as any other value. None if a column, or which rows fit, is not known.
        Cost: O(sample log sample).
        """
        known = self.keys(columns, nulls)
        if known is None:
            return None
        word, there = known
        if condition is not None:
            passed = self.passing(condition)
            if passed is None:
                return None
            there &= passed
        found, inverse = np.unique(word[there], return_inverse=True)
        counts = np.bincount(inverse, self.weights[there], found.shape[0]).astype(np.int64)
        return found.view(np.int64), counts

    def keys(self, columns: Sequence[int], nulls: bool = False) -> tuple[npt.NDArray[np.uint64], Marks] | None:
        """A word for the key of each row, as of `counts`, and which rows have one; None if a column is not known.

        Args:
            columns: The columns of the key.
            nulls: Whether NULL is as any other value; else a row with NULL has no key.
        """
        return key_words(self.columns, columns, self.weights.shape[0], nulls)

    def has_all_keys(self, counts: Words) -> bool:
        """Whether no key is missing in it, as each that was drawn was drawn several times.

        Args:
            counts: The rows of each key that was drawn.
        """
        return self.is_whole or counts.sum() >= _FEW_ROWS * counts.shape[0]

    def values(self, columns: Sequence[int]) -> float | None:
        """The most different values of some columns, NULL included; None if a column is not known.

        Cost: O(sample log sample).
        """
        known = self.counts(columns)
        if known is None:
            return None
        rare = 0 if self.is_whole else int(np.count_nonzero(known[1] == 1))
        scale = self.rows / max(1.0, float(self.weights.sum()))
        nulls = int(known[1].sum()) < int(self.weights.sum())
        return float(known[1].shape[0]) + rare * (scale - 1.0) + nulls


def key_words(
    lines: Mapping[int, Words], columns: Sequence[int], number: int, nulls: bool = False
) -> tuple[npt.NDArray[np.uint64], Marks] | None:
    """A word for the key of each row, and which rows have one; None if a column is not known.

    Args:
        lines: The words of the columns that are known, by their positions.
        columns: The columns of the key.
        number: How many rows there are.
        nulls: Whether NULL is as any other value; else a row with NULL has no key.
    """
    if not lines.keys() >= set(columns):
        return None
    there = np.ones(number, np.bool_)
    word = np.zeros(number, np.uint64)
    for column in columns:
        there &= nulls or lines[column] != NULL_CODE
        word = word * _ODD + lines[column].view(np.uint64)
        word ^= word >> np.uint64(32) if len(columns) > 1 else np.uint64(0)
    return word, there


Evaluate: TypeAlias = Callable[[Sequence[Expression], Words], Words | None]
"""The words of the values of expressions over the words of rows; None where there is an error, or no way to know."""


def unknown(expressions: Sequence[Expression], lines: Words) -> Words | None:
    """No values."""
    return None


@dataclass
class Figures:
    """Figures of tables for an explanation; mutable: what was found once is kept.

    Args:
        statistics: The figures that the user gave, or that a log says.
        samples: The rows that are there, by names of tables in lower case; none of tables without rows.
        evaluate: A way to evaluate expressions over rows that are made of them.
    """

    statistics: Statistics = field(default_factory=Statistics)
    samples: Mapping[str, TableSample] = field(default_factory=dict)
    evaluate: Evaluate = unknown
    _found: dict[tuple[Hashable, ...], Meeting | None] = field(default_factory=dict)

    def rows(self, table: Table) -> Meeting | None:
        """The rows of a table; None if that is not known."""
        figure = self.statistics.of(table.name).rows
        sample = self.samples.get(table.name.lower())
        if figure.value is not None and (figure.known == "given" or sample is None):
            source: Source = "given" if figure.known == "given" else "observed"
            return Meeting(figure.value, figure.value, source, is_size=True)
        if sample is None:
            return None
        return Meeting(sample.rows, sample.rows, "observed" if sample.is_log else "counted", is_size=True)

    def share(self, table: Table, condition: Expression) -> float | None:
        """The share of the rows of a table for which a condition is true; None if that is not known."""
        known = self._known_share(table, condition)
        return self.samples[table.name.lower()].share(condition) if known is None and self._has(table) else known

    def _known_share(self, table: Table, condition: Expression) -> float | None:
        """The share that was given, or without rows observed; of rows that are there it is counted."""
        known = self.statistics.of(table.name).passing_of(condition.text)
        return known.value if known.known == "given" or not self._has(table) else None

    def is_given(self, table: Table, condition: Expression) -> bool:
        """Whether the share of rows for which a condition is true was given, not counted."""
        return self._known_share(table, condition) is not None

    def _has(self, table: Table) -> bool:
        return table.name.lower() in self.samples

    def values(self, table: Table, columns: Sequence[int]) -> float | None:
        """The most different values of some columns, NULL included; None if that is not known.

        Of a sample each value that was drawn once may stand for as many as there are rows for each one drawn.
        """
        known = self.statistics.of(table.name).distinct_of(columns)
        sample = self.samples.get(table.name.lower())
        if known.value is not None and (known.known == "given" or sample is None):
            return known.value + any(table.columns[column].nullable for column in columns)
        return None if sample is None else sample.values(columns)

    def meeting(
        self,
        one: Table,
        columns: Sequence[int],
        other: Table,
        others: Sequence[int],
        conditions: tuple[Expression | None, Expression | None] = (None, None),
        nulls: bool = False,
    ) -> Meeting | None:
        """How many rows of a table meet a row of another one; None if that is not known.

        Args:
            one: The table of the one row.
            columns: The columns of that table that are compared.
            other: The table of the rows that are met.
            others: The columns of the other table, in the same order.
            conditions: The conditions that rows of the one table, and of the other one, have to fit; they count where
                the rows that are there say which do (`Meeting.fits`).
            nulls: Whether NULL meets NULL, as in groups and partitions.
        """
        known = any(
            condition is not None and self._known_share(table, condition) is not None
            for table, condition in zip((one, other), conditions, strict=True)
        )
        if known:  # shares that are given go before rows
            conditions = (None, None)
        place = (one.name.lower(), tuple(columns), other.name.lower(), tuple(others), *conditions, nulls)
        if place not in self._found:
            self._found[place] = self._meeting(one, columns, other, others, conditions, nulls)
        return self._found[place]

    def matched(self, one: Table, columns: Sequence[int], other: Table, others: Sequence[int]) -> Matched | None:
        """The rows of a table whose key another one has; None if rows that are there do not tell.

        Args:
            one: The table of the rows.
            columns: The columns of that table that are compared.
            other: The other table.
            others: The columns of the other table, in the same order.
        """
        first, second = (self.samples.get(table.name.lower()) for table in (one, other))
        mine = None if first is None else first.counts(columns)
        theirs = None if second is None else second.counts(others)
        if first is None or second is None or mine is None or theirs is None:
            return None
        (keys, counts), (other_keys, other_counts) = mine, theirs
        both = counts[np.isin(keys, other_keys)]
        if not second.has_all_keys(other_counts):
            return None
        largest = float(both.max(initial=0))
        most = largest if first.is_whole else largest * first.rows / max(1.0, float(first.weights.sum()))
        source: Source = "sampled" if "sampled" in (first.source, second.source) else first.source
        return Matched(float(both.sum() / max(1, int(first.weights.sum()))), most, source)

    def alone(self, table: Table, columns: Sequence[int], condition: Expression | None = None) -> float | None:
        """The share of the rows that have a key which no other row has, among those that fit a condition.

        Args:
            table: The table.
            columns: The columns of the key; rows with NULL in one of them count as sharing it.
            condition: The condition on rows of the table alone; None for none.

        Returns:
            The share; None if rows that are there do not tell, as those of a sample.
        """
        sample = self.samples.get(table.name.lower())
        if sample is None or not sample.is_whole:
            return None
        known = sample.counts(columns, condition)
        if known is None:
            return None
        return float(np.count_nonzero(known[1] == 1) / max(1.0, _weight(sample, condition)))

    def with_shares(self, query: ConjunctiveQuery) -> Statistics:
        """The statistics, with the shares of rows that fit the conditions of a join."""
        shares: dict[str, dict[str, Figure]] = {}
        for atom in query.atoms:
            if atom.predicate is not None and (share := self.share(atom.table, atom.predicate)) is not None:
                shares.setdefault(atom.table.name, {})[atom.predicate.text] = Figure(share, "observed")
        tables = (TableStatistics(name, passing=tuple(sorted(of.items()))) for name, of in shares.items())
        return Statistics(tuple(tables)).over(self.statistics)

    def _meeting(
        self,
        one: Table,
        columns: Sequence[int],
        other: Table,
        others: Sequence[int],
        conditions: tuple[Expression | None, Expression | None],
        nulls: bool,
    ) -> Meeting | None:
        known = self._by_statistics(one, columns, other, others)
        first, second = (self.samples.get(table.name.lower()) for table in (one, other))
        if (known is not None and known.source == "given") or first is None or second is None:
            return known
        if conditions != (None, None):
            fitting = _met(first, columns, second, others, conditions)
            if fitting is not None:
                return replace(fitting, fits=True)
        met = _met(first, columns, second, others, nulls=nulls)
        return known if met is None else met

    def _by_statistics(self, one: Table, columns: Sequence[int], other: Table, others: Sequence[int]) -> Meeting | None:
        """As joins are estimated since System R: the rows by the larger number of different keys."""
        there = self.statistics.of(other.name)
        rows, keys = there.rows, there.distinct_of(others)
        if rows.value is None or keys.value is None:
            return None
        here = self.statistics.of(one.name).distinct_of(columns).value
        given = rows.known == "given" or keys.known == "given"
        sample = self.samples.get(other.name.lower())
        source: Source = "given" if given else "observed" if sample is None else sample.source
        most = max(1.0, rows.value - keys.value + 1.0)  # of each other key there is one row at least
        return Meeting(rows.value / max(1.0, keys.value, here or 0.0), most, source, is_size=True)


def _met(
    first: TableSample,
    columns: Sequence[int],
    second: TableSample,
    others: Sequence[int],
    conditions: tuple[Expression | None, Expression | None] = (None, None),
    nulls: bool = False,
) -> Meeting | None:
    """Pairs of rows with equal keys; None if there are too few in samples, or a column is not known."""
    some, there = first.counts(columns, conditions[0], nulls), second.counts(others, conditions[1], nulls)
    if some is None or there is None:
        return None
    (keys, counts), (other_keys, other_counts) = some, there
    both, place = np.unique(np.concatenate([keys, other_keys]), return_inverse=True)
    mine, theirs = np.zeros((2, both.shape[0]), np.float64)
    mine[place[: keys.shape[0]]] = counts
    theirs[place[keys.shape[0] :]] = other_counts
    seen, scale = _weight(first, conditions[0]), second.rows / max(1.0, float(second.weights.sum()))
    whole = first.is_whole and second.is_whole
    same = second is first and tuple(columns) == tuple(others) and conditions[0] == conditions[1]
    itself = 0.0 if whole or not same else seen  # sure, in a sample too
    pairs = float(mine @ theirs) - itself
    if not whole and pairs < FEW_PAIRS:
        return None
    largest = float(theirs[mine > 0].max(initial=0.0))
    most = largest if second.is_whole else largest * scale if largest >= _FEW_ROWS else None
    return Meeting(
        (pairs * scale + itself) / max(1.0, seen), most, first.source if first.source == "sampled" else second.source
    )


def _weight(sample: TableSample, condition: Expression | None) -> float:
    """The rows of a sample that fit a condition."""
    passed = None if condition is None else sample.passing(condition)
    return float((sample.weights if passed is None else sample.weights[passed]).sum())
