"""The plans of queries that were asked once, kept for when the same text is asked again.

Binding and planning a text takes some 10 ms, however little data there is; most who ask do so again.
"""

from __future__ import annotations

from _thread import RLock
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from livejoin.database.view import ViewOptions
from livejoin.plan.operators import Operator
from livejoin.query.bound_query import Query
from livejoin.schema import Table

if TYPE_CHECKING:
    from livejoin.database.contents import Contents

_KEPT = 128  # texts
_LONGEST = 10_000  # characters of a text that is kept
_FEW = 1_000  # rows, of which it does not matter how many there are
_GROWTH = 4


@dataclass(frozen=True, eq=False)
class AskedPlan:
    """The plan of a text.

    Args:
        query: The query that the text is.
        options: How the query is maintained for the moment in which it is there.
        plan: The operators of the query.
        names: The tables and the queries of the views that the text names, by name in lower case; None for a name that
            was none of them.
        sizes: The rows of the tables that the query reads, by name in lower case, when the plan was made.
    """

    query: Query
    options: ViewOptions
    plan: Operator
    names: Mapping[str, Table | Query | None]
    sizes: Mapping[str, int]

    def fits(self, contents: Contents) -> bool:
        """Whether the text means the same in a database as it is now, and the plan is still the one to take."""
        for name, meant in self.names.items():
            found = named(contents, name)
            if found is not meant and (not isinstance(found, Table) or found != meant):
                return False
        return all(_is_like(contents.tables[name].rows, rows) for name, rows in self.sizes.items())


def named(contents: Contents, name: str) -> Table | Query | None:
    """What a name in lower case stands for in a query; None for nothing."""
    view = contents.views.get(name)
    if view is not None:
        return view._query
    return contents.catalog.get(name)


def _is_like(rows: int, before: int) -> bool:
    """Whether a plan for so many rows is one for others too."""
    fewer, more = sorted((rows, before))
    return more <= max(_FEW, _GROWTH * fewer)


class AskedPlans:
    """The plans of the texts that were asked last; may be used from any thread."""

    def __init__(self) -> None:
        self._lock = RLock()
        self._plans: dict[str, AskedPlan] = {}

    def of(self, text: str) -> AskedPlan | None:
        """The plan of a text; None if none is kept. The caller asks whether it fits."""
        with self._lock:
            found = self._plans.pop(text, None)
            if found is not None:
                self._plans[text] = found  # the last one to go
            return found

    def keep(self, text: str, plan: AskedPlan) -> None:
        """Keep the plan of a text, in the place of the one that has waited longest if there are many."""
        if len(text) > _LONGEST:
            return
        with self._lock:
            self._plans[text] = plan
            if len(self._plans) > _KEPT:
                del self._plans[next(iter(self._plans))]
