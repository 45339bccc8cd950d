"""What a plan is and what it guarantees, in plain text."""

from __future__ import annotations

from collections.abc import Iterator

from livejoin.plan.physical import PhysicalPlan
from livejoin.theory.join_tree import JoinTree, Node


def guarantee(tree: JoinTree) -> str:
    """The bound on the cost of a change that a tree's height gives (CROWN, Lemmas 6.8 to 6.10 and Theorem 6.6)."""
    match tree.height:
        case 1:
            return "O(1) a change, for every change sequence (height 1: the query is q-hierarchical)"
        case 2:
            return (
                "O(1) a change while rows leave in the order in which they came, as in a window, or never leave; "
                "else O(lambda), the enclosureness of the change sequence with respect to the tree (height 2)"
            )
        case height:
            return (
                "O(1) a change while rows never leave; else O(lambda), the enclosureness of the change sequence with "
                f"respect to the tree (height {height})"
            )


def explain(plan: PhysicalPlan) -> str:
    """Describe a plan: query, tree with keys and views, guarantee, layout of the state."""
    query, tree = plan.query, plan.tree
    atoms = "1 atom" if len(query.atoms) == 1 else f"{len(query.atoms)} atoms"
    lines = [
        query.sql.strip(),
        "",
        f"class       acyclic conjunctive query, all variables kept (bag semantics); {atoms}",
        f"plan        join tree of height {tree.height}, change propagation without joins (CROWN)",
        f"update      {guarantee(tree)}",
        "results     constant delay a row, full" + (" and delta" if plan.live else "; no deltas (deltas=False)"),
        "space       linear in the base rows, whatever the size of the result",
        "",
        "join tree",
        *_draw(plan, 0, "", ""),
        "",
        "state",
    ]
    for use in plan.tables:
        names = [query.atoms[use.atoms[0]].table.columns[c].name for c in use.columns]
        aliases = ", ".join(query.atoms[a].alias for a in use.atoms)
        columns = ", ".join(names) or "no columns"
        lines.append(
            f"  {use.name} ({columns}) for {aliases}: {use.stride * 8} bytes a row, and its share of the indexes"
        )
    return "\n".join(lines)


def _draw(plan: PhysicalPlan, index: int, first: str, rest: str) -> Iterator[str]:
    """The subtree of a node, one line a node."""
    node = plan.tree.nodes[index]
    yield "  " + first + _label(plan, node)
    for child in node.children:
        last = child == node.children[-1]
        yield from _draw(plan, child, rest + ("└─ " if last else "├─ "), rest + ("   " if last else "│  "))


def _label(plan: PhysicalPlan, node: Node) -> str:
    """One node: its relation, the key to its parent, the views kept there and its predicate."""
    variables = ", ".join(node.variables)
    views = ["V_s"]
    if node.parent is not None:
        views.append("V_p")
    if plan.live and node.parent is not None and node.children:
        views.append("V_l")
    key = "" if node.parent is None else f"  key ({', '.join(node.key)})"
    if node.atom is None:
        return f"[{variables}]{key}  {' '.join(views)}"
    atom = plan.query.atoms[node.atom]
    name = atom.alias if atom.alias == atom.table.name else f"{atom.table.name} {atom.alias}"
    where = f"  where {atom.predicate}" if atom.predicate else ""
    return f"{name}({variables}){key}  {' '.join(views)}{where}"
