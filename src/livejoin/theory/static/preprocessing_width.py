"""The preprocessing width of a variable order, which is the exponent of what it costs to build its views.

For a variable X of an order, the view that is built at X has X and the variables that X depends on, and joins the atoms
below X. The *preprocessing width* of the order is the largest fractional edge cover number of these variables, over all
X. A variable that no dynamic atom has is *private*, and only static atoms are below it.

Kara, Luo, Nikolic, Olteanu, Zhang, Tractable Conjunctive Queries over Static and Dynamic Relations, ICDT 2025, section
5.1, cover with the atoms below X alone. Here all static atoms cover at a private variable: those that are not below X
do not change the result where they filter the view, as they are joined above it, and what they leave of it has as many
rows as their cover allows. The least width by this definition is never above that of the paper, and may be below it:
with R(a) dynamic over the static triangle S(a, x), T(x, y), U(a, y) it is 3/2, and 2 by the paper's (decision 45). Both
are 1 for the same queries: a single atom that covers X is below X. Lemma 49, which says that without dynamic atoms the
least width is that of the fractional hypertree decompositions, holds for this definition only; its proof covers with
all atoms.

If S are the variables of the subtree of X, then the atoms below X are those that have a variable in S, and X depends on
their other variables. So the width at X is a function of X and S, whatever the shape of the order.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from livejoin.theory.cyclic.edge_cover import fractional_edge_cover
from livejoin.theory.static.variable_order import VariableOrder


def order_width(order: VariableOrder, edges: Sequence[frozenset[str]], dynamic: frozenset[int]) -> Fraction:
    """The preprocessing width of an order; 1 if there are no variables. Cost: one linear program for each variable.

    >>> from livejoin.theory.static.variable_order import variable_order
    >>> triangle = [frozenset("ab"), frozenset("bc"), frozenset("ac")]
    >>> order = variable_order(triangle, {"a": None, "b": "a", "c": "b"})
    >>> print(order_width(order, triangle, frozenset({0})), order_width(order, triangle, frozenset()))
    2 3/2
    """
    widths = (width_at(node.variable, node.variables, edges, dynamic) for node in order.walk())
    return max(widths, default=Fraction(1))


def width_at(
    variable: str, subtree: frozenset[str], edges: Sequence[frozenset[str]], dynamic: frozenset[int]
) -> Fraction:
    """The width at the top variable of a subtree with these variables.

    >>> print(width_at("c", frozenset("c"), [frozenset("ab"), frozenset("bc"), frozenset("ac")], frozenset({0})))
    2
    """
    if any(variable in edges[atom] for atom in dynamic):
        covers = [edge for edge in edges if edge & subtree]
    else:
        covers = [edge for atom, edge in enumerate(edges) if atom not in dynamic]
    return fractional_edge_cover(covers, depends_on(subtree, edges) | {variable}).number


def depends_on(subtree: frozenset[str], edges: Sequence[frozenset[str]]) -> frozenset[str]:
    """The variables outside of a subtree that share an atom with one inside of it."""
    return frozenset[str]().union(*(edge for edge in edges if edge & subtree)) - subtree
