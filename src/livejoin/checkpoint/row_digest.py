"""The digest of the rows of a table, to find out whether they are the same without storing them twice.

The digest is the sum of the hashes of the rows, so the digests of parts of a table, in any order, add up.

Law: equal multisets of rows have equal digests; different ones have equal digests with a chance of about 2^-64.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from livejoin.changes import read_changes
from livejoin.changes.payload_bytes import encode_payload
from livejoin.kernels.values.hashes import place_hashes
from livejoin.plan.dispatch.hashing import value_hashes
from livejoin.schema import SqlType, Table
from livejoin.theory.hypercube.frequencies import Hashes

_SALTS = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F))
_MASK = (1 << 64) - 1


@dataclass(frozen=True)
class Digest:
    """The digest of a multiset of rows.

    Args:
        rows: How many rows there are.
        sums: Sums of hashes of the rows, modulo 2^64.

    >>> Digest(1, (3, 4)) + Digest(2, (5, _MASK))
    Digest(rows=3, sums=(8, 3))
    """

    rows: int = 0
    sums: tuple[int, int] = (0, 0)

    def __add__(self, other: Digest) -> Digest:
        first, second = ((one + more) & _MASK for one, more in zip(self.sums, other.sums, strict=True))
        return Digest(self.rows + other.rows, (first, second))

    def of(self, table: Table) -> str:
        """The digest as a text, for a table with these rows; the columns of the table are part of it."""
        columns = ", ".join(f"{column.name} {column.declared}" for column in table.columns)
        said = hashlib.sha256(columns.encode()).hexdigest()[:8]
        return f"{self.rows}-{self.sums[0]:016x}{self.sums[1]:016x}-{said}"


def digest(table: Table, rows: pa.Table) -> Digest:
    """The digest of some rows of a table.

    Raises:
        ChangeValueError: The rows do not fit the table.

    Cost: O(values + bytes of strings).

    >>> from livejoin.sql import parse_columns
    >>> table = parse_columns("T", "a INT, b ARRAY<INT>")
    >>> rows = pa.table({"a": [1, 2, 2], "b": [[1], None, []]}, schema=table.arrow)
    >>> parts = digest(table, rows.slice(1)) + digest(table, rows.slice(0, 1))
    >>> parts == digest(table, rows), parts == digest(table, rows.take([0, 1, 1]))
    (True, False)
    """
    given = read_changes(table, rows, False, "never")
    lines = [np.zeros(given.length, np.uint64) for _ in _SALTS]
    for position, column in enumerate(table.columns):
        hashes = _hashes(given.rows.column(position), column.type)
        for line, salt in zip(lines, _SALTS, strict=True):
            place_hashes(line ^ hashes, salt, line)
    first, second = (int(line.sum(dtype=np.uint64)) for line in lines)
    return Digest(given.length, (first, second))


def _hashes(values: pa.ChunkedArray, kind: SqlType) -> Hashes:
    if not kind.is_payload:
        return value_hashes(values, kind)[0]
    whole = values.combine_chunks()
    data, bounds = encode_payload(whole, kind)
    texts = pa.LargeBinaryArray.from_buffers(
        pa.large_binary(), len(whole), [None, pa.py_buffer(bounds), pa.py_buffer(data)]
    )
    texts = pc.if_else(whole.is_valid(), texts.cast(pa.binary()), pa.scalar(None, pa.binary()))
    return value_hashes(texts, SqlType("binary"))[0]
