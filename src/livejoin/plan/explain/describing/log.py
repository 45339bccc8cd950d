"""What a change log says about a plan: its pattern, and its enclosureness without and with the plan's tree."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from livejoin.changes import ChangeBatch
from livejoin.errors import ChangeFormatError
from livejoin.plan.explain.explanation import LogOutline
from livejoin.query import ConjunctiveQuery
from livejoin.theory.logs.enclosureness import enclosureness
from livejoin.theory.logs.lifespans import Lifespans, lifespans
from livejoin.theory.logs.sequence_class import deletion_only, first_in_first_out, first_in_last_out, insertion_only
from livejoin.theory.logs.tree_enclosureness import crossing_enclosureness, has_inner_branch, tree_enclosureness
from livejoin.theory.trees.join_tree import JoinTree
from livejoin.words import Words


def log_lifespans(batches: Sequence[ChangeBatch]) -> Lifespans:
    """The lifespans of a change log over several tables; a relation is the position of its batch.

    Changes are in the order of ``_seq`` if all batches have it; a single batch may be in the order of its rows.
    Cost: O(n log n) for n changes.

    Raises:
        ChangeFormatError: Several batches, and one has no ``_seq``, or two changes have the same one.
    """
    if len(batches) > 1 and any(batch.sequence is None for batch in batches):
        names = ", ".join(repr(batch.table.name) for batch in batches if batch.sequence is None)
        msg = f"a log of several tables needs a column '_seq' that orders all changes; there is none for {names}"
        raise ChangeFormatError(msg)
    none = np.empty(0, np.int64)
    relation = np.concatenate([none, *(np.full(len(b.weights), i, np.int64) for i, b in enumerate(batches))])
    row = np.concatenate([none, *(_row_numbers(batch.rows) for batch in batches)])
    sign = np.concatenate([none, *(batch.weights for batch in batches)])
    if batches and batches[0].sequence is not None:
        sequence = np.concatenate([b.sequence for b in batches if b.sequence is not None])
        order = np.argsort(sequence, kind="stable")
        equal = np.flatnonzero(np.diff(sequence[order]) == 0)
        if equal.size and len(batches) > 1:
            msg = f"_seq has the value {int(sequence[order[equal[0]]])} twice; it must order the changes of all tables"
            raise ChangeFormatError(msg)
        relation, row, sign = relation[order], row[order], sign[order]
    return lifespans(relation, row, sign)


def describe_log(batches: Sequence[ChangeBatch], query: ConjunctiveQuery, tree: JoinTree | None) -> LogOutline:
    """The figures of a change log for a query and its tree.

    Tables that the query does not use do not count; predicates are not looked at. Cost: O(n log n) for n changes.

    Args:
        batches: One batch a table.
        query: The query.
        tree: The query's join tree, None for a plan without one.
    """
    used = {atom.table.name for atom in query.atoms}
    mine = [batch for batch in batches if batch.table.name in used]
    spans = log_lifespans(mine)
    position = {batch.table.name: i for i, batch in enumerate(mine)}
    # A table without changes in the log is a relation that no lifespan has.
    relations = [position.get(atom.table.name, len(mine)) for atom in query.atoms]
    whole = enclosureness(spans)
    below = None if tree is None else tree_enclosureness(spans, tree, relations)
    crossing = None
    if tree is not None and has_inner_branch(tree):
        crossing = crossing_enclosureness(spans, tree, relations)
    return LogOutline(
        changes=sum(len(batch.weights) for batch in mine),
        lifespans=len(spans),
        pattern=_pattern(spans),
        enclosure=whole.average,
        largest=whole.largest,
        tree_enclosure=None if below is None else below.average,
        tree_largest=None if below is None else below.largest,
        crossing_enclosure=None if crossing is None else crossing.average,
        crossing_largest=None if crossing is None else crossing.largest,
    )


def _pattern(spans: Lifespans) -> str:
    patterns = {
        "insertion-only": insertion_only,
        "deletion-only": deletion_only,
        "first-in-first-out": first_in_first_out,
        "first-in-last-out": first_in_last_out,
    }
    return next((name for name, holds in patterns.items() if holds(spans)), "mixed")


def _row_numbers(rows: pa.Table) -> Words:
    """Equal numbers for equal rows; NULL is equal to NULL."""
    numbers = np.zeros(rows.num_rows, np.int64)
    for column in rows.columns:
        codes = column.combine_chunks().dictionary_encode(null_encoding="encode")
        codes = codes.combine_chunks() if isinstance(codes, pa.ChunkedArray) else codes
        pairs = numbers * (len(codes.dictionary) + 1) + codes.indices.to_numpy(zero_copy_only=False)
        numbers = np.unique(pairs, return_inverse=True)[1].astype(np.int64)
    return numbers
