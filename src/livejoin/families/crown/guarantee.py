"""What a join-tree plan promises (CROWN, sections 6 and 7.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from livejoin.families.crown.structure import PlanNode
from livejoin.families.first_in_first_out import fifo_update
from livejoin.query import ConjunctiveQuery
from livejoin.search.choose import Measured
from livejoin.search.guarantee import CONSTANT_DELAY, LINEAR_SPACE, LINEAR_TIME, Guarantee, UpdateBound
from livejoin.search.problem import Problem
from livejoin.theory.logs.tree_enclosureness import has_inner_branch

_OF_TREE = "the enclosureness of the change sequence with respect to the tree"


def tree_guarantee(query: ConjunctiveQuery, measured: Measured, problem: Problem) -> Guarantee:
    """What a join tree promises without annotations.

    Args:
        query: The query.
        measured: The tree.
        problem: The planning problem that it was measured for.
    """
    if measured.is_paid_before:
        return _paid_before(query)
    if query.branches:
        return _with_branches(measured)
    bound, height = measured.bound, measured.height
    by = _grounds(problem) if bound < min(height - 1, UpdateBound.LAMBDA) else ""
    branching = has_inner_branch(measured.tree)
    branches = ", crossing lifespans included (an atom below another one has two children)" if branching else ""
    match bound:
        case UpdateBound.ALWAYS if by:
            update = f"O(1) a change, for every change sequence: a change reaches one row of each relation, by {by}"
            source = "a change visits one row a node over edges that are not wide (livejoin.search.spread)"
        case UpdateBound.ALWAYS:
            update = "O(1) a change, for every change sequence (height 1: the query is q-hierarchical)"
            source = "CROWN, Lemma 6.8"
        case UpdateBound.FIFO if by:
            update = f"{fifo_update(query)} (by {by}); else O(lambda), {_OF_TREE}{branches}"
            source = "CROWN, Lemmas 6.9 and 6.10, with AJU, Lemma 7 (livejoin.search.spread)"
        case UpdateBound.FIFO:
            update = f"{fifo_update(query)}; else O(lambda), {_OF_TREE} (height {height})"
            source = "CROWN, Lemmas 6.9 and 6.10, Theorem 6.6"
        case _:
            update = f"O(1) a change while rows never leave; else O(lambda), {_OF_TREE} (height {height}){branches}"
            source = "CROWN, Lemma 6.10 and Theorem 6.6" + (
                ", as livejoin's decision 7 corrects it" if branching else ""
            )
    return Guarantee(bound, update, CONSTANT_DELAY, LINEAR_SPACE, LINEAR_TIME, source)


def _paid_before(query: ConjunctiveQuery) -> Guarantee:
    """What a tree promises because rows never leave some tables (docs/decisions/0046)."""
    names = dict.fromkeys(atom.table.name for atom in query.atoms if atom.table.append_only)
    update = (
        "amortised O(1) a change, for every change sequence: one change may visit many rows, and each row once only "
        f"for all changes of what is append-only below it ({', '.join(names)})"
    )
    by = (
        "each row is visited once over edges below which no row leaves (livejoin.search.spread, livejoin's decision 46)"
    )
    return Guarantee(UpdateBound.ALWAYS, update, CONSTANT_DELAY, LINEAR_SPACE, LINEAR_TIME, by, is_amortised=True)


def _with_branches(measured: Measured) -> Guarantee:
    """What a tree with edges that are not inner promises (docs/decisions/0034)."""
    tree = measured.tree
    by_edge = "livejoin's decision 34, after CROWN, Theorem 6.6"
    cuts = any(node.edge == "not exists" and node.parent != 0 for node in tree.nodes)
    only = "O(1) a change while rows never leave; else O(lambda)"
    if cuts:
        only = "O(lambda) a change, also while rows never leave, because a row that comes may make others go and come"
    match measured.bound:
        case UpdateBound.ALWAYS:
            update = "O(1) a change, for every change sequence: a change reaches one row of each relation"
        case UpdateBound.FIFO:
            update = f"O(1) a change for first-in-first-out sequences; else O(lambda), {_OF_TREE}"
        case _:
            update = f"{only}, {_OF_TREE} (height {measured.height}), as rows come to and leave its views"
    return Guarantee(measured.bound, update, CONSTANT_DELAY, LINEAR_SPACE, LINEAR_TIME, by_edge)


def annotated_guarantee(
    below: Guarantee, query: ConjunctiveQuery, nodes: Sequence[PlanNode], problem: Problem
) -> Guarantee:
    """What a join tree promises whose results are annotated.

    A counter stops a propagation where a key stays in its view; an annotation changes in every row with the key. DYN
    has the same cost, O(|D|) outside of q-hierarchical queries (DYN, section 4).

    Args:
        below: The guarantee of the tree without annotations.
        query: The query.
        nodes: The nodes that the plan keeps.
        problem: The planning problem.
    """
    widens = _widens(query, nodes, problem)
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


def _widens(query: ConjunctiveQuery, nodes: Sequence[PlanNode], problem: Problem) -> str:
    """An atom of which many rows may share the key of a row below whose annotation changes; empty if there is none."""
    dynamic = [node.atom in problem.dynamic for node in nodes]
    for position in range(len(nodes) - 1, 0, -1):
        node = nodes[position]
        assert node.parent is not None
        parent = nodes[node.parent]
        atom = parent.atom
        wide = atom is not None and not problem.identifies(frozenset(node.parent_key), atom)
        if atom is not None and wide and not parent.connex and dynamic[position]:
            return query.atoms[atom].alias
        dynamic[node.parent] = dynamic[node.parent] or dynamic[position]
    return ""


def _grounds(problem: Problem) -> str:
    """What a bound better than that of the height rests on."""
    static = ["static tables"] if len(problem.dynamic) < len(problem.edges) else []
    growing = ["append-only tables"] if problem.growing else []
    return " and ".join((["primary keys"] if any(problem.keys) else []) + static + growing)
