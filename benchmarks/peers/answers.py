"""The right answers: sums over the rows of a result, recomputed by DuckDB."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from benchmarks import recompute
from benchmarks.graph_queries import QUERIES
from benchmarks.peers.edge_queries import EDGE_QUERIES
from benchmarks.peers.job import Changes, Job, Sums, content

_BY_NAME = {query.name: query for query in (*QUERIES, *EDGE_QUERIES)}
CAME = ("insert", "update_postimage")
NULL = -1  # what stands for NULL in a hash: nodes are not negative


def sql_of(query: str, modulus: int) -> str:
    """The SQL text of a query."""
    return _BY_NAME[query].text(modulus)


class Answers:
    """Results of DuckDB over the content after so many changes; each is computed once."""

    def __init__(self, changes: Changes, modulus: int) -> None:
        self._changes = changes
        self._modulus = modulus
        self._known: dict[tuple[str, int], Sums] = {}

    def result(self, query: str, changes: int) -> Sums:
        """The result of a query after the first changes."""
        if (query, changes) not in self._known:
            text = _BY_NAME[query].recomputed_as(self._modulus)
            edges = content(self._changes[:changes])
            with recompute.connect() as connection:
                connection.register("edges", pa.table({"src": edges[:, 0], "dst": edges[:, 1]}))
                connection.execute("CREATE TABLE G AS SELECT * FROM edges")
                self._known[query, changes] = sums(connection.sql(text).to_arrow_table())
        return self._known[query, changes]

    def of(self, job: Job) -> tuple[Sums, Sums]:
        """What the deltas of a job add up to, and its result."""
        begun = self.result(job.query, job.loaded)
        ended = self.result(job.query, job.loaded + job.changes)
        return less(ended, begun), ended


def sums(rows: pa.Table) -> Sums:
    """The sums over rows of integers and NULLs; those of a delta have the signs of its changes.

    A hash begins with 0 and takes the columns in their order: exclusive or, product with the golden ratio, and
    exclusive or with itself 29 bits to the right. `measured/src/lib.rs` has it too.

    >>> sums(pa.table({"a": [1, 2], "b": [3, 4]})).number
    2
    """
    hashes = np.zeros(rows.num_rows, np.uint64)
    for name in rows.column_names:
        if not name.startswith("_"):
            words = rows[name].cast(pa.int64()).fill_null(NULL).to_numpy().view(np.uint64)
            hashes = (hashes ^ words) * np.uint64(0x9E3779B97F4A7C15)
            hashes ^= hashes >> np.uint64(29)
    if "_change_type" not in rows.column_names:
        return Sums(rows.num_rows, int(hashes.sum()))
    kinds: npt.NDArray[np.object_] = rows["_change_type"].to_numpy(zero_copy_only=False)
    came = np.isin(kinds, CAME)
    number = 2 * int(came.sum()) - len(came)
    return Sums(number, (int(hashes[came].sum()) - int(hashes[~came].sum())) % 2**64)


def less(one: Sums, other: Sums) -> Sums:
    """The difference of two sums with hashes."""
    return _sum(one, other, -1)


def plus(one: Sums, other: Sums) -> Sums:
    """Two sums with hashes, added up."""
    return _sum(one, other, 1)


def _sum(one: Sums, other: Sums, sign: int) -> Sums:
    if one.hashes is None or other.hashes is None:
        msg = f"no hashes to add up: {one}, {other}"
        raise ValueError(msg)
    return Sums(one.number + sign * other.number, (one.hashes + sign * other.hashes) % 2**64)
