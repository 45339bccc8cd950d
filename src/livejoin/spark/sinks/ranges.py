"""Files with the deltas of many batches, in place of one file a batch, and the note that says which they are.

The file ``_ranges`` in the folder of a view lists them: of each the first and the last batch, and for each batch in it
the row groups of its rows. A range begins as ``_part-00000000-to-00000799.waiting``, which readers of ``*.parquet``
pass over, and becomes ``part-00000000-to-00000799.parquet`` when the files of its batches are gone.

Law: the rows of a batch are those of its range, if a range has it; else those of its own files. So the note is where a
range begins to count: what lies there before, and what is left behind, counts for nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from livejoin.checkpoint.checked_json import checked, with_checksum
from livejoin.errors import StateError, StorageError
from livejoin.spark.sinks.output_files import content, put_whole
from livejoin.state.store_folder import Place

NOTE = "_ranges"
LOCK = "_compacting"
"""The file that the one compaction of a folder locks."""
NOTES = (NOTE, LOCK)
HIDDEN = "_part-*.waiting"
"""What files of ranges are called while their batches have files too. DuckDB would read ``_part-*.parquet``."""
RANGES = re.compile(r"part-\d{8,}-to-\d{8,}\.parquet|_part-\d{8,}-to-\d{8,}\.waiting")
"""What files of ranges are called, hidden or not."""


@dataclass(frozen=True)
class Range:
    """Batches whose deltas are in one file.

    Args:
        first: The first batch.
        last: The last batch.
        groups: For each batch with rows, ascending, the number of its first row group, and how many each of its files
            had.
    """

    first: int
    last: int
    groups: Mapping[int, tuple[int, tuple[int, ...]]]

    def groups_of(self, batch_id: int, part: int | None = None) -> list[int]:
        """The row groups of a batch, or of one of the files that it had, from 0.

        >>> Range(0, 9, {3: (5, (1, 2))}).groups_of(3), Range(0, 9, {3: (5, (1, 2))}).groups_of(3, 1)
        ([5, 6, 7], [6, 7])
        """
        begin, counts = self.groups[batch_id]
        before, count = (0, sum(counts)) if part is None else (sum(counts[:part]), counts[part])
        return list(range(begin + before, begin + before + count))

    @property
    def name(self) -> str:
        """The name of the file once it stands for its batches.

        >>> Range(0, 799, {}).name, Range(0, 799, {}).hidden
        ('part-00000000-to-00000799.parquet', '_part-00000000-to-00000799.waiting')
        """
        return f"part-{self.first:08d}-to-{self.last:08d}.parquet"

    @property
    def hidden(self) -> str:
        """The name of the file while its batches have files too."""
        return f"_part-{self.first:08d}-to-{self.last:08d}.waiting"

    def file(self, folder: Place) -> Place:
        """Where the file is. In a store nothing makes such files; one that was copied there has its name."""
        shown = folder / self.name
        return folder / self.hidden if isinstance(shown, Path) and not shown.exists() else shown


def ranges_in(folder: Place) -> list[Range]:
    """The ranges of a folder, ascending.

    Raises:
        StateError: The note is damaged.
        StorageError: The disk refuses to read it.
    """
    file = folder / NOTE
    try:
        return [_range(one) for one in checked(content(file))["ranges"]]
    except FileNotFoundError:
        return []
    except OSError as error:
        msg = f"{file}, which says which files hold many batches, could not be read: {error}; repair that"
        raise StorageError(msg) from error
    except (ValueError, KeyError, TypeError) as error:
        msg = f"{file}, which says which files hold many batches, is damaged: {error}; restore it from a backup"
        raise StateError(msg) from error


def note_ranges(folder: Path, ranges: Iterable[Range]) -> None:
    """Say which ranges count from now on.

    Raises:
        OSError: The system refuses; those before count.
    """
    plain = [
        {"first": one.first, "last": one.last, "groups": [[batch, *of] for batch, of in one.groups.items()]}
        for one in ranges
    ]
    content = with_checksum({"ranges": plain})
    put_whole(folder / NOTE, lambda stream: stream.write(content))


def range_of(ranges: Sequence[Range], batch_id: int) -> Range | None:
    """The range that has a batch; None if it has files of its own."""
    return next((one for one in ranges if one.first <= batch_id <= one.last), None)


def _range(plain: Mapping[str, Any]) -> Range:
    groups = {int(batch): (int(begin), tuple(map(int, counts))) for batch, begin, counts in plain["groups"]}
    return Range(int(plain["first"]), int(plain["last"]), groups)
