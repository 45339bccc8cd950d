"""Heavy and light: the number of triangles under changes, in O(sqrt N) amortised for N tuples.

A changed tuple with values x, y makes as many triangles as there are z with tuples (y, z) and (z, x) in the two other
relations. The plain program looks through the shorter one of two blocks: the tuples with y, and those with x. Where
both are long, that costs up to N. So for *heavy* y and x, values with at least theta tuples, a *pair view* keeps

    V(y, x) = sum over z of w(y, z) * w(z, x)

There are O(N / theta) heavy values on each side. A change of a tuple (y, z) changes V(y, x) for those heavy x that have
a tuple with z; the shorter one of two lists is looked through again: the heavy x, and the tuples with z. With theta
about sqrt N everything costs O(sqrt N), becoming heavy or light amortised over the theta / 2 changes in between, and V
has O(N) entries. A value becomes heavy also when a program finds it too long, because N may have shrunk.

After Kara, Ngo, Nikolic, Olteanu, Zhang, Counting triangles under updates in worst-case optimal time, ICDT 2019
(IVM-epsilon, epsilon = 1/2), but for the partition: theirs is by one value of a relation, this one by both values of a
pair. That needs O(N) space instead of O(N sqrt N), and no view where one block is short, which is almost everywhere in
real graphs (docs/decisions/0009).

Law: between two changes V has the sum above for all pairs of heavy values, and no entry where the sum is 0.
"""

from __future__ import annotations

from livejoin.kernels.bag.layout import (
    BAG_PAIR,
    H_ENTRY,
    H_KEY,
    H_NEW,
    H_OLD,
    H_OVERFLOW,
    ND_DIRECTORY,
    ND_FROM,
    ND_HEAVY,
    ND_KEY,
    ND_LIST,
    ND_PLACE,
    ND_WIDTH,
    P_FIRST_PAIR,
    P_LEAST_HEAVY,
    P_PAIRS,
    PAIR_ENTRY,
    PAIR_KEY,
    PV_DIRECTORY,
    PV_OFFSETS,
    PV_SIDES,
    SD_BLOCK,
    SD_COLUMN,
    SD_MIDDLE,
    SD_MIDDLE_BLOCK,
    SD_MIDDLE_COLUMN,
    SD_NODE,
    SD_STORE,
    SD_WHOLE,
    SIDE,
    X_SUPPORT,
)
from livejoin.kernels.jit import helper, inlined
from livejoin.kernels.join.layout import H_PROBES, H_REGISTERED
from livejoin.kernels.memory.blocks import reserve
from livejoin.kernels.memory.directory import create_at_once, find, finish, hash_key, mix, seed, shrink_slots, take_out
from livejoin.kernels.memory.layout import D_COUNT, D_LOG, H_BUMP, H_END, MAX_MULTIPLICITY, REF_MASK
from livejoin.kernels.parameters import Arena, Plan

_AT_ONCE = 12  # values that can become heavy in one change: two a program, and those of the changed tuple


@inlined
def threshold(m: Arena, p: Plan) -> int:
    """Theta for the tuples that there are."""
    return max(p[P_LEAST_HEAVY], int(float(m[H_REGISTERED]) ** 0.5))  # type: ignore[no-any-return]


@helper
def has_room(m: Arena, p: Plan) -> bool:
    """Whether there is space for all that one change can need here."""
    needed = 0
    for i in range(p[P_PAIRS]):
        pair = p[P_FIRST_PAIR] + i * BAG_PAIR
        values = 2 * _AT_ONCE
        for side in range(2):
            values += m[p[p[pair + PV_SIDES + side * SIDE + SD_NODE] + ND_LIST]]
        entries = (2 + _AT_ONCE) * values
        needed += entries * PAIR_ENTRY + 8 * values
        count = m[p[pair + PV_DIRECTORY] + D_COUNT] + entries
        if count * 4 > 3 << m[p[pair + PV_DIRECTORY] + D_LOG]:
            needed += 8 * count
    return m[H_BUMP] + needed <= m[H_END]  # type: ignore[no-any-return]


@inlined
def _node_entry(m: Arena, p: Plan, node: int, row: int) -> int:
    """The entry of a tuple's projection, 0 if there is none."""
    width, offsets = p[node + ND_WIDTH], p[node + ND_FROM]
    m[H_PROBES] += 1
    h = hash_key(m, p, row, width, offsets)
    return find(m, p, p[node + ND_DIRECTORY], p[node + ND_KEY], row, width, offsets, h)


@inlined
def tuple_of(m: Arena, p: Plan, pair: int, side: int, value: int, middle: int) -> int:
    """The tuple of a side with a value and a middle one, 0 if there is none."""
    m[H_KEY + p[side + SD_COLUMN]] = value
    m[H_KEY + p[side + SD_MIDDLE_COLUMN]] = middle
    whole, offsets = p[side + SD_WHOLE], p[pair + PV_OFFSETS]
    m[H_PROBES] += 1
    h = finish(mix(mix(seed(), m[H_KEY]), m[H_KEY + 1]))
    return find(m, p, p[whole + ND_DIRECTORY], p[whole + ND_KEY], H_KEY, 2, offsets, h)


@inlined
def view_entry(m: Arena, p: Plan, pair: int, first: int, second: int) -> int:
    """The entry of two heavy values, 0 if there is none; leaves the key in H_KEY."""
    m[H_KEY] = first
    m[H_KEY + 1] = second
    m[H_PROBES] += 1
    h = finish(mix(mix(seed(), first), second))
    return find(m, p, p[pair + PV_DIRECTORY], PAIR_KEY, H_KEY, 2, p[pair + PV_OFFSETS], h)


@helper
def _add(m: Arena, p: Plan, pair: int, first: int, second: int, amount: int) -> None:
    """Add to the view's sum for two heavy values; `has_room` was asked before."""
    entry = view_entry(m, p, pair, first, second)
    if entry == 0:
        h = finish(mix(mix(seed(), first), second))
        entry = create_at_once(m, p, p[pair + PV_DIRECTORY], PAIR_ENTRY, PAIR_KEY, H_KEY, 2, p[pair + PV_OFFSETS], h)
    m[entry] += amount
    if m[entry] > MAX_MULTIPLICITY:
        m[H_OVERFLOW] = 1
    if m[entry] == 0:
        take_out(m, p[pair + PV_DIRECTORY], entry, PAIR_KEY, 2)


@inlined
def _meet(
    m: Arena, p: Plan, pair: int, side: int, value: int, other: int, amount: int, entry: int, changed: int
) -> None:
    """Add what a tuple of the other side, whose value is heavy, makes with a value of a side.

    ``changed`` is the multiplicity to take for the tuple that is changing.
    """
    weight = changed if entry == m[H_ENTRY] else m[entry + X_SUPPORT]
    if weight != 0:
        if abs(float(amount) * float(weight)) > MAX_MULTIPLICITY:
            m[H_OVERFLOW] = 1
        if side == 0:
            _add(m, p, pair, value, other, amount * weight)
        else:
            _add(m, p, pair, other, value, amount * weight)


@helper
def _spread(
    m: Arena, p: Plan, pair: int, side: int, value: int, middle: int, amount: int, changed: int, left_out: int
) -> None:
    """Add what a tuple of a side, with a heavy value and a middle one, makes with all heavy values of the other side.

    ``left_out`` is a value of the other side that is not counted, 0: none.
    """
    other = pair + PV_SIDES + (1 - side) * SIDE
    node, middle_node = p[other + SD_NODE], p[other + SD_MIDDLE]
    m[H_KEY] = middle
    m[H_PROBES] += 1
    h = finish(mix(seed(), middle))
    found = find(m, p, p[middle_node + ND_DIRECTORY], p[middle_node + ND_KEY], H_KEY, 1, p[pair + PV_OFFSETS], h)
    if found == 0:
        return
    length = m[found + p[other + SD_MIDDLE_BLOCK]]
    heavy = p[node + ND_LIST]
    if m[heavy] <= length:
        for i in range(m[heavy]):
            one = m[(m[heavy + 1] & REF_MASK) + i]
            if one != left_out:
                entry = tuple_of(m, p, pair, other, m[one + p[node + ND_KEY]], middle)
                if entry != 0:
                    _meet(m, p, pair, side, value, one, amount, entry, changed)
        return
    block = m[found + p[other + SD_MIDDLE_BLOCK] + 1] & REF_MASK
    for i in range(length):
        entry = m[block + i]
        one = _node_entry(m, p, node, entry)
        if m[one + p[node + ND_HEAVY]] != 0 and one != left_out:
            _meet(m, p, pair, side, value, one, amount, entry, changed)


@helper
def make_heavy(m: Arena, p: Plan, node: int, value: int) -> None:
    """Put a value among the heavy ones and fill its part of the views."""
    heavy = p[node + ND_LIST]
    reserve(m, heavy + 1, m[heavy], m[heavy] + 1)
    m[(m[heavy + 1] & REF_MASK) + m[heavy]] = value
    m[heavy] += 1
    m[value + p[node + ND_HEAVY]] = m[heavy]
    for i in range(p[P_PAIRS]):
        pair = p[P_FIRST_PAIR] + i * BAG_PAIR
        for number in range(2):
            side = pair + PV_SIDES + number * SIDE
            if p[side + SD_NODE] != node:
                continue
            both = number == 1 and p[pair + PV_SIDES + SD_NODE] == node
            block = m[value + p[side + SD_BLOCK] + 1] & REF_MASK
            for k in range(m[value + p[side + SD_BLOCK]]):
                entry = m[block + k]
                middle = m[entry + p[p[side + SD_WHOLE] + ND_KEY] + p[side + SD_MIDDLE_COLUMN]]
                weight = m[entry + X_SUPPORT]
                if weight != 0:
                    changed = m[m[H_ENTRY] + X_SUPPORT]
                    _spread(m, p, pair, number, value, middle, weight, changed, value if both else 0)


@helper
def _make_light(m: Arena, p: Plan, node: int, value: int) -> None:
    """Take a value from the heavy ones and its part out of the views."""
    for i in range(p[P_PAIRS]):
        pair = p[P_FIRST_PAIR] + i * BAG_PAIR
        for number in range(2):
            if p[pair + PV_SIDES + number * SIDE + SD_NODE] == node:
                others = p[p[pair + PV_SIDES + (1 - number) * SIDE + SD_NODE] + ND_LIST]
                for k in range(m[others]):
                    one = m[(m[others + 1] & REF_MASK) + k]
                    first, second = (value, one) if number == 0 else (one, value)
                    entry = view_entry(m, p, pair, first, second)
                    if entry != 0:
                        take_out(m, p[pair + PV_DIRECTORY], entry, PAIR_KEY, 2)
    heavy = p[node + ND_LIST]
    place = m[value + p[node + ND_HEAVY]] - 1
    m[heavy] -= 1
    moved = m[(m[heavy + 1] & REF_MASK) + m[heavy]]
    m[(m[heavy + 1] & REF_MASK) + place] = moved
    m[moved + p[node + ND_HEAVY]] = place + 1
    m[value + p[node + ND_HEAVY]] = 0


@helper
def change_views(m: Arena, p: Plan, store: int) -> None:
    """Bring the changed tuple's new multiplicity into the views: as a tuple of each first side, then of each second.

    Values that its leaving makes light become so; the tuple itself still has its old multiplicity and all its places.
    Slots are halved only here, when all that `has_room` reckoned for the change has been used.
    """
    entry = m[H_ENTRY]
    for i in range(p[P_PAIRS]):
        pair = p[P_FIRST_PAIR] + i * BAG_PAIR
        for number in range(2):
            side = pair + PV_SIDES + number * SIDE
            if p[side + SD_STORE] != store:
                continue
            value = m[p[p[side + SD_NODE] + ND_PLACE]]
            if m[value + p[p[side + SD_NODE] + ND_HEAVY]] != 0:
                middle = m[entry + p[p[side + SD_WHOLE] + ND_KEY] + p[side + SD_MIDDLE_COLUMN]]
                changed = m[H_OLD] if number == 0 else m[H_NEW]
                _spread(m, p, pair, number, value, middle, m[H_NEW] - m[H_OLD], changed, 0)
    if m[H_NEW] == 0:
        _rebalance(m, p, store, 1)
        for i in range(p[P_PAIRS]):
            shrink_slots(m, p[p[P_FIRST_PAIR] + i * BAG_PAIR + PV_DIRECTORY])


@helper
def grown(m: Arena, p: Plan, store: int) -> None:
    """After a tuple came: its values may have become heavy."""
    _rebalance(m, p, store, 0)


@helper
def _rebalance(m: Arena, p: Plan, store: int, leaving: int) -> None:
    """Make the changed tuple's values heavy or light as their tuples, without ``leaving`` ones, demand."""
    theta = threshold(m, p)
    for i in range(p[P_PAIRS]):
        pair = p[P_FIRST_PAIR] + i * BAG_PAIR
        for number in range(2):
            side = pair + PV_SIDES + number * SIDE
            node = p[side + SD_NODE]
            if p[side + SD_STORE] == store:
                value = m[p[node + ND_PLACE]]
                tuples = m[value + X_SUPPORT] - leaving
                heavy = m[value + p[node + ND_HEAVY]] != 0
                if heavy and 2 * tuples < theta:
                    _make_light(m, p, node, value)
                elif not heavy and leaving == 0 and 2 * tuples >= 3 * theta:
                    make_heavy(m, p, node, value)
