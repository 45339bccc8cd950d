"""What the change types of a delta promise: where rows are groups, an update pair is the old and the new row of one.

Law: an insertion is of a group that was not there, a deletion of one that is gone; a preimage was there, its postimage
is there now, both are of one group, differ, and stand next to each other. Elsewhere there are no update pairs.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pyarrow as pa

from oracle import signed_multiset
from scenario import QuerySpec, Row, canonical_row

_PAIR = ("update_preimage", "update_postimage")


def assert_kinds(delta: pa.Table, query: QuerySpec, before: Counter[Row], after: Counter[Row], context: str) -> None:
    """Fail unless the types of a delta of one version are what the query's rows allow, and the delta is net.

    Args:
        delta: The delta.
        query: The view's query.
        before: The view's rows before the version.
        after: The view's rows after it.
        context: What the delta is of.
    """
    *columns, kinds = (delta[name].to_pylist() for name in [*_shown(delta), "_change_type"])
    rows = [canonical_row(row) for row in zip(*columns, strict=True)]
    if query.groups is None:
        assert set(kinds) <= {"insert", "delete"}, f"{context}: {set(kinds)}"
    if query.groups is None or query.shows_groups:
        signed = signed_multiset(delta)
        assert sum(map(abs, signed.values())) == delta.num_rows, f"{context}: a row is both inserted and deleted"
    followers = [following for kind, following in pairwise([*kinds, ""]) if kind == _PAIR[0]]
    assert followers == [_PAIR[1]] * kinds.count(_PAIR[1]), f"{context}: an update without its other half: {kinds}"
    if query.groups is None:
        return
    for place, (kind, row) in enumerate(zip(kinds, rows, strict=True)):
        assert row in (before if kind in ("delete", _PAIR[0]) else after), f"{context}: {kind} of {row}"
        if kind == _PAIR[0]:
            assert row != rows[place + 1], f"{context}: an update changes nothing of {row}"
    if not query.shows_groups:
        return
    groups = [tuple(row[i] for i in query.groups) for row in rows]
    old, new = ({tuple(row[i] for i in query.groups) for row in there} for there in (before, after))
    for place, (kind, group) in enumerate(zip(kinds, groups, strict=True)):
        if kind == _PAIR[0]:
            assert group == groups[place + 1], f"{context}: an update turns {rows[place]} into {rows[place + 1]}"
        elif kind in ("insert", "delete"):
            assert group not in (old if kind == "insert" else new), f"{context}: {kind} of the group {group}"


def _shown(delta: pa.Table) -> list[str]:
    return [name for name in delta.column_names if not name.startswith("_")]
