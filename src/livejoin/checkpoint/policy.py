"""The policy for changes that cannot be applied: fail, skip, or write them to the dead letters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from livejoin.database.refusals import Refusal
from livejoin.errors import SchemaError
from livejoin.shown import meant

OnBad = Literal["fail", "skip", "dead_letter"]


@dataclass(frozen=True)
class Policy:
    """What happens to changes that cannot be applied.

    Args:
        on_conflict: For deletions of absent rows and second rows with a key.
        on_bad_rows: For values that do not fit their columns, and rows on which an expression of a view fails.
        most: The most changes of a batch that may be left out; with more of them the feed itself is wrong.

    Raises:
        SchemaError: A word is none of the three, or ``most`` is negative.
    """

    on_conflict: OnBad = "fail"
    on_bad_rows: OnBad = "fail"
    most: int = 1000

    def __post_init__(self) -> None:
        for name in ("on_conflict", "on_bad_rows"):
            if getattr(self, name) not in get_args(OnBad):
                allowed = ", ".join(map(repr, get_args(OnBad)))
                given = getattr(self, name)
                msg = f"{name} is {given!r:.80}; allowed are {allowed}{meant(given, get_args(OnBad))}"
                raise SchemaError(msg)
        if not isinstance(self.most, int) or isinstance(self.most, bool) or self.most < 0:
            msg = f"max_bad_rows is {self.most!r:.80}; allowed is a number of changes, 0 or more"
            raise SchemaError(msg)

    @property
    def fails(self) -> bool:
        """Whether every change that cannot be applied ends the stream."""
        return self.on_conflict == self.on_bad_rows == "fail"

    @property
    def has_letters(self) -> bool:
        """Whether some changes go to dead letters."""
        return "dead_letter" in (self.on_conflict, self.on_bad_rows)

    def of(self, refusal: Refusal) -> OnBad:
        """The policy for one refused change."""
        return self.on_conflict if refusal.is_conflict else self.on_bad_rows


FAIL = Policy()
