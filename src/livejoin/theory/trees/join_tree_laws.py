"""The laws of a generalized join tree, checked.

A tree of a query keeps these laws (CROWN, definitions 3.1 and 3.2):

- cover: every atom is exactly one node, and every leaf is an atom;
- connect: for each variable, the nodes that contain it are connected;
- guard: a generalized relation is contained in each of its children, but for those with static atoms alone, of which
  no key ever comes up: they have at least one child beside them that contains it;
- above: a generalized relation stands below generalized relations only;
- connex: the connex subtree is connected and contains the root; the keys of its nodes are output variables; together
  its nodes contain all output variables. Its nodes may contain other variables too.

For a query that returns all its variables the connex law holds of the whole tree.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from livejoin.theory.trees.join_tree import JoinTree


def violations(
    tree: JoinTree,
    edges: Sequence[frozenset[str]],
    free: frozenset[str] | None = None,
    dynamic: frozenset[int] | None = None,
) -> list[str]:
    """What in a tree breaks the laws of a free-connex join tree; empty for a valid one.

    Cost: nodes times variables.

    Args:
        tree: The tree.
        edges: The variables of each atom.
        free: The output variables; all of them if None.
        dynamic: Positions of the atoms that change; all of them if None.

    Returns:
        One message for each broken law and place, the law first.

    >>> from livejoin.theory.trees.join_tree import least_height_tree
    >>> edges = [frozenset("ab"), frozenset("bc")]
    >>> violations(least_height_tree(edges), edges)
    []
    >>> violations(least_height_tree(edges), edges, frozenset("ac"))
    ['connex: node 1 has key b, of which b is not output', 'connex: node 2 has key b, of which b is not output']
    """
    output = frozenset[str]().union(*edges) if free is None else free
    return [
        *_broken_form(tree),
        *_broken_cover(tree, edges),
        *_broken_nodes(tree),
        *_broken_guard(tree, frozenset(range(len(edges))) if dynamic is None else dynamic),
        *_broken_connex(tree, output),
    ]


def is_valid(
    tree: JoinTree,
    edges: Sequence[frozenset[str]],
    free: frozenset[str] | None = None,
    dynamic: frozenset[int] | None = None,
) -> bool:
    """Whether a tree is a free-connex join tree of the query."""
    return not violations(tree, edges, free, dynamic)


def _broken_form(tree: JoinTree) -> Iterator[str]:
    order: list[int] = []
    todo = [0]
    while todo and len(order) <= len(tree.nodes):
        order.append(todo.pop())
        todo.extend(reversed(tree.nodes[order[-1]].children))
    if order != list(range(len(tree.nodes))):
        yield f"form: a walk over the children meets {order}, not the nodes in preorder"
    for position, node in enumerate(tree.nodes):
        if (node.parent is None) != (position == 0):
            yield f"form: node {position} has parent {node.parent}"
        for child in node.children:
            if tree.nodes[child].parent != position:
                yield f"form: node {child} is a child of {position} and has parent {tree.nodes[child].parent}"


def _broken_cover(tree: JoinTree, edges: Sequence[frozenset[str]]) -> Iterator[str]:
    atoms = sorted(node.atom for node in tree.nodes if node.atom is not None)
    if atoms != list(range(len(edges))):
        yield f"cover: the tree has atoms {atoms}, the query has {len(edges)}"
        return
    for position, node in enumerate(tree.nodes):
        if node.atom is None and not node.children:
            yield f"cover: leaf {position} is a generalized relation"
        if node.variables != tuple(sorted(edges[node.atom] if node.atom is not None else set(node.variables))):
            yield f"cover: node {position} has variables {node.variables}"


def _broken_nodes(tree: JoinTree) -> Iterator[str]:
    tops: dict[str, int] = {}
    for position, node in enumerate(tree.nodes):
        parent = None if node.parent is None else tree.nodes[node.parent]
        above = set() if parent is None else set(parent.variables)
        if node.key != tuple(sorted(above & set(node.variables))):
            yield f"form: node {position} has key {node.key}"
        if parent is not None and parent.atom is not None and node.atom is None:
            yield f"above: generalized relation {position} stands below atom {parent.atom}"
        for variable in set(node.variables) - above:
            if variable in tops:
                yield f"connect: {variable} has tops {tops[variable]} and {position}"
            tops[variable] = position


def _broken_guard(tree: JoinTree, dynamic: frozenset[int]) -> Iterator[str]:
    changes = [node.atom in dynamic for node in tree.nodes]
    for position in range(len(tree.nodes) - 1, 0, -1):
        above = tree.nodes[position].parent
        if above is not None and changes[position]:
            changes[above] = True
    for position, node in enumerate(tree.nodes):
        if node.atom is None:
            inside = [set(node.variables) <= set(tree.nodes[child].variables) for child in node.children]
            for child, contains in zip(node.children, inside, strict=True):
                if not contains and (changes[child] or not any(inside)):
                    yield f"guard: generalized relation {position} is not contained in its child {child}"


def _broken_connex(tree: JoinTree, free: frozenset[str]) -> Iterator[str]:
    if strangers := tree.connex - set(range(len(tree.nodes))):
        yield f"connex: there are no nodes {sorted(strangers)}"
        return
    if 0 not in tree.connex:
        yield "connex: the root is not in the connex subtree"
    for position in sorted(tree.connex):
        node = tree.nodes[position]
        if node.parent is not None and node.parent not in tree.connex:
            yield f"connex: node {position} is in the connex subtree, its parent {node.parent} is not"
        if bound := sorted(set(node.key) - free):
            yield f"connex: node {position} has key {', '.join(node.key)}, of which {', '.join(bound)} is not output"
    if missing := free.difference(*(tree.nodes[position].variables for position in tree.connex)):
        yield f"connex: no node of the connex subtree has the output variables {', '.join(sorted(missing))}"
