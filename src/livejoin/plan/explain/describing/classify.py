"""The class of a query with what shows it, in plain words.

The classes are nested: q-hierarchical, free-connex, acyclic, all. Beside them stand hierarchical, foreign-key acyclic
for queries over tables with primary keys (AJU), and well-behaved for queries over static tables (ICDT 2025).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from livejoin.plan.explain.explanation import Property, QueryClass, QueryClassName
from livejoin.query import ConjunctiveQuery
from livejoin.theory.classes.free_connex import FreeConnex, check_free_connex
from livejoin.theory.classes.hierarchical import Hierarchical, check_hierarchical, check_q_hierarchical
from livejoin.theory.keys.foreign_key import ForeignKeyAcyclic, foreign_key_acyclic, foreign_key_graph
from livejoin.theory.static.static_dynamic import StaticDynamic, Tractability, static_dynamic
from livejoin.theory.static.well_behaved import UnsafePath


def classify(query: ConjunctiveQuery, free: frozenset[str] | None = None, width: str = "1") -> QueryClass:
    """The class of a query and its witnesses.

    Cost: that of the tests in ``theory``, polynomial or bounded.

    Args:
        query: The query.
        free: The output variables; all of them if None.
        width: The width of the best decomposition of a cyclic query.
    """
    names = [atom.alias for atom in query.atoms]
    if query.branches:
        return _with_branches(query, free, names)
    connex = check_free_connex(query.edges, free)
    hierarchical = check_hierarchical(query.edges)
    q_hierarchical = check_q_hierarchical(query.edges, free)
    properties = [
        _acyclic(connex, names),
        _free_connex(connex, names),
        _hierarchical("hierarchical", hierarchical, names),
        _hierarchical("q-hierarchical", q_hierarchical, names),
    ]
    if any(atom.table.keys for atom in query.atoms):
        properties.append(_foreign_keys(foreign_key_acyclic(foreign_key_graph(query)), names))
    dynamic = frozenset(i for i, atom in enumerate(query.atoms) if not atom.table.static)
    if len(dynamic) < len(query.atoms):
        properties.append(_well_behaved(static_dynamic(query.edges, free, dynamic), names))
    name: QueryClassName = "acyclic"
    if connex.cycle:
        name = "cyclic"
    elif q_hierarchical:
        name = "q-hierarchical"
    elif connex:
        name = "free-connex"
    return QueryClass(name, tuple(properties), width)


def _with_branches(query: ConjunctiveQuery, free: frozenset[str] | None, names: Sequence[str]) -> QueryClass:
    """The class of a query with branches, each part of which has a join tree: that of its core.

    What hangs on it is below it in every tree, so that the classes of the papers do not say more.
    """
    core = [query.edges[atom] for atom in query.core]
    shown = frozenset[str]().union(*core)
    connex = check_free_connex(core, None if free is None else free & shown)
    hanging = [names[atom] for branch in query.branches for atom in branch.atoms]
    hangs = f"{listed(hanging)} {'hangs' if len(hanging) == 1 else 'hang'} below by edges that are not inner"
    acyclic = Property("acyclic", True, f"its parts have join trees; {hangs}")
    name: QueryClassName = "free-connex" if connex else "acyclic"
    return QueryClass(name, (acyclic, _free_connex(connex, [names[atom] for atom in query.core])))


def listed(words: Iterable[str]) -> str:
    """Words as in a sentence.

    >>> listed("abc"), listed("a")
    ('a, b and c', 'a')
    """
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def _acyclic(connex: FreeConnex, names: Sequence[str]) -> Property:
    if connex.cycle:
        atoms = tuple(names[i] for i in connex.cycle)
        return Property("acyclic", False, f"{listed(atoms)} form a cycle", atoms)
    return Property("acyclic", True, "it has a join tree")


def _free_connex(connex: FreeConnex, names: Sequence[str]) -> Property:
    name = "free-connex"
    if connex.cycle:
        return Property(name, False, "it is not acyclic", tuple(names[i] for i in connex.cycle))
    if connex.path is None:
        return Property(name, True, "the connex subtree of a join tree has the output variables")
    start, *between, end = connex.path.variables
    atoms = tuple(dict.fromkeys(names[i] for i in connex.path.atoms))
    text = (
        f"{start} and {end} are output, and {listed(between)} on the path between them (by {listed(atoms)}) "
        f"{'is' if len(between) == 1 else 'are'} not"
    )
    return Property(name, False, text, atoms, connex.path.variables)


def _hierarchical(name: str, found: Hierarchical, names: Sequence[str]) -> Property:
    if found:
        return Property(name, True, "it has a join tree of height 1")
    a, b = found.variables
    atoms = tuple(names[i] for i in found.atoms)
    if found.condition == 1:
        text = f"{atoms[0]} has {a} without {b}, {atoms[1]} has both, {atoms[2]} has {b} without {a}"
    else:
        text = f"{a} is output and {b} is not, but every relation with {a} has {b}, and {atoms[1]} has {b} alone"
    return Property(name, False, text, atoms, (a, b))


def _foreign_keys(found: ForeignKeyAcyclic, names: Sequence[str]) -> Property:
    name = "foreign-key acyclic"
    if found:
        root = names[found.roots[0]]
        if len(names) == 1:
            return Property(name, True, "there is one table, so that no join is without a key", (root,))
        return Property(name, True, f"every join is by a primary key, and {root} refers to all others", (root,))
    if found.unkeyed:
        join = found.unkeyed[0]
        sides = [listed(names[i] for i in group) for group in join.groups]
        text = f"no primary key joins {' with '.join(sides)} on {join.variable}"
        return Property(name, False, text, tuple(names[i] for g in join.groups for i in g), (join.variable,))
    if found.cycle:
        atoms = tuple(names[i] for i in found.cycle)
        return Property(name, False, f"{listed(atoms)} refer to each other in a circle", atoms)
    atoms = tuple(names[i] for i in found.roots)
    return Property(name, False, f"nothing refers to any of {listed(atoms)}; allowed is one such root", atoms)


def _well_behaved(found: StaticDynamic, names: Sequence[str]) -> Property:
    name = "well-behaved"
    if found.well_behaved:
        of = {Tractability.LINEAR: "C_lin", Tractability.POLYNOMIAL: "C_poly"}[found.tractability]
        text = (
            "the tables that change, and what is returned, are tied together by nothing but columns that they share; "
            f"class {of}, loading {found.preprocessing}"
        )
        return Property(name, True, text)
    path = found.well_behaved.paths[0]
    more = ""
    if found.tractability is Tractability.EXPONENTIAL:
        more = (
            f"; class C_exp: algorithm='transitions' remembers the states that it meets, of which there may be "
            f"{found.preprocessing}, and 'auto' never takes it"
        )
    text = f"{_reach(path, names)}{more}"
    return Property(name, False, text, tuple(_atoms(path.start, path.end, path.through, names)), path.variables)


def _reach(path: UnsafePath, names: Sequence[str]) -> str:
    """What an unsafe path means: a change at one end may reach any number of rows or values at the other one."""
    begin, *_, end = path.variables
    through = listed(dict.fromkeys(names[i] for i in path.through))
    way = (
        f"{begin} is tied to {end} by {through}"
        if len(path.variables) == 2
        else (f"{begin} is tied to {end} by {through}, along {' - '.join(path.variables)}")
    )
    start = names[path.start]
    if path.end is None:
        return (
            f"{start} changes and has {begin}, which is not returned; {end} is returned, and {start} does not have it. "
            f"{way}: one change of {start} may reach any number of values of {end}"
        )
    shared = f"share only {listed(sorted(path.shared))}" if path.shared else "share no column"
    return (
        f"{start} and {names[path.end]} change and {shared}, but {way}: one change of {start} may reach any number of "
        f"rows of {names[path.end]}"
    )


def _atoms(start: int, end: int | None, through: Sequence[int], names: Sequence[str]) -> Iterator[str]:
    yield from dict.fromkeys(names[i] for i in (start, *through, *(() if end is None else (end,))))
