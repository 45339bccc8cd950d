"""Which blocks may read a table whose rows are not kept: groups of sums, and they keep all that is left of the rows.

Law of `refuse_unkept`: in a plan that passes, every way up from such a table leads, through blocks without a state, to
a store of groups whose aggregates are sums and counts, and which reads nothing else. That store can be made anew from
what it was and the changes since (`livejoin.state.trusted_table`).
"""

from __future__ import annotations

from collections.abc import Mapping

from livejoin.dataflow.stores.aggregate import AggregateStore
from livejoin.dataflow.stores.aggregate_plan import values_needed
from livejoin.errors import AbsentRowError, UnsupportedQueryError
from livejoin.plan.operators import (
    AggregateOperator,
    Operator,
    ProjectOperator,
    RepeatedOperator,
    SelectedOperator,
    SetOperator,
)
from livejoin.shown import shown_scalar
from livejoin.state.codec import Codec
from livejoin.state.kept_groups import KeptGroups
from livejoin.state.table import BaseTable
from livejoin.state.trusted_table import TrustedTable

_INSTEAD = (
    "Group its rows by COUNT, SUM, AVG and the like in a view or a WITH, and read the groups; or declare the table "
    "with deletes = 'checked', the default, which keeps its rows"
)


class Keeper:
    """A store of groups of a table that keeps no rows.

    Args:
        table: The table.
        digest: The digest of the store's block.
    """

    def __init__(self, table: TrustedTable, digest: str) -> None:
        self.table, self._digest = table, digest

    def groups(self) -> KeptGroups | None:
        """As `TrustedTable.groups_of`."""
        return self.table.groups_of(self._digest)

    def check(self, store: AggregateStore, codec: Codec) -> None:
        """Refuse a version behind which a group has fewer rows than none.

        Raises:
            AbsentRowError: There is such a group.
        """
        found = store.unsound
        if found is None:
            return
        groups, name = store.plan.groups, self.table.table.name
        values = ", ".join(shown_scalar(found.arrow(place)[0]) for place in range(groups))
        which = f"the group ({values})" if groups else "all rows"
        msg = (
            f"deletions take more or other rows out of {which} than came: table {name!r} has deletes = 'trusted', so "
            "that each deletion has to be of a row that is there. The source has sent a row twice or not at all; "
            "nothing was applied"
        )
        raise AbsentRowError(msg, name)


def keeper_of(plan: Operator, tables: Mapping[str, BaseTable], digest: str) -> Keeper | None:
    """The keeper of a block, if it is the store of groups of a table that keeps no rows."""
    if not isinstance(plan, AggregateOperator):
        return None
    name = _passed(plan.input, tables)
    table = tables.get(name)
    return Keeper(table, digest) if isinstance(table, TrustedTable) else None


def refuse_unkept(plan: Operator, tables: Mapping[str, BaseTable]) -> None:
    """Refuse a plan that needs rows of a table that keeps none.

    Args:
        plan: The operator of a view.
        tables: The base tables by name in lower case.

    Raises:
        UnsupportedQueryError: It does; the message says what needs them.
    """
    if not any(isinstance(base, TrustedTable) for base in tables.values()):
        return
    if name := _look(plan, tables):
        raise _refused(tables[name].table.name, "the view shows rows of it")


def _look(plan: Operator, tables: Mapping[str, BaseTable]) -> str:
    """The table, in lower case, whose rows pass through an operator without being kept; empty if there is none."""
    passing = [_look(one, tables) for one in plan.below]
    own = [name for name in sorted(plan.reads) if isinstance(tables.get(name), TrustedTable)]
    found = next((name for name in (*own, *passing) if name), "")
    if not found:
        return ""
    name = tables[found].table.name
    match plan:
        case SelectedOperator() | ProjectOperator() | RepeatedOperator():
            return found
        case SetOperator() if plan.is_union_all:
            if any(one != found for one in passing):
                raise _refused(name, "UNION ALL has other rows beside its own")
            return found
        case AggregateOperator():
            if values := values_needed(plan.input.types, plan.calls):
                said = ", ".join(dict.fromkeys(_said(call.function, call.distinct) for call in values))
                raise _refused(name, f"{said} would have to know which rows stay when one leaves")
            return ""
        case _:
            raise _refused(name, f"they are read by {plan.kind}")


def _passed(plan: Operator, tables: Mapping[str, BaseTable]) -> str:
    """The table whose rows pass through an operator of a plan that was not refused; empty if there is none."""
    match plan:
        case SelectedOperator() | ProjectOperator() | RepeatedOperator() | SetOperator():
            if isinstance(plan, SetOperator) and not plan.is_union_all:
                return ""
            below = [_passed(one, tables) for one in plan.below]
            own = [name for name in plan.reads if isinstance(tables.get(name), TrustedTable)]
            return next((name for name in (*own, *below) if name), "")
        case _:
            return ""


def _said(function: str, distinct: bool) -> str:
    return f"{function.upper()}(DISTINCT ...)" if distinct else f"{function.upper()}(...)"


def _refused(table: str, what: str) -> UnsupportedQueryError:
    msg = f"table {table!r} has deletes = 'trusted', so that its rows are not kept, and {what}. {_INSTEAD}"
    return UnsupportedQueryError(msg, clause="FROM")
