"""What Arrow imports when it first needs it, imported where no signal arrives."""

from __future__ import annotations

from functools import cache

import pyarrow as pa

from livejoin.aside import aside


@cache
def import_what_arrow_wants() -> None:
    """Let Arrow import pandas now, if it is there.

    Arrow does so when it first builds an array of Python objects, or gives one to NumPy, and takes no notice of what
    comes out of the import: a Ctrl-C in the middle of it would be lost.

    Cost: that of importing pandas for the first call, then nothing.
    """
    aside(pa.array, ())
