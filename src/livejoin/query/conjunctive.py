"""Conjunctive queries under bag semantics.

A conjunctive query (CQ) is ``pi_y (R_1(e_1) |><| ... |><| R_n(e_n))`` (CROWN, section 3.1). Each atom ``R_i(e_i)``
assigns a variable to every column that it uses; atoms that share a variable are joined on it. Under bag semantics the
projection keeps multiplicities: a result's multiplicity is the product of those of the rows that it is made of, and
the law that a view of the query keeps is

    Q(D + t) = Q(D) + Q(D |>< t)    as multisets, for an inserted row t.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import pyarrow as pa

from livejoin.query.scalar import Call, Constant, Expression
from livejoin.schema import SqlType, Table

_BIGINT = SqlType.integer(64)


MOST_ATOMS = 62
"""Atoms of a join: a word has a bit for each, but for two."""


@dataclass(frozen=True)
class Atom:
    """One occurrence of a table in a query.

    Args:
        alias: The name of this occurrence in the query, distinct among the atoms.
        table: The table.
        columns: Positions of the table's columns that the query uses, ascending, without repetition. May be empty
            (a Cartesian factor of which only the multiplicity counts).
        variables: The variable of each of ``columns``, distinct within the atom.
        predicate: A BOOLEAN over the table's columns, or None. Rows for which it is not true do not take part. It need
            not repeat that join columns are not NULL.
    """

    alias: str
    table: Table
    columns: tuple[int, ...]
    variables: tuple[str, ...]
    predicate: Expression | None = None

    def readable(self, position: int) -> str:
        """What messages call a column of the table; one that no user named has no name there."""
        column = self.table.columns[position]
        return "what a sub-query gives" if column.is_made else f"{self.alias}.{column.name}"

    def column_of(self, variable: str) -> int:
        """The table's column that carries a variable."""
        return self.columns[self.variables.index(variable)]


@dataclass(frozen=True, order=True)
class ColumnRef:
    """A column of an atom: positions of the atom in the query and of the column in its table."""

    atom: int
    column: int

    def __deepcopy__(self, _: object) -> ColumnRef:
        """Itself: every copy of a syntax tree by sqlglot copies those of its columns in depth."""
        return self


@dataclass(frozen=True)
class Output:
    """One output column.

    Args:
        name: The column's name, distinct among the outputs.
        type: The column's Arrow type.
        source: Either the position in the query's ``head`` of the column that it copies, or an expression over the
            head's columns, whose text calls them ``c0``, ``c1``, ... by their position in the head.
    """

    name: str
    type: pa.DataType
    source: int | Expression


@dataclass(frozen=True)
class Factor:
    """What one atom contributes to a product.

    Args:
        atom: Position of the atom.
        expression: A whole number of each row of the table: an integer, or a decimal of at most 18 digits, of which it
            is the unscaled value; NULL counts as zero.
    """

    atom: int
    expression: Expression


def present(factor: Factor) -> Factor:
    """1 where a factor is not NULL, and 0 elsewhere."""
    value = factor.expression
    tree = value.scalar
    if tree is not None:
        is_null = Call("is_null", (tree,), SqlType("boolean"))
        tree = Call("case", (is_null, Constant(0, _BIGINT), Constant(1, _BIGINT)), _BIGINT)
    return Factor(factor.atom, Expression(f"(({value.text}) IS NOT NULL)::BIGINT", tree))


@dataclass(frozen=True)
class Product:
    """An aggregate that is a sum of products: ``sum(f1 * f2 * ...)`` over the results that an output stands for.

    Args:
        factors: Any number for an atom. Without factors it counts the results.
        wide: Whether the sum has 128 bits instead of 64; more are refused.
    """

    factors: tuple[Factor, ...] = ()
    wide: bool = False


EdgeKind = Literal["exists", "not exists", "optional"]


@dataclass(frozen=True)
class Branch:
    """A part of a query that hangs on another part by an edge that is not inner.

    The atoms of a branch are joined with each other, and have variables of their own. A row of the part above matches
    the combinations of them that have the values of its key. Where a match is wanted (``exists``) or is not wanted
    (``not exists``), the branch brings no columns and no multiplicity. An ``optional`` branch (a left outer join) has
    its matches beside the row, or NULLs where there is none.

    Args:
        kind: The kind of the edge.
        atoms: Positions of its atoms, ascending, without those of branches that hang on it.
        key: Pairs of equal variables, the one above and the one in the branch; all of those above are in one atom of
            the part that it hangs on, and all of the others in one atom of the branch. NULL equals nothing. Empty:
            every row above matches all of the branch.
        above: Position among the query's branches of the one that it hangs on, before its own; None for the core.
    """

    kind: EdgeKind
    atoms: tuple[int, ...]
    key: tuple[tuple[str, str], ...]
    above: int | None = None


@dataclass(frozen=True)
class ConjunctiveQuery:
    """A conjunctive query; with bag semantics, or with distinct results, or with annotated ones.

    Args:
        sql: The SQL text it was bound from, for messages and ``explain``.
        atoms: At least one atom.
        head: The base columns that the outputs need, without repetition.
        outputs: The output columns in order.
        free: The output variables y, each of which stands in the head: then the results are distinct. None keeps all
            variables, and a result has the multiplicity of the rows that it is made of.
        sums: The annotation of every result (CROWN, section 7.3), which follows the head; the first one counts. Empty:
            without annotation.
        branches: The parts that hang on the inner join of the other atoms, the core, by other edges; parents before
            children. No two parts have a variable in common. The head has columns of the core and of optional branches
            that hang on the core or on optional branches.

    ``variables`` and ``edges`` are the query's hypergraph: variables are nodes, each atom is an edge.
    """

    sql: str
    atoms: tuple[Atom, ...]
    head: tuple[ColumnRef, ...]
    outputs: tuple[Output, ...]
    free: frozenset[str] | None = None
    sums: tuple[Product, ...] = ()
    branches: tuple[Branch, ...] = ()

    @cached_property
    def edges(self) -> tuple[frozenset[str], ...]:
        """The variables of each atom."""
        return tuple(frozenset(atom.variables) for atom in self.atoms)

    @cached_property
    def variables(self) -> frozenset[str]:
        """All variables."""
        return frozenset[str]().union(*self.edges)

    @cached_property
    def core(self) -> tuple[int, ...]:
        """Positions of the atoms that are in no branch."""
        hanging = {atom for branch in self.branches for atom in branch.atoms}
        return tuple(atom for atom in range(len(self.atoms)) if atom not in hanging)

    @cached_property
    def carried(self) -> tuple[Mapping[str, int], ...]:
        """For each atom the variables of the core, and the column of its table that has the value of each.

        An atom of a branch has those that the keys on the way say are equal to one of its own: where the row of the
        core has a match, they are. Cost: O(atoms * variables), once.
        """
        equal = {variable: [variable] for atom in self.core for variable in self.atoms[atom].variables}
        for branch in self.branches:
            for outer, inner in branch.key:
                known = equal.setdefault(inner, [])
                known += [variable for variable in equal.get(outer, ()) if variable not in known]
        found: list[dict[str, int]] = [{} for _ in self.atoms]
        for columns, atom in zip(found, self.atoms, strict=True):
            for variable, column in zip(atom.variables, atom.columns, strict=True):
                for core in equal.get(variable, ()):
                    columns.setdefault(core, column)
        return tuple(found)

    def join_variables(self, atom: int) -> frozenset[str]:
        """Variables of an atom that must equal another atom's; a row with NULL in one of them takes no part."""
        return self._join_variables[atom]

    @cached_property
    def _join_variables(self) -> tuple[frozenset[str], ...]:
        wanted = {inner for branch in self.branches for _, inner in branch.key}
        wanted |= {outer for branch in self.branches if branch.kind == "exists" for outer, _ in branch.key}
        return tuple(
            edge & wanted.union(*(other for j, other in enumerate(self.edges) if i != j))
            for i, edge in enumerate(self.edges)
        )

    def variable(self, ref: ColumnRef) -> str:
        """The variable of a column in the head."""
        atom = self.atoms[ref.atom]
        return atom.variables[atom.columns.index(ref.column)]

    def is_distinct(self, atom: int) -> bool:
        """Whether the rows of an atom are known to differ in its variables."""
        used = set(self.atoms[atom].columns)
        table = self.atoms[atom].table
        return len(used) == len(table.columns) or any(used.issuperset(key) for key in table.keys)

    @cached_property
    def schema(self) -> pa.Schema:
        """The Arrow schema of the result."""
        return pa.schema([pa.field(o.name, o.type) for o in self.outputs])
