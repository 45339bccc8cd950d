"""Joins, and what is stored for them: rows of derived relations with stable ids, and bags, joins inside of a join."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from livejoin.families.cells.partition import Partition, rows_whole_because
from livejoin.families.derived import DerivedTable, RowProgram
from livejoin.families.layout.table_use import TableUse
from livejoin.families.program import Program
from livejoin.plan.identity import Identity, said_atoms, said_head, said_join, said_types
from livejoin.plan.operators.operator import Families, PlanOperator, many
from livejoin.query import ConjunctiveQuery
from livejoin.query.scalar import Expression
from livejoin.schema import SqlType, Table
from livejoin.search.algorithm import Algorithm
from livejoin.search.delta_size import delta_bound
from livejoin.search.guarantee import UpdateBound

if TYPE_CHECKING:
    from livejoin.plan.operators import Operator

ResultKind = Literal["count", "sum", "avg", "var_pop", "var_samp"]


@dataclass(frozen=True, eq=False)
class JoinInput:
    """A derived relation that a join reads as it reads a base table.

    Args:
        table: How the join's atoms see it, see `livejoin.query.relational.Input`.
        operator: The operator that stores the relation.
    """

    table: Table
    operator: StoredOperator | BagOperator


class Joining(PlanOperator):
    """A join of base tables and stored relations, whatever it gives of the results.

    Attributes:
        inputs: The derived relations among its tables.
        partition: How it is split into cells; None keeps it in one piece.
    """

    inputs: tuple[JoinInput, ...]
    partition: Partition | None

    @property
    @abstractmethod
    def digest(self) -> str:
        """A fingerprint of what maintains it: states of equal ones are laid out alike."""

    @property
    @abstractmethod
    def uses(self) -> Sequence[TableUse]:
        """How it uses its tables."""

    @property
    def below(self) -> tuple[Operator, ...]:
        return tuple(one.operator for one in self.inputs)

    @property
    def named(self) -> tuple[tuple[str, Operator], ...]:
        found: dict[Operator, str] = {}
        for one in self.inputs:
            found |= {given: name for name, given in one.operator.as_input}
        return tuple((name, given) for given, name in found.items())

    def kept(self, above: str) -> tuple[tuple[Operator, str], ...]:
        return tuple((given, above) for _, given in self.named)

    @property
    def reads(self) -> tuple[str, ...]:
        derived = self.input_names
        return tuple(use.name.lower() for use in self.uses if use.name not in derived)

    @property
    def input_names(self) -> list[str]:
        """The names of its inputs among its tables, in order."""
        return [one.table.name for one in self.inputs]

    @property
    def layout(self) -> str:
        split = "" if self.partition is None else f" {self.partition}"
        return f"{self.digest}{split}"

    @property
    def cells(self) -> int:
        return 1 if self.partition is None else self.partition.cells


class Programmed(Joining):
    """A join that a program of its own maintains.

    Attributes:
        physical: The program.
        query: The join as it was asked for.
    """

    physical: Program
    query: ConjunctiveQuery

    @property
    def line(self) -> str:
        return self.physical.line

    @property
    def expressions(self) -> tuple[Expression, ...]:
        return expressions_of(self.query)

    @property
    def amortised_changes(self) -> UpdateBound | None:
        return None if self.inputs else delta_bound(self.query)

    @property
    def digest(self) -> str:
        return self.physical.digest

    @property
    def uses(self) -> Sequence[TableUse]:
        return self.physical.tables


@dataclass(frozen=True, eq=False)
class JoinOperator(Programmed):
    """The results of a conjunctive query; the columns are the query's outputs.

    Args:
        physical: The plan of the join: full with multiplicities, or distinct, or annotated with a count that is the
            multiplicity.
        query: The join as it was asked for. That of the plan has bags in place of the atoms inside of them.
        types: Types of the outputs.
        asked: The variables that are asked for; the plan's output may have more, to be free-connex. None: all.
        partition: How the join is split into cells; None keeps it in one piece.
        inputs: The derived relations among its tables, bags included.
    """

    physical: Program
    query: ConjunctiveQuery
    types: tuple[SqlType, ...]
    asked: frozenset[str] | None = None
    partition: Partition | None = None
    inputs: tuple[JoinInput, ...] = ()

    @property
    def kind(self) -> str:
        return "join" if len(self.query.atoms) > 1 else "rows of a table"

    def identity(self, algorithm: Algorithm, adaptive: bool) -> Identity:
        said = said_join(self.physical.query, self.input_names)
        return ("join", algorithm, adaptive, *said, said_types(self.types))

    def lines(self, families: Families) -> Iterator[str]:
        query = self.query
        if query.free is not None:
            yield "each result once" + (", with its number of copies" if query.sums else "")
        if self.asked is not None and query.free is not None and query.free > self.asked:
            more = ", ".join(sorted(query.free - self.asked))
            asked = ", ".join(sorted(self.asked)) or "()"
            yield f"the output {asked} is not free-connex: kept with {more}, projected away above"


@dataclass(frozen=True)
class Result:
    """An aggregate read off an annotation.

    Args:
        kind: The function.
        sums: Positions of the components that it is computed from: of a count the count; of the others the number of
            arguments that are not NULL, their sum and, for variances, the sum of their squares.
        type: The type of the result.
        scale: Digits behind the point of the sum; twice as many in the sum of squares.
    """

    kind: ResultKind
    sums: tuple[int, ...]
    type: SqlType
    scale: int = 0


@dataclass(frozen=True, eq=False)
class AnnotatedOperator(Programmed):
    """Groups with aggregates that are sums of products (CROWN, section 7.3): no state but the join tree's.

    Args:
        physical: The plan of the groups, annotated.
        query: As of a `JoinOperator`.
        types: Types of the columns: the head's, which is the group, then one a result.
        results: The aggregates.
        is_global: Whether there is one row even if the join is empty.
        partition: As of a `JoinOperator`.
        inputs: As of a `JoinOperator`.
    """

    physical: Program
    query: ConjunctiveQuery
    types: tuple[SqlType, ...]
    results: tuple[Result, ...]
    is_global: bool
    partition: Partition | None = None
    inputs: tuple[JoinInput, ...] = ()

    @property
    def asked(self) -> frozenset[str] | None:
        """The variables of the group, which are the plan's output."""
        return self.physical.query.free

    @property
    def kind(self) -> str:
        return "groups of a join"

    def identity(self, algorithm: Algorithm, adaptive: bool) -> Identity:
        said = said_join(self.physical.query, self.input_names)
        results = tuple((r.kind, r.sums, str(r.type), r.scale) for r in self.results)
        return ("annotated join", algorithm, adaptive, *said, results, self.is_global, said_types(self.types))

    def lines(self, families: Families) -> Iterator[str]:
        yield f"{many(len(self.results), 'aggregate')} {families[self.query][0].family.aggregates}"

    @property
    def replaced_by(self) -> tuple[int, ...]:
        return tuple(range(len(self.physical.query.head)))


@dataclass(frozen=True, eq=False)
class StoredOperator(PlanOperator):
    """A relation whose rows are kept with stable ids, so that joins can read it; O(rows) state.

    Args:
        input: The relation.
        name: The relation's name in messages.
    """

    input: Operator
    name: str

    @property
    def types(self) -> tuple[SqlType, ...]:
        """The types of its columns."""
        return self.input.types

    @property
    def kind(self) -> str:
        return "stored rows"

    @property
    def below(self) -> tuple[Operator, ...]:
        return (self.input,)

    @property
    def as_input(self) -> tuple[tuple[str, Operator], ...]:
        """What a join that reads it has below itself, as `PlanOperator.named`."""
        return ((self.name, self),)

    def identity(self, algorithm: Algorithm, adaptive: bool) -> Identity:
        return ("stored",)

    def lines(self, families: Families) -> Iterator[str]:
        yield f"the rows of {self.name} are stored for the join that reads them: memory in proportion to these rows"

    @property
    def amortised_changes(self) -> UpdateBound | None:
        return self.input.amortised_changes

    def kept(self, above: str) -> tuple[tuple[Operator, str], ...]:
        return ((self.input, f"each row of {self.name}, so that the join above can read it"),)


@dataclass(frozen=True, eq=False)
class BagOperator(Joining):
    """A join inside a join, whose rows are kept with stable ids as those of a `StoredOperator`.

    Args:
        derived: The relation as a join sees it.
        program: The program that maintains the bag.
        partition: How it is split into cells; None keeps it in one piece.
        inputs: The derived relations among its tables.
    """

    derived: DerivedTable
    program: RowProgram
    partition: Partition | None = None
    inputs: tuple[JoinInput, ...] = ()

    @property
    def types(self) -> tuple[SqlType, ...]:
        """The types of its columns."""
        return tuple(column.type for column in self.derived.table.columns)

    @property
    def kind(self) -> str:
        return "bag"

    @property
    def as_input(self) -> tuple[tuple[str, Operator], ...]:
        """What a join that reads it has below itself: what it reads, as it is a part of the join's plan."""
        return self.named

    def identity(self, algorithm: Algorithm, adaptive: bool) -> Identity:
        given, query = self.derived, self.derived.query
        atoms, numbers = said_atoms(query, self.input_names)
        factors = tuple(tuple(factor.identity for factor in own) for own in given.factors)
        head = said_head(query, numbers)
        return ("bag", atoms, tuple(sorted(given.filters)), factors, head, said_types(self.types))

    def lines(self, families: Families) -> Iterator[str]:
        yield f"{self.derived.title}: each row stored with an id, for the joins across the bags"
        if self.partition is not None:
            yield self.cells_line

    @property
    def cells_line(self) -> str:
        """How it is split into cells."""
        title = self.derived.title
        if self.partition is None:
            return f"{title} not split: {rows_whole_because(self.derived.query)}"
        return f"{title} split into {self.partition.cells} cells by {self.partition.variable}"

    @property
    def update(self) -> str:
        return self.derived.update

    @property
    def digest(self) -> str:
        return self.program.digest

    @property
    def uses(self) -> Sequence[TableUse]:
        return self.program.tables


def expressions_of(query: ConjunctiveQuery) -> tuple[Expression, ...]:
    """The predicates and outputs of a query that are evaluated, each once."""
    found = (*(atom.predicate for atom in query.atoms), *(output.source for output in query.outputs))
    return distinct_expressions(found)


def distinct_expressions(found: Iterable[Expression | int | None]) -> tuple[Expression, ...]:
    """The expressions among predicates and outputs, each once."""
    return tuple(dict.fromkeys(one for one in found if isinstance(one, Expression)))
