"""The generalized join trees of Dynamic Yannakakis: simple ones, compatible ones, and how they come from CROWN's.

A tree by the laws of `dyn_tree_laws` is

- *simple* if every child is a guard of its parent (DYN, definition 4.14): then an update of u rows takes O(u), and only
  then (theorem 4.15);
- *compatible* with a query if some nodes around the root, connected, have the query's output variables and no others
  (definition 4.19): then the result can be enumerated with constant delay, and the multiplicity of a row is found in
  O(1) (proposition 4.18).

The law: a query has a compatible tree if and only if it is free-connex, and one that is simple too if and only if it is
q-hierarchical (propositions 4.25 and 4.26). CROWN's free-connex join trees differ in that atoms may be inside and that
the connex subtree may have bound variables, if its keys have none; `dyn_tree` leads from there to here.

In the trees made here, ``connex`` holds the nodes that make them compatible.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from livejoin.errors import UnsupportedQueryError
from livejoin.theory.classes.hierarchical import check_q_hierarchical
from livejoin.theory.trees.join_tree import JoinTree, connex_subtree, output_variables, to_join_tree
from livejoin.theory.trees.shape import Shape


@dataclass(frozen=True)
class Simple:
    """Whether a tree is simple, and why not.

    Args:
        holds: The answer.
        child: A node that is not a guard of its parent, None if there is none.
        missing: The parent's variables that this node does not have, sorted.
    """

    holds: bool
    child: int | None = None
    missing: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self.holds


def check_simple(tree: JoinTree) -> Simple:
    """Whether every child is a guard of its parent (DYN, definition 4.14), for any width-one decomposition.

    Cost: nodes times variables.

    >>> from livejoin.theory.trees.join_tree import to_join_tree
    >>> from livejoin.theory.trees.shape import Shape
    >>> ab, bc = Shape(frozenset("ab"), 0), Shape(frozenset("bc"), 1)
    >>> check_simple(to_join_tree(Shape(frozenset("ab"), None, (ab, bc))))
    Simple(holds=False, child=2, missing=('a',))
    >>> bool(check_simple(to_join_tree(Shape(frozenset("b"), None, (ab, bc)))))
    True
    """
    for position, node in enumerate(tree.nodes):
        if node.parent is not None:
            missing = set(tree.nodes[node.parent].variables).difference(node.variables)
            if missing:
                return Simple(False, position, tuple(sorted(missing)))
    return Simple(True)


@dataclass(frozen=True)
class Compatible:
    """Whether a tree is compatible with a query, and why not.

    Args:
        holds: The answer.
        connex: The least connex subset that has all output variables and no others; empty if there is none.
        node: If there is none, a node with bound variables that each candidate has to have.
        bound: The bound variables of this node, sorted.
        output: The output variables that only this node and those below it have, sorted; empty at a root only.
    """

    holds: bool
    connex: frozenset[int] = frozenset()
    node: int | None = None
    bound: tuple[str, ...] = ()
    output: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self.holds


def check_compatible(tree: JoinTree, free: frozenset[str]) -> Compatible:
    """Whether a connex subset of a tree has exactly the output variables (DYN, definitions 4.17 and 4.19).

    A connex subset is connected and contains the root. One that has all output variables contains the highest node of
    each and all nodes above these; so if any such subset has no bound variables, the least one has none.

    Cost: nodes times variables.

    Raises:
        UnknownNameError: An output variable occurs in no atom.

    >>> from livejoin.theory.trees.join_tree import to_join_tree
    >>> from livejoin.theory.trees.shape import Shape
    >>> ab, bc = Shape(frozenset("ab"), 0), Shape(frozenset("bc"), 1)
    >>> tree = to_join_tree(Shape(frozenset("b"), None, (ab, bc)))
    >>> sorted(check_compatible(tree, frozenset("ab")).connex)
    [0, 1]
    >>> check_compatible(tree, frozenset("a"))
    Compatible(holds=False, connex=frozenset(), node=0, bound=('b',), output=('a',))
    """
    connex = connex_subtree(tree.nodes, output_variables([frozenset(node.variables) for node in tree.nodes], free))
    for position in sorted(connex):
        node = tree.nodes[position]
        if bound := set(node.variables) - free:
            tops = _subtree_variables(tree, position).difference(node.key) & free
            return Compatible(False, node=position, bound=tuple(sorted(bound)), output=tuple(sorted(tops)))
    return Compatible(True, connex)


def dyn_tree(tree: JoinTree, free: frozenset[str] | None = None) -> JoinTree:
    """DYN's generalized join tree for one of CROWN's free-connex join trees.

    For an inner node e, all of whose variables become a hyperedge, an atom e becomes a leaf below it (the construction
    of DYN's proposition 3.4, where leaves stay what they are). A node e of the connex subtree gets the hyperedge
    ``e & free`` above it, and these hang below each other as the nodes did: by the connex law they keep their keys, so
    they are a connex subset with the output variables only. Hyperedges with the same variables become one.

    A tree of height 1 becomes a simple tree.

    Cost: nodes times variables.

    Args:
        tree: A free-connex join tree of the query, by the laws of `join_tree_laws`.
        free: The output variables; None for all.

    Returns:
        A tree without `dyn_violations` that is compatible with the query; ``connex`` says by which nodes.

    Raises:
        UnsupportedQueryError: The tree is no free-connex join tree for these output variables.
        UnknownNameError: An output variable occurs in no atom.

    >>> from livejoin.theory.trees.join_tree import least_height_tree
    >>> tree = least_height_tree([frozenset("ab"), frozenset("bc"), frozenset("cd")])
    >>> str(tree), str(dyn_tree(tree))
    ('[b]{0, 1{2}}', '[b]{0, [b, c]{1, 2}}')
    >>> str(dyn_tree(tree, free=frozenset("b")))
    '[b]{0, [b, c]{1, 2}}'
    >>> str(dyn_tree(tree, free=frozenset("ab")))
    '[b]{0, [b, c]{1, 2}}'
    """
    output = output_variables([frozenset(node.variables) for node in tree.nodes], free)
    above: dict[_Place, frozenset[str] | None] = {}
    for place, parent in _places(tree, output):
        above.setdefault(place, parent)
    below: dict[frozenset[str] | None, list[_Place]] = {}
    for place, parent in above.items():
        below.setdefault(parent, []).append(place)

    def shape(place: _Place) -> tuple[int, Shape]:
        """The subtree of a place, and its first atom, by which it is sorted among its siblings."""
        if isinstance(place, int):
            (node,) = (node for node in tree.nodes if node.atom == place)
            return place, Shape(frozenset(node.variables), place)
        first, children = zip(*sorted(map(shape, below[place]), key=lambda found: found[0]), strict=True)
        return first[0], Shape(place, None, children)

    (root,) = below[None]
    return to_join_tree(shape(root)[1], free)


_Place = frozenset[str] | int  # a node of DYN's tree: a hyperedge, known by its variables, or an atom by its position


def _places(tree: JoinTree, free: frozenset[str]) -> Iterator[tuple[_Place, frozenset[str] | None]]:
    """The nodes of DYN's tree with their parents; of a node that comes more than once, the first parent counts."""
    variables = [frozenset(node.variables) for node in tree.nodes]
    connex = sorted(connex_subtree(tree.nodes, free))
    heads = {position: variables[position] & free for position in connex}
    for position in connex:
        node = tree.nodes[position]
        if not free.issuperset(node.key):
            msg = (
                f"node {position} of {tree} has key {', '.join(node.key)}: the tree does not keep the output "
                f"{', '.join(sorted(free))} together; allowed are free-connex join trees of the query"
            )
            raise UnsupportedQueryError(msg, clause="SELECT")
        over = None if node.parent is None else heads[node.parent]
        if node.atom is not None and not node.children and heads[position] == variables[position]:
            yield node.atom, over
        else:
            yield heads[position], over
    for position, node in enumerate(tree.nodes):
        over = heads.get(position, None if node.parent is None else variables[node.parent])
        if node.children:
            yield variables[position], over
            over = variables[position]
        if node.atom is not None:
            yield node.atom, over


def simple_tree(edges: Sequence[frozenset[str]], free: frozenset[str] | None = None) -> JoinTree:
    """A simple tree that is compatible with a q-hierarchical query (DYN, proposition 4.25).

    No other query has one (proposition 4.26). The tree is that of the proposition's proof without hyperedges that have
    a single child and that neither the output nor the root needs.

    Cost: quadratic in the number of variables, times the atoms.

    Args:
        edges: The variables of each atom, at least one atom.
        free: The output variables; all of them if None.

    Raises:
        UnsupportedQueryError: The query is not q-hierarchical.
        UnknownNameError: An output variable occurs in no atom.

    >>> str(simple_tree([frozenset("xy"), frozenset("xyw"), frozenset("xyuv")], free=frozenset("xyu")))
    '[x, y]{0, 1, [u, x, y]{2}}'
    """
    found = check_q_hierarchical(edges, free)
    if found.tree is None:
        a, b = found.variables
        reason = "their atoms overlap and neither's contain the other's"
        if found.condition == 2:
            reason = f"all atoms with {a} have {b}, others have it too, and {a} is output but {b} is not"
        atoms = ", ".join(map(str, found.atoms))
        msg = (
            f"the query is not q-hierarchical because of variables {a} and {b} in atoms {atoms}: {reason}; only "
            "q-hierarchical queries have a simple compatible tree; use `dyn_tree` for one that is compatible"
        )
        raise UnsupportedQueryError(msg, clause="FROM" if found.condition == 1 else "SELECT")
    return dyn_tree(found.tree, free)


def _subtree_variables(tree: JoinTree, position: int) -> frozenset[str]:
    node = tree.nodes[position]
    return frozenset(node.variables).union(*(_subtree_variables(tree, child) for child in node.children))
