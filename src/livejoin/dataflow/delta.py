"""From head words to Arrow: results and deltas as a user sees them.

A delta has the view's columns, then ``_change_type`` and ``_commit_version``; a row of multiplicity m stands there m
times. The type is ``insert`` or ``delete``, and of a row that replaces another one with the same group
``update_preimage`` and ``update_postimage``.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from livejoin.dataflow.cancellation import net_chunks
from livejoin.dataflow.multiway import DeltaChunk
from livejoin.dataflow.rows import Delta
from livejoin.query import ConjunctiveQuery
from livejoin.query.expression import evaluate
from livejoin.query.session import session
from livejoin.schema import CHANGE_TYPE, COMMIT_VERSION
from livejoin.state.codec import Codec

Words = npt.NDArray[np.int64]

_FEW_RUNS = 16  # of one sign each: a commit has two, its deletions and its insertions
_KINDS = pa.array(["delete", "insert", "update_preimage", "update_postimage"])


def delta_schema(schema: pa.Schema) -> pa.Schema:
    """The Arrow schema of the deltas of a view with a schema."""
    schema = schema.append(pa.field(CHANGE_TYPE, pa.string(), nullable=False))
    return schema.append(pa.field(COMMIT_VERSION, pa.int64(), nullable=False))


def result_columns(query: ConjunctiveQuery, codec: Codec, words: Words) -> list[pa.Array | pa.ChunkedArray]:
    """The output columns of enumerated rows.

    Args:
        query: The query.
        codec: The database's codec.
        words: int64 of shape (head columns, rows); not to be written to afterwards.

    Raises:
        ExpressionError: DuckDB cannot evaluate an output on some row.

    Cost: O(rows) a column; columns that are plain 64-bit values are not copied.
    """
    head = []
    for ref, line in zip(query.head, words, strict=True):
        head.append(codec.decode(line, query.atoms[ref.atom].table.columns[ref.column].type))
    expressions = [o.source for o in query.outputs if isinstance(o.source, str)]
    if not expressions:
        return [head[o.source] for o in query.outputs if isinstance(o.source, int)]
    rows = pa.table(head, names=[f"c{i}" for i in range(len(head))]) if head else _rows_without_columns(words.shape[1])
    computed = iter(evaluate(expressions, rows))
    return [head[o.source] if isinstance(o.source, int) else next(computed) for o in query.outputs]


def _rows_without_columns(rows: int) -> pa.Table:
    """A table that only has a number of rows, for outputs that are constants."""
    return pa.table({"_": pa.nulls(rows, pa.int8())})


def delta_table(query: ConjunctiveQuery, codec: Codec, chunks: Iterable[DeltaChunk], consolidate: bool) -> pa.Table:
    """One table from the chunks of a delta.

    Args:
        query: The query.
        codec: The database's codec.
        chunks: The chunks in order.
        consolidate: Cancel rows that one version both deletes and inserts.

    Raises:
        ExpressionError: DuckDB cannot evaluate an output on some row.
    """
    schema = delta_schema(query.schema)
    tables = []
    signs: set[int] = set()
    shown = [output.source for output in query.outputs if isinstance(output.source, int)]
    if consolidate and len(shown) == len(query.outputs):
        chunks = net_chunks(list(chunks), shown)
        consolidate = False
    for chunk in chunks:
        columns = result_columns(query, codec, chunk.words)
        lengths = chunk.lengths()
        columns += [_kinds(chunk.signs, lengths), pa.array(np.repeat(chunk.versions, lengths))]
        tables.append(pa.table(columns, schema=schema))
        signs.update(chunk.signs[lengths > 0].tolist())
    if not tables:
        return schema.empty_table()
    table = pa.concat_tables(tables)
    return cancel(table) if consolidate and len(signs) > 1 else table


def _kinds(signs: Words, lengths: Words) -> pa.Array | pa.ChunkedArray:
    """The change type of each row; where it seldom changes, as slices of constants that all deltas share."""
    starts = np.flatnonzero(np.diff(signs, prepend=0))
    if starts.size > _FEW_RUNS:
        return _KINDS.take(pa.array(np.repeat((signs > 0).astype(np.int8), lengths)))
    rows = np.add.reduceat(lengths, starts).tolist()
    runs = [_run(int(sign > 0), number) for sign, number in zip(signs[starts].tolist(), rows, strict=True)]
    return runs[0] if len(runs) == 1 else pa.chunked_array(runs, pa.string())


def _run(kind: int, rows: int) -> pa.Array:
    """A kind as often as there are rows."""
    return _constant(kind, 1 << max(12, (rows - 1).bit_length())).slice(0, rows)


@lru_cache(maxsize=8)
def _constant(kind: int, rows: int) -> pa.Array:
    return pa.repeat(_KINDS[kind], rows)


def cancel(delta: pa.Table) -> pa.Table:
    """Cancel equal rows that one version both deletes and inserts; versions stay in order, deletions first.

    Cost: O(rows) expected, in DuckDB, whose equality decides.
    """
    plain = pa.table(delta.columns, names=[f"c{i}" for i in range(delta.num_columns)])
    *values, kind, version = plain.column_names
    keys = ", ".join([*values, version])
    counted = f"{keys}, sum(if({kind} = 'insert', 1, -1))::BIGINT AS net"
    net = session().from_arrow(plain).aggregate(counted, keys).to_arrow_table()
    change = net["net"].to_numpy()
    order = np.lexsort((change > 0, net[version].to_numpy()))
    order = np.repeat(order, np.abs(change[order]))
    kinds = _KINDS.take(pa.array((change[order] > 0).astype(np.int8)))
    taken = net.take(pa.array(order))
    return pa.table([*(taken[v] for v in values), kinds, taken[version]], names=delta.schema.names).cast(delta.schema)


def change_table(delta: Delta, schema: pa.Schema) -> pa.Table:
    """A delta as a table, net within each version.

    Args:
        delta: The delta.
        schema: The schema of its rows.
    """
    if delta.pairs is not None:
        return _replacements(delta, delta.pairs, schema)
    kinds = _KINDS.take(pa.array((delta.weights > 0).astype(np.int8)))
    copies = np.repeat(np.arange(delta.weights.shape[0]), np.abs(delta.weights))
    columns = [delta.rows.arrow(i) for i in range(len(delta.rows.types))]
    table = pa.table([*columns, kinds, pa.array(delta.versions)], schema=delta_schema(schema))
    return cancel(table.take(pa.array(copies)))


def _replacements(delta: Delta, pairs: Words, schema: pa.Schema) -> pa.Table:
    """Rows that replace others: those that stay as they were are left out."""
    rows = pairs.shape[0]
    joined = np.flatnonzero((pairs[1:] == pairs[:-1]) & (delta.versions[1:] == delta.versions[:-1]))
    columns = [delta.rows.arrow(i) for i in range(len(delta.rows.types))]
    same = np.ones(joined.shape[0], bool)
    for column in columns:
        same &= _equal(column.take(pa.array(joined)), column.take(pa.array(joined + 1)))
    kinds = (delta.weights > 0).astype(np.int8)
    kinds[joined] = 2
    kinds[joined + 1] = 3
    kept = np.ones(rows, bool)
    kept[joined[same]] = False
    kept[joined[same] + 1] = False
    table = pa.table([*columns, _KINDS.take(pa.array(kinds)), pa.array(delta.versions)], schema=delta_schema(schema))
    return table.filter(pa.array(kept))


def _equal(left: pa.Array, right: pa.Array) -> npt.NDArray[np.bool_]:
    """Which values are the same; NULL is NULL and NaN is NaN."""
    if pa.types.is_nested(left.type):
        return np.array([a == b for a, b in zip(left.to_pylist(), right.to_pylist(), strict=True)], bool)
    equal = pc.fill_null(pc.equal(left, right), False)
    both = pc.and_(pc.is_null(left, nan_is_null=True), pc.is_null(right, nan_is_null=True))
    there = pc.equal(pc.is_null(left), pc.is_null(right))
    same: npt.NDArray[np.bool_] = pc.or_(equal, pc.and_(both, there)).to_numpy(zero_copy_only=False)
    return same


def is_injective(query: ConjunctiveQuery) -> bool:
    """Whether a result row determines what it is made of, so that distinct ones never cancel."""
    if query.free is not None:
        return False
    if any(isinstance(o.source, str) for o in query.outputs):
        return False
    kept = {query.atoms[r.atom].variables[query.atoms[r.atom].columns.index(r.column)] for r in query.head}
    shown = {o.source for o in query.outputs}
    return (
        len(shown) == len(query.head)
        and query.variables <= kept
        and all(len(atom.columns) == len(atom.table.columns) for atom in query.atoms)
    )
