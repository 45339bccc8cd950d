"""Enclosureness with respect to a join tree: how hard a change log is for the plan of that tree.

Let e be an atom of the tree and D(e) the tuples of the atoms below e. A tuple t of e with lifespan [t+, t-] has two
*effective lifespans* (CROWN, definition 6.3)::

    hat(t)   = [t+, min(t-, first deletion in D(e) after t+)]
    check(t) = [max(t+, last insertion in D(e) before t-), t-]

and, with E(e) the effective lifespans of both kinds of the tuples in D(e) (CROWN, definition 6.4)::

    lambda_T(t) = max { |J| : J in E(e), each contained in I(t), pairwise disjoint }
    lambda_T(S) = max(1, sum of lambda_T(t) / number of tuples)

Definition 6.4 writes J as a set of tuples, each with one of its two intervals. Here J is a set of intervals, which may
have both of one tuple where they are disjoint: so do its explanation in words, the proof in appendix C and the authors'
slides, and only so do the counters of a tuple whose two intervals are disjoint change in both. The two readings differ
by a factor of at most 2. A leaf's tuples have enclosureness 0. Generalized relations have no tuples. With self-joins,
a row is a tuple of every atom over its table.

**Crossing lifespans.** Theorem 6.6, O(lambda_T) a change for the tree's plan, needs more where an atom below another
atom has two children. Let R(a, w) be the root, S(a, b, c) its child, and T(b), U(c) the children of S; the tuples of U
are there first, those of T stay longest. Insert and delete in turns: tuple i of T, tuple i of U. Each pair of changes
brings key a into S's projection view and takes it out again, and so changes the counters of all the tuples of R; but
all effective lifespans have a moment in common. (The proof of lemma C.1 takes it that an insertion and a later deletion
below one child enclose an effective lifespan. They do on one path, and not on two branches.) So let E+(e) be E(e) and,
for each atom f below e and two children c, c' of f, the *crossing lifespans*::

    [u, first deletion in c' or below after u]   for each insertion u in c or below

Law, with lambda+ from E+ in place of E: while a tuple t of e lives, its key enters and then leaves a child's projection
view at most lambda+(t) times, so each child changes t's counter at most 2 (lambda+(t) + 1) times. Proof: let the key
enter at u and leave at d. Let W be tuples of the child's subtree that join to the key just after u; one of them, x, was
inserted at u. One of them, w, is deleted at some d' in (u, d]. If w = x, I(x) is within [u, d]; if the atom of x is
above that of w, hat(x) is; if below, check(w); on different branches, a crossing lifespan. Such [u, d] are disjoint.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from livejoin.errors import SchemaError
from livejoin.theory.logs.disjoint_intervals import minimal_intervals, most_disjoint
from livejoin.theory.logs.enclosureness import Enclosureness
from livejoin.theory.logs.lifespans import AFTER, BEFORE, Lifespans
from livejoin.theory.trees.join_tree import JoinTree
from livejoin.words import Words

Intervals = tuple[Words, Words]


def tree_enclosureness(spans: Lifespans, tree: JoinTree, relations: Sequence[int] | None = None) -> Enclosureness:
    """The enclosureness of a change log with respect to a join tree (CROWN, definition 6.4), exact.

    Cost: O(h n log n) for n tuples of atoms and a tree of height h.

    Args:
        spans: The lifespans; those of relations that are not the tree's are left out.
        tree: A generalized join tree.
        relations: The relation of each atom, a relation may occur twice; relation i for atom i if None.

    Raises:
        SchemaError: There are not as many relations as atoms.

    >>> from livejoin.theory.trees.join_tree import Shape, to_join_tree
    >>> from livejoin.theory.logs.lifespans import lifespans
    >>> tree = to_join_tree(Shape(frozenset("ab"), 0, (Shape(frozenset("bc"), 1),)))
    >>> log = lifespans([0, 1, 1, 1, 1, 0], [0, 1, 1, 2, 2, 0], [+1, +1, -1, +1, -1, -1])
    >>> [part.tolist() for part in tree_enclosureness(log, tree).counts]
    [[2], [0, 0]]
    """
    return _over_tree(spans, tree, relations, lambda _: ())


def crossing_enclosureness(spans: Lifespans, tree: JoinTree, relations: Sequence[int] | None = None) -> Enclosureness:
    """The enclosureness with respect to a join tree with crossing lifespans, which bounds the plan's work on any tree.

    It is `tree_enclosureness` where `has_inner_branch` is false, and at least that elsewhere. The arguments, the cost
    and the errors are the same, the cost times the children of an atom.
    """
    return _over_tree(spans, tree, relations, _crossing_lifespans)


def has_inner_branch(tree: JoinTree) -> bool:
    """Whether an atom below another atom has two children; if not, theorem 6.6 of CROWN holds as it is written.

    No tree of height 2 has one. Cost: linear.

    >>> from livejoin.theory.trees.join_tree import least_height_tree
    >>> has_inner_branch(least_height_tree([frozenset("ab"), frozenset("bc"), frozenset("cd"), frozenset("de")]))
    False
    """
    return any(_is_below_atom(tree, position) and len(node.children) > 1 for position, node in enumerate(tree.nodes))


@dataclass(frozen=True)
class _Subtree:
    """The tuples of the atoms of a subtree: minimal (effective or crossing) lifespans, insertions, deletions."""

    minimal: Intervals
    insertions: Words
    deletions: Words


def _over_tree(
    spans: Lifespans,
    tree: JoinTree,
    relations: Sequence[int] | None,
    crossing: Callable[[Sequence[_Subtree]], Sequence[Intervals]],
) -> Enclosureness:
    """Count bottom-up; ``crossing`` gives the further intervals of a node from its children's subtrees."""
    atoms = sum(node.atom is not None for node in tree.nodes)
    relation_of = range(atoms) if relations is None else relations
    if len(relation_of) != atoms:
        msg = f"{len(relation_of)} relations are given for a tree of {atoms} atoms; allowed is one for each atom"
        raise SchemaError(msg)
    counts = [np.empty(0, np.int64)] * atoms
    subtrees: dict[int, _Subtree] = {}
    for position in reversed(range(len(tree.nodes))):
        node = tree.nodes[position]
        if node.atom is None:  # stands above all atoms, so no tuple has it below
            continue
        own = spans.of(relation_of[node.atom])
        below = [subtrees.pop(child) for child in node.children]
        families = [subtree.minimal for subtree in below]
        counts[node.atom] = most_disjoint(_union(families), own.start, own.end)
        if _is_below_atom(tree, position):
            insertions = _sorted(subtree.insertions for subtree in below)
            deletions = _sorted(subtree.deletions for subtree in below)
            families += [*_effective_lifespans(own, insertions, deletions), *crossing(below)]
            subtrees[position] = _Subtree(
                _union(families),
                _sorted([insertions, own.start[own.start > BEFORE]]),
                _sorted([deletions, own.end[own.end < AFTER]]),
            )
    return Enclosureness.of(counts)


def _is_below_atom(tree: JoinTree, position: int) -> bool:
    parent = tree.nodes[position].parent
    return parent is not None and tree.nodes[parent].atom is not None


def _effective_lifespans(own: Lifespans, insertions: Words, deletions: Words) -> list[Intervals]:
    """Both kinds, given what happens below, ascending; one kind only where nothing does, they are lifespans then."""
    hat = (own.start, np.minimum(own.end, _next(deletions, own.start)))
    check = (np.maximum(own.start, _previous(insertions, own.end)), own.end)
    return [hat, check] if len(insertions) or len(deletions) else [hat]


def _crossing_lifespans(below: Sequence[_Subtree]) -> list[Intervals]:
    """From each insertion in a child's subtree to the next deletion in another child's."""
    found = []
    for subtree in below:
        deletions = _sorted(other.deletions for other in below if other is not subtree)
        end = _next(deletions, subtree.insertions)
        found.append((subtree.insertions[end < AFTER], end[end < AFTER]))
    return found


def _next(times: Words, after: Words) -> Words:
    """The first of ascending times after each given one, `AFTER` if there is none."""
    return np.append(times, AFTER)[np.searchsorted(times, after, side="right")]


def _previous(times: Words, before: Words) -> Words:
    """The last of ascending times before each given one, `BEFORE` if there is none."""
    return np.insert(times, 0, BEFORE)[np.searchsorted(times, before, side="left")]


def _union(families: Sequence[Intervals]) -> Intervals:
    """The minimal intervals of several families."""
    empty = np.empty(0, np.int64)
    return minimal_intervals(
        np.concatenate([empty, *(start for start, _ in families)]),
        np.concatenate([empty, *(end for _, end in families)]),
    )


def _sorted(parts: Iterator[Words] | Sequence[Words]) -> Words:
    return np.sort(np.concatenate([np.empty(0, np.int64), *parts]))
