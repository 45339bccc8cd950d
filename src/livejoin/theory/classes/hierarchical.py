"""Hierarchical and q-hierarchical queries, each answer with its witness.

Let at(x) be the atoms that contain a variable x, and y the output variables. A query is *hierarchical* if (1) for any
two variables a and b, at(a) and at(b) are disjoint or one contains the other. It is *q-hierarchical* if also (2) a in y
and at(a) a proper subset of at(b) imply that b is in y (CROWN, section 3.2; DYN, definition 4.23). A query that returns
all its variables is q-hierarchical if and only if it is hierarchical.

The law: a query is q-hierarchical if and only if it has a free-connex join tree of height 1 (CROWN, section 3.2 and
Lemma 6.8; DYN, propositions 4.25 and 4.26). Then every update takes O(1), which no other query without self-joins
allows if the OMv conjecture holds (Berkholz, Keppeler and Schweikardt, 2017).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Literal

from livejoin.theory.classes.hypergraph import Hypergraph
from livejoin.theory.trees.join_tree import JoinTree, output_variables, to_join_tree
from livejoin.theory.trees.shape import Shape


@dataclass(frozen=True)
class Hierarchical:
    """Whether a query is (q-)hierarchical, and why.

    Args:
        holds: The answer.
        tree: A tree of height 1 if it holds, else None.
        condition: 0 if it holds; 1 if two variables' atoms cross; 2 if a bound variable is above an output variable.
        variables: The two offending variables a and b; empty if it holds. For condition 2, a is output and b is not.
        atoms: Atoms that show it; empty if it holds. For condition 1 the first has a alone, the second has both, the
            third b alone. For condition 2 the first has both, the second b alone, and no atom has a alone.
    """

    holds: bool
    tree: JoinTree | None = None
    condition: Literal[0, 1, 2] = 0
    variables: tuple[str, ...] = ()
    atoms: tuple[int, ...] = ()

    def __bool__(self) -> bool:
        return self.holds


def check_hierarchical(edges: Sequence[frozenset[str]]) -> Hierarchical:
    """Whether a query is hierarchical, whatever it returns.

    Cost: quadratic in the number of variables, times the atoms.

    Args:
        edges: The variables of each atom, at least one atom.

    Returns:
        The answer; its tree is one of the query that returns all variables.

    >>> bool(check_hierarchical([frozenset("ab"), frozenset("bc")]))
    True
    >>> found = check_hierarchical([frozenset("a"), frozenset("ab"), frozenset("b")])
    >>> found.holds, found.variables, found.atoms
    (False, ('a', 'b'), (0, 1, 2))
    """
    return check_q_hierarchical(edges)


def check_q_hierarchical(edges: Sequence[frozenset[str]], free: frozenset[str] | None = None) -> Hierarchical:
    """Whether a query is q-hierarchical.

    Cost: quadratic in the number of variables, times the atoms.

    Args:
        edges: The variables of each atom, at least one atom.
        free: The output variables; all of them if None.

    Raises:
        UnknownNameError: An output variable occurs in no atom.

    >>> str(check_q_hierarchical([frozenset("ab"), frozenset("bc")], frozenset("b")).tree)
    '[b]{0, 1}'
    >>> found = check_q_hierarchical([frozenset("ab"), frozenset("b")], frozenset("a"))
    >>> found.condition, found.variables, found.atoms
    (2, ('a', 'b'), (0, 1))
    """
    output = output_variables(edges, free)
    names = sorted(frozenset[str]().union(*edges))
    at = {name: {atom for atom, edge in enumerate(edges) if name in edge} for name in names}
    for a, b in permutations(names, 2):
        alone, both, other = at[a] - at[b], at[a] & at[b], at[b] - at[a]
        if alone and both and other:
            return Hierarchical(False, condition=1, variables=(a, b), atoms=(min(alone), min(both), min(other)))
    for a, b in permutations(names, 2):
        if a in output and b not in output and at[a] < at[b]:
            return Hierarchical(False, condition=2, variables=(a, b), atoms=(min(at[a]), min(at[b] - at[a])))
    return Hierarchical(True, to_join_tree(_simple_shape(edges, tuple(range(len(edges)))), output))


def _simple_shape(edges: Sequence[frozenset[str]], atoms: tuple[int, ...]) -> Shape:
    """The tree of height 1 of a hierarchical query (DYN, proof of proposition 4.25, without the nodes of one child).

    The variables that all atoms have make the generalized relation at the top; what they leave connected goes below
    it. A connected part that is more than one atom has a further variable in all its atoms (it has a q-tree, DYN,
    definition C.1), so the parts get smaller.
    """
    if len(atoms) == 1:
        return Shape(edges[atoms[0]], atoms[0])
    common = frozenset[str].intersection(*(edges[atom] for atom in atoms))
    parts = Hypergraph(tuple(edges[atom] for atom in atoms)).components(common)
    return Shape(common, None, tuple(_simple_shape(edges, tuple(atoms[i] for i in part)) for part in parts))
