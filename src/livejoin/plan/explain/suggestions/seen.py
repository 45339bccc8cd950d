"""What was seen of the changes of tables, which some declarations would refuse: these are not suggested."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from livejoin.changes import ChangeBatch
from livejoin.plan.explain.suggestions.supposed import Supposed


@dataclass(frozen=True)
class Seen:
    """Tables by what was seen of them, by name in lower case.

    Args:
        changing: The tables that changed.
        leaving: The tables that lost rows.
    """

    changing: frozenset[str] = frozenset()
    leaving: frozenset[str] = frozenset()

    @staticmethod
    def in_log(log: Iterable[ChangeBatch]) -> Seen:
        """What a change log has."""
        there = [batch for batch in log if len(batch.weights)]
        return Seen(
            frozenset(batch.table.name.lower() for batch in there),
            frozenset(batch.table.name.lower() for batch in there if (batch.weights < 0).any()),
        )

    def refutes(self, supposed: Iterable[Supposed]) -> bool:
        """Whether one of some declarations is not true of what was seen."""
        by_kind = {"static table": self.changing, "append-only table": self.leaving}
        return any(one.table.lower() in by_kind.get(one.kind, ()) for one in supposed)


NOTHING_SEEN = Seen()
