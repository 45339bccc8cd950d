"""Variable orders, which say in what order the variables of a query are joined and projected away.

A variable order is a forest with one node for each variable, where the variables of every atom lie on one path from a
root to a leaf. It is extended with the atoms: each hangs below its lowest variable (an atom without variables stands by
itself). The variables that a node *depends* on are its ancestors in the atoms below it. An order is (Kara, Luo,
Nikolic, Olteanu, Zhang: Tractable Conjunctive Queries over Static and Dynamic Relations, ICDT 2025, section 5.1)

- *canonical* if every dynamic atom has all the variables above it;
- *free-top* if no bound variable is above a free one;
- *well-structured* if it is both.

A query has a well-structured order if and only if it is well-behaved. The paper proves one direction (proposition 28).
For the other one: the variables of a path have a common ancestor on the path. Between two dynamic atoms of a canonical
order it is in both atoms; between a dynamic atom and a free variable outside of it, it is free too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class OrderNode:
    """A variable of an order.

    Args:
        variable: The name of the variable.
        atoms: Positions of the atoms of which it is the lowest variable, ascending.
        children: The variables right below it, by name.
    """

    variable: str
    atoms: tuple[int, ...]
    children: tuple[OrderNode, ...]

    def walk(self) -> Iterator[OrderNode]:
        """The nodes of this subtree in preorder."""
        yield self
        for child in self.children:
            yield from child.walk()

    @property
    def variables(self) -> frozenset[str]:
        """The variables of this subtree."""
        return frozenset(node.variable for node in self.walk())

    @property
    def below(self) -> tuple[int, ...]:
        """The atoms of this subtree, in preorder."""
        return tuple(atom for node in self.walk() for atom in node.atoms)

    def __str__(self) -> str:
        below = [*map(str, self.atoms), *map(str, self.children)]
        return f"{self.variable}{{{', '.join(below)}}}" if below else self.variable


@dataclass(frozen=True)
class VariableOrder:
    """A variable order, extended with the atoms.

    Args:
        roots: The topmost variables, by name.
        atoms: Positions of the atoms without variables, ascending.
    """

    roots: tuple[OrderNode, ...]
    atoms: tuple[int, ...] = ()

    def walk(self) -> Iterator[OrderNode]:
        """The nodes in preorder."""
        for root in self.roots:
            yield from root.walk()

    @property
    def parents(self) -> dict[str, str | None]:
        """The variable above each variable, in preorder; None for a root."""
        above: dict[str, str | None] = {root.variable: None for root in self.roots}
        above |= {child.variable: node.variable for node in self.walk() for child in node.children}
        return {node.variable: above[node.variable] for node in self.walk()}

    def __str__(self) -> str:
        return ", ".join([*map(str, self.atoms), *map(str, self.roots)])


def variable_order(edges: Sequence[frozenset[str]], parents: Mapping[str, str | None]) -> VariableOrder:
    """The order with these parents; every atom is placed below its lowest variable.

    Args:
        edges: The variables of each atom; those of one atom lie on one path.
        parents: The variable above each variable, None for a root; acyclic.

    >>> print(variable_order([frozenset("ab"), frozenset("a"), frozenset("ac")], {"a": None, "b": "a", "c": "a"}))
    a{1, b{0}, c{2}}
    """
    depths: dict[str, int] = {}

    def depth(variable: str) -> int:
        if variable not in depths:
            above = parents[variable]
            depths[variable] = 0 if above is None else depth(above) + 1
        return depths[variable]

    lowest = [max(sorted(edge), key=depth) if edge else None for edge in edges]

    def node(variable: str) -> OrderNode:
        atoms = tuple(position for position, at in enumerate(lowest) if at == variable)
        return OrderNode(variable, atoms, tuple(node(v) for v in sorted(parents) if parents[v] == variable))

    roots = tuple(node(v) for v in sorted(parents) if parents[v] is None)
    return VariableOrder(roots, tuple(position for position, at in enumerate(lowest) if at is None))


def dependencies(order: VariableOrder, edges: Sequence[frozenset[str]]) -> dict[str, frozenset[str]]:
    """For each variable, the ancestors that it or a variable below it shares an atom with.

    >>> edges = [frozenset("ab"), frozenset("bc")]
    >>> sorted(dependencies(variable_order(edges, {"a": None, "b": "a", "c": "b"}), edges)["c"])
    ['b']
    """
    return {
        node.variable: frozenset[str]().union(*(edges[atom] for atom in node.below)) - node.variables
        for node in order.walk()
    }


def order_violations(
    order: VariableOrder, edges: Sequence[frozenset[str]], free: frozenset[str], dynamic: frozenset[int]
) -> list[str]:
    """What in an order breaks the laws of a well-structured variable order; empty for a well-structured one.

    Cost: atoms times variables.

    >>> edges = [frozenset("ab"), frozenset("b")]
    >>> upside_down = variable_order(edges, {"a": None, "b": "a"})
    >>> order_violations(upside_down, edges, frozenset("b"), frozenset({0, 1}))
    ['canonical: dynamic atom 1 stands below a, b and has b', 'free-top: bound a is above free b']
    """
    return [*_broken_cover(order, edges), *_broken_paths(order, edges, free, dynamic)]


def _broken_cover(order: VariableOrder, edges: Sequence[frozenset[str]]) -> Iterator[str]:
    nodes = list(order.walk())
    found = sorted(node.variable for node in nodes)
    if found != sorted(frozenset[str]().union(*edges)):
        yield f"cover: the order has variables {found}"
    atoms = sorted([*order.atoms, *(atom for node in nodes for atom in node.atoms)])
    if atoms != list(range(len(edges))):
        yield f"cover: the order has atoms {atoms}, the query has {len(edges)}"


def _broken_paths(
    order: VariableOrder, edges: Sequence[frozenset[str]], free: frozenset[str], dynamic: frozenset[int]
) -> Iterator[str]:
    for atom in order.atoms:
        if edges[atom]:
            yield f"path: atom {atom} has variables and stands below none"
    todo: list[tuple[OrderNode, tuple[str, ...]]] = [(root, ()) for root in reversed(order.roots)]
    while todo:
        node, above = todo.pop()
        path = (*above, node.variable)
        todo.extend((child, path) for child in reversed(node.children))
        for atom in node.atoms:
            stands = f"atom {atom} stands below {', '.join(path)} and has {', '.join(sorted(edges[atom]))}"
            if not edges[atom] <= set(path) or node.variable not in edges[atom]:
                yield f"path: {stands}"
            elif atom in dynamic and edges[atom] != set(path):
                yield f"canonical: dynamic {stands}"
        if node.variable in free and above and above[-1] not in free:
            yield f"free-top: bound {above[-1]} is above free {node.variable}"
