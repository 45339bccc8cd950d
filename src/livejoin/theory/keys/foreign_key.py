"""Foreign-key joins: joins of foreign keys with the primary keys that they reference.

The foreign-key graph of a query has an edge from R_i to R_j, so that R_j is a child of R_i, if R_i has all attributes
of PK(R_j) (AJU, section 2.2). The join is a *foreign-key join* if every attribute of several relations is joined
through primary keys, and *foreign-key acyclic* if, besides, the graph is acyclic and has one root. Then a row of the
root joins at most one row of every other relation, which is what the foreign-key plan lives on:

    |Q(D)| <= |root|, and every update is O(lambda) amortised, lambda being the enclosureness (AJU, theorem 8).

That is not alpha-acyclicity: TPC-H Q5 is foreign-key acyclic and alpha-cyclic; a path over tables without keys is
alpha-acyclic and no foreign-key join. Neither needs the referenced rows to be there: primary keys decide, and
declarations of foreign keys only where they are named below.

Two rules choose among edges that say the same:

- *Composite keys.* The paper replaces a composite key by one combined attribute, after which the single attributes
  join nothing (AJU, section 2.1 and footnote 1). Here the attributes stay and the edge goes: R_i -> R_j is left out if
  there are R_i -> R_k -> R_j, on no cycle, with PK(R_j) within PK(R_k), because these two imply it.
- *Equal keys.* Relations with the same primary key reference each other, which is a cycle. If declared foreign keys
  connect all of them, only the declared edges among them count.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from livejoin.errors import SchemaError
from livejoin.query.conjunctive import Atom, ConjunctiveQuery
from livejoin.schema import Table
from livejoin.theory.keys.digraph import Digraph


@dataclass(frozen=True)
class Reference:
    """An edge of a foreign-key graph: a row of the parent joins at most one row of the child, by the child's key.

    Args:
        parent: Position of the relation that has the foreign key.
        child: Position of the relation whose primary key it is.
        declared: Whether the tables declare this foreign key; if not, it is one by the child's primary key only.
    """

    parent: int
    child: int
    declared: bool


@dataclass(frozen=True)
class ForeignKeyGraph:
    """The foreign-key graph of a query.

    Args:
        relations: The attributes of each relation: the variables of each atom.
        keys: PK(R) of each, a part of its attributes; empty if it has none, or not all of it is in the query.
        references: The edges, ascending.
    """

    relations: tuple[frozenset[str], ...]
    keys: tuple[frozenset[str], ...]
    references: tuple[Reference, ...]

    @cached_property
    def digraph(self) -> Digraph:
        """The graph without its labels."""
        return Digraph.of(len(self.relations), ((edge.parent, edge.child) for edge in self.references))


@dataclass(frozen=True)
class UnkeyedJoin:
    """A join of an attribute that no primary key carries.

    Args:
        variable: The attribute.
        groups: The relations that have it, at least two groups: within each one, primary keys join them.
    """

    variable: str
    groups: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class ForeignKeyAcyclic:
    """Whether a query is foreign-key acyclic, with the reasons why it is not.

    Args:
        holds: Whether it is: a foreign-key join whose graph is acyclic with one root.
        unkeyed: Joins that are not foreign-key joins.
        cycle: Relations that reference each other in this order and the last one the first; empty for a DAG.
        roots: Relations that none references.
    """

    holds: bool
    unkeyed: tuple[UnkeyedJoin, ...]
    cycle: tuple[int, ...]
    roots: tuple[int, ...]

    def __bool__(self) -> bool:
        return self.holds


def foreign_key_graph(query: ConjunctiveQuery) -> ForeignKeyGraph:
    """The foreign-key graph of a query, by the keys that its tables declare.

    A key counts if the query uses all of its columns; of several that is the first one by which another relation may
    refer to this one, else the first one, the primary key before others. Cost: as `foreign_key_graph_of`.
    """
    keys = [_key(query, position) for position in range(len(query.atoms))]
    pairs = ((i, j) for i in range(len(keys)) for j in range(len(keys)) if i != j)
    declared = [(i, j) for i, j in pairs if _declares(query.atoms[i], query.atoms[j])]
    return foreign_key_graph_of(query.edges, keys, declared)


def foreign_key_graph_of(
    relations: Sequence[frozenset[str]], keys: Sequence[Collection[str]], declared: Collection[tuple[int, int]] = ()
) -> ForeignKeyGraph:
    """The foreign-key graph of relations with primary keys.

    Args:
        relations: The attributes of each relation.
        keys: The primary key of each, empty for none.
        declared: Positions (R_i, R_j) where a declared foreign key of R_i references R_j and is joined with it.

    Raises:
        SchemaError: A key is not within its relation's attributes.

    Cost: cubic in the number of relations.

    >>> graph = foreign_key_graph_of([frozenset("abc"), frozenset("abd"), frozenset("a")], ["", "ab", "a"])
    >>> [(edge.parent, edge.child) for edge in graph.references]
    [(0, 1), (1, 2)]
    """
    primary = [frozenset(key) for key in keys]
    for position, (relation, key) in enumerate(zip(relations, primary, strict=True)):
        if not key <= relation:
            outside = ", ".join(sorted(key - relation))
            msg = f"relation {position} has {outside} in its primary key and not among its attributes; add it to them"
            raise SchemaError(msg)
    vertices = range(len(primary))
    meant = {(i, j) for i in vertices for j in vertices if i != j and primary[j] and primary[j] <= relations[i]}
    meant -= _undeclared_mutual(primary, declared)
    reached = Digraph.of(len(primary), meant).descendants
    implied = {
        (i, j)
        for i, j in meant
        for k in vertices
        if (i, k) in meant and (k, j) in meant and primary[j] <= primary[k]
        if i not in reached[k] and k not in reached[j]
    }
    references = tuple(Reference(i, j, (i, j) in declared) for i, j in sorted(meant - implied))
    return ForeignKeyGraph(tuple(relations), tuple(primary), references)


def foreign_key_acyclic(graph: ForeignKeyGraph) -> ForeignKeyAcyclic:
    """Whether a query is foreign-key acyclic (AJU, section 2.2), and all reasons why it is not.

    Cost: attributes times references, plus relations times references for a shortest cycle.

    >>> edges = [frozenset("ls"), frozenset("lc"), frozenset("cn"), frozenset("sn"), frozenset("n")]
    >>> foreign_key_acyclic(foreign_key_graph_of(edges, ["", "l", "c", "s", "n"]))
    ForeignKeyAcyclic(holds=True, unkeyed=(), cycle=(), roots=(0,))
    >>> foreign_key_acyclic(foreign_key_graph_of(edges[:4], ["", "l", "c", "s"])).unkeyed
    (UnkeyedJoin(variable='n', groups=((2,), (3,))),)
    """
    variables = sorted(frozenset[str]().union(*graph.relations))
    joins = [UnkeyedJoin(variable, _groups(graph, variable)) for variable in variables]
    unkeyed = tuple(join for join in joins if len(join.groups) > 1)
    cycle, roots = graph.digraph.cycle(), graph.digraph.roots
    return ForeignKeyAcyclic(not unkeyed and not cycle and len(roots) == 1, unkeyed, cycle, roots)


def schema_graph(tables: Iterable[Table]) -> Digraph:
    """The foreign-key graph of a schema: an edge from each table to those that its foreign keys reference.

    The schema is foreign-key acyclic if this is a DAG (AJU, section 2.1); every foreign-key join over such a schema
    has an acyclic graph, also with several copies of a table.

    Raises:
        SchemaError: A foreign key references a table that is not given.

    Cost: tables times foreign keys.
    """
    given = list(tables)
    position = {table.name.lower(): i for i, table in enumerate(given)}
    edges = []
    for i, table in enumerate(given):
        for key in table.foreign_keys:
            if key.table.lower() not in position:
                msg = f"table {table.name!r}: {table.describe(key)} names a table that is not given; give all of them"
                raise SchemaError(msg)
            edges.append((i, position[key.table.lower()]))
    return Digraph.of(len(given), edges)


def _key(query: ConjunctiveQuery, position: int) -> frozenset[str]:
    """The variables of an atom's first key of which the query uses all columns, of one that another atom has before."""
    atom = query.atoms[position]
    used = dict(zip(atom.columns, atom.variables, strict=True))
    keys = [frozenset(used[column] for column in key) for key in atom.table.keys if set(key) <= used.keys()]
    others = [edge for i, edge in enumerate(query.edges) if i != position]
    referred = (key for key in keys if any(key <= other for other in others))
    return next(referred, keys[0] if keys else frozenset())


def _declares(parent: Atom, child: Atom) -> bool:
    """Whether the query joins a foreign key that the parent's table declares with what it references in the child."""
    return any(
        all(
            own in parent.columns
            and other in child.columns
            and parent.variables[parent.columns.index(own)] == child.variables[child.columns.index(other)]
            for own, other in zip(key.columns, key.targets(child.table), strict=True)
        )
        for key in parent.table.foreign_keys
        if key.refers_to(child.table.name)
    )


def _undeclared_mutual(
    keys: Sequence[frozenset[str]], declared: Collection[tuple[int, int]]
) -> frozenset[tuple[int, int]]:
    """Edges among relations of equal keys that are not declared, where declared ones connect these relations."""
    found: set[tuple[int, int]] = set()
    for key in set(keys):
        equal = [i for i, other in enumerate(keys) if other == key]
        if len(_connected(equal, declared)) == 1:
            found |= {(i, j) for i in equal for j in equal if (i, j) not in declared}
    return frozenset(found)


def _groups(graph: ForeignKeyGraph, variable: str) -> tuple[tuple[int, ...], ...]:
    """The relations that have a variable, grouped by the references that join it."""
    having = [i for i, relation in enumerate(graph.relations) if variable in relation]
    return _connected(having, [(e.parent, e.child) for e in graph.references if variable in graph.keys[e.child]])


def _connected(vertices: Sequence[int], edges: Collection[tuple[int, int]]) -> tuple[tuple[int, ...], ...]:
    """The connected parts of a graph on some vertices, by edges of any direction between them."""
    parts = [{vertex} for vertex in vertices]
    for edge in edges:
        if set(edge) <= set(vertices):
            touched = [part for part in parts if part & set(edge)]
            parts = [part for part in parts if not part & set(edge)] + [set[int]().union(*touched)]
    return tuple(sorted(tuple(sorted(part)) for part in parts))
