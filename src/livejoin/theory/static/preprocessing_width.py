"""The preprocessing width of a variable order, which is the exponent of what it costs to build its views.

For a variable X of an order, Q_X joins the atoms below X. The *preprocessing width* of the order is the largest, over
all X, fractional edge cover number in Q_X of X and the variables that it depends on (Kara, Luo, Nikolic, Olteanu,
Zhang: Tractable Conjunctive Queries over Static and Dynamic Relations, ICDT 2025, section 5.1): the view that is built
at X has these variables, and only the atoms below X to be built from. That is why the triangle over one dynamic and two
static relations has width 2, although its cover number is 3/2 (example 4). By this definition the triangle over three
static relations has width 2 as well, and not the 3/2 that lemma 49 says: the proof of the lemma covers with all atoms.
The lemma is used for width 1 alone, where it is true; an atom that covers X and all that X depends on is below X.

If S are the variables of the subtree of X, then the atoms below X are those that have a variable in S, and X depends on
their other variables. So the width at X is a function of X and S, whatever the shape of the order.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from livejoin.theory.cyclic.edge_cover import fractional_edge_cover
from livejoin.theory.static.variable_order import VariableOrder


def order_width(order: VariableOrder, edges: Sequence[frozenset[str]]) -> Fraction:
    """The preprocessing width of an order; 1 if there are no variables. Cost: one linear program for each variable.

    >>> from livejoin.theory.static.variable_order import variable_order
    >>> triangle = [frozenset("ab"), frozenset("bc"), frozenset("ac")]
    >>> print(order_width(variable_order(triangle, {"a": None, "b": "a", "c": "b"}), triangle))
    2
    """
    widths = (width_at(node.variable, node.variables, edges) for node in order.walk())
    return max(widths, default=Fraction(1))


def width_at(variable: str, subtree: frozenset[str], edges: Sequence[frozenset[str]]) -> Fraction:
    """The width at the top variable of a subtree with these variables.

    >>> print(width_at("c", frozenset("c"), [frozenset("ab"), frozenset("bc"), frozenset("ac")]))
    2
    """
    below = tuple(edge for edge in edges if edge & subtree)
    return fractional_edge_cover(below, depends_on(subtree, edges) | {variable}).number


def depends_on(subtree: frozenset[str], edges: Sequence[frozenset[str]]) -> frozenset[str]:
    """The variables outside of a subtree that share an atom with one inside of it."""
    return frozenset[str]().union(*(edge for edge in edges if edge & subtree)) - subtree
