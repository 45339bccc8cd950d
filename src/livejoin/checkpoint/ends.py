"""How far sources were read, as what was committed says it, beside what Spark says now."""

from __future__ import annotations

from livejoin.checkpoint.batch import Ends
from livejoin.errors import StateError
from livejoin.state.store_folder import Place


def check_ends(what: str, known: Ends | None, found: Ends, place: Place) -> None:
    """Check that Spark has read the sources as far as a committed batch says.

    Args:
        what: The name of the comparison, for the message, as ``batch 7 of Spark begins``.
        known: How far they were read; None where the batch does not say it.
        found: How far Spark has read them.
        place: Where the batch is.

    Raises:
        StateError: Spark has read one to another place: another query has written so.
    """
    for table, lines in (known or {}).items():
        if tuple(found.get(table, lines)) != tuple(lines):
            msg = (
                f"{what} at {' '.join(found[table])} of table {table!r}, and the log in {place} has "
                f"{' '.join(lines)} there: another query has written Spark's half of the checkpoint. Start again: what "
                "the log has is put back there"
            )
            raise StateError(msg)
