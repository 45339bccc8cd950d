"""What a view keeps of rows that no table keeps, as words that stand alone: groups with sums, or rows with numbers."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from livejoin.schema import SqlType
from livejoin.state.recoding import Recoding
from livejoin.words import Words


@dataclass(frozen=True, eq=False)
class Kept:
    """Groups with what is added up of their rows (`livejoin.kernels.groups.kept`), or distinct rows.

    Args:
        values: Of groups words of shape (columns of the key, one, and words of the sums; groups); of rows words of
            shape (columns, rows).
        beside: Of groups the words of sums of doubles, one sum after the other; of rows how often each is there.
        types: The types of the columns of the key, or of the rows.
    """

    values: Words
    beside: Words
    types: tuple[SqlType, ...]

    @property
    def nbytes(self) -> int:
        """Bytes allocated."""
        return self.values.nbytes + self.beside.nbytes

    def recoded(self, recoding: Recoding) -> Kept:
        """The same with the words of new dictionaries."""
        values = self.values.copy()
        for place, type_ in enumerate(self.types):
            values[place] = recoding.words(type_, values[place])
        return replace(self, values=values)

    def arrays(self) -> dict[str, Words]:
        """What a snapshot keeps; the types are those of the plan."""
        return {"values": np.ascontiguousarray(self.values), "beside": self.beside}
