"""What a plan promises: the cost of a change, the delay of a result row, the space and the time to load.

The bounds on a change are ordered, and each says for which change sequences a change costs O(1), amortised:

- `UpdateBound.ALWAYS`: for every sequence (CROWN, Lemma 6.8).
- `UpdateBound.FIFO`: for sequences that are first-in-first-out or insertion-only (CROWN, Lemmas 6.9 and 6.10), else
  O(lambda).
- `UpdateBound.LAMBDA`: for insertion-only sequences, else O(lambda_T) (CROWN, Theorem 6.6), with crossing lifespans
  where an atom below another one has two children (docs/decisions/0007).
- `UpdateBound.LINEAR`: for none; O(|D|) where one change can move that many rows of a bag (CROWN, Lemma 7.2).
- `UpdateBound.POLYNOMIAL`: for none; a power of the database above the first (CROWN, Theorem 7.1).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum


class UpdateBound(IntEnum):
    """The bounds on the cost of a change, the best one first; `str` is the word that the command line takes."""

    ALWAYS = 0
    FIFO = 1
    LAMBDA = 2
    LINEAR = 3
    POLYNOMIAL = 4

    def __str__(self) -> str:
        return _WORDS[self]

    @property
    def formula(self) -> str:
        """The bound in the papers' signs."""
        return _FORMULAS[self]


_WORDS = {
    UpdateBound.ALWAYS: "O1",
    UpdateBound.FIFO: "FIFO",
    UpdateBound.LAMBDA: "lambda",
    UpdateBound.LINEAR: "linear",
    UpdateBound.POLYNOMIAL: "polynomial",
}

_FORMULAS = {
    UpdateBound.ALWAYS: "O(1)",
    UpdateBound.FIFO: "O(1) for FIFO or insertion-only sequences, else O(lambda)",
    UpdateBound.LAMBDA: "O(1) for insertion-only sequences, else O(lambda)",
    UpdateBound.LINEAR: "O(|D|)",
    UpdateBound.POLYNOMIAL: "O(|D|^k), k > 1",
}


@dataclass(frozen=True)
class Guarantee:
    """What a plan promises.

    Args:
        bound: The class of the cost of a change.
        update: The cost of a change in one plain sentence.
        delay: The time between two result rows, full and delta.
        space: The size of the state.
        preprocessing: The time to load the rows that are there.
        source: Where this is proven.
        is_amortised: Whether ``UpdateBound.ALWAYS`` holds on average: one change may cost more, and others have paid.
    """

    bound: UpdateBound
    update: str
    delay: str
    space: str
    preprocessing: str
    source: str
    is_amortised: bool = False


LINEAR_TIME = "linear in the base rows"
LINEAR_SPACE = f"{LINEAR_TIME}, whatever the size of the result"
CONSTANT_DELAY = "constant delay a row, full and delta"


def projected_guarantee(below: Guarantee, more: str) -> Guarantee:
    """The guarantee of a plan that keeps more output variables than are asked for.

    Args:
        below: The guarantee over the plan's own output.
        more: The variables that nobody asks for, as text.
    """
    delay = f"constant delay a row over the output and {more}, which is projected away when it is read"
    return replace(below, delay=delay)


def checked_guarantee(below: Guarantee, condition: str) -> Guarantee:
    """The guarantee for a join whose rows are checked for a condition across tables when they are read.

    Args:
        below: The guarantee for the join.
        condition: The condition, as it is written.
    """
    delay = (
        f"{below.delay}, of the join; {condition} is checked on each of them, so that the delay between two results is "
        "not constant: rows that it is not true for lie between them"
    )
    return replace(below, delay=delay)


def product_guarantee(below: Guarantee) -> Guarantee:
    """What a plan promises for a join with a condition over atoms that no equality connects."""
    update = (
        f"{below.update}; for the delta, and for a store above, a row that comes or goes is paired with all rows that "
        "no equality joins it with, O(|D|)"
    )
    return replace(below, bound=max(below.bound, UpdateBound.LINEAR), update=update)


def stored_guarantee(below: Guarantee, changed: str, kept: str, delta: UpdateBound | None = None) -> Guarantee:
    """The guarantee for a join whose rows go into a store above it (DYN, section 5.1).

    Args:
        below: The guarantee of the join's plan.
        changed: The power of the base rows that bounds how many rows of the join a change adds or removes, as text.
        kept: The content of the store, in words.
        delta: The amortised bound of these rows (`livejoin.search.delta_size`); None if there is none.
    """
    source = f"{below.source}; DYN, section 5.1"
    if changed == "0":
        bound, update = below.bound, f"{below.update}; and one look-up in the store above it"
    elif delta is not None:
        bound, source = max(below.bound, delta), f"{below.source}; AJU, Corollary 9; DYN, section 5.1"
        rows = f"amortised {delta.formula}"
        update = f"{below.update}; and one look-up in the store above it a row that the join gains or loses, {rows}"
    else:
        bound = max(below.bound, UpdateBound.LINEAR if changed == "1" else UpdateBound.POLYNOMIAL)
        rows = f"at most {power(changed)} for N base rows"
        update = f"{below.update}; and one look-up in the store above it a row that the join gains or loses, {rows}"
    return replace(
        below,
        bound=bound,
        update=update,
        delay="constant delay a row, from the store",
        space=_with_store(below.space, kept),
        preprocessing=f"{below.preprocessing}, then the rows of the join once",
        source=source,
    )


def _with_store(space: str, kept: str) -> str:
    """What is kept below a store and in it; what is more than nothing first."""
    if space.startswith("nothing: "):
        return f"in the store {kept}; beside it {space.removeprefix('nothing: ')}"
    return f"{space}; and in the store {kept}"


def bounding_guarantee(below: Guarantee) -> Guarantee:
    """What a plan promises for groups that are the bounds of rows (AJU, Theorem 14)."""
    update = (
        f"{below.update}; a bound that moves lets rows in or out, O(1) for each: the delta, which is not counted here"
    )
    return replace(below, update=update, source=f"{below.source}; AJU, Theorem 14")


def power(exponent: str) -> str:
    """A power of the base rows, N, in the papers' signs."""
    return "O(N)" if exponent == "1" else f"O(N^({exponent}))" if "/" in exponent else f"O(N^{exponent})"
