"""Errors of signal handlers, which say nothing of what was done when the signal came."""

from __future__ import annotations

from inspect import CO_VARARGS
from types import FrameType


def raised_by_handler(error: BaseException) -> bool:
    """Whether the handler of a signal raised an error, as a time limit by ``signal.alarm`` does.

    Who takes whatever data raises for an error of the data asks this first, and raises the error on. A handler gets the
    frame that it interrupts: no other function has the frame that called it among its arguments.

    Args:
        error: The error, with its traceback.
    """
    found = error.__traceback__
    while found is not None:
        frame = found.tb_frame
        back = frame.f_back
        if back is not None and _has(frame, back):
            return True
        found = found.tb_next
    return False


def _has(frame: FrameType, back: FrameType) -> bool:
    """Whether a frame has the one that called it as an argument, also among those of ``*args``."""
    code = frame.f_code
    names = code.co_varnames[: code.co_argcount + bool(code.co_flags & CO_VARARGS)]
    given = [frame.f_locals.get(name) for name in names]
    return any(one is back or (isinstance(one, tuple) and any(part is back for part in one)) for one in given)
