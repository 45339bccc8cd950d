"""The join tree of a query in C_lin: nothing but generalized relations and quiet edges stand above its dynamic atoms.

A change of such a tree visits at most one row of each node above it, so that it costs O(1). A query without keys is in
C_lin exactly if it has one (Kara, Luo, Nikolic, Olteanu, Zhang: Tractable Conjunctive Queries over Static and Dynamic
Relations, ICDT 2025, theorem 1, for join trees in place of view trees):

- A query in C_lin has one. Each dynamic variable X becomes the generalized relation over X and the variables above it
  in the well-structured order, and each dynamic atom, which has exactly these variables, stands below that of its
  lowest variable. Each static part hangs at the lowest variable of its intersection set, which is free if the part has
  free variables (lemma 45), so that the connex law holds. Its key may be a proper part of that generalized relation:
  the edge is quiet, so that no key has to come up it, and the look-up finds it by the key.
- A query that has one is in C_lin: the lowest common ancestor of two dynamic atoms is a generalized relation, whose
  variables both have, and what is below one of its children reaches the others through these alone. So every path
  between the two is safe, as is one to the head by the connex law.

`all_trees` and `cheapest_tree` know neither generalized relations with one child nor such static parts; what they miss
are queries where one has to stand between: `R1(b, c, d), R2(b, c, d), B(b)` dynamic, `S(d, a)` static, head a, b, d.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from livejoin.theory.classes.gyo import is_acyclic
from livejoin.theory.classes.hypergraph import Hypergraph
from livejoin.theory.static.static_parts import construct_order, static_parts
from livejoin.theory.static.variable_order import OrderNode
from livejoin.theory.static.well_behaved import well_behaved
from livejoin.theory.trees.join_tree import JoinTree, to_join_tree
from livejoin.theory.trees.shape import Shape


def linear_tree(edges: Sequence[frozenset[str]], free: frozenset[str], dynamic: frozenset[int]) -> JoinTree | None:
    """A join tree in which every change costs O(1); None if the query is not in C_lin, or no atom is dynamic.

    Cost: that of `well_behaved` and of `construct_order`.

    Args:
        edges: The variables of each atom.
        free: The output variables.
        dynamic: Positions of the dynamic atoms.

    >>> edges = [frozenset("bcd"), frozenset("bcd"), frozenset("b"), frozenset("da")]
    >>> print(linear_tree(edges, frozenset("abd"), frozenset({0, 1, 2})))
    [b]{2, [b, d]{[b, c, d]{0, 1}, 3}}
    """
    is_linear = is_acyclic(edges) and is_acyclic([*edges, free]) and well_behaved(edges, free, dynamic)
    if not dynamic or not is_linear:
        return None
    return to_join_tree(_Trees(edges, free, dynamic).whole(), free)


class _Trees:
    """The trees below each dynamic variable."""

    def __init__(self, edges: Sequence[frozenset[str]], free: frozenset[str], dynamic: frozenset[int]) -> None:
        self._edges = edges
        self._dynamic = dynamic
        self._changing = frozenset[str]().union(*(edges[atom] for atom in dynamic))
        self._order = construct_order(edges, free, dynamic)
        depths = self._depths()
        self._hanging: dict[str | None, list[Shape]] = {}
        trees = _StaticTrees(edges, free)
        for part in static_parts(edges, dynamic):
            lowest = max(sorted(part.intersection), key=depths.__getitem__, default=None)
            shape = trees.rooted(part.atoms, part.intersection)
            assert shape is not None, "the query is free-connex, and one atom has the whole intersection set"
            self._hanging.setdefault(lowest, []).append(shape)

    def whole(self) -> Shape:
        """The tree of the query."""
        alone = [Shape(self._edges[atom], atom) for atom in self._order.atoms if atom in self._dynamic]
        tops = (root for root in self._order.roots if root.variable in self._changing)
        below = [*alone, *(self._below(root, frozenset()) for root in tops)]
        return _joined(frozenset(), below, self._hanging.get(None, []))

    def _below(self, node: OrderNode, above: frozenset[str]) -> Shape:
        """The tree of what stands below a dynamic variable."""
        variables = above | {node.variable}
        changing = [Shape(self._edges[atom], atom) for atom in node.atoms if atom in self._dynamic]
        children = (child for child in node.children if child.variable in self._changing)
        changing += [self._below(child, variables) for child in children]
        return _joined(variables, changing, self._hanging.get(node.variable, []))

    def _depths(self) -> dict[str, int]:
        parents = self._order.parents
        depths: dict[str, int] = {}
        for variable, parent in parents.items():  # in preorder
            depths[variable] = 0 if parent is None else depths[parent] + 1
        return depths


def _joined(variables: frozenset[str], changing: list[Shape], static: list[Shape]) -> Shape:
    """What meets at a dynamic variable: below a generalized relation, or below the only dynamic atom."""
    if len(changing) != 1:
        return Shape(variables, None, (*_flat(variables, changing), *static))
    only = changing[0]
    if not static:
        return only
    if only.atom is not None or only.variables == variables:
        return replace(only, children=(*only.children, *static))
    return Shape(variables, None, (only, *static))


def _flat(variables: frozenset[str], changing: list[Shape]) -> Iterator[Shape]:
    """Trees below a generalized relation, which takes the place of one over the same variables."""
    for one in changing:
        if one.atom is None and one.variables == variables:
            yield from one.children
        else:
            yield one


class _StaticTrees:
    """Join trees of static atoms without generalized relations."""

    def __init__(self, edges: Sequence[frozenset[str]], free: frozenset[str]) -> None:
        self._edges = edges
        self._free = free
        self._memo: dict[tuple[tuple[int, ...], frozenset[str]], Shape | None] = {}

    def rooted(self, atoms: tuple[int, ...], key: frozenset[str]) -> Shape | None:
        """A free-connex tree of some atoms whose root has the variables that they share with what is above."""
        if (atoms, key) not in self._memo:
            tries = (self._below(root, atoms) for root in atoms if key <= self._edges[root])
            self._memo[atoms, key] = next((shape for shape in tries if shape is not None), None)
        return self._memo[atoms, key]

    def _below(self, root: int, atoms: tuple[int, ...]) -> Shape | None:
        edge = self._edges[root]
        others = [atom for atom in atoms if atom != root]
        children = []
        for component in Hypergraph(tuple(self._edges[atom] for atom in others)).components(edge):
            part = tuple(others[position] for position in component)
            variables = frozenset[str]().union(*(self._edges[atom] for atom in part))
            is_hung = variables & edge <= self._free or variables & self._free <= edge  # by the connex law
            child = self.rooted(part, variables & edge) if is_hung else None
            if child is None:
                return None
            children.append(child)
        return Shape(edge, root, tuple(children))
