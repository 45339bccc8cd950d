"""Which blocks keep what is left of the rows of a table that keeps none: groups of sums, and rows with their numbers.

Law: in a plan every way up from such a table leads, through blocks without a state, to a store of groups whose
aggregates are sums and counts, or to rows that are stored, and this block reads no other table (`livejoin.plan.lower`).
It is a *keeper*: it can be made anew from what it was and the changes since (`livejoin.state.trusted_table`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from livejoin.dataflow.batches import Rows
from livejoin.dataflow.stores.aggregate import AggregateStore
from livejoin.errors import AbsentRowError
from livejoin.plan.operators import (
    AggregateOperator,
    Operator,
    ProjectOperator,
    RepeatedOperator,
    SelectedOperator,
    SetOperator,
    StoredOperator,
)
from livejoin.schema import SqlType
from livejoin.shown import shown_scalar
from livejoin.state.codec import Codec
from livejoin.state.derived_rows import DerivedEvents, DerivedRows
from livejoin.state.kept import Kept
from livejoin.state.table import BaseTable
from livejoin.state.trusted_table import TrustedTable


class Keeper:
    """What a keeper knows of the table that keeps no rows.

    Args:
        table: The table.
        digest: The digest of its block.
    """

    def __init__(self, table: TrustedTable, digest: str) -> None:
        self.table, self._digest = table, digest

    def kept(self) -> Kept | None:
        """As `TrustedTable.kept_of`."""
        return self.table.kept_of(self._digest)

    def check(self, store: AggregateStore) -> None:
        """Refuse a version behind which a group has fewer rows than none.

        Raises:
            AbsentRowError: There is such a group.
        """
        found, groups = store.unsound, store.plan.groups
        if found is not None:
            values = ", ".join(shown_scalar(found.arrow(place)[0]) for place in range(groups))
            which = f"the group ({values})" if groups else "the table"
            raise self._absent(f"deletions take more or other rows out of {which}")

    def check_rows(self, rows: DerivedRows, changed: DerivedEvents, codec: Codec, types: Sequence[SqlType]) -> None:
        """Refuse a version behind which a row is there less often than never.

        Raises:
            AbsentRowError: There is such a row.
        """
        left = changed.rows[changed.weights < 0]
        absent = left[rows.words[left * rows.stride] < 0] if left.shape[0] else left
        if absent.shape[0]:
            values = Rows.of_words(codec, tuple(types), rows.values_of(absent[:1]))
            row = ", ".join(shown_scalar(values.arrow(place)[0]) for place in range(len(types)))
            raise self._absent(f"deletions take a row out, of which a view keeps ({row}), more often")

    def _absent(self, what: str) -> AbsentRowError:
        name = self.table.table.name
        msg = (
            f"{what} than came: the table has deletes = 'trusted', so that each deletion has to be of a row that is "
            "there. The source has sent a row twice or not at all, or the backfill of a view had no such row; nothing "
            "was applied"
        )
        return AbsentRowError(msg, name)


def keeper_of(plan: Operator, tables: Mapping[str, BaseTable], digest: str) -> Keeper | None:
    """The keeper of a block, if it keeps what is left of the rows of a table."""
    if not isinstance(plan, (AggregateOperator, StoredOperator)):
        return None
    table = tables.get(passed(plan.input, tables))
    return Keeper(table, digest) if isinstance(table, TrustedTable) else None


def passed(plan: Operator, tables: Mapping[str, BaseTable]) -> str:
    """The table, in lower case, whose rows pass through an operator without being kept; empty if there is none."""
    if not isinstance(plan, (SelectedOperator, ProjectOperator, RepeatedOperator, SetOperator)) or plan.keeps_state:
        return ""
    own = [name for name in plan.reads if isinstance(tables.get(name), TrustedTable)]
    return next((name for name in (*own, *(passed(one, tables) for one in plan.below)) if name), "")
