"""The process that makes a snapshot of the complete segments of a log; see `livejoin.database.durable.folding`.

    python -m livejoin.database.durable.fold_process FOLDER SEGMENT PROCESS

makes a snapshot of what is before the segment. It ends without one if the process that has the database is gone.
"""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path

from livejoin.database.contents import Contents
from livejoin.database.durable.home import LOG, SNAPSHOTS, take
from livejoin.database.durable.recovery import Damage, read_snapshot, replay
from livejoin.database.snapshots import snapshot
from livejoin.database.snapshots.image import image_of
from livejoin.families.cells.workers import Workers
from livejoin.state.files import Folder


def fold(path: Path, before: int, parent: int | None = None) -> None:
    """Make a snapshot of the segments before one.

    Args:
        path: The folder of the database.
        before: The number of the segment.
        parent: The process that has the database, without which none is made; None to make one in any case.

    Raises:
        LivejoinError, OSError, Damage: As for opening the folder.
    """
    lock = take(path, "folding", "the folding")
    try:
        found, first = read_snapshot(path / SNAPSHOTS, Contents(Workers(1)))
        with Folder.at(path / LOG) as folder:
            replay(folder, found, first, before)
        if parent is not None and os.getppid() != parent:
            return
        image = image_of(found.contents, found.contents.extra)
        views = list(found.views.values())
        snapshot.write(
            path / SNAPSHOTS, replace(image, views=views, beside=found.beside(before), histories=found.histories)
        )
    finally:
        lock.release()


def main(arguments: list[str]) -> int:
    """Run the process."""
    os.nice(5)
    path, before, parent = Path(arguments[0]), int(arguments[1]), int(arguments[2])
    try:
        fold(path, before, parent)
    except Damage as damage:
        print(damage.error(path / LOG), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
