"""What a plan over derived tables takes from the plan across them."""

from __future__ import annotations

from livejoin.families.family import Candidate
from livejoin.families.program import Program


class Across:
    """A candidate whose changes go as those of the join across its derived tables, which no commit enters."""

    outer: Candidate

    @property
    def line(self) -> str:
        """As `Candidate.line`."""
        return self.outer.line

    @property
    def cost(self) -> float:
        """As `Candidate.cost`."""
        return self.outer.cost

    @property
    def propagation(self) -> float:
        """As `Candidate.propagation`."""
        return self.outer.propagation

    @property
    def touches(self) -> float:
        """As `Candidate.touches`."""
        return self.outer.touches

    @property
    def obstacle(self) -> str:
        """As `Candidate.obstacle`: there is none."""
        return ""

    def compile(self, live: bool) -> Program:
        """As `Candidate.compile`."""
        return self.outer.compile(live)
