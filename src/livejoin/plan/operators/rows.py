"""Operators without a state: the rows of one relation that go into a store, columns computed of rows, constant rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from livejoin.plan.identity import Identity, said_outputs, said_predicate, said_types
from livejoin.plan.operators.joins import distinct_expressions, expressions_of
from livejoin.plan.operators.operator import Families, PlanOperator, many
from livejoin.query import ConjunctiveQuery, Output
from livejoin.query.scalar import Expression
from livejoin.schema import SqlType
from livejoin.search.algorithm import Algorithm
from livejoin.search.guarantee import UpdateBound

if TYPE_CHECKING:
    from livejoin.plan.operators import Operator


@dataclass(frozen=True, eq=False)
class SelectedOperator(PlanOperator):
    """The rows of one relation that a predicate is true for, and what is computed from them, for a store above.

    Args:
        query: The expressions, as a conjunctive query of one atom under bag semantics; the columns are its outputs.
        types: Types of the outputs.
        inputs: The operator that maintains the relation, if it is a derived one; empty for a base table.
        aliases: The atoms of the join that it stands for, if these are several (`livejoin.plan.powers`).
    """

    query: ConjunctiveQuery
    types: tuple[SqlType, ...]
    inputs: tuple[Operator, ...] = ()
    aliases: tuple[str, ...] = ()

    @property
    def keeps_state(self) -> bool:
        return False

    @property
    def name(self) -> str:
        """The relation's name."""
        return self.query.atoms[0].table.name

    @property
    def kind(self) -> str:
        return "selected rows"

    @property
    def below(self) -> tuple[Operator, ...]:
        return self.inputs

    def identity(self, algorithm: Algorithm, adaptive: bool) -> Identity:
        (atom,) = self.query.atoms
        source = None if self.inputs else atom.table.name.lower()
        head = tuple(ref.column for ref in self.query.head)
        outputs = said_outputs(self.query.outputs)
        return ("selected", source, said_predicate(atom.predicate), head, outputs, said_types(self.types))

    def lines(self, families: Families) -> Iterator[str]:
        return iter(())

    @property
    def line(self) -> str:
        (atom,) = self.query.atoms
        some = "" if atom.predicate is None else f" that pass {atom.predicate.text}"
        return f"no join: the changed rows of {self.name}{some} go on as they are, O(1) a change, no state"

    @property
    def expressions(self) -> tuple[Expression, ...]:
        return expressions_of(self.query)

    @property
    def named(self) -> tuple[tuple[str, Operator], ...]:
        return tuple((self.name, one) for one in self.inputs)

    @property
    def reads(self) -> tuple[str, ...]:
        return () if self.inputs else (self.name.lower(),)


@dataclass(frozen=True, eq=False)
class ProjectOperator(PlanOperator):
    """Expressions over rows, for those that a predicate is true for; no state.

    Args:
        input: The relation.
        outputs: The columns.
        types: The types of the expressions.
        predicate: The condition, or None.
        too_large: The message where an output has no value, as it does not fit; empty where users wrote it.
        across, refusal, written: As of a `livejoin.query.relational.Project`.
        reason: Why each row that ``across`` compares is made, and rows are not kept in the order of what is compared
            as a `livejoin.plan.operators.ThresholdOperator` or `InequalityAggregateOperator` has them.
    """

    input: Operator
    outputs: tuple[Output, ...]
    types: tuple[SqlType, ...]
    predicate: Expression | None
    too_large: str = ""
    across: str = ""
    refusal: str = ""
    reason: str = ""
    written: str = ""

    @property
    def keeps_state(self) -> bool:
        return False

    @property
    def kind(self) -> str:
        return "columns"

    @property
    def below(self) -> tuple[Operator, ...]:
        return (self.input,)

    def identity(self, algorithm: Algorithm, adaptive: bool) -> Identity:
        return ("compute", said_outputs(self.outputs), said_predicate(self.predicate), said_types(self.types))

    def lines(self, families: Families) -> Iterator[str]:
        verb = "is" if len(self.outputs) == 1 else "are"
        kept = f", where {self.written or 'a condition is true'}" if self.predicate else ""
        if self.across:
            kept = f", where {self.across}, which is checked on each row that the join gives"
        kept += f" ({self.reason})" if self.reason else ""
        yield f"{many(len(self.outputs), 'column')} {verb} computed from each row{kept}; nothing is stored"

    @property
    def replaced_by(self) -> tuple[int, ...] | None:
        below = self.input.replaced_by
        places = {output.source: place for place, output in enumerate(self.outputs)}
        if below is None or not places.keys() >= set(below):
            return None
        return tuple(places[column] for column in below)

    @property
    def expressions(self) -> tuple[Expression, ...]:
        return distinct_expressions((self.predicate, *(output.source for output in self.outputs)))

    @property
    def amortised_changes(self) -> UpdateBound | None:
        return self.input.amortised_changes


@dataclass(frozen=True, eq=False)
class RepeatedOperator(PlanOperator):
    """Each row ``count`` times, with the numbers from 0 on; no state.

    Args:
        input: The relation.
        count: How often.
    """

    input: Operator
    count: int

    @property
    def types(self) -> tuple[SqlType, ...]:
        """The types of its columns."""
        return (*self.input.types, SqlType.integer(64))

    @property
    def keeps_state(self) -> bool:
        return False

    @property
    def kind(self) -> str:
        return "repeated rows"

    @property
    def below(self) -> tuple[Operator, ...]:
        return (self.input,)

    def identity(self, algorithm: Algorithm, adaptive: bool) -> Identity:
        return ("repeat", self.count)

    def lines(self, families: Families) -> Iterator[str]:
        yield f"each row gives {self.count:,} rows, and a change of it {self.count:,} changes; nothing is stored"


@dataclass(frozen=True, eq=False)
class NumbersOperator(PlanOperator):
    """The whole numbers from 0 on, ``count`` of them; they never change."""

    count: int

    @property
    def keeps_state(self) -> bool:
        return False

    @property
    def types(self) -> tuple[SqlType, ...]:
        """The types of its columns."""
        return (SqlType.integer(64),)

    @property
    def kind(self) -> str:
        return "constant rows"

    @property
    def below(self) -> tuple[Operator, ...]:
        return ()

    def identity(self, algorithm: Algorithm, adaptive: bool) -> Identity:
        return ("numbers", self.count)

    def lines(self, families: Families) -> Iterator[str]:
        yield f"{many(self.count, 'constant row')}: nothing is stored, and nothing changes"
