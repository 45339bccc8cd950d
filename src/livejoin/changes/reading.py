"""Data of anybody's class, which may raise anything when it is read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from livejoin.errors import ChangeFormatError, LivejoinError
from livejoin.handlers import raised_by_handler
from livejoin.shown import type_name


@contextmanager
def reading(what: str, data: object, table: str = "") -> Iterator[None]:
    """Let what data raises be an error of the data.

    Args:
        what: The word for the data, as ``changes``.
        data: The data.
        table: The name of the table that it is for; empty if that is not known.

    Raises:
        ChangeFormatError: The data has raised something else than an error of ours, as lack of memory and what the
            handler of a signal raises are.
    """
    try:
        yield
    except (LivejoinError, MemoryError):
        raise
    except Exception as error:
        if raised_by_handler(error):
            raise
        msg = f"the {what}, of type {type_name(data)}, cannot be read: {type(error).__name__}: {error}"
        raise ChangeFormatError(msg, table) from error
