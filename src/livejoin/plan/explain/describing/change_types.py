"""Of which change types the rows of a query's deltas are."""

from __future__ import annotations

from livejoin.plan.operators import Operator
from livejoin.query.bound_query import Query
from livejoin.query.keys import keys


def change_types(query: Query, plan: Operator) -> str:
    """How a row that takes another one's place stands in a delta, in a sentence.

    Args:
        query: The query.
        plan: The operator that gives its rows.
    """
    names = query.schema.names
    found = plan.replaced_by
    if found is not None:
        of = ", ".join(names[column] for column in found if column < len(names))
        group = f"of a group ({of})" if of else "of the one row"
        return f"a change {group} is an update_preimage and an update_postimage; new rows are inserts, others deletes"
    said = "a row that goes is a delete, one that comes an insert"
    known = sorted((sorted(key) for key in keys(query.root)), key=len)
    if not known:
        return said
    key = ", ".join(names[column] for column in known[0]) or "all of the view"
    return f"{said}; by the key ({key}), view.changes(paired=True) makes updates of rows that take each other's place"
