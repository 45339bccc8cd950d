"""Safe rewritings: view trees that are maintained in constant time and read with constant delay, checked.

A rewriting (see `view_tree`) is safe for a query if it has these properties (Kara, Luo, Nikolic, Olteanu, Zhang:
Tractable Conjunctive Queries over Static and Dynamic Relations, ICDT 2025, definition 15):

- correctness (1): for each connected component of the query, one tree has all of its atoms;
- correctness (2): where a projection removes a variable, all atoms with it stand below the projection;
- update: the variables of a dynamic view contain those of each of its siblings, so that a change looks each sibling up;
- enumeration: a connected set of views of each tree, its root among them, has the free variables of the tree and no
  other ones.

A query that has a safe rewriting is maintained with constant update time and enumeration delay after the time that it
takes to materialise the views (proposition 16).

Every atom is a leaf exactly once here: the definition says that the leaves are the atoms of the query, and the proof of
proposition 16 that a change affects one tree. An atom without variables is a component by itself. The enumeration may
always use the largest connected set with free variables only, so that this set is the one to check.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from livejoin.theory.classes.hypergraph import Hypergraph
from livejoin.theory.static.view_tree import Rewriting, View


def rewriting_violations(
    rewriting: Rewriting, edges: Sequence[frozenset[str]], free: frozenset[str], dynamic: frozenset[int]
) -> list[str]:
    """Which properties of a safe rewriting do not hold, and where; empty for a safe rewriting.

    Each text begins with the property: form (not a rewriting at all), correctness (1), correctness (2), update or
    enumeration. Cost: views squared times variables.

    Args:
        rewriting: The view trees.
        edges: The variables of each atom.
        free: The output variables.
        dynamic: Positions of the dynamic atoms.

    >>> edges = [frozenset("ab"), frozenset("b")]
    >>> join = View(frozenset("ab"), None, (View(edges[0], 0), View(edges[1], 1)))
    >>> rewriting_violations(Rewriting((join,)), edges, frozenset("ab"), frozenset({0}))
    []
    >>> rewriting_violations(Rewriting((join,)), edges, frozenset("ab"), frozenset({1}))
    ['update: dynamic 1(b) stands beside 0(a, b), which also has a']
    """
    broken = list(_broken_form(rewriting, edges))
    return broken or [
        *_broken_correctness(rewriting, edges),
        *_broken_update(rewriting, dynamic),
        *_broken_enumeration(rewriting, free),
    ]


def enumeration_views(tree: View, free: frozenset[str]) -> tuple[View, ...]:
    """The views that the result of a tree is read from, in preorder: those without bound variables up to the root.

    >>> leaf = View(frozenset("ab"), 0)
    >>> [sorted(view.variables) for view in enumeration_views(View(frozenset("a"), None, (leaf,)), frozenset("a"))]
    [['a']]
    """
    if not tree.variables <= free:
        return ()
    return (tree, *(view for child in tree.children for view in enumeration_views(child, free)))


def _broken_form(rewriting: Rewriting, edges: Sequence[frozenset[str]]) -> Iterator[str]:
    atoms = sorted(atom for tree in rewriting.trees for atom in tree.atoms)
    if atoms != list(range(len(edges))):
        yield f"form: the trees have atoms {atoms}, the query has {len(edges)}, each once"
        return
    for view in _views(rewriting):
        below = frozenset[str]().union(*(child.variables for child in view.children))
        if view.atom is not None:
            if view.children or view.variables != edges[view.atom]:
                yield f"form: {_name(view)} is no leaf with the variables of its atom"
        elif not view.children:
            yield f"form: {_name(view)} is a leaf and no atom"
        elif len(view.children) == 1 and not view.variables <= below:
            yield f"form: {_name(view)} is a projection of {_name(view.children[0])}, which has not all its variables"
        elif len(view.children) > 1 and view.variables != below:
            yield f"form: {_name(view)} is a join of views with variables {', '.join(sorted(below))}"


def _broken_correctness(rewriting: Rewriting, edges: Sequence[frozenset[str]]) -> Iterator[str]:
    for component in Hypergraph(tuple(edges)).components():
        if not any(set(component) <= set(tree.atoms) for tree in rewriting.trees):
            yield f"correctness (1): no tree has all of the connected atoms {', '.join(map(str, component))}"
    for view in _views(rewriting):
        if len(view.children) == 1:
            for variable in sorted(view.children[0].variables - view.variables):
                atoms = [a for a, edge in enumerate(edges) if variable in edge and a not in view.atoms]
                if atoms:
                    where = ", ".join(map(str, atoms))
                    yield f"correctness (2): {_name(view)} removes {variable}, which is also in atoms {where}"


def _broken_update(rewriting: Rewriting, dynamic: frozenset[int]) -> Iterator[str]:
    for parent in _views(rewriting):
        for view in parent.children:
            if view.is_dynamic(dynamic):
                for sibling in parent.children:
                    more = ", ".join(sorted(sibling.variables - view.variables))
                    if more:
                        yield f"update: dynamic {_name(view)} stands beside {_name(sibling)}, which also has {more}"


def _broken_enumeration(rewriting: Rewriting, free: frozenset[str]) -> Iterator[str]:
    for tree in rewriting.trees:
        wanted = free & frozenset[str]().union(*(view.variables for view in tree.walk()))
        found = enumeration_views(tree, free)
        missing = wanted - frozenset[str]().union(*(view.variables for view in found))
        if not found:
            bound = ", ".join(sorted(tree.variables - free))
            yield f"enumeration: the root {_name(tree)} has the bound variables {bound}"
        elif missing:
            yield f"enumeration: {', '.join(sorted(missing))} cannot be reached from the root {_name(tree)}"


def _views(rewriting: Rewriting) -> Iterator[View]:
    for tree in rewriting.trees:
        yield from tree.walk()


def _name(view: View) -> str:
    variables = f"({', '.join(sorted(view.variables))})"
    return variables if view.atom is None else f"{view.atom}{variables}"
