"""Errors of expressions say which view they are of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from livejoin.errors import ChangeValueError, ExpressionError


@contextmanager
def of_view(*names: str) -> Iterator[None]:
    """Put the names of views before what their expressions fail with, and before the refusal of a computed value."""
    try:
        yield
    except ExpressionError as error:
        msg = f"{_named(names)}: {error}"
        raise ExpressionError(msg) from error
    except ChangeValueError as error:
        if error.table:
            raise
        msg = f"{_named(names)}: {error.message}"
        raise ChangeValueError(msg) from error


def _named(names: Sequence[str]) -> str:
    return f"view{'' if len(names) == 1 else 's'} {', '.join(map(repr, names))}"
