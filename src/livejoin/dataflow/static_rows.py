"""The rows of a join's static tables that can be part of a result: the others are left out of its state.

Law: a join without the rows that are left out has the results and the deltas that it has with them, until a static
table changes. So only a program leaves rows out that is loaded anew before static tables change
(`livejoin.families.program.Program.form`). What is left out are the rows that no semi-join among the static tables
keeps (`livejoin.query.semi_joins`), and those that take part in no atom.

    sales -> supplier -> nation -> region WHERE r_name = 'ASIA', all but sales static:
    of 10,030 rows of supplier, nation and region 2,006 are kept
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from livejoin.dataflow.selection import Selector
from livejoin.errors import ExpressionError
from livejoin.families.join import WholeJoin
from livejoin.families.kept_rows import KeptRows
from livejoin.families.layout.table_use import TableUse
from livejoin.families.program import Program
from livejoin.kernels.join.layout import CHUNK_ROWS
from livejoin.plan.operators import AnyJoin
from livejoin.query import ConjunctiveQuery
from livejoin.query.semi_joins import SemiJoin, static_semi_joins
from livejoin.state.budget import Budget
from livejoin.state.codec import Codec
from livejoin.state.derived_rows import DerivedRows
from livejoin.state.table import BaseTable
from livejoin.words import WORD_BYTES, Words

RowsWithIds: TypeAlias = BaseTable | DerivedRows
"""What a join loads rows from: their words lie ``stride`` apart, and `find` tells the id of a row."""

_PIECE = 1 << 16  # rows whose predicates are evaluated at a time
_ROUNDS = 3  # times that a semi-join is made at most: enough for a tree of them; more would only leave out more


@dataclass(frozen=True, eq=False)
class StaticUse:
    """A static table that a join reads.

    Args:
        use: How its program uses it.
        selector: Reads from the table's rows what the join has to know.
        rows: The table's rows.
    """

    use: TableUse
    selector: Selector
    rows: RowsWithIds


@dataclass(frozen=True, eq=False)
class Reduced:
    """What is left of a static table.

    Args:
        masks: For each row, ids ascending, the bits of the atoms over the table in whose results it may be.
        ids: Ids of the rows, ascending.
        times: How often each is there.
    """

    masks: Words
    ids: Words
    times: Words

    @property
    def rows(self) -> int:
        """The rows that are left, copies counted."""
        return int(self.times[self.masks != 0].sum())


def reduced(query: ConjunctiveQuery, uses: Mapping[int, StaticUse], budget: Budget) -> dict[int, Reduced]:
    """What is left of static tables; without those of which all rows are left for want of conditions.

    Cost: for each of them that of its predicates, and O(rows log rows) for each semi-join with another one.

    Args:
        query: The join's query.
        uses: The static tables, by a number of each.
        budget: The memory of the database.

    Raises:
        ExpressionError: A predicate has no value for some row.
    """
    place_of = {atom: place for place, one in uses.items() for atom in one.use.atoms}
    semi_joins = [one for one in static_semi_joins(query) if {one.atom, one.by} <= place_of.keys()]
    compared: dict[int, set[int]] = {place: set() for place, one in uses.items() if not one.selector.takes_all}
    for semi_join in semi_joins:
        compared.setdefault(place_of[semi_join.atom], set()).update(semi_join.columns)
        compared.setdefault(place_of[semi_join.by], set()).update(semi_join.others)
    uses = {place: one for place, one in uses.items() if place in compared}
    size = sum(WORD_BYTES * one.rows.rows * (3 + 2 * len(compared[place])) for place, one in uses.items())
    with budget.holding(size, "the rows of static tables that are looked through"):
        tables = {place: _Table(one, sorted(compared[place])) for place, one in uses.items()}
        _reduce(semi_joins, {atom: tables[place] for atom, place in place_of.items() if place in tables})
        return {place: Reduced(table.masks, table.ids, table.times) for place, table in tables.items()}


def leaves_out(program: Program) -> bool:
    """Whether a program leaves rows of static tables out: one that is another one while static tables change."""
    return program.form(False).digest != program.digest


def kept_of_tables(leaf: AnyJoin, tables: Mapping[str, BaseTable], codec: Codec) -> dict[str, int]:
    """How many rows of each static base table a join keeps, by the table's name; of none where it leaves out none.

    Cost: that of `reduced`.

    Args:
        leaf: The join.
        tables: The base tables by name in lower case.
        codec: The database's codec.
    """
    query, program = leaf.physical.query, leaf.physical
    if not leaves_out(program):
        return {}
    uses = {}
    given = {one.table.name for one in leaf.inputs}
    for place, use in enumerate(program.tables):
        rows = None if use.name in given else tables.get(use.name.lower())
        if rows is not None and query.atoms[use.atoms[0]].table.static:
            uses[place] = StaticUse(use, Selector(query, use, rows.table, codec), rows)
    try:
        return {uses[place].use.name: left.rows for place, left in reduced(query, uses, codec.budget).items()}
    except ExpressionError:
        return {}  # a predicate has no value for some row: whoever makes the view is told


class NumberedRows:
    """A join that is loaded, of whose static tables rows have numbers of their own.

    Args:
        join: The join, in one piece.
        kept: The numbers, by the table's position in the program.
    """

    def __init__(self, join: WholeJoin, kept: Mapping[int, KeptRows]) -> None:
        self._join = join
        self._kept = kept

    def load(
        self, table: int, rows: Words, words: Words, stride: int, first: int, factors: Words | None = None
    ) -> None:
        """As `livejoin.families.join.Join.load`."""
        kept = self._kept.get(table)
        if kept is None:
            self._join.load(table, rows, words, stride, first, factors)
        else:
            self._join.load(table, kept.numbers(rows), words, stride, first, factors, rows)


def kept_rows(one: StaticUse, left: Reduced, budget: Budget) -> KeptRows | None:
    """Numbers of their own for the rows that are left; None where their records would not be fewer by more bytes.

    Records lie under the ids of rows, so that one that is left out takes as much space as the others until the others
    are numbered.

    Args:
        one: The table.
        left: The rows that are left.
        budget: The memory of the database.
    """
    ids = left.ids[left.masks != 0]
    chunks = _chunks(int(left.ids.max(initial=-1)) + 1) - _chunks(ids.shape[0])
    if chunks * CHUNK_ROWS * one.use.stride * WORD_BYTES <= ids.nbytes:
        return None
    budget.take(ids.nbytes, "the numbers of static rows in a join")
    return KeptRows(one.rows, ids, budget)


def _chunks(rows: int) -> int:
    return -(-rows // CHUNK_ROWS)


class _Table:
    """A static table while it is reduced; mutable: ``masks`` lose bits."""

    def __init__(self, one: StaticUse, columns: Sequence[int]) -> None:
        self.ids, self.times = one.rows.live_rows()
        self.masks = np.empty(self.ids.shape[0], np.int64)
        self._words = {column: np.empty(self.ids.shape[0], np.int64) for column in columns}
        for begin in range(0, self.ids.shape[0], _PIECE):
            values = one.rows.values_of(self.ids[begin : begin + _PIECE])
            end = begin + values.shape[1]
            self.masks[begin:end] = one.selector.select(values).masks
            for column, words in self._words.items():
                words[begin:end] = values[column]

    def keys(self, atom: int, columns: Sequence[int]) -> tuple[Words, list[Words]]:
        """Places of the rows that are left of an atom, and their words in some columns."""
        places = np.flatnonzero((self.masks >> atom) & 1)
        return places, [self._words[column][places] for column in columns]

    def leave_out(self, atom: int, places: Words) -> None:
        """Let rows take no part in an atom."""
        self.masks[places] &= ~(1 << atom)


def _reduce(semi_joins: Sequence[SemiJoin], tables: Mapping[int, _Table]) -> None:
    """Make semi-joins as long as they leave something out; each a bounded number of times."""
    waiting = deque(semi_joins)
    made = dict.fromkeys(semi_joins, 0)
    while waiting:
        one = waiting.popleft()
        made[one] += 1
        places, keys = tables[one.atom].keys(one.atom, one.columns)
        _, others = tables[one.by].keys(one.by, one.others)
        lost = places[~_is_in(keys, others)]
        if lost.shape[0]:
            tables[one.atom].leave_out(one.atom, lost)
            again = (other for other in semi_joins if other.by == one.atom and made[other] < _ROUNDS)
            waiting.extend(other for other in again if other not in waiting)


def _is_in(keys: Sequence[Words], others: Sequence[Words]) -> npt.NDArray[np.bool_]:
    """Which keys are among others; each is given by its words, a line a column."""
    one, other = keys[0], others[0]
    for more, further in zip(keys[1:], others[1:], strict=True):
        one, other = _numbered(one, other)
        second, third = _numbered(more, further)
        width = int(max(second.max(initial=0), third.max(initial=0))) + 1
        one, other = one * width + second, other * width + third
    return np.isin(one, other)


def _numbered(words: Words, others: Words) -> tuple[Words, Words]:
    """Small numbers in place of words, equal where these are."""
    numbers = np.unique(np.concatenate([words, others]), return_inverse=True)[1]
    return numbers[: words.shape[0]], numbers[words.shape[0] :]
