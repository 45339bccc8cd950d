"""The results of a join as rows: the columns of its head, and what is computed from them."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from functools import cached_property

import numpy as np
import pyarrow as pa

from livejoin.dataflow.batches import Rows
from livejoin.dataflow.deltas.message import MessageLayout, Strings, layout_of
from livejoin.dataflow.evaluator import Evaluator
from livejoin.families.delta_chunk import DeltaChunk
from livejoin.query import ConjunctiveQuery
from livejoin.query.scalar import Expression
from livejoin.schema import Column, SqlType
from livejoin.state.codec import Codec, is_coded
from livejoin.words import Words


class Results:
    """What makes rows of the words that a join writes.

    Args:
        query: The join as it was asked for: a bag may have another type, and no name that a user knows.
        types: The types of its outputs.
        codec: The database's codec.

    Attributes:
        has_codes: Whether words of the outputs may be codes of dictionaries.
        computes: Whether some output is computed.
        holds_values: One or the other, so that the words of a chunk are not all that its rows are.
        is_detached: Whether these are the results of `detached`.
    """

    def __init__(self, query: ConjunctiveQuery, types: Sequence[SqlType], codec: Codec) -> None:
        self.query = query
        self._types = tuple(types)
        self._codec = codec
        self.has_codes = any(is_coded(type) for type in types)
        self._sources = [output.source for output in query.outputs]
        columns = [query.atoms[ref.atom].table.columns[ref.column] for ref in query.head]
        self._head = tuple(column.type for column in columns)
        self._leads = self._sources == list(range(len(self._types)))  # the outputs are the first columns of the head
        computed = [(o.name, o.source) for o in query.outputs if isinstance(o.source, Expression)]
        self._evaluator = None
        if computed:
            inside = [Column(f"c{i}", column.type, column.nullable) for i, column in enumerate(columns)]
            names = [query.atoms[ref.atom].readable(ref.column) for ref in query.head]
            shown = [name for name, _ in computed]
            self._evaluator = Evaluator([one for _, one in computed], inside, codec, shown, names)
        self.computes = self._evaluator is not None
        self.holds_values = self.has_codes or self.computes
        self.is_detached = False

    @cached_property
    def message(self) -> MessageLayout | None:
        """What a small delta is written as; None where the words of a chunk do not say what its rows are."""
        lines = tuple(source for source in self._sources if isinstance(source, int))
        return layout_of(self._types, lines) if len(lines) == len(self._types) else None

    def strings(self, words: Words) -> Strings | None:
        """The strings of a small delta, column by column; None if they are too many for a message, or there is none.

        Args:
            words: The words of the delta.
        """
        if self.message is None:
            return None
        lines = self.message.texts
        codes = words[lines[0]] if len(lines) == 1 else words[lines].reshape(-1)
        return self._codec.strings_of(codes)

    @cached_property
    def of_shown(self) -> Results:
        """What makes rows of the words of a chunk that `shown` gave: each output is there as it is."""
        return self._with(
            _sources=list(range(len(self._types))),
            _leads=True,
            _evaluator=None,
            computes=False,
            holds_values=self.has_codes,
        )

    @cached_property
    def detached(self) -> Results:
        """These results for readers of rows with values or without codes: they hold nothing of the database."""
        plain = {"computes": False, "holds_values": self.has_codes, "is_detached": True}
        return self._with(_codec=Codec(), _evaluator=None, **plain)

    def _with(self, **changes: object) -> Results:
        """A copy with other values of some attributes."""
        results = copy(self)
        for derived in ("of_shown", "detached", "message"):
            vars(results).pop(derived, None)
        vars(results).update(changes)
        return results

    def rows(self, words: Words) -> Rows:
        """The rows of results.

        Args:
            words: int64 of shape (head columns or more, rows); not to be written to afterwards.

        Raises:
            ExpressionError: An output has no value for some row.

        Cost: O(rows) a computed output; the others are not copied.
        """
        length = words.shape[1]
        if self._evaluator is None:
            if self._leads and words.flags.c_contiguous:
                return Rows.of_words(self._codec, self._types, words[: len(self._types)])
            columns: list[Words | pa.Array | pa.ChunkedArray] = [words[s] for s in self._sources if isinstance(s, int)]
            return Rows(self._codec, self._types, columns, length)
        head = Rows(self._codec, self._head, list(words[: len(self._head)]), length)
        computed = iter(self._evaluator.values(head))
        columns = [head.column(s) if isinstance(s, int) else next(computed) for s in self._sources]
        return Rows(self._codec, self._types, columns, length)

    def shown(self, chunk: DeltaChunk, rows: Rows) -> DeltaChunk:
        """A chunk whose words are those of the outputs alone; nothing is copied if these are the head.

        Args:
            chunk: The chunk.
            rows: The `rows` of the chunk.
        """
        if self._leads:
            return DeltaChunk(chunk.words[: len(self._types)], chunk.runs)
        words = rows.words()
        assert words is not None, "a join shows no lists"
        matrix = np.array(words, np.int64).reshape(len(words), chunk.rows)
        return DeltaChunk(matrix, chunk.runs)
