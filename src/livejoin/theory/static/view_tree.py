"""View trees: a query as projections and joins of its atoms, one stratum of views over the other.

A *rewriting* of a query is a forest whose leaves are the atoms of the query. An inner node is a view: the projection of
its child if it has one, the join of its children if it has several (Kara, Luo, Nikolic, Olteanu, Zhang: Tractable
Conjunctive Queries over Static and Dynamic Relations, ICDT 2025, section 3). A view is *dynamic* if one of the atoms
below it is. The result of a tree is the join of its views on free variables only, from the root downwards.

`rewrite` follows a variable order from the top to the bottom, as `Rewrite` of section 5.2, figure 5. The extraction of
that figure is incomplete; this is the reading under which the properties of safe rewritings hold (proposition 32, and
example 31: each variable becomes a projection view, or a join view with a projection view above it):

- a variable with several children becomes the join of their views, whose variables are the variable itself and those
  that it depends on; with one child, that child has these variables already and no view is needed;
- a projection that removes the variable stands above, unless the variable is a root. It also stands above a bound root:
  else the root view would have a bound variable, and an output without variables could not be read from it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from livejoin.theory.static.variable_order import OrderNode, VariableOrder


@dataclass(frozen=True)
class View:
    """A view of a rewriting, or an atom.

    Args:
        variables: The variables of the view.
        atom: Position of the atom, None for a view.
        children: The views below: none for an atom, one for a projection, several for a join.
    """

    variables: frozenset[str]
    atom: int | None = None
    children: tuple[View, ...] = ()

    def walk(self) -> Iterator[View]:
        """The views of this subtree in preorder."""
        yield self
        for child in self.children:
            yield from child.walk()

    @property
    def atoms(self) -> tuple[int, ...]:
        """Positions of the atoms of this subtree, from left to right."""
        return tuple(view.atom for view in self.walk() if view.atom is not None)

    def is_dynamic(self, dynamic: frozenset[int]) -> bool:
        """Whether an atom of this subtree is dynamic."""
        return not dynamic.isdisjoint(self.atoms)

    def __str__(self) -> str:
        head = f"({', '.join(sorted(self.variables))})" if self.atom is None else str(self.atom)
        return f"{head}{{{', '.join(map(str, self.children))}}}" if self.children else head


@dataclass(frozen=True)
class Rewriting:
    """A rewriting of a query: its view trees, which together have every atom once."""

    trees: tuple[View, ...]

    def __str__(self) -> str:
        return ", ".join(map(str, self.trees))


def rewrite(order: VariableOrder, edges: Sequence[frozenset[str]], free: frozenset[str]) -> Rewriting:
    """The rewriting that a variable order gives; safe for a well-structured order.

    Its materialisation takes time O(N^w) for a database of size N, where w is the order's preprocessing width
    (proposition 32).

    Args:
        order: A variable order of the query.
        edges: The variables of each atom.
        free: The output variables.

    >>> from livejoin.theory.static.variable_order import variable_order
    >>> edges = [frozenset("ab"), frozenset("b"), frozenset("ac"), frozenset("cd")]
    >>> order = variable_order(edges, {"b": None, "a": "b", "d": "a", "c": "d"})
    >>> print(rewrite(order, edges, frozenset("abd")))
    (b){1, (b){(a, b){0, (a){(a, d){(a, c, d){2, 3}}}}}}
    """

    def view(node: OrderNode, is_root: bool) -> View:
        children = (
            *(View(edges[atom], atom) for atom in node.atoms),
            *(view(child, False) for child in node.children),
        )
        top = children[0] if len(children) == 1 else _join(children)
        if is_root and node.variable in free:
            return top
        return View(top.variables - {node.variable}, None, (top,))

    atoms = (View(frozenset(), atom) for atom in order.atoms)
    return Rewriting((*atoms, *(view(root, True) for root in order.roots)))


def _join(children: tuple[View, ...]) -> View:
    return View(frozenset[str]().union(*(child.variables for child in children)), None, children)
