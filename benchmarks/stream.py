"""Edges of a graph as a change stream with a sliding window.

Each edge is inserted in file order; once the window is full, each insertion evicts the oldest edge. One edge that is
inserted or evicted is one *graph change*; in a self-join of k atoms it touches up to k atoms.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Edges = npt.NDArray[np.int64]


@dataclass(frozen=True)
class EdgeStream:
    """Edges, the window's size in rows, and the filter: end points divisible by ``modulus`` are kept."""

    edges: Edges
    window: int
    modulus: int

    @property
    def changes(self) -> int:
        """The number of graph changes: insertions and evictions."""
        return len(self.edges) + self.evictions

    @property
    def evictions(self) -> int:
        """The number of edges that leave the window."""
        return max(0, len(self.edges) - self.window)

    @property
    def sql(self) -> str:
        """3-Hop (CROWN, appendix D) with a filter on the end point."""
        return (
            "SELECT G1.src AS a, G2.src AS b, G3.src AS c, G3.dst AS d "
            "FROM G G1 JOIN G G2 ON G1.dst = G2.src JOIN G G3 ON G2.dst = G3.src "
            f"WHERE G3.dst % {self.modulus} = 0"
        )

    def prefix(self, edges: int) -> EdgeStream:
        """The first edges, with a window of the same share."""
        share = self.window / len(self.edges)
        kept = self.edges[:edges]
        return EdgeStream(kept, max(1, round(share * len(kept))), self.modulus)

    def until(self, edges: int) -> EdgeStream:
        """The first edges, with the same window."""
        return EdgeStream(self.edges[:edges], self.window, self.modulus)

    def content(self) -> Edges:
        """The edges in the window after the whole stream."""
        return self.edges[-self.window :]

    def atom_rows(self) -> int:
        """Rows of the three atoms in the window after the whole stream; the last atom has the filter."""
        content = self.content()
        return 2 * len(content) + int((content[:, 1] % self.modulus == 0).sum())

    def batches(self, rows: int, start: int = 0, stop: int | None = None) -> Iterator[pa.Table]:
        """Insertions as Arrow tables with ``src``, ``dst`` and ``_seq``, ``rows`` at a time; a slice of all of them."""
        end = len(self.edges) if stop is None else stop
        for first in range(start, end, rows):
            part = self.edges[first : min(first + rows, end)]
            sequence = np.arange(first, first + len(part), dtype=np.int64)
            yield pa.table({"src": part[:, 0], "dst": part[:, 1], "_seq": sequence})


def load_edges(path: Path, limit: int | None = None) -> Edges:
    """Read edges from a text file, gzipped or not, or from all files of a folder in the order of their names.

    Lines that begin with ``#`` are left out. The columns ``src`` and ``dst`` are taken where there is a header, else
    the first two; they are separated by commas, tabs or blanks.

    Raises:
        ValueError: There are no edges.
    """
    files = sorted(p for p in path.iterdir() if p.is_file()) if path.is_dir() else [path]
    edges = np.concatenate([_read(file) for file in files] or [np.empty((0, 2), np.int64)])[:limit]
    if not len(edges):
        msg = f"{path}: no edges; a line should look like '0<tab>4'"
        raise ValueError(msg)
    return edges


def _read(file: Path) -> Edges:
    with open_text(file) as lines:
        skipped, first = 0, ""
        for line in lines:
            first = line.strip()
            if first and not first.startswith("#"):
                break
            skipped += 1
    delimiter = "," if "," in first else None
    names = first.split(delimiter)
    header = not names[0].lstrip("-").isdigit()
    columns = (names.index("src"), names.index("dst")) if header else (0, 1)
    with open_text(file) as lines:
        return np.loadtxt(
            lines, dtype=np.int64, delimiter=delimiter, skiprows=skipped + header, usecols=columns, ndmin=2
        )


def open_text(file: Path) -> IO[str]:
    """A text file, gzipped or not."""
    if file.suffix == ".gz":
        return gzip.open(file, "rt", encoding="ascii")
    return file.open(encoding="ascii")
