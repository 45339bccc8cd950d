"""The groups that a view keeps of rows which no table keeps, as words that stand alone."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from livejoin.schema import SqlType
from livejoin.state.recoding import Recoding
from livejoin.words import Words


@dataclass(frozen=True, eq=False)
class KeptGroups:
    """Groups with what is added up of their rows (`livejoin.kernels.groups.kept`).

    Args:
        values: Words of shape (columns of the key, one, and words of the sums; groups).
        windows: The words of sums of doubles, one sum after the other.
        types: The types of the columns of the key.
    """

    values: Words
    windows: Words
    types: tuple[SqlType, ...]

    @property
    def nbytes(self) -> int:
        """Bytes allocated."""
        return self.values.nbytes + self.windows.nbytes

    def recoded(self, recoding: Recoding) -> KeptGroups:
        """The same groups with the words of new dictionaries."""
        values = self.values.copy()
        for place, type_ in enumerate(self.types):
            values[place] = recoding.words(type_, values[place])
        return replace(self, values=values)

    def arrays(self) -> dict[str, Words]:
        """What a snapshot keeps; the types are those of the plan."""
        return {"values": np.ascontiguousarray(self.values), "windows": self.windows}
