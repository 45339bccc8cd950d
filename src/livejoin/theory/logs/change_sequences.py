"""Change sequences with a prescribed enclosureness, for benchmarks and tests.

Short tuples come and go one after the other, and each long tuple lives while a run of k of them does, somewhere in the
sequence. A long tuple then has enclosureness k, whatever the other long ones do: short lifespans contain no other and
are disjoint. So the sum over the tuples is that of the runs' lengths, and any sum can be met exactly. About half of the
tuples are short.

To see the work that the enclosureness stands for, give all rows of a relation the same join keys: then each short row
joins all the long ones that live.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from livejoin.errors import ChangeError
from livejoin.theory.logs.lifespans import Lifespans, lifespans
from livejoin.theory.trees.join_tree import JoinTree
from livejoin.words import Words

LONG, SHORT = 0, 1
_CLOSE, _OPEN, _COME, _GO = range(4)  # at one slot, in this order


@dataclass(frozen=True, eq=False)
class ChangeSequence:
    """A change log.

    Args:
        relation: int64 of shape (n,), the relation of each change.
        row: int64 of shape (n,), the row of each change, never inserted twice.
        sign: int64 of shape (n,), +1 for an insertion and -1 for a deletion.
        initial: The number of first changes that are the initial database.
    """

    relation: Words
    row: Words
    sign: Words
    initial: int = 0

    def __len__(self) -> int:
        return len(self.sign)

    @property
    def lifespans(self) -> Lifespans:
        """The lifespans of its tuples."""
        return lifespans(self.relation, self.row, self.sign, self.initial)


def enclosing_sequence(tuples: int, wished: float, seed: int = 0) -> ChangeSequence:
    """A change sequence of long tuples in relation 0 and short ones in relation 1, with a prescribed `enclosureness`.

    Its enclosureness is ``round(wished * tuples) / tuples`` exactly. Cost: O(n log n) for n tuples.

    Args:
        tuples: Number of tuples, at least 2; each is inserted and deleted once.
        wished: The enclosureness, from 1 to about a quarter of the tuples.
        seed: Of the random choice of the long tuples' places.

    Raises:
        ChangeError: There are no such sequences.

    >>> from livejoin.theory.logs.enclosureness import enclosureness
    >>> enclosureness(enclosing_sequence(1000, 7.5).lifespans).average
    7.5
    """
    short = tuples // 2
    total = _total_of_runs(tuples, wished, tuples - short, short, short)
    return _sequence(LONG, SHORT, tuples - short, short, total, (), seed)


def enclosing_sequence_for(tree: JoinTree, tuples: int, wished: float, seed: int = 0) -> ChangeSequence:
    """A change sequence with a prescribed `tree_enclosureness`; relation i is atom i.

    The tuples of the first atom that has a child are long, those of its first child are short. Every other atom has one
    row, which is in the initial database and stays. The sequence's enclosureness is ``round(wished * tuples) / tuples``
    exactly. Cost: O(n log n) for n tuples.

    Args:
        tree: A generalized join tree of height 2 or more.
        tuples: Number of tuples, at least 2 and one for each further atom.
        wished: The enclosureness, from 1 to about a quarter of the tuples.
        seed: Of the random choice of the long tuples' places.

    Raises:
        ChangeError: The tree has height 1, where the enclosureness is always 1, or there are no such sequences.

    >>> from livejoin.theory.trees.join_tree import least_height_tree
    >>> from livejoin.theory.logs.tree_enclosureness import tree_enclosureness
    >>> tree = least_height_tree([frozenset("ab"), frozenset("bc"), frozenset("cd")])
    >>> tree_enclosureness(enclosing_sequence_for(tree, 1000, 7.5).lifespans, tree).average
    7.5
    """
    pairs = ((node.atom, tree.nodes[node.children[0]].atom) for node in tree.nodes if node.children)
    upper, lower = next(((a, b) for a, b in pairs if a is not None and b is not None), (None, None))
    if upper is None or lower is None:
        msg = "no atom of the tree has a child, so every change sequence has enclosureness 1; give a higher tree"
        raise ChangeError(msg)
    others = {node.atom: node for node in tree.nodes if node.atom is not None and node.atom not in (upper, lower)}
    rows = tuples - len(others)
    short = rows // 2
    enclosing = sum(bool(node.children) for node in others.values())  # each contains what stays below it, once
    total = _total_of_runs(tuples, wished, rows - short, short, enclosing)
    return _sequence(upper, lower, rows - short, short, total, tuple(others), seed)


def _total_of_runs(tuples: int, wished: float, long: int, short: int, further: int) -> int:
    """What the long tuples have to add to the enclosureness of the further ones; at least 1 each."""
    most = (long * short + further) / tuples if short > 0 else 0.0
    if not 1 <= wished <= most:
        allowed = f"allowed are 1 to {most:.6g}, which more tuples raise" if most >= 1 else "give more tuples"
        msg = f"no sequence of {tuples} tuples has enclosureness {wished}; {allowed}"
        raise ChangeError(msg)
    return round(wished * tuples) - further


def _sequence(
    upper: int, lower: int, long: int, short: int, total: int, others: tuple[int, ...], seed: int
) -> ChangeSequence:
    """Lay out the sequence; the runs of the long tuples have ``total`` short ones together, as evenly as can be."""
    generator = np.random.default_rng(seed)
    runs = np.full(long, total // long) + (np.arange(long) < total % long)
    generator.shuffle(runs)
    begins = generator.integers(0, short - runs + 1)
    slots = np.concatenate([begins, begins + runs, np.arange(short), np.arange(short)])
    kinds = np.repeat((_OPEN, _CLOSE, _COME, _GO), (long, long, short, short))
    order = np.argsort(slots * 4 + kinds, kind="stable")
    sizes = (long, long, short, short)
    kept = np.asarray(others, np.int64)
    return ChangeSequence(
        relation=np.concatenate([kept, np.repeat((upper, upper, lower, lower), sizes)[order]]),
        row=np.concatenate([0 * kept, np.concatenate([np.arange(size) for size in sizes])[order]]),
        sign=np.concatenate([0 * kept + 1, np.repeat((1, -1, 1, -1), sizes)[order]]),
        initial=len(kept),
    )
