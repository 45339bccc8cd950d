"""Changes of keys in the order in which they are applied: which of them are late, and which is the last of each key.

A change is late if one with a larger sequence was applied to its key before, in the table or among the changes; of
equal sequences the later one counts. Law: the changes of a key that are not late ascend in their sequences.
"""

from __future__ import annotations

from livejoin.kernels.jit import kernel
from livejoin.kernels.memory.arena import words as view
from livejoin.kernels.memory.layout import MASK32
from livejoin.kernels.parameters import Line, Matrix, Slots
from livejoin.kernels.relation.rows import hash_change
from livejoin.kernels.relation.staging import AT_ONCE

# What `last` says of a change that is not the first one of its key.
FOLLOWS = -2
ALL_LATE = -1


@kernel
def judge(
    keys: Matrix, sequence: Line, floors: Line, shut: Line, slots: Slots, last: Line, late: Line, begin: int
) -> int:
    """Judge changes one after the other, some of them a call; returns where the next call begins.

    Args:
        keys: int64 of shape (columns of the key, n).
        sequence: int64 of n places: the sequence of each change.
        floors: For each change the sequence of what the table knows of its key; changed.
        shut: For each change 1 if it is late with just this sequence too, else 0; changed.
        slots: Hash index over keys, cleared, with at least 2n places; its first word is its log2 size; filled.
        last: int64 of n places, written: at the first change of each key the position of the last one that is not late,
            or ALL_LATE; at the others FOLLOWS.
        late: int64 of n places, written: 1 where a change is late, else 0.
        begin: The first change of this call; those before it were judged with the same arguments.

    Cost: expected O(1) a change.
    """
    of_keys, n = view(keys), keys.shape[1]
    log = slots[0]
    mask = (1 << log) - 1
    end: int = min(begin + AT_ONCE, keys.shape[1])
    for i in range(begin, end):
        h = hash_change(of_keys, n, i, keys.shape[0])
        at = h >> (32 - log)
        first = -1
        while slots[1 + at] != 0 and first < 0:
            word = slots[1 + at]
            if (word >> 32) & MASK32 == h:
                other = (word & MASK32) - 1
                same = True
                for k in range(keys.shape[0]):
                    if keys[k, other] != keys[k, i]:
                        same = False
                        break
                if same:
                    first = other
            at = (at + 1) & mask
        if first < 0:
            slots[1 + at] = (h << 32) | (i + 1)
            first = i
            last[i] = ALL_LATE
        else:
            last[i] = FOLLOWS
        if sequence[i] < floors[first] or (shut[first] == 1 and sequence[i] == floors[first]):
            late[i] = 1
        else:
            late[i] = 0
            floors[first] = sequence[i]
            shut[first] = 0
            last[first] = i
    return end
