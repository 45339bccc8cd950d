"""A free-connex join tree for every free-connex query: the construction of CROWN, appendix A (only-if of Lemma A.1).

Let y be the output variables and E_y the sets ``e & y`` of the atoms e. The construction starts from a traditional join
tree of the atoms and E_y with connex subtree E_y (Lemma A.2; Bagan, Durand and Grandjean, lemma 21). Here it is made of
two spanning trees with the largest intersections, which are join trees (Maier, 1983): one of the atoms and y, rooted
at y, which exists because the query is free-connex; and one of E_y, which is acyclic as the query is. Every subtree
that hangs below y in the first is hung below the set ``e & y`` of its root e in the second. Then the four steps:

1. Subtrees without output variables are put aside, and come back below an atom; those below an atom stay there.
2. Sets of E_y within another one are merged with it, so that E_y keeps its maximal sets.
3. An atom e below a node within y goes to its own set ``e & y``, if that is left. Here nothing is to be moved: an atom
   within y has no atoms below it, because they share no less with y and so were hung there.
4. Top-down, a set within all its children, below generalized relations only, becomes a generalized relation; any
   other one is replaced by the atom among its children that contains it. Maximal sets do not contain one another, so
   only a set that is alone becomes one; with a single child it is replaced as well, because it would say nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from livejoin.theory.trees.shape import Shape


def construct_shape(edges: Sequence[frozenset[str]], free: frozenset[str]) -> Shape:
    """Construct a free-connex join tree.

    Among the trees that differ in the root of E_y alone, the result is the first of least height. Cost: cubic in the
    number of atoms.

    Args:
        edges: The variables of each atom; with ``free`` added, and without, they are acyclic.
        free: The output variables.
    """
    below = spanning_tree([free, *edges])  # node 0 is the output, node a + 1 is atom a
    outputs = _output_sets(edges, free)
    rotations = (outputs[first:] + outputs[:first] for first in range(len(outputs)))
    return min((_construct(edges, free, sets, below) for sets in rotations), key=lambda shape: shape.height)


def _output_sets(edges: Sequence[frozenset[str]], free: frozenset[str]) -> list[frozenset[str]]:
    """E_y after step 2: the maximal ones among the sets of output variables of the atoms."""
    sets = list(dict.fromkeys(edge & free for edge in edges))
    return [one for one in sets if not any(one < other for other in sets)]


def _construct(
    edges: Sequence[frozenset[str]], free: frozenset[str], outputs: Sequence[frozenset[str]], below: list[list[int]]
) -> Shape:
    """The construction with the first of ``outputs`` as the root."""
    below_output = spanning_tree(outputs)
    home = [next(i for i, one in enumerate(outputs) if edge & free <= one) for edge in edges]
    members: list[list[int]] = [[] for _ in outputs]  # the atoms below each set; its own comes first, as the largest
    aside: list[int] = []
    for node in below[0]:
        edge = edges[node - 1]
        (members[home[node - 1]] if edge & free or not free else aside).append(node - 1)

    def atom_shape(atom: int, more: tuple[Shape, ...] = ()) -> Shape:
        return Shape(edges[atom], atom, (*more, *(atom_shape(node - 1) for node in below[atom + 1])))

    def set_shape(position: int, more: tuple[Shape, ...]) -> Shape:
        """Step 4; ``more`` comes back from step 1."""
        first, *others = members[position]
        if len(outputs) == 1 and others and all(outputs[0] <= edges[atom] for atom in others):
            return Shape(outputs[0], None, (atom_shape(first, more), *(atom_shape(atom) for atom in others)))
        sets = (set_shape(child, ()) for child in below_output[position])
        return atom_shape(first, (*more, *sets, *(atom_shape(atom) for atom in others)))

    return set_shape(0, tuple(atom_shape(atom) for atom in aside))


def spanning_tree(sets: Sequence[frozenset[str]]) -> list[list[int]]:
    """The children of each set in a spanning tree with the largest intersections, rooted at the first set.

    It is a join tree of the sets if they are acyclic (Maier, 1983). Of equal intersections, those with the sets
    reached first are taken, which keeps the tree low (Prim's algorithm, quadratic).

    >>> spanning_tree([frozenset("ab"), frozenset("cd"), frozenset("bc")])
    [[2], [], [1]]
    """
    children: list[list[int]] = [[] for _ in sets]
    nearest = dict.fromkeys(range(1, len(sets)), 0)  # of each set that is not reached, the best one that is
    while nearest:
        far = max(nearest, key=lambda one: len(sets[one] & sets[nearest[one]]))
        children[nearest.pop(far)].append(far)
        for one, near in nearest.items():
            if len(sets[one] & sets[far]) > len(sets[one] & sets[near]):
                nearest[one] = far
    return children
