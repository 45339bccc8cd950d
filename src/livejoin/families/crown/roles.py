"""What the nodes of a plan are to its annotations (CROWN, section 7.3, with edges that are not inner)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from livejoin.families.crown.structure import PlanNode
from livejoin.query import ConjunctiveQuery


@dataclass(frozen=True)
class Role:
    """The part of a node in the annotations.

    Args:
        annotated: Whether the node's rows are annotated.
        weighs: Whether the node's slots are factors of its parents' annotations. Over an exists or not exists edge they
            are if the parents are annotated: a connex parent is in V_s only where the edge is satisfied.
        empty: The value of an empty slot in each component.
        has_own: Whether the slots have the sum of their rows' annotations beside the factor.
    """

    annotated: bool
    weighs: bool
    empty: tuple[int, ...]
    has_own: bool

    def entry_words(self, node: PlanNode, annotation: int) -> tuple[int, int, int]:
        """Words of an entry of a linked edge behind its key: the annotation, the rows' own sum, and what waits.

        Args:
            node: The node below the edge.
            annotation: The words of an annotation; one of one word lies in the slot.
        """
        if not self.weighs:
            return 0, 0, 0
        return annotation if annotation > 1 else 0, annotation * self.has_own, annotation * (not node.quiet)


def roles(query: ConjunctiveQuery, nodes: Sequence[PlanNode]) -> tuple[Role, ...]:
    """The roles of the nodes of a plan.

    Without annotations none has any. What is below an exists or not exists edge brings no annotation. An empty optional
    slot is worth what a NULL row is: 1 in a component without a factor from there, as COUNT(*), else 0.
    """
    found: list[Role] = []
    for i, node in enumerate(nodes):
        above = node.parent is not None and found[node.parent].annotated
        in_branch = above or (node.parent is not None and nodes[node.parent].connex)
        is_shown = node.edge in ("inner", "optional")
        annotated = bool(query.sums) and not node.connex and is_shown and in_branch
        weighs = annotated if is_shown else above
        empty = (0,) * len(query.sums)
        if node.edge == "not exists":
            empty = (1,) * len(query.sums)
        elif node.edge == "optional":
            atoms = _atoms_below(nodes, i)
            empty = tuple(int(all(f.atom not in atoms for f in one.factors)) for one in query.sums)
        found.append(Role(annotated, weighs, empty, weighs and node.edge == "optional"))
    return tuple(found)


def _atoms_below(nodes: Sequence[PlanNode], position: int) -> set[int]:
    """The atoms in the subtree of a node."""
    below = [position]
    for i in below:
        below.extend(nodes[i].children)
    return {atom for i in below if (atom := nodes[i].atom) is not None}
