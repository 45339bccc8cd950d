"""The stores that operators above the joins keep."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol, TypeAlias, assert_never

import numpy as np

from livejoin.dataflow.batches import Batches, Delta, Rows
from livejoin.dataflow.stores.aggregate import AggregateStore
from livejoin.dataflow.stores.aggregate_plan import aggregate_plan
from livejoin.dataflow.stores.as_of import AsOfStore
from livejoin.dataflow.stores.inequality import InequalityAggregateStore
from livejoin.dataflow.stores.inequality_rows import InequalityRowsStore
from livejoin.dataflow.stores.ranked import RankedStore
from livejoin.dataflow.stores.running import RunningStore
from livejoin.dataflow.stores.set_operation import SetOperationStore
from livejoin.dataflow.stores.threshold_aggregate import ThresholdAggregateStore
from livejoin.dataflow.stores.thresholds import ThresholdStore
from livejoin.dataflow.stores.top_k import TopKStore
from livejoin.plan.operators import (
    AggregateOperator,
    AsOfOperator,
    InequalityAggregateOperator,
    InequalityJoinOperator,
    RankedOperator,
    RunningOperator,
    SetOperator,
    ThresholdAggregateOperator,
    ThresholdOperator,
    TopKOperator,
)
from livejoin.schema import Kind
from livejoin.state.codec import Codec
from livejoin.words import Words


class Store(Protocol):
    """State that changes by deltas and gives its own."""

    def maintain(self, inputs: Sequence[Delta]) -> Delta:
        """Apply the changes of all inputs; what changed, net within each version."""

    def load(self, side: int, delta: Delta) -> None:
        """Apply rows of one input without asking what changed."""

    def scan(self, capacity: int) -> Iterator[tuple[Rows, Words]]:
        """The rows with their multiplicities, in batches of at most ``capacity`` rows."""

    def count(self) -> int:
        """Rows with multiplicities."""

    def sizes(self) -> tuple[int, int]:
        """Bytes handed out so far, freed ones included, and bytes allocated; O(1)."""

    def free_bytes(self) -> int:
        """Bytes handed out that are free again; O(blocks that are)."""

    def arrays(self) -> dict[str, Words]:
        """The state as flat arrays."""

    def restore(self, arrays: Mapping[str, Words]) -> None:
        """Take over a state."""

    def _check(self) -> None:
        """Assert all invariants; for tests."""


class Scanned(Protocol):
    """A relation that a store may read again."""

    def combinations(self, capacity: int) -> Batches:
        """As `livejoin.dataflow.blocks.block.InputRelation.combinations`."""


StoreOperator: TypeAlias = (
    SetOperator
    | AggregateOperator
    | TopKOperator
    | RankedOperator
    | RunningOperator
    | ThresholdOperator
    | ThresholdAggregateOperator
    | AsOfOperator
    | InequalityAggregateOperator
    | InequalityJoinOperator
)
"""An operator that keeps a store."""


AnyStore: TypeAlias = (
    SetOperationStore
    | AggregateStore
    | TopKStore
    | RankedStore
    | RunningStore
    | ThresholdStore
    | AsOfStore
    | InequalityRowsStore
)
"""The stores that there are, each a `Store`; those of groups that other rows are added up for are `AggregateStore`s."""


def make_store(plan: StoreOperator, codec: Codec, inputs: Sequence[Scanned], is_signed: bool = False) -> AnyStore:
    """The store of an operator.

    Args:
        plan: The operator.
        codec: The database's codec.
        inputs: The relations that it reads.
        is_signed: Whether rows may leave groups before they come inside of a version.

    Raises:
        UnsupportedQueryError: A column of lists is to be compared, or an aggregate is not defined for its argument.
    """
    match plan:
        case SetOperator():
            return SetOperationStore(plan.operation, plan.all, codec, plan.types)
        case AggregateOperator():
            what_is = (plan.input.types, plan.groups, plan.calls, plan.is_global, is_signed)
            return AggregateStore(aggregate_plan(*what_is), codec)
        case TopKOperator():
            (below,) = inputs
            return TopKStore(plan.keys, plan.limit, plan.offset, codec, plan.types, below.combinations)
        case RankedOperator():
            what = (plan.partition, plan.keys, plan.function, plan.limit)
            return RankedStore(*what, codec, plan.input.types)
        case RunningOperator():
            what_of = (plan.partition, plan.keys, plan.frame, plan.calls)
            return RunningStore(*what_of, codec, plan.input.types)
        case ThresholdOperator():
            return ThresholdStore(plan.types, plan.keys, plan.comparison, codec)
        case ThresholdAggregateOperator():
            return ThresholdAggregateStore(plan, codec)
        case InequalityAggregateOperator():
            return InequalityAggregateStore(plan, codec)
        case InequalityJoinOperator():
            return InequalityRowsStore(plan, codec)
        case AsOfOperator():
            return AsOfStore(plan.left.types, plan.right.types, plan.on, codec)
        case _:
            assert_never(plan)


def used_words(store: AnyStore, kind: Kind) -> Words:
    """The words of all values of a kind that a store keeps, which the codec must not forget; O(state)."""
    match store:
        case AggregateStore() | ThresholdStore() | AsOfStore() | InequalityRowsStore():
            return store.used_words(kind)
        case RunningStore() | RankedStore() | TopKStore():
            types = store.order.types
        case SetOperationStore():
            types = store.types
        case _:
            assert_never(store)
    columns = [i for i, type_ in enumerate(types) if type_.word_kind == kind]
    return np.concatenate([np.empty(0, np.int64), *(store.column_words(column) for column in columns)])
