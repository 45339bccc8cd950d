"""All free-connex join trees of a query, lazily and each once.

Two trees are the same here if an isomorphism that fixes the atoms maps one to the other: the order of children does
not matter, and a generalized relation is known by its variables and by what is below it. Generalized relations that
only repeat something are left out. A tree is *irredundant* if

- every generalized relation has at least two children, and
- a generalized relation below another one has more variables than it.

Nothing of interest is lost, for a redundant generalized relation g can be taken out, its children going to its parent
(or becoming the root). Let p be the parent of g, c its only child or, if g has the variables of p, any child:

- guard, above: p is generalized and p <= g <= c;
- connect: variables that g has and p does not have are in an only child, and in no other child of p;
- connex: the key of c becomes p. Where the connex subtree held g, the law says p <= free for the key of g, so it may
  hold c in its place, which has the variables of g. A child that becomes the root has an empty key.

What is left is a tree with the same atoms above each atom, hence with the same depths, the same height, and the same
subtree below each atom; it has fewer generalized relations. That holds for any number of steps, and it holds for the
output too: where CROWN's appendix A has a generalized relation ``[e & free]`` over the single child e, e itself is a
node of the connex subtree (definition 3.2 asks for keys within the output variables only), and enumeration projects.

In an irredundant tree the variables of a generalized relation are what any two of its children share (guard and
connect), so there are finitely many trees. Each of them carries the least connex subtree (`connex_subtree`).

CROWN, definitions 3.1 and 3.2; "in our implementation, we construct all join trees" (end of section 6).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations, product

from livejoin.theory.classes.gyo import is_acyclic
from livejoin.theory.classes.hypergraph import Hypergraph
from livejoin.theory.trees.join_tree import JoinTree, output_variables, to_join_tree
from livejoin.theory.trees.shape import Shape

_Atoms = tuple[int, ...]


class TreeIterator(Iterator[JoinTree]):
    """The trees of a query in a fixed order.

    ``complete`` turns True once every tree has been given; it stays False after a limit that held trees back.
    """

    def __init__(self, shapes: Iterator[Shape], free: frozenset[str] | None, limit: int | None) -> None:
        self.complete = False
        self._trees = self._bounded(shapes, free, limit)

    def _bounded(self, shapes: Iterator[Shape], free: frozenset[str] | None, limit: int | None) -> Iterator[JoinTree]:
        for given, shape in enumerate(shapes):
            if limit is not None and given >= limit:
                return
            yield to_join_tree(shape, free)
        self.complete = True

    def __next__(self) -> JoinTree:
        return next(self._trees)


def all_trees(
    edges: Sequence[frozenset[str]], free: frozenset[str] | None = None, limit: int | None = None
) -> TreeIterator:
    """Enumerate the irredundant free-connex join trees of a query, up to symmetry.

    The recursion builds trees from the root and is never in vain: each choice that it makes belongs to a tree. Let S
    be atoms and the parts of S at a node with variables e be the components of S without e; each part D has the key
    ``vars(D) & e``::

        below(S, e)  = [g] over below(B, g) for the blocks B of a partition of the parts of S at g, at least two;
                       g > e is the intersection of atoms of two parts; each block has an atom with all of g
                     | rooted(S, r) for an atom r >= e
        rooted(S, r) = r over rooted(D + F, s) where some parts D of S - {r} lead, with an atom s of D that contains
                       the key of D, and each other part F follows a leader whose s contains the key of F

    The whole query has any root. A block B at a node e may have output variables that are not in e only if
    ``vars(B) & e`` are output variables: that is the connex property. So a part with fresh output variables and a
    bound variable in its key rules out the node above it; it follows only leaders whose key is within the output; and
    an atom can be the root of S if and only if each of its parts can lead.

    Cost: polynomial in the query from one tree to the next. The number of trees is another matter: n + 1 to the power
    of n - 1 for a star of n atoms, 2n - 1 for a path without two atoms that share no variable. Wide and shallow trees
    come early, but in no strict order.

    Args:
        edges: The variables of each atom, at least one atom.
        free: The output variables; None for all.
        limit: The largest number of trees to give; None for all of them.

    Returns:
        An iterator over the trees; its ``complete`` tells whether the limit held any back. There is no tree if the
        query is not free-connex.

    Raises:
        UnknownNameError: An output variable occurs in no atom.

    >>> path = [frozenset("ab"), frozenset("bc"), frozenset("cd")]
    >>> [str(tree) for tree in all_trees(path)]
    ['[b]{0, 1{2}}', '[c]{1{0}, 2}', '0{1{2}}', '1{0, 2}', '2{1{0}}']
    >>> [str(tree) for tree in all_trees(path, free=frozenset("ab"))]
    ['[b]{0, 1{2}}', '0{1{2}}', '1{0, 2}']
    >>> few = all_trees(path, limit=2)
    >>> len(list(few)), few.complete
    (2, False)
    """
    output = output_variables(edges, free)
    everything = tuple(range(len(edges)))
    shapes = _Trees(edges, output).below(everything, None) if is_acyclic(edges) else iter(())
    return TreeIterator(shapes, free, limit)


@dataclass(frozen=True)
class _Part:
    """A component of the atoms below a node, which only the node's variables connect to the rest.

    Args:
        atoms: The component's atoms, ascending.
        key: The node's variables that the component has.
        fresh: Whether it has output variables that the node does not have.
        roots: The atoms that contain the key and are the root of some tree of it.
    """

    atoms: _Atoms
    key: frozenset[str]
    fresh: bool
    roots: _Atoms


_Leaders = tuple[tuple[_Part, int], ...]


class _Trees:
    """The recursion of `all_trees`, with the parts of each sub-problem memoised."""

    def __init__(self, edges: Sequence[frozenset[str]], free: frozenset[str]) -> None:
        self._edges = edges
        self._free = free
        self._memo: dict[tuple[_Atoms, frozenset[str]], tuple[_Part, ...]] = {}

    def below(self, atoms: _Atoms, above: frozenset[str] | None) -> Iterator[Shape]:
        """Trees of ``atoms`` below a generalized relation over ``above``; for None, trees of the whole query."""
        shared = dict.fromkeys(self._edges[a] & self._edges[b] for a, b in combinations(atoms, 2))
        for variables in shared:
            if above is None or above < variables:
                yield from self._generalized(atoms, variables)
        for root in atoms:
            if (above is None or above <= self._edges[root]) and self._can_be_root(root, atoms):
                yield from self._rooted(atoms, root)

    def _generalized(self, atoms: _Atoms, variables: frozenset[str]) -> Iterator[Shape]:
        """Trees of ``atoms`` whose root is a generalized relation."""
        parts = self._parts(atoms, variables)
        if all(part.roots for part in parts) and (variables <= self._free or not any(part.fresh for part in parts)):
            for blocks in _blocks(parts, variables):
                for children in _each([partial(self.below, block, variables) for block in blocks]):
                    yield Shape(variables, None, children)

    def _rooted(self, atoms: _Atoms, root: int) -> Iterator[Shape]:
        """Trees of ``atoms`` without generalized relations that have this root."""
        for blocks in self._hangings(self._below_root(atoms, root)):
            for children in _each([partial(self._rooted, block, top) for block, top in blocks]):
                yield Shape(self._edges[root], root, children)

    def _can_be_root(self, root: int, atoms: _Atoms) -> bool:
        return all(part.roots for part in self._below_root(atoms, root))

    def _below_root(self, atoms: _Atoms, root: int) -> tuple[_Part, ...]:
        return self._parts(tuple(atom for atom in atoms if atom != root), self._edges[root])

    def _parts(self, atoms: _Atoms, above: frozenset[str]) -> tuple[_Part, ...]:
        """The parts of ``atoms`` at a node over ``above``, in the order that `_hangings` needs."""
        state = (atoms, above)
        if state not in self._memo:
            components = Hypergraph(tuple(self._edges[atom] for atom in atoms)).components(without=above)
            parts = [self._part(tuple(atoms[position] for position in c), above) for c in components]
            self._memo[state] = tuple(sorted(parts, key=lambda p: (-len(p.key), sorted(p.key), p.fresh, p.atoms)))
        return self._memo[state]

    def _part(self, atoms: _Atoms, above: frozenset[str]) -> _Part:
        variables = frozenset[str]().union(*(self._edges[atom] for atom in atoms))
        key = variables & above
        fresh = not variables & self._free <= above
        roots = tuple(a for a in atoms if key <= self._edges[a] and self._can_be_root(a, atoms))
        return _Part(atoms, key, fresh, roots if key <= self._free or not fresh else ())

    def _hangings(self, parts: tuple[_Part, ...]) -> Iterator[list[tuple[_Atoms, int]]]:
        """All ways to hang parts below an atom: blocks of atoms, each with its root, by their first atoms.

        Larger keys come first, so a follower's leader comes before it or has the same key. Of those with one key, parts
        with fresh output come last: a leader that fits the last one fits them all. So whether someone leads can be
        left open until the last part of a key.
        """

        def choose(index: int, leaders: _Leaders, followers: tuple[_Part, ...]) -> Iterator[list[tuple[_Atoms, int]]]:
            if index == len(parts):
                fitting = [[n for n, leader in enumerate(leaders) if self._fits(part, leader)] for part in followers]
                for targets in product(*fitting):
                    yield _merged(leaders, followers, targets)
                return
            part = parts[index]
            for root in part.roots:
                yield from choose(index + 1, (*leaders, (part, root)), followers)
            last = index + 1 == len(parts) or parts[index + 1].key != part.key
            if not last or any(self._fits(part, leader) for leader in leaders):
                yield from choose(index + 1, leaders, (*followers, part))

        return choose(0, (), ())

    def _fits(self, part: _Part, leader: tuple[_Part, int]) -> bool:
        """Whether a part may hang below a leader's root."""
        led, root = leader
        return part.key <= self._edges[root] and (led.key <= self._free or not part.fresh)


def _merged(leaders: _Leaders, followers: tuple[_Part, ...], targets: tuple[int, ...]) -> list[tuple[_Atoms, int]]:
    """Each leader's root with the atoms of the leader and of all that follow it."""
    blocks = [(list(part.atoms), root) for part, root in leaders]
    for part, target in zip(followers, targets, strict=True):
        blocks[target][0].extend(part.atoms)
    return sorted((tuple(sorted(atoms)), root) for atoms, root in blocks)


def _blocks(parts: tuple[_Part, ...], variables: frozenset[str]) -> Iterator[list[_Atoms]]:
    """All ways to share parts out to two children or more of a generalized relation; some part of each has its key."""
    whole = [part.atoms for part in parts if part.key == variables]
    others = [part.atoms for part in parts if part.key != variables]
    for partition in _partitions(whole):
        if len(partition) > 1:
            for targets in product(range(len(partition)), repeat=len(others)):
                blocks = [list(block) for block in partition]
                for target, atoms in zip(targets, others, strict=True):
                    blocks[target].extend(atoms)
                yield sorted(tuple(sorted(block)) for block in blocks)


def _partitions(items: list[_Atoms]) -> Iterator[list[_Atoms]]:
    """All partitions of the items into blocks, a block being the items' atoms; the finest one first."""

    def place(index: int, blocks: list[_Atoms]) -> Iterator[list[_Atoms]]:
        if index == len(items):
            yield blocks
            return
        yield from place(index + 1, [*blocks, items[index]])
        for n, block in enumerate(blocks):
            yield from place(index + 1, [*blocks[:n], block + items[index], *blocks[n + 1 :]])

    return place(0, [])


def _each(choices: Sequence[Callable[[], Iterator[Shape]]]) -> Iterator[tuple[Shape, ...]]:
    """The product of what the choices give, without ever holding all that one of them gives."""
    if not choices:
        yield ()
        return
    for shape in choices[0]():
        for others in _each(choices[1:]):
            yield (shape, *others)
