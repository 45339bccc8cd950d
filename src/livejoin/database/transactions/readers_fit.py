"""Whether views go on over other columns of what they read, and else why not, one by one."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from livejoin.database.view import View
from livejoin.query.bound_query import Query


def same_columns(view: View, query: Query) -> bool:
    """Whether a query gives columns of the names and types of a view's."""
    return view.schema.equals(query.schema) and view._query.root.types == query.root.types


def other_columns(view: View, query: Query) -> str:
    """What is other in the columns of a query than in those of a view, as ``it would lose column 'a'``."""
    old = dict(zip(view.schema.names, zip(view._query.root.types, view.schema, strict=True), strict=True))
    new = dict(zip(query.schema.names, zip(query.root.types, query.schema, strict=True), strict=True))
    found = [f"it would lose column {name!r}" for name in old if name not in new]
    found += [f"it would get a column {name!r}, {new[name][0]}" for name in new if name not in old]
    for name in [name for name in old if name in new]:
        (was, before), (type, behind) = old[name], new[name]
        if was != type:
            found.append(f"its column {name!r} would be {type}, and is {was}")
        elif before.nullable != behind.nullable:
            found.append(f"its column {name!r} would {'' if behind.nullable else 'not '}have NULL")
        elif not before.equals(behind):
            found.append(f"its column {name!r} would be {behind.type}, and is {before.type}")
    return "; ".join(found or [f"its columns would stand in the order {', '.join(map(repr, new))}"])


def reads_refused(view: View, refused: Collection[str]) -> str | None:
    """The reason of a view that reads one that cannot go on; None if it reads none.

    Args:
        view: The view.
        refused: The names of the views that cannot go on.
    """
    read = {name.lower() for name in view._query.reads}
    found = [name for name in refused if name.lower() in read]
    return f"it reads {', '.join(map(repr, found))}" if found else None


def with_reasons(refused: Mapping[str, str]) -> str:
    """Views by their names, each with its reason.

    >>> with_reasons({"w": "it would lose column 'a'", "x": "it reads 'w'"})
    "'w' (it would lose column 'a'), 'x' (it reads 'w')"
    """
    return ", ".join(f"{name!r} ({reason})" for name, reason in refused.items())
