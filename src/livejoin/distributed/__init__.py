"""Views over tables that are spread over cells, each a database of its own, in any process."""

from livejoin.distributed.cell import Brought, Cell, Piece
from livejoin.distributed.cells import Cells
from livejoin.distributed.declaration import Plan
from livejoin.distributed.declared import Declared
from livejoin.distributed.exchange import Parcel, Sender
from livejoin.distributed.manifest import Held, Manifest, Manifests
from livejoin.distributed.report import CellReport, cell_reports, skew
from livejoin.distributed.task import Outcome, Task

__all__ = [
    "Brought",
    "Cell",
    "CellReport",
    "Cells",
    "Declared",
    "Held",
    "Manifest",
    "Manifests",
    "Outcome",
    "Parcel",
    "Piece",
    "Plan",
    "Sender",
    "Task",
    "cell_reports",
    "skew",
]
