"""The laws of a free-connex generalized hypertree decomposition, checked.

- once: every atom is joined in exactly one bag;
- inside: the atoms that a bag joins have no variable outside of it;
- filter: a filter is another atom than those that the bag joins, and shares a variable with it;
- cover: the covers of a bag use its atoms only, cover its variables, and none of all atoms of the query is lighter;
- width: the widths are the largest of the bags;
- tree: the bags have a free-connex join tree (CROWN, section 7.1 and definition 3.2), the one that is given.

From these laws follows that the join of the bags is the join of the atoms: see `decomposition`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from livejoin.theory.cyclic.decomposition import Bag, Decomposition
from livejoin.theory.cyclic.edge_cover import fractional_edge_cover, integral_edge_cover
from livejoin.theory.trees import join_tree_laws


def decomposition_violations(
    decomposition: Decomposition, edges: Sequence[frozenset[str]], free: frozenset[str] | None = None
) -> list[str]:
    """What in a decomposition breaks the laws; empty for a valid one.

    Cost: two edge covers for each bag.

    Args:
        decomposition: The decomposition.
        edges: The variables of each atom.
        free: The output variables; all of them if None.

    Returns:
        One message for each broken law and place, the law first.

    >>> from livejoin.theory.cyclic.decomposition import decompose
    >>> triangle = [frozenset("ab"), frozenset("bc"), frozenset("ca")]
    >>> decomposition_violations(decompose(triangle), triangle)
    []
    >>> decomposition_violations(decompose(triangle[:2]), triangle)
    ['once: atom 2 is joined in 0 bags']
    """
    joined = Counter(atom for bag in decomposition.bags for atom in bag.atoms)
    broken = [f"once: atom {a} is joined in {joined[a]} bags" for a in range(len(edges)) if joined[a] != 1]
    broken += [f"once: there is no atom {a}" for a in joined if a not in range(len(edges))]
    if broken:
        return broken
    for position, bag in enumerate(decomposition.bags):
        broken += [message.replace(":", f": bag {position}", 1) for message in _broken_bag(bag, edges)]
    if decomposition.width != max(bag.width for bag in decomposition.bags):
        broken.append(f"width: the fractional width is {decomposition.width}")
    if decomposition.integral_width != max(bag.integral_width for bag in decomposition.bags):
        broken.append(f"width: the integral width is {decomposition.integral_width}")
    messages = join_tree_laws.violations(decomposition.tree, decomposition.edges, free)
    return broken + [f"tree: {message}" for message in messages]


def _broken_bag(bag: Bag, edges: Sequence[frozenset[str]]) -> Iterator[str]:
    for atom in bag.atoms:
        if not edges[atom] <= bag.variables:
            yield f"inside: joins atom {atom} with variables outside of it"
    for atom in bag.filters:
        if atom in bag.atoms or not edges[atom] & bag.variables:
            yield f"filter: cannot be filtered by atom {atom}"
    used = {*bag.atoms, *bag.filters}
    if not used.issuperset(atom for atom, _ in bag.cover) or not used.issuperset(bag.integral_cover):
        yield "cover: is covered by atoms that it does not have"
    for variable in sorted(bag.variables):
        if sum(weight for atom, weight in bag.cover if variable in edges[atom]) < 1:
            yield f"cover: has {variable} not covered by its fractional cover"
        if not any(variable in edges[atom] for atom in bag.integral_cover):
            yield f"cover: has {variable} not covered by its integral cover"
    if any(weight <= 0 for _, weight in bag.cover):
        yield "cover: has a weight that is not positive"
    if bag.width != (least := fractional_edge_cover(edges, bag.variables).number):
        yield f"cover: has the fractional width {bag.width}, the least is {least}"
    if bag.integral_width != (fewest := integral_edge_cover(edges, bag.variables).number):
        yield f"cover: has the integral width {bag.integral_width}, the least is {fewest}"
