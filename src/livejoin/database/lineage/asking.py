"""What a user asks of a view's rows: the values are read, the database is looked at, and left as it was."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from livejoin.changes import Coerce
from livejoin.database import reading
from livejoin.database.lineage.explained import Explainer
from livejoin.database.lineage.found import Why, WhyNot, values_text
from livejoin.database.lineage.missing import SHOWN, missing
from livejoin.database.lineage.narrowing import Reader
from livejoin.errors import ReadError
from livejoin.state.budget import READ

if TYPE_CHECKING:
    from livejoin.database.reading import Row
    from livejoin.database.view import View


def why(view: View, row: Row, limit: int, coerce: Coerce, scan: bool) -> Why:
    """As `livejoin.database.view.View.why`, of a limit that was checked."""
    given = _by_name(view, row)
    with _explaining(view, limit, scan) as explainer:
        names = view.schema.names
        asked = reading.asked_values(given, view._query, coerce)
        if len(asked) < len(names):
            _refuse_no_key(view, given)
            found = explainer.trail(view._query.root, asked, 1)
            if not found.length:
                raise _not_there(view, given)
            asked = {at: found.values.column(at).combine_chunks() for at in range(len(names))}
        answer = explainer.why(view.name, view._query.root, names, asked)
        if answer is None:
            raise _not_there(view, given)
        return answer


def why_not(view: View, row: Row, coerce: Coerce, scan: bool) -> WhyNot:
    """As `livejoin.database.view.View.why_not`."""
    given = _by_name(view, row)
    with _explaining(view, SHOWN, scan) as explainer:
        asked = reading.asked_values(given, view._query, coerce)
        found = missing(explainer, view._query.root, view.schema.names, asked)
    if found is None:
        what = f"a row with {values_text(given)}" if given else "rows"
        msg = f"view {view.name!r} has {what}; why() says what a row is made of"
        raise ReadError(msg)
    return WhyNot(view.name, given, found.reason, found.rows)


@contextmanager
def _explaining(view: View, limit: int, scan: bool) -> Iterator[Explainer]:
    """What finds rows of a view's database; blocks that are made for it go in the end."""
    contents = view._images.contents
    names = {name: one.name for name, one in contents.views.items()}
    contents.start_changing()
    try:
        contents.budget.begin(READ)
        yield Explainer(Reader(contents, view._options, scan), limit, names)
    finally:
        contents.end_changing()


def _by_name(view: View, row: Row) -> Mapping[str, Any]:
    """The values of a row by the names of the columns, perhaps of some alone."""
    names = view.schema.names
    if isinstance(row, Mapping):
        return reading.by_name(row, view.name, names)
    return dict(zip(names, reading.values_in_order(row, view.schema), strict=True))


def _refuse_no_key(view: View, given: Mapping[str, Any]) -> None:
    if not any(given.keys() >= set(key) for key in view.keys):
        known = " or ".join(f"({', '.join(key)})" for key in view.keys)
        keys = f" or those of a key, {known}" if known else "; it has no key that is known"
        msg = f"why() asks for one row: give all columns, {', '.join(view.schema.names)}{keys}"
        raise ReadError(msg)


def _not_there(view: View, given: Mapping[str, Any]) -> ReadError:
    what = values_text(given)
    return ReadError(f"view {view.name!r} has no row with {what}; why_not() says what is missing")
