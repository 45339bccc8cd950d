"""Explanations for somebody who may read some views and tables, and not others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from livejoin.database import Database
from livejoin.errors import AbsentNameError
from livejoin.plan import Explanation
from livejoin.server.access import Who
from livejoin.server.permissions import refuse_but_admin, view_for
from livejoin.shown import meant
from livejoin.sql import Explain, names_read, names_said


def explained_view(db: Database, who: Who, name: str, analyze: bool) -> Explanation:
    """What a view costs, and why; with ``analyze`` also what it really cost, which begins to count it.

    Raises:
        AbsentNameError: There is no such view for them.
        RequestError: Who asks is no admin, and the view is to be analyzed.
    """
    if analyze:  # it costs something, and names values of tables
        refuse_but_admin(who, "analyzing a view")
    return view_for(db, name, who).explain(analyze=analyze)


def explained_for(db: Database, who: Who, sql: str, suppose: Sequence[Any] = ()) -> Explanation:
    """What a query would cost as a view, for somebody who may read all that it names.

    Raises:
        AbsentNameError: The query names something else, there or not.
    """
    if not who.reads_all:
        there = {name.lower(): name for name in (*db.tables, *db.views)}
        known = [name for name in there.values() if who.may_read(name)]
        hidden = {name for name in there if not who.may_read(there[name])}
        for name in sorted(names_said(sql) & hidden | names_read(sql) - there.keys()):
            msg = f"there is no table or view {name!r} that this token may read{meant(name, known)}"
            raise AbsentNameError(msg)
        supposed = {str(one["table"]).lower() for one in suppose if isinstance(one, dict) and "table" in one}
        for name in sorted(supposed - {name.lower() for name in known}):
            msg = f"there is no table {name!r} that this token may read{meant(name, known)}"
            raise AbsentNameError(msg)
    return db.explain(sql, suppose=suppose)


def explained_as_asked(db: Database, who: Who, asked: Explain) -> Explanation:
    """What an ``EXPLAIN`` asks for; raises as `explained_view` and `explained_for` do."""
    if asked.view:
        return explained_view(db, who, asked.view, asked.analyze)
    return explained_for(db, who, asked.query)
