"""Free-connex queries, each answer with its witness.

A query with atoms e_1, ..., e_n and output y is *free-connex* if e_1, ..., e_n and e_1, ..., e_n, y are both acyclic
(CROWN, section 3.2). The laws:

- it is free-connex if and only if it has a free-connex join tree (CROWN, Lemma A.1);
- an acyclic query is free-connex if and only if it has no *free path*: variables x, z_1, ..., z_k, y with k >= 1, of
  which x and y are output and the others are not, neighbours in a common atom and no other two of them (Bagan, Durand
  and Grandjean, 2007). Then a result pairs x with y although what joins them is not returned.

A query that is acyclic becomes free-connex if output columns are added (CROWN, section 7.1); all variables suffice. The
least set to add is unique, and no search is needed: any set that suffices has all of z_1, ..., z_k of every free path.
For let z_i be the first of them that was added; none means that the path stays one, and i > 1 that x, z_1, ..., z_i is
one. So z_1 was added, and the same holds for what follows it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from livejoin.theory.classes.gyo import cycle, is_acyclic
from livejoin.theory.trees.join_tree import JoinTree, construct_tree, output_variables


@dataclass(frozen=True)
class FreePath:
    """A chordless path between two output variables over variables that are not output.

    Args:
        variables: x, z_1, ..., z_k, y.
        atoms: For each two neighbours, the first atom that has both; one less than the variables.
    """

    variables: tuple[str, ...]
    atoms: tuple[int, ...]


@dataclass(frozen=True)
class FreeConnex:
    """Whether a query is free-connex, and why.

    Args:
        holds: The answer.
        tree: A free-connex join tree if it holds, else None.
        cycle: Atoms of a cycle if the query is cyclic, else empty.
        path: A shortest free path if the query is acyclic and not free-connex, else None.
        additions: The least variables that make it free-connex if they are added to the output; any others that do
            contain them. Empty if it holds, or if the query is cyclic, which no output mends.
    """

    holds: bool
    tree: JoinTree | None = None
    cycle: tuple[int, ...] = ()
    path: FreePath | None = None
    additions: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return self.holds


def is_free_connex(edges: Sequence[frozenset[str]], free: frozenset[str] | None = None) -> bool:
    """Whether a query is free-connex, by the definition; ``free`` None returns all variables.

    >>> edges = [frozenset("ab"), frozenset("bc")]
    >>> is_free_connex(edges, frozenset("ab")), is_free_connex(edges, frozenset("ac"))
    (True, False)
    """
    return is_acyclic(edges) and (free is None or is_acyclic([*edges, free]))


def check_free_connex(edges: Sequence[frozenset[str]], free: frozenset[str] | None = None) -> FreeConnex:
    """Whether a query is free-connex, with a tree, a cycle, or a free path and what to add to the output.

    Cost: cubic in the atoms for a tree; for the additions, that of `free_path` for each one.

    Args:
        edges: The variables of each atom, at least one atom.
        free: The output variables; all of them if None.

    Raises:
        UnknownNameError: An output variable occurs in no atom.

    >>> found = check_free_connex([frozenset("ab"), frozenset("bc")], frozenset("ac"))
    >>> found.holds, found.path.variables, found.path.atoms, sorted(found.additions)
    (False, ('a', 'b', 'c'), (0, 1), ['b'])
    >>> str(check_free_connex([frozenset("ab"), frozenset("bc")], frozenset("a")).tree)
    '0{1}'
    """
    output = output_variables(edges, free)
    if atoms := cycle(edges):
        return FreeConnex(False, cycle=atoms)
    path = free_path(edges, output)
    if path is None:
        return FreeConnex(True, tree=construct_tree(edges, output))
    additions = frozenset[str]()
    left: FreePath | None = path
    while left:
        additions |= set(left.variables[1:-1])
        left = free_path(edges, output | additions)
    return FreeConnex(False, path=path, additions=additions)


def free_path(edges: Sequence[frozenset[str]], free: frozenset[str]) -> FreePath | None:
    """A shortest free path, the first in alphabetical order of its ends; None if there is none.

    A shortest path over bound variables between output variables without a common atom is chordless, and every
    chordless one is at least as long as that. Cost: output variables times the size of the query.

    >>> free_path([frozenset("ab"), frozenset("bc"), frozenset("cd")], frozenset("ad"))
    FreePath(variables=('a', 'b', 'c', 'd'), atoms=(0, 1, 2))
    """
    paths = [path for start in sorted(free) for path in _shortest_from(edges, free, start)]
    if not paths:
        return None
    best = min(paths, key=len)
    return FreePath(best, tuple(next(i for i, e in enumerate(edges) if {a, b} <= e) for a, b in pairwise(best)))


def _shortest_from(edges: Sequence[frozenset[str]], free: frozenset[str], start: str) -> Iterator[tuple[str, ...]]:
    """The shortest free path that begins at an output variable, if there is one (breadth-first search)."""
    beside = frozenset[str]().union(*(edge for edge in edges if start in edge))
    before = dict.fromkeys(sorted(beside - free), start)
    todo = deque(before)
    while todo:
        bound = todo.popleft()
        for variable in sorted(frozenset[str]().union(*(edge for edge in edges if bound in edge))):
            if variable in before or variable in beside:
                continue
            before[variable] = bound
            if variable in free:
                path = [variable]
                while path[-1] != start:
                    path.append(before[path[-1]])
                yield tuple(reversed(path))
                return
            todo.append(variable)
