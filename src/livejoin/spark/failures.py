"""The error that ended a query, as an error of livejoin. Spark's own text is a trace of 50 to 250 lines."""

from __future__ import annotations

import re
from types import TracebackType

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException, StreamingQueryException

from livejoin.errors import AbsentRowError, ChangeError, DuplicateKeyError, ExpressionError, LivejoinError

OF_SPARK = (PySparkException, Py4JJavaError)
"""What PySpark raises where Spark cannot do something."""
_NOBODYS = ("livejoin", "py4j", "pyspark")
_LONGEST = 900  # characters
_CAUSE = "Caused by: "
_OURS_SAID = re.compile(r"^livejoin\.errors\.\w+: (.+)$", re.MULTILINE)
_MALFORMED = "[MALFORMED_RECORD_IN_PARSING"
_FILE = re.compile(
    r"\[FAILED_READ_FILE[^\]]*\] Encountered error while reading file ([^\n]+?)\.? *(?:SQLSTATE|Data type|\n|$)"
)
_UNREADABLE = (
    "on_bad_rows is for rows that Spark hands out. Repair the file, or read it with the option mode = PERMISSIVE and "
    "the column _corrupt_record STRING in its schema, which on_bad_rows goes by, and start again"
)
_NO_ROWS = "Spark hands out none of its rows, so that on_bad_rows has no part in it. Repair the file, and start again"
_NO_CHANGES = "they are no changes, so that on_bad_rows is not for them. Repair that, and start again"
_OTHERWISE = (
    "Here {option} of RunOptions, or of the pipeline file, is 'fail'; 'skip' leaves such changes out, 'dead_letter' "
    "keeps them elsewhere, and the same checkpoint goes on with either"
)
_TOO_MANY = "changes of this batch"  # in a note of an error that ended a query although such changes may be left out


class QueryFailedError(LivejoinError, StreamingQueryException):
    """The end of a query by an error. The text is that of the error, and ``__cause__`` is the error itself."""

    def __init__(self, failure: LivejoinError) -> None:
        notes = getattr(failure, "__notes__", ())
        said = [f"{type(failure).__name__}: {failure}", *notes]
        if not any(_TOO_MANY in note for note in notes) and isinstance(failure, (ChangeError, ExpressionError)):
            is_conflict = isinstance(failure, (AbsentRowError, DuplicateKeyError))
            said.append(_OTHERWISE.format(option="on_conflict" if is_conflict else "on_bad_rows"))
        text = "\n".join(said)
        StreamingQueryException.__init__(self, message=text)
        self.__cause__ = failure


def failure_of(error: Exception) -> LivejoinError:
    """The cause of an error of Spark or of a user's function, as an error of livejoin with one line."""
    if isinstance(error, LivejoinError):
        return error
    if not isinstance(error, PySparkException) and not hasattr(error, "java_exception"):
        return LivejoinError(in_one_line(f"{type(error).__name__}: {error}".rstrip(": ")))
    return LivejoinError(f"Spark ended the query: {said(str(error))}")


def in_one_line(text: str) -> str:
    """A text without its line breaks.

    >>> in_one_line("ValueError: no such column\\n  x\\n")
    'ValueError: no such column x'
    """
    return " ".join(line.strip() for line in text.splitlines() if line.strip())


def of_others(trace: TracebackType | None) -> TracebackType | None:
    """What is left of a traceback from the first line on that is of neither livejoin nor Spark: a user's function."""
    while trace is not None and str(trace.tb_frame.f_globals.get("__name__")).partition(".")[0] in _NOBODYS:
        trace = trace.tb_next
    return trace


def said(text: str) -> str:
    """The core of a text of Spark's: livejoin's message, a row that cannot be read, the cause, or the first line."""
    what, advice = _what_failed(text)
    return f"{what}; {advice}" if advice else what


def unread(what: str, error: Exception) -> LivejoinError:
    """The error for rows that Spark cannot read and that are no changes.

    Args:
        what: The rows, as ``"the rows of the static table 'S'"``.
        error: The error that Spark raised.
    """
    why, _ = _what_failed(str(error))
    return LivejoinError(f"{what} cannot be read: {why}; {_NO_CHANGES}")


def _what_failed(text: str) -> tuple[str, str]:
    """The core of a text of Spark's, and the remedy if one is known."""
    if ours := _OURS_SAID.findall(text):  # of a source, which speaks from a process of Spark's
        return str(ours[-1]), ""
    first = next((line for line in text.splitlines() if line.strip()), "without a word")
    found, file = _causes(text), _FILE.search(text)
    causes = f"{' <- '.join(reversed(found)) or first:.{_LONGEST}}"
    if _MALFORMED in text:
        return f"a row{f' of {file[1]}' if file is not None else ''} is malformed: {causes}", _UNREADABLE
    if file is not None:
        why = next((cause for cause in reversed(found) if not _FILE.search(cause)), "it does not say why")
        return f"the file {file[1]} cannot be read: {why:.{_LONGEST}}", _NO_ROWS
    return causes, ""


def _causes(text: str) -> list[str]:
    """The messages of a Java stack trace's causes, without class names and frames, the deepest one last."""
    causes: list[list[str]] = []
    inside = False
    for line in map(str.strip, text.splitlines()):
        if line.startswith(_CAUSE):
            causes.append([line.removeprefix(_CAUSE).partition(": ")[2]])
            inside = True
        elif not line or line.startswith(("at ", "...")):
            inside = False
        elif inside:
            causes[-1].append(line)
    return list(dict.fromkeys(" ".join(cause) for cause in causes if any(cause)))
