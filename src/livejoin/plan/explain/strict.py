"""A check that refuses queries whose guarantee is weaker than what is asked for."""

from __future__ import annotations

from livejoin.errors import WeakGuaranteeError
from livejoin.plan.explain.explanation import Explanation
from livejoin.search.guarantee import UpdateBound


def require(explanation: Explanation, bound: UpdateBound) -> None:
    """Refuse a query whose plan is not run by this version, or whose changes may cost more than a bound.

    Args:
        explanation: The query's explanation.
        bound: The weakest bound that is accepted.

    Raises:
        WeakGuaranteeError: The guarantee is weaker, with the reason and what would make it better. A window whose
            rows move is weaker than anything but ``linear``: all rows of a partition may change.
    """
    for one in (explanation, *explanation.others):
        _require_one(one, bound)
    if explanation.beside and bound < UpdateBound.LINEAR:
        msg = (
            f"a change is asked to cost {bound.formula} at most, and a window is in the query. {explanation.beside} "
            f"Each costs O(log rows). Take the window out, or ask for '{UpdateBound.LINEAR}'."
        )
        raise WeakGuaranteeError(msg)


def _require_one(explanation: Explanation, bound: UpdateBound) -> None:
    """Of one join."""
    found = explanation.guarantee
    if found.bound > bound:
        better = [s for s in explanation.suggestions if s.guarantee.bound <= bound]
        advice = f" {better[0].text}" if better else " Nothing was found that would give it."
        msg = (
            f"a change is asked to cost {bound.formula} at most, and the plan promises {found.bound.formula}: "
            f"{_witness(explanation)}.{advice}"
        )
        raise WeakGuaranteeError(msg)
    if not explanation.executable:
        msg = f"the plan promises {found.bound.formula} a change, but this version does not run it: "
        raise WeakGuaranteeError(msg + explanation.obstacle)


def _witness(explanation: Explanation) -> str:
    """What keeps the query from a better class."""
    for name, meaning in (
        ("acyclic", "the query is cyclic"),
        ("free-connex", "the query is not free-connex"),
        ("q-hierarchical", "the query is not q-hierarchical"),
    ):
        found = explanation.query_class[name]
        if not found.holds:
            return f"{meaning}, {found.because}"
    above = f", and above it {'; '.join(explanation.operators)}" if explanation.operators else ""
    return f"it is maintained by a {explanation.plan.title}{above}"
