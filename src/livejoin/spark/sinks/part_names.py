"""The names of the Parquet files of a view's deltas: one for each batch that changes the view, or several, numbered.

part-00000007.parquet
part-00000008-0001-of-0002.parquet
part-00000008-0002-of-0002.parquet
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from livejoin.spark.sinks.output_files import names_in
from livejoin.state.store_folder import Place

PARTS = "part-*.parquet"
"""What all of them are called."""
_PART = re.compile(r"part-(?P<batch>\d{8,})(-\d{4,}-of-(?P<of>\d{4,}))?\.parquet")


def part_name(batch_id: int) -> str:
    """The name of a batch's file, if the delta is in one file."""
    return f"part-{batch_id:08d}.parquet"


def part_names(batch_id: int, parts: int) -> list[str]:
    """The names of the files of a batch, in order; ``parts`` says how many there are.

    >>> part_names(7, 1), part_names(7, 2)
    (['part-00000007.parquet'], ['part-00000007-0001-of-0002.parquet', 'part-00000007-0002-of-0002.parquet'])
    """
    if parts <= 1:
        return [part_name(batch_id)] * parts
    return [f"part-{batch_id:08d}-{number:04d}-of-{parts:04d}.parquet" for number in range(1, parts + 1)]


def parts_in(folder: Place, batch_id: int | None = None) -> dict[int, list[str]]:
    """The names of the files in a folder by batch, in order, of all batches or of one."""
    found: dict[int, list[str]] = {}
    for name in names_in(folder, "part-" if batch_id is None else f"part-{batch_id:08d}"):
        if (named := _PART.fullmatch(name)) is not None:
            found.setdefault(int(named["batch"]), []).append(name)
    return found


def missing_parts(batch_id: int, there: Sequence[str]) -> list[str]:
    """The missing files of a batch that has left some.

    >>> missing_parts(7, ["part-00000007.parquet"]), missing_parts(7, [])
    ([], ['part-00000007.parquet'])
    >>> missing_parts(7, ["part-00000007-0002-of-0002.parquet"])
    ['part-00000007-0001-of-0002.parquet']
    """
    if part_name(batch_id) in there:
        return []
    counts = {int(named["of"]) for name in there if (named := _PART.fullmatch(name)) is not None}
    return sorted(set(part_names(batch_id, max(counts, default=1))) - set(there))
