"""From the words of groups and their results to rows."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from livejoin.dataflow.batches import Rows
from livejoin.dataflow.stores.aggregate_plan import AggregatePlan
from livejoin.errors import CapacityError
from livejoin.kernels.groups.layout import OVERFLOW
from livejoin.kernels.groups.narrow import narrow
from livejoin.query.aggregates import AggregateCall
from livejoin.state.codec import Codec
from livejoin.state.exact_aggregates import bigint_column, decimals, interval_column
from livejoin.words import NULL_CODE, Words


def result_rows(plan: AggregatePlan, codec: Codec, words: Words, lists: Words) -> Rows:
    """Rows of results.

    Args:
        plan: The plan.
        codec: The database's codec.
        words: int64 of shape (words of a group and its results, rows), see `livejoin.kernels.groups.layout`.
        lists: The values of lists.

    Raises:
        CapacityError: A sum or an average does not fit its type.

    Cost: O(rows) a column, O(values) a column of lists.
    """
    if (narrowed := one_word_each(plan, words)) is not None:
        return Rows.of_words(codec, plan.types, narrowed)
    columns: list[Words | pa.Array] = list(words[: plan.groups])
    at = plan.groups
    for call in plan.calls:
        match call.function:
            case "array_agg" | "list_by":
                columns.append(_lists(codec, call, words[at], words[at + 1], lists))
                at += 2
            case "sum" | "avg" if call.type.kind != "double":
                columns.append(_numbers(call, words[at], words[at + 1]))
                at += 2
            case _:
                columns.append(words[at])
                at += 1
    return Rows(codec, plan.types, columns, words.shape[1])


def one_word_each(plan: AggregatePlan, words: Words) -> Words | None:
    """Groups and results as one word each, where there are no lists and every number fits one; else None."""
    if plan.lists:
        return None
    lines, limits = plan.result_lines
    results = np.empty((lines.shape[0], words.shape[1]), np.int64)
    is_whole = narrow(words if words.flags.c_contiguous else words.copy(), lines, limits, results)
    return results if is_whole else None


def _numbers(call: AggregateCall, low: Words, high: Words) -> Words | pa.Array:
    """Integers, intervals and decimals of two words."""
    valid = high != NULL_CODE
    what = f"{call.function.upper()} of a group"
    if np.any(high == OVERFLOW):
        msg = f"{what} needs more than 128 bits, which {call.type} cannot hold; cast the argument to DOUBLE"
        raise CapacityError(msg)
    if call.type.kind == "decimal":
        return decimals(low, high, call.type, valid)
    if call.type.kind != "integer":
        return interval_column(low, high, valid, call.type, what)
    return bigint_column(low, high, valid, what)


def _lists(codec: Codec, call: AggregateCall, lengths: Words, starts: Words, values: Words) -> pa.Array:
    offsets = np.zeros(lengths.shape[0] + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    places = np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], lengths)
    if offsets[-1] >= 1 << 31:
        msg = (
            f"lists of an aggregate have {offsets[-1]:,} values at once; an Arrow array of lists holds 2**31 - 1: read "
            "fewer rows"
        )
        raise CapacityError(msg)
    decoded = codec.decode(values[places], call.type)
    return pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), decoded)
