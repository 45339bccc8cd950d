"""What blocks that keep nothing have in common: their relation is computed from those below when it is asked for."""

from __future__ import annotations

from collections.abc import Mapping

from livejoin.schema import Kind
from livejoin.words import Words


class Stateless:
    """No state to load, to keep, or to check."""

    def fill(self) -> None:
        pass

    def finish(self) -> None:
        pass

    def undo(self) -> None:
        pass

    def used_words(self, kind: Kind) -> list[Words]:
        return []

    def arrays(self) -> dict[str, Words]:
        return {}

    def restore(self, arrays: Mapping[str, Words]) -> None:
        pass

    def sizes(self) -> tuple[int, int]:
        return 0, 0

    def is_sparse(self) -> bool:
        return False

    def _check(self) -> None:
        pass
