"""How a database ends."""

from __future__ import annotations

import logging

from livejoin.database.contents import Contents
from livejoin.database.durable.bodies import CLOSE
from livejoin.database.durable.log import Log
from livejoin.errors import StateError, StorageError

logger = logging.getLogger("livejoin")


def close(contents: Contents) -> None:
    """Make all durable and close the files, if there are some; every later call is refused.

    The last record says that all before it is durable, so that a later damage is known as such.

    Raises:
        StateError: The call comes in the middle of a commit of the same thread; nothing has changed. Or another process
            has opened the database since, and no call was told; what was not durable is lost.
        StorageError: The disk refused, and nobody has heard of it yet; the files are closed all the same.
    """
    log = contents.log
    again = contents.guard.is_held()
    with contents.guard.lock:
        if contents.is_closed:
            if log is not None:
                log.close()  # where that was cut off
            return
        if again:
            contents.guard.enter(again)
        was_told = log is not None and log.has_told
        try:
            contents.guard.enter(again=False)
            if log is not None:
                log.sync()
                contents.guard.enter(again=False)  # subscribers hear of what is durable now
                log.append(CLOSE, contents.version, (), lambda: True)
                log.settle()
        except (StateError, StorageError):  # else the parent process has it, or all is durable but the last record
            if log is not None and log.has_failed and not was_told:
                raise
        finally:
            contents.is_closed = True
            contents.links.wake_all()
            if log is not None:
                log.close()


def close_left(log: Log) -> None:
    """Close the files of a database that nobody holds any more; what fails is logged, as no call can raise it."""
    try:
        log.close()
    except (StateError, StorageError) as error:
        logger.warning("a database that was not closed ended: %s", error)
