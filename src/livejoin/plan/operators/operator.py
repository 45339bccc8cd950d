"""What every operator of a plan says about itself.

Who plans, explains, shares and runs operators asks them, and has no switch over their kinds. Two switches are left,
each in one place and complete: which block an operator becomes (`livejoin.dataflow.graph`) and which store
(`livejoin.dataflow.stores.store`), since both are above the plan.

Law of `PlanOperator.identity`: operators with equal identities over equal inputs maintain equal relations, for every
state of the base tables, and give the same columns in the same order (names aside, which belong to views). Variables
count up to renaming: each is the number of its first occurrence among the atoms. Statistics, and the trees that are
chosen by them, do not count; the algorithm that was asked for does, since who compares algorithms wants both, and so
does being adaptive, since a move of the one must not be seen in the figures of the other.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from livejoin.families.registry import RankedFamily
from livejoin.plan.identity import Identity
from livejoin.query import ConjunctiveQuery
from livejoin.query.scalar import Expression
from livejoin.search.algorithm import Algorithm
from livejoin.search.guarantee import UpdateBound

if TYPE_CHECKING:
    from livejoin.plan.operators import Operator

Families: TypeAlias = Mapping[ConjunctiveQuery, Sequence[RankedFamily]]
"""What the programs of joins were chosen from, by the joins as they were asked for, the chosen ones first."""


class PlanOperator(ABC):
    """An operator; each also has ``types``, those of its columns. Nothing of it is another one at another time."""

    @property
    @abstractmethod
    def kind(self) -> str:
        """What it is, in a word or two, for people; `livejoin.Database.stats` shows it."""

    @property
    @abstractmethod
    def below(self) -> tuple[Operator, ...]:
        """The operators that it reads, from left to right."""

    @abstractmethod
    def identity(self, algorithm: Algorithm, adaptive: bool) -> Identity:
        """What it says, without its inputs. Digests of blocks in snapshots are made of it: it stays what it is.

        Args:
            algorithm: The algorithm that was asked for, of a join.
            adaptive: Whether its join may move to another plan.
        """

    @abstractmethod
    def lines(self, families: Families) -> Iterator[str]:
        """What it does and costs, without its inputs; nothing of a join that there is nothing to say of."""

    def does(self, families: Families) -> Iterator[str]:
        """The operator's `lines`, and the work that DuckDB does for it."""
        yield from self.lines(families)
        if slow := [step.text for one in self.expressions for step in one.steps or (one,) if step.scalar is None]:
            yield f"evaluated by DuckDB, a call of about a millisecond a commit: {', '.join(slow)}"

    @property
    def keeps_state(self) -> bool:
        """Whether it keeps a state; else its rows are computed from those below when somebody asks."""
        return True

    @property
    def line(self) -> str:
        """How it runs, in one line; empty where `lines` says all."""
        return ""

    @property
    def update(self) -> str:
        """What a change costs here; empty where that is one look-up, or is for the program of a join to say."""
        return ""

    @property
    def replaced_by(self) -> tuple[int, ...] | None:
        """Positions of the columns of which no two rows have the same values at any version, because they are groups.

        None for rows that are not groups, or do not show all columns of theirs: then two groups may look alike.
        """
        return None

    @property
    def expressions(self) -> tuple[Expression, ...]:
        """The expressions that it evaluates, each once."""
        return ()

    @property
    def moves(self) -> str:
        """What a change also changes of all rows behind it in its partition; empty where that is nothing."""
        return ""

    @property
    def amortised_changes(self) -> UpdateBound | None:
        """What bounds its rows that a change of a base table changes, amortised; None if nothing is proven.

        Rows, groups and distinct rows of a foreign-key join change with its results, which are few (AJU, Corollary 9).
        So a join above that takes O(1) for each of them, in whatever order they come and go, takes no longer for all.
        """
        return None

    def kept(self, above: str) -> tuple[tuple[Operator, str], ...]:
        """The operators below with what the first store above each of them keeps, itself included.

        Args:
            above: The state of the first store above; empty where there is none.
        """
        return tuple((one, above) for one in self.below)

    @property
    def named(self) -> tuple[tuple[str, Operator], ...]:
        """The derived relations that a join reads, those inside of its bags included, each once with its name."""
        return ()

    @property
    def reads(self) -> tuple[str, ...]:
        """The base tables that it reads itself, in lower case; another plan for the same join reads the same."""
        return ()

    @property
    def layout(self) -> str:
        """A fingerprint of how the state of a join is laid out; empty of others."""
        return ""

    @property
    def cells(self) -> int:
        """The cells that its join is split into; 1 where it is whole, or there is no join."""
        return 1


def many(number: int, what: str) -> str:
    """A number of things in words, as in ``2 rows``."""
    return f"{number} {what}" + ("" if number == 1 else "s")
