"""The process that makes a snapshot of the complete segments of a log; see `livejoin.database.durable.folding`.

    python -m livejoin.database.durable.fold_process PLACE SEGMENT PROCESS

makes a snapshot of what is before the segment. It ends without one if the process that has the database is gone.
"""

from __future__ import annotations

import os
import sys
from dataclasses import replace

from livejoin.database.contents import Contents
from livejoin.database.durable.places import Place, place_of
from livejoin.database.durable.recovery import Damage, read_snapshot, replay
from livejoin.database.snapshots.image import image_of
from livejoin.families.cells.workers import Workers


def fold(place: Place, before: int, parent: int | None = None) -> None:
    """Make a snapshot of the segments before one.

    Args:
        place: The place of the database.
        before: The number of the segment.
        parent: The process that has the database, without which none is made; None to make one in any case.

    Raises:
        LivejoinError, OSError, Damage: As for opening it.
    """
    with place.folding():
        found, first = read_snapshot(place, Contents(Workers(1)))
        folder = place.segments_to_read()
        try:
            replay(folder, found, first, before)
        finally:
            folder.close()
        if parent is not None and os.getppid() != parent:
            return
        image = image_of(found.contents, found.contents.extra)
        views = list(found.views.values())
        kept = [replace(block, arrays={}) for block in image.blocks if block.kept is not None]
        image = replace(image, views=views, blocks=kept, beside=found.beside(before), histories=found.histories)
        place.write_snapshot(image, before)


def main(arguments: list[str]) -> int:
    """Run the process."""
    os.nice(5)
    place, before, parent = place_of(arguments[0]), int(arguments[1]), int(arguments[2])
    try:
        fold(place, before, parent)
    except Damage as damage:
        print(damage.error(str(place.segments)), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
