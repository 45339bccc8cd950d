"""The changes of groups: what each was before a version, and what it is behind it.

The results of one group alternate in a delta between what it was and what it became. So of each version the first
counts if it takes away, and the last if it adds.
"""

from __future__ import annotations

from livejoin.kernels.jit import helper, kernel
from livejoin.kernels.memory.directory import finish, mix, seed
from livejoin.kernels.parameters import Line, Matrix, Slots

# The lines of what is known of the groups that were met.
F_FIRST = 0  # the first result of the group in the version
F_LAST = 1
F_GOES = 2  # whether the first takes away
F_COMES = 3  # whether the last adds
FOUND_FIELDS = 4

# The lines behind those of a row that is written.
L_WEIGHT = 0
L_GROUP = 1
L_VERSION = 2
CHANGE_LINES = 3

AT_ONCE = 1 << 16
"""Results, or groups, that a call looks at: some milliseconds, after which Python looks for signals."""


@helper
def _place(words: Matrix, keys: int, versions: Line, row: int, slots: Slots, found: Matrix) -> int:
    """The slot of a result's group in its version: the one that it has, or a free one."""
    h = mix(seed(), versions[row])
    for key in range(keys):
        h = mix(h, words[key, row])
    mask = slots.shape[0] - 1
    at: int = finish(h) & mask
    while slots[at] != 0:
        other = found[F_FIRST, slots[at] - 1]
        same = versions[other] == versions[row]
        for key in range(keys):
            same = same and words[key, other] == words[key, row]
        if same:
            return at
        at = (at + 1) & mask
    return at


@kernel
def gather_groups(
    words: Matrix, keys: int, signs: Line, versions: Line, begin: int, slots: Slots, found: Matrix, groups: int
) -> int:
    """Find the first and the last result of each group in each version, some more of them.

    Args:
        words: int64 of shape (lines, n), a result a place; the first lines are the key of its group.
        keys: How many these are.
        signs: +1 or -1 of each result.
        versions: The version of each, ascending.
        begin: The results before have been looked at.
        slots: int64, a power of two of at least n + 1 words; zeros at the beginning.
        found: int64 of shape (FOUND_FIELDS, n); a place for each group and version, in the order in which they come.
        groups: How many were found so far.

    Returns:
        How many have been found.
    """
    for row in range(begin, min(begin + AT_ONCE, versions.shape[0])):
        at = _place(words, keys, versions, row, slots, found)
        if slots[at] == 0:
            found[F_FIRST, groups] = row
            found[F_GOES, groups] = 1 if signs[row] < 0 else 0
            groups += 1
            slots[at] = groups
        group = slots[at] - 1
        found[F_LAST, group] = row
        found[F_COMES, group] = 1 if signs[row] > 0 else 0
    return groups


@helper
def _differ(words: Matrix, one: int, other: int) -> bool:
    """Whether two rows differ; those before the first one are of zeros."""
    for line in range(words.shape[0]):
        left = words[line, one] if one >= 0 else 0
        right = words[line, other] if other >= 0 else 0
        if left != right:
            return True
    return False


@helper
def _write(words: Matrix, row: int, weight: int, number: int, version: int, out: Matrix, made: int) -> int:
    """Write a row of a group, or one of zeros; returns how many there are."""
    lines = words.shape[0]
    for line in range(lines):
        out[line, made] = words[line, row] if row >= 0 else 0
    out[lines + L_WEIGHT, made] = weight
    out[lines + L_GROUP, made] = number
    out[lines + L_VERSION, made] = version
    return made + 1


@kernel
def write_changes(
    words: Matrix,
    versions: Line,
    found: Matrix,
    groups: int,
    begin: int,
    is_global: bool,
    out: Matrix,
    made: int,
) -> int:
    """Write the changes of some more groups: what each was, then what it is, if they differ.

    Args:
        words, versions, found: As for `gather_groups`.
        groups: How many were found.
        begin: The groups before have been written.
        is_global: Whether there is one group that is always there: of no rows it is a row of zeros.
        out: int64 of shape (lines + CHANGE_LINES, 2 n); written: each row with its weight, a number for its group in
            its version, and the version.
        made: How many rows were written so far.

    Returns:
        How many have been written.
    """
    for group in range(begin, min(begin + AT_ONCE, groups)):
        first, last = found[F_FIRST, group], found[F_LAST, group]
        goes = is_global or found[F_GOES, group] == 1
        comes = is_global or found[F_COMES, group] == 1
        old = first if found[F_GOES, group] == 1 else -1
        new = last if found[F_COMES, group] == 1 else -1
        if goes and comes and not _differ(words, old, new):
            continue
        if goes:
            made = _write(words, old, -1, group, versions[first], out, made)
        if comes:
            made = _write(words, new, 1, group, versions[first], out, made)
    return made
