"""The invariants of a bag's stores, asserted by the tests after every step."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from livejoin.families.bags.bag_store import Columns, Store
from livejoin.kernels.bag import layout as b
from livejoin.kernels.join import layout as q
from livejoin.kernels.memory import layout as k

if TYPE_CHECKING:
    from livejoin.families.bags.bag_plan import BagJoinPlan

Entries = dict[tuple[int, ...], int]


def check(plan: BagJoinPlan, words: Any) -> None:
    """Assert that every store holds its law (`livejoin.kernels.bag.index`), and records name entries that are there."""
    registered = 0
    for store in plan.stores:
        entries = {columns: _entries(words, store, columns) for columns in store.nodes}
        whole = entries[store.whole]
        registered += len(whole)
        assert all(words[e + b.X_SUPPORT] > 0 for e in whole.values()), "multiplicities are positive"
        for columns, found in entries.items():
            order = sorted(columns)
            counts = Counter(tuple(key[c] for c in order) for key in whole)
            if columns != store.whole:
                assert {key: int(words[e + b.X_SUPPORT]) for key, e in found.items()} == counts, "support"
        for edge in store.edges.values():
            _check_edge(words, edge, entries)
    assert registered == words[q.H_REGISTERED], "tuples"
    for number in range(len(plan.pairs)):
        _check_pair(plan, words, number)
    _check_records(plan, words)


def _entries(words: Any, store: Store, columns: Columns) -> Entries:
    """The entries of a node by their keys."""
    node = store.nodes[columns]
    slots, log = int(words[node.directory + k.D_SLOTS]), int(words[node.directory + k.D_LOG])
    taken = [int(words[slots + i]) & k.MASK32 for i in range(1 << log) if words[slots + i]]
    assert len(taken) == words[node.directory + k.D_COUNT], "entries of a directory"
    found = {tuple(int(words[e + node.key + i]) for i in range(len(columns))): e for e in taken}
    assert len(found) == len(taken), "every key has one entry"
    return found


def _check_edge(words: Any, edge: Any, entries: dict[Columns, Entries]) -> None:
    """Every source entry's block has the target entries that agree with it, each at its position."""
    order = sorted(edge.target)
    places = [order.index(c) for c in sorted(edge.source)]
    expected: dict[int, set[int]] = {e: set() for e in entries[edge.source].values()}
    for key, target in entries[edge.target].items():
        expected[entries[edge.source][tuple(key[p] for p in places)]].add(target)
    for source, targets in expected.items():
        length, word = int(words[source + edge.block]), int(words[source + edge.block + 1])
        assert length <= 1 << (word >> k.CLASS_SHIFT), "a block has room"
        listed = [int(words[(word & k.REF_MASK) + i]) for i in range(length)]
        assert set(listed) == targets and len(listed) == len(targets), "a block lists what agrees"
        assert all(words[t + edge.position] == i for i, t in enumerate(listed)), "positions"


def _check_pair(plan: BagJoinPlan, words: Any, number: int) -> None:
    """A pair view has the sum over the values in between for all pairs of heavy values."""
    at = int(plan.words[b.P_FIRST_PAIR]) + number * b.BAG_PAIR
    sides = []
    for store_number, column in (plan.pairs[number].first, plan.pairs[number].second):
        store = plan.stores[store_number]
        node = store.nodes[frozenset({column})]
        entries = _entries(words, store, node.columns)
        block = int(words[node.heavies + 1]) & k.REF_MASK
        listed = [int(words[block + i]) for i in range(int(words[node.heavies]))]
        assert all(words[e + node.heavy] == i + 1 for i, e in enumerate(listed)), "heavy values know their places"
        assert sum(words[e + node.heavy] != 0 for e in entries.values()) == len(listed), "heavy values are listed"
        whole = _entries(words, store, store.whole)
        sides.append(
            [
                (entries[(key[column],)], key[1 - column], int(words[e + b.X_SUPPORT]))
                for key, e in whole.items()
                if entries[(key[column],)] in listed
            ]
        )
    sums: Counter[tuple[int, int]] = Counter()
    for first, middle, weight in sides[0]:
        for second, other, times in sides[1]:
            if middle == other:
                sums[first, second] += weight * times
    directory = int(plan.words[at + b.PV_DIRECTORY])
    slots, log = int(words[directory + k.D_SLOTS]), int(words[directory + k.D_LOG])
    kept = [int(words[slots + i]) & k.MASK32 for i in range(1 << log) if words[slots + i]]
    found = {(int(words[e + b.PAIR_KEY]), int(words[e + b.PAIR_KEY + 1])): int(words[e]) for e in kept}
    assert found == sums and len(kept) == len(found), "pair view"


def _check_records(plan: BagJoinPlan, words: Any) -> None:
    """The multiplicity of a tuple is the sum of those of the rows that name it."""
    sums: Counter[int] = Counter()
    first = int(plan.words[b.P_FIRST_TABLE])
    for t, use in enumerate(plan.tables):
        header = int(plan.words[first + t * q.PLAN_TABLE + q.PT_HEADER])
        for chunk in range(int(words[header + q.T_COUNT])):
            for row in range(q.CHUNK_ROWS):
                record = int(words[int(words[header + q.T_CHUNKS]) + chunk]) + row * use.stride
                for store in plan.stores:
                    if store.table == t and words[record + store.reference]:
                        sums[int(words[record + store.reference])] += int(words[record + use.stride - 1])
    for store in plan.stores:
        for entry in _entries(words, store, store.whole).values():
            assert sums.pop(entry) == words[entry + b.X_SUPPORT], "multiplicity of a tuple"
    assert not sums, "records name tuples that are there"
