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
    """

    bound: UpdateBound
    update: str
    delay: str
    space: str
    preprocessing: str
    source: str


_LINEAR = "linear in the base rows, whatever the size of the result"
_DELAY = "constant delay a row, full and delta"
_FIFO = "O(1) a change while rows leave in the order in which they came, as in a window, or never leave"
_OF_TREE = "the enclosureness of the change sequence with respect to the tree"


def tree_guarantee(bound: UpdateBound, height: int, by: str, branching: bool) -> Guarantee:
    """What a join-tree plan promises (CROWN, section 6).

    Args:
        bound: The bound of the tree, at most `UpdateBound.LAMBDA`.
        height: Its height.
        by: What the bound rests on if it is better than that of the height, for example ``primary keys``; else empty.
        branching: Whether an atom below another atom has two children.
    """
    branches = ", crossing lifespans included (an atom below another one has two children)" if branching else ""
    match bound:
        case UpdateBound.ALWAYS if by:
            update = f"O(1) a change, for every change sequence: a change reaches one row of each relation, by {by}"
            source = "a change visits one row a node over edges that are not wide (livejoin.search.spread)"
        case UpdateBound.ALWAYS:
            update = "O(1) a change, for every change sequence (height 1: the query is q-hierarchical)"
            source = "CROWN, Lemma 6.8"
        case UpdateBound.FIFO if by:
            update = f"{_FIFO} (by {by}); else O(lambda), {_OF_TREE}{branches}"
            source = "CROWN, Lemmas 6.9 and 6.10, with AJU, Lemma 7 (livejoin.search.spread)"
        case UpdateBound.FIFO:
            update = f"{_FIFO}; else O(lambda), {_OF_TREE} (height {height})"
            source = "CROWN, Lemmas 6.9 and 6.10, Theorem 6.6"
        case _:
            update = f"O(1) a change while rows never leave; else O(lambda), {_OF_TREE} (height {height}){branches}"
            source = "CROWN, Lemma 6.10 and Theorem 6.6" + (", as docs/decisions/0007 corrects it" if branching else "")
    return Guarantee(bound, update, _DELAY, _LINEAR, "linear in the base rows", source)


def foreign_key_guarantee(bound: UpdateBound) -> Guarantee:
    """What a foreign-key plan promises (AJU, Theorem 8); O(1) always if nothing but its root changes."""
    if bound == UpdateBound.ALWAYS:
        update = "O(1) a change, for every change sequence: only the root of the foreign-key graph changes"
    else:
        update = f"{_FIFO}; else O(lambda), the enclosureness of the change sequence"
    return Guarantee(bound, update, _DELAY, "linear in the base rows", "linear in the base rows", "AJU, Theorem 8")


def view_tree_guarantee(preprocessing: str, linear: bool) -> Guarantee:
    """What the view trees of a safe rewriting promise (ICDT 2025, Theorems 1 and 3)."""
    return Guarantee(
        UpdateBound.ALWAYS,
        "O(1) a change of a table that is not static, for every change sequence",
        _DELAY,
        f"{preprocessing} for N base rows, after the static tables are joined once",
        f"{preprocessing} for N base rows",
        f"ICDT 2025, Theorem {1 if linear else 3}",
    )


def bag_guarantee(bound: UpdateBound, update: str, space: str) -> Guarantee:
    """What a plan over the bags of a decomposition promises (CROWN, section 7.1).

    Args:
        bound: `UpdateBound.LINEAR` or worse, or that of the tree if no bag joins anything.
        update: The exponent of the cost of a change, as text.
        space: The exponent of the largest bag, as text.
    """
    return Guarantee(
        bound,
        f"{_power(update)} a change for N base rows, because one change can change that many rows of a bag",
        _DELAY,
        f"{_power(space)} for N base rows: the joins inside the bags are stored",
        f"{_power(space)} for N base rows",
        "CROWN, section 7.1, Theorem 7.1",
    )


def triangle_guarantee(below: Guarantee) -> Guarantee:
    """What the plan over one bag promises for a triangle that is only counted (`livejoin.kernels.bag.heavy_pairs`).

    Args:
        below: What it promises for triangles that are listed.
    """
    return replace(
        below,
        update=(
            "O(N^(1/2)) a change amortised for N base rows: values with about that many rows are heavy, and a view has "
            "the sums between every two of them"
        ),
        space="O(N) for N base rows: no triangle is stored",
        source="Kara, Ngo, Nikolic, Olteanu, Zhang, Counting triangles under updates (ICDT 2019)",
    )


def annotated_guarantee(below: Guarantee, widens: str) -> Guarantee:
    """What a join-tree plan promises whose results are annotated (CROWN, section 7.3).

    A counter stops a propagation where a key stays in its view; an annotation changes in every row with the key. DYN
    has the same cost, O(|D|) outside of q-hierarchical queries (DYN, section 4).

    Args:
        below: What the plan promises without annotations.
        widens: The relation whose rows a change of an annotation may reach many of; empty if there is none.
    """
    if not widens or below.bound > UpdateBound.LINEAR:
        return below
    return replace(
        below,
        bound=UpdateBound.LINEAR,
        update=(
            f"O(|D|) a change at most: the aggregate changes in all rows of {widens} that share the changed row's key, "
            "and the views as in the join alone"
        ),
        source="CROWN, section 7.3, formulas 10 to 14; DYN, section 4",
    )


def stored_guarantee(below: Guarantee, changed: str, kept: str) -> Guarantee:
    """What a plan promises for a join whose rows go into a store above it (DYN, section 5.1).

    Args:
        below: What the plan of the join promises.
        changed: The power of the base rows that bounds how many rows of the join a change adds or removes, as text.
        kept: What the store keeps.
    """
    if changed == "0":
        bound, update = below.bound, f"{below.update}; and one look-up in the store above it"
    else:
        bound = max(below.bound, UpdateBound.LINEAR if changed == "1" else UpdateBound.POLYNOMIAL)
        rows = f"at most {_power(changed)} for N base rows"
        update = f"{below.update}; and one look-up in the store above it a row that the join gains or loses, {rows}"
    return replace(
        below,
        bound=bound,
        update=update,
        delay="constant delay a row, from the store",
        space=f"{below.space}; and in the store {kept}",
        preprocessing=f"{below.preprocessing}, then the rows of the join once",
        source=f"{below.source}; DYN, section 5.1",
    )


def _power(exponent: str) -> str:
    return "O(N)" if exponent == "1" else f"O(N^({exponent}))" if "/" in exponent else f"O(N^{exponent})"
