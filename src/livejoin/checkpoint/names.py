"""The names of files in a folder of a checkpoint, by which it is known whose folder it is."""

from __future__ import annotations

import re
from collections.abc import Iterable

EPOCH = re.compile(r"(\d{8,})\.epoch")
"""Of the file that a driver makes when it opens the folder."""

MANIFEST = re.compile(r"(\d{8,})\.manifest")
"""Of the file by which a batch of cells is decided."""


def are_of_cells(names: Iterable[str]) -> bool:
    """Whether a folder with such files is a checkpoint of cells: it has a manifest, or a driver has opened it."""
    return any(kind.fullmatch(name) for name in names for kind in (MANIFEST, EPOCH))
