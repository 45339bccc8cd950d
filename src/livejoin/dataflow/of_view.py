"""Errors of expressions, of what does not fit and of files, say which view they are of."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from livejoin.errors import CapacityError, ChangeValueError, ExpressionError, StorageError

ASKED_ONCE = "the query"
"""The name of a query that is asked once, as of a view."""


class OfView:
    """A context that puts names before what blocks fail with; where nothing fails nobody asks for them.

    Args:
        names: Gives the names of views.
    """

    __slots__ = ("_names",)

    def __init__(self, names: Callable[[], Sequence[str]]) -> None:
        self._names = names

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None:
            self.name(error)

    def name(self, error: BaseException) -> None:
        """Raise an error anew with the names before it, if it is one that should have them."""
        if isinstance(error, ExpressionError):
            msg = f"{_named(self._names())}: {error}"
            raise ExpressionError(msg, error.part) from error
        if isinstance(error, ChangeValueError) and not error.table:
            msg = f"{_named(self._names())}: {error.message}"
            raise ChangeValueError(msg) from error
        if isinstance(error, CapacityError) and not str(error).startswith(("view", ASKED_ONCE)):
            msg = f"{_named(self._names())}: {error}"
            raise type(error)(msg) from error
        if isinstance(error, StorageError) and not str(error).startswith(("view", ASKED_ONCE)):
            msg = f"{_named(self._names())}: {error}"
            raise StorageError(msg) from error.__cause__


def of_view(*names: str) -> OfView:
    """Put the names of views before what their expressions fail with, and before the refusal of a value or a size."""
    return OfView(lambda: names)


def _named(names: Sequence[str]) -> str:
    if list(names) == [ASKED_ONCE]:
        return ASKED_ONCE
    return f"view{'' if len(names) == 1 else 's'} {', '.join(map(repr, names))}"
