"""CHECK: no row of a table makes one of its conditions false. NULL passes, as SQL has it.

The conditions are evaluated over the rows that a commit brings, when their words are known and before any of them is
staged, whatever becomes of the rows afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from livejoin.database.declared.row_expression import RowExpression, row_expression
from livejoin.dataflow.evaluator import Evaluator
from livejoin.errors import ChangeValueError, ExpressionError, SchemaError
from livejoin.schema import Check, Table
from livejoin.shown import shown_row
from livejoin.state.codec import Codec
from livejoin.words import Words

_SHOWN = 6  # columns of a row in a message


@dataclass(frozen=True, eq=False)
class Checks:
    """The conditions of a table, ready to be evaluated.

    Args:
        table: The table.
        codec: The dictionaries of the words.
        parts: The conditions, and what evaluates them.
    """

    table: Table
    codec: Codec
    parts: tuple[tuple[Check, RowExpression, Evaluator | None], ...]

    @classmethod
    def of(cls, table: Table, codec: Codec) -> Checks:
        """The conditions of a table over the dictionaries of a database.

        Raises:
            SchemaError: A condition is wrong.
        """
        bound = [(check, bound_check(table, check)) for check in table.checks]
        return cls(table, codec, tuple((check, one, one.evaluator(codec)) for check, one in bound))

    def refuse_broken(self, words: Words, come: npt.NDArray[np.bool_]) -> None:
        """Refuse rows for which a condition is false.

        Args:
            words: The words of the changes, of shape (columns, rows).
            come: Whether each change brings its row.

        Raises:
            ChangeValueError: A row makes a condition false; the message names both.
            ExpressionError: A condition has no value for some row.

        Cost: O(rows * conditions).
        """
        rows = np.flatnonzero(come)
        some = words if rows.shape[0] == words.shape[1] else np.ascontiguousarray(words[:, rows])
        if not rows.shape[0]:
            return
        for check, expression, evaluator in self.parts:
            try:
                values = expression.values(evaluator, self.codec, some)
            except ExpressionError as error:
                msg = f"table {self.table.name!r}: CHECK {check.name} ({check.text}): {error}"
                raise ExpressionError(msg) from error
            broken = _is_false(values)
            if broken.any():
                row = int(np.argmax(broken))
                raise ChangeValueError(self._broken(check, some[:, row : row + 1]), self.table.name, int(rows[row]))

    def _broken(self, check: Check, words: Words) -> str:
        first = dict.fromkeys((*self.table.primary_key, *check.columns))
        columns = [self.table.columns[place] for place in first]
        arrays = [self.codec.decode(words[place], column.type) for place, column in zip(first, columns, strict=True)]
        row = pa.Table.from_arrays(arrays, names=[column.name for column in columns])
        return f"the row ({shown_row(row, _SHOWN)}) breaks CHECK {check.name} ({check.text})"


def bound_check(table: Table, check: Check) -> RowExpression:
    """The bound condition.

    Raises:
        SchemaError: The condition is none.
    """
    found = row_expression(table, check.text, f"CHECK {check.name}")
    if found.type.kind != "boolean":
        msg = f"table {table.name!r}: CHECK {check.name} ({check.text}) is {found.type}; allowed are conditions"
        raise SchemaError(msg)
    try:
        found.evaluator(Codec())
    except ExpressionError as error:
        msg = f"table {table.name!r}: CHECK {check.name} ({check.text}) has no value for any row: {error}"
        raise SchemaError(msg) from error
    return found


def _is_false(values: Words | pa.ChunkedArray) -> npt.NDArray[np.bool_]:
    if isinstance(values, np.ndarray):
        words: npt.NDArray[np.bool_] = values == 0
        return words
    found: npt.NDArray[np.bool_] = ~values.fill_null(True).to_numpy()
    return found
