"""The memoised search for a free-connex join tree of least height.

A tree costs (height, sum over the atoms of depth times weight, number of generalized relations), compared in this
order. CROWN prefers the least height and then the least sum of depth times updates (end of section 6) among *all* join
trees of a query. There are exponentially many of them; here is why a recursion over few sub-problems finds the best.

Let S be atoms, K the variables that they share with the rest of the tree, ``vars(S)`` all their variables, y the
output, and h a bound for the height. S may hang by K if ``K <= y`` or ``vars(S) & y <= K``: else the key of a connex
node has a bound variable, or an output variable occurs in no connex node (CROWN, definition 3.2). Then::

    traditional(S, K, h) = best over atoms r in S with K <= r:
        r over traditional(D, vars(D) & r, h - 1) for the components D of S - {r} without the variables of r
    general(S, K, h) = best of traditional(S, K, h) and, over e = a & b for atoms a, b in S with K <= e:
        [e] over general(D, e, h) for the components D of S without e

each time only where the parts may hang by their keys. The recursion is complete:

- Atoms of one component without r cannot be connected through r, so they lie below one child of r. Each component is
  connected below it, so it may as well be a child by itself: its key stays the same, and those above lose nothing but
  atoms below them.
- A generalized relation with two children lies in an atom below each of them (guard) and contains what these share
  (connect), so it is their intersection. One with a single child is never needed: the child in its place has a smaller
  key and the same atoms below.
- A component that has no atom with all of e, a partial one, hangs below some atom that contains e, at the same depth
  below any of them. If it has no output variable outside of e, it may hang wherever that atom may, and joins the first
  whole component. Else all such components join one whole component, and each is tried as their host.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from livejoin.theory.trees.shape import Shape


@dataclass(frozen=True)
class Found:
    """What a search found.

    Args:
        shape: A best tree, None if there is none or the search stopped early.
        complete: Whether the search came to its end.
        separations: How many separations into components it made or looked up.
    """

    shape: Shape | None
    complete: bool
    separations: int


def least_height_shape(
    edges: Sequence[frozenset[str]], free: frozenset[str], weights: Sequence[float], highest: int, budget: int
) -> Found:
    """Search for a free-connex join tree of least cost.

    Cost: 10 to 40 microseconds a separation into components. A path of 12 atoms takes 229 of them, one of 64 atoms
    7,444; contrived hypergraphs can take exponentially many.

    Args:
        edges: The variables of each atom.
        free: The output variables.
        weights: The cost of a level of depth for each atom.
        highest: Trees higher than this are not looked for.
        budget: Largest number of separations.

    >>> found = least_height_shape([frozenset("ab"), frozenset("bc")], frozenset("abc"), [1, 1], 2, 100)
    >>> found.shape.variables, found.shape.height, found.complete
    (frozenset({'b'}), 1, True)
    """
    search = _Search(edges, free, weights, budget)
    try:
        for height in range(1, highest + 1):
            best = search.general((1 << len(edges)) - 1, 0, height)
            if best is not None:
                return Found(search.shape(best), True, search.separations)
    except _BudgetSpentError:
        return Found(None, False, search.separations)
    return Found(None, True, search.separations)


class _BudgetSpentError(Exception):
    """The search has made as many separations as it may."""


@dataclass(frozen=True, slots=True)
class _Best:
    """The best tree of a sub-problem and what it costs below its bound for the height."""

    cost: tuple[float, int]
    variables: int
    atom: int | None
    children: tuple[_Best, ...]


class _Search:
    """The recursion over sets of atoms and of variables, both as bit masks; None where no tree fits."""

    def __init__(
        self, edges: Sequence[frozenset[str]], free: frozenset[str], weights: Sequence[float], budget: int
    ) -> None:
        self._names = sorted(frozenset[str]().union(*edges))
        bit = {name: 1 << position for position, name in enumerate(self._names)}
        self._edges = [sum(bit[name] for name in edge) for edge in edges]
        self._free = sum(bit[name] for name in free)
        self._weights = weights
        self._budget = budget
        self.separations = 0
        self._memo: dict[tuple[int, int, int], _Best | None] = {}
        self._traditional_memo: dict[tuple[int, int, int], _Best | None] = {}
        self._parts: dict[tuple[int, int], list[int]] = {}
        self._variables: dict[int, int] = {}

    def shape(self, best: _Best) -> Shape:
        """A tree with the names of its variables."""
        names = frozenset(self._names[position] for position in _bits(best.variables))
        return Shape(names, best.atom, tuple(self.shape(child) for child in best.children))

    def general(self, atoms: int, key: int, height: int) -> _Best | None:
        """The best generalized join tree of ``atoms`` whose root contains ``key``."""
        state = (atoms, key, height)
        if state not in self._memo:
            best = self.traditional(atoms, key, height)
            for separator in self._separators(atoms, key):
                for groups in self._groups(atoms, separator):
                    best = _better(best, self._over(groups, separator, height))
            self._memo[state] = best
        return self._memo[state]

    def traditional(self, atoms: int, key: int, height: int) -> _Best | None:
        """The best join tree of ``atoms`` without generalized relations whose root contains ``key``."""
        state = (atoms, key, height)
        if state not in self._traditional_memo:
            best = None
            for root in _bits(atoms) if height else ():
                if not key & ~self._edges[root]:
                    best = _better(best, self._under(root, atoms, height))
            self._traditional_memo[state] = best
        return self._traditional_memo[state]

    def _under(self, root: int, atoms: int, height: int) -> _Best | None:
        """The best tree whose root is an atom."""
        edge = self._edges[root]
        rest = atoms & ~(1 << root)
        if rest and height == 1:
            return None
        children = []
        for part in self._components(rest, edge):
            key = self._variables_of(part) & edge
            child = self.traditional(part, key, height - 1) if self._may_hang(part, key) else None
            if child is None:
                return None
            children.append(child)
        levels = sum(self._weights[atom] for atom in _bits(atoms))
        cost = (levels + sum(child.cost[0] for child in children), 0)
        return _Best(cost, edge, root, tuple(children))

    def _over(self, groups: Sequence[int], separator: int, height: int) -> _Best | None:
        """The best tree whose root is the generalized relation ``separator`` and that has one child a group."""
        children = []
        for group in groups:
            child = self.general(group, separator, height) if self._may_hang(group, separator) else None
            if child is None:
                return None
            children.append(child)
        cost = (sum(child.cost[0] for child in children), 1 + sum(child.cost[1] for child in children))
        return _Best(cost, separator, None, tuple(children))

    def _groups(self, atoms: int, separator: int) -> Iterator[list[int]]:
        """The ways to share the components out to the children of a generalized relation."""
        whole: list[int] = []
        partial = 0
        for part in self._components(atoms, separator):
            if any(not separator & ~self._edges[atom] for atom in _bits(part)):
                whole.append(part)
            else:
                partial |= part
        if len(whole) > 1:
            anywhere = not self._variables_of(partial) & self._free & ~separator
            for host in whole[:1] if anywhere else whole:
                yield [part | partial if part == host else part for part in whole]

    def _may_hang(self, atoms: int, key: int) -> bool:
        """Whether these atoms may hang by this key: it is of output variables, or no connex node is below it."""
        return not key & ~self._free or not self._variables_of(atoms) & self._free & ~key

    def _separators(self, atoms: int, key: int) -> list[int]:
        shared = dict.fromkeys(self._edges[a] & self._edges[b] for a, b in combinations(_bits(atoms), 2))
        return [separator for separator in shared if not key & ~separator]

    def _variables_of(self, atoms: int) -> int:
        if atoms not in self._variables:
            variables = 0
            for atom in _bits(atoms):
                variables |= self._edges[atom]
            self._variables[atoms] = variables
        return self._variables[atoms]

    def _components(self, atoms: int, without: int) -> list[int]:
        """Connected components of some atoms, where the variables in ``without`` connect nothing."""
        state = (atoms, without)
        if self.separations >= self._budget:
            raise _BudgetSpentError
        self.separations += 1
        if state not in self._parts:
            parts: list[tuple[int, int]] = []
            for atom in _bits(atoms):
                variables, members = self._edges[atom] & ~without, 1 << atom
                apart = []
                for other in parts:
                    if other[0] & variables:
                        variables, members = variables | other[0], members | other[1]
                    else:
                        apart.append(other)
                parts = [*apart, (variables, members)]
            self._parts[state] = sorted((members for _, members in parts), key=lambda m: m & -m)
        return self._parts[state]


def _better(one: _Best | None, other: _Best | None) -> _Best | None:
    """The cheaper of two trees, the first of equals."""
    if one is None or other is None:
        return one or other
    return other if other.cost < one.cost else one


def _bits(mask: int) -> Iterator[int]:
    """The positions of the bits that are set, ascending."""
    while mask:
        yield (mask & -mask).bit_length() - 1
        mask &= mask - 1
