"""What a view needs to know of base rows beside their values, a batch at a time.

That is the atoms that a row takes part in, because their predicates hold and their join columns are not NULL, and the
factors of annotations.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from itertools import accumulate

import numpy as np

from livejoin.dataflow.evaluator import Evaluator
from livejoin.families.layout.table_use import TableUse
from livejoin.kernels.join.masks import mask_rows
from livejoin.query import ConjunctiveQuery
from livejoin.schema import Table
from livejoin.state.codec import Codec
from livejoin.words import NULL_CODE, Words

_FEW = 1 << 10  # rows, of which those without NULL share one mask
NO_VALUES = np.empty((0, 0), np.int64)


@dataclass(eq=False)
class Selection:
    """What a join has to know of rows of a table.

    Args:
        masks: One word a row with the bit of every atom that the row takes part in; not to be written to.
        factors: int64 of shape (factors, rows); of shape (0, 0) where there are none.
    """

    masks: Words
    factors: Words


class Selector:
    """Selects for one join the rows of one table.

    Args:
        query: The join's query.
        use: How it uses the table.
        table: The table.
        codec: The database's codec.
    """

    def __init__(self, query: ConjunctiveQuery, use: TableUse, table: Table, codec: Codec) -> None:
        atoms = [(i, atom) for i, atom in enumerate(query.atoms) if atom.table.name == table.name]
        self.table = table.name
        # The atoms by the columns that must not be NULL, as bits of a mask: a self-join looks at its columns once.
        joined: dict[tuple[int, ...], int] = {}
        for i, atom in atoms:
            found = {atom.column_of(v) for v in query.join_variables(i)}
            columns = tuple(sorted(column for column in found if table.columns[column].nullable))
            joined[columns] = joined.get(columns, 0) | (1 << i)
        self._all = reduce(int.__or__, joined.values(), 0)
        self._of_few = np.full(_FEW, self._all, np.int64)  # for rows without NULL; nobody writes to it
        groups = [(columns, ~bits) for columns, bits in joined.items() if columns]
        lines = ([0, *accumulate(len(c) for c, _ in groups)], [i for c, _ in groups for i in c], [b for _, b in groups])
        self._groups = tuple(np.array(line, np.int64) for line in lines)
        predicates: dict[str, int] = {}
        expressions = []
        for i, atom in atoms:
            if atom.predicate is not None:
                if atom.predicate.identity not in predicates:
                    expressions.append(atom.predicate)
                predicates[atom.predicate.identity] = predicates.get(atom.predicate.identity, 0) | (1 << i)
        self._unfit = np.array([~bits for bits in predicates.values()], np.int64)
        self._evaluator = None
        if expressions or use.factors:
            self._evaluator = Evaluator([*expressions, *use.factors], table.columns, codec)

    @property
    def takes_all(self) -> bool:
        """Whether every row takes part in every atom."""
        return not (self._groups[1].shape[0] or self._unfit.shape[0])

    def select(self, words: Words, is_whole: bool = False) -> Selection:
        """What the join has to know.

        Args:
            words: The words of the rows, int64 of shape (columns, rows).
            is_whole: Whether it is known that there is no NULL among them.

        Raises:
            ExpressionError: A predicate or a factor has no value for some row.
        """
        rows = words.shape[1]
        if is_whole and self._evaluator is None and rows <= _FEW:
            return Selection(self._of_few[:rows], NO_VALUES)
        values = NO_VALUES if self._evaluator is None else self._evaluator.words(words)
        masks = np.empty(rows, np.int64)
        begins, columns, others = self._groups
        mask_rows(words, begins, columns, others, self._all, values, self._unfit, masks)
        predicates = self._unfit.shape[0]
        if values.shape[0] == predicates:
            return Selection(masks, NO_VALUES)
        factors = values[predicates:]
        factors[factors == NULL_CODE] = 0
        return Selection(masks, factors)
