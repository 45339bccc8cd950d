"""Ctrl-C while Spark is asked something ends quietly: PySpark's bridge would log each call that it cuts off."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def quiet_interrupt() -> Iterator[None]:
    """Keep traces of the bridge out of the log, and let an error that it has caused be one.

    Raises:
        KeyboardInterrupt: Something inside was interrupted.
    """
    root = logging.getLogger()
    root.addFilter(_is_not_of_bridge)
    try:
        yield
    except Exception as error:
        if _is_interrupt(error):
            raise KeyboardInterrupt from error
        raise
    finally:
        root.removeFilter(_is_not_of_bridge)


def _is_not_of_bridge(record: logging.LogRecord) -> bool:
    """Whether a record is another's than the bridge's, which also raises what it logs."""
    return "py4j" not in Path(record.pathname).parts


def _is_interrupt(error: BaseException | None) -> bool:
    """Whether an error is an interrupt, or came of one."""
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return True
        error = error.__cause__ or error.__context__
    return False
