"""A query's explanation: its class, its plans with their guarantees, the choice among them, what would be better."""

from __future__ import annotations

from collections.abc import Sequence

from livejoin.changes import ChangeBatch
from livejoin.families.bags.plan import BaggedPlan
from livejoin.families.crown.compile import compile_plan
from livejoin.families.crown.plan import PhysicalPlan
from livejoin.families.program import Program
from livejoin.plan.explain.candidates import Candidate, Candidates, candidates
from livejoin.plan.explain.classify import classify
from livejoin.plan.explain.explanation import Alternative, Explanation, SearchOutline, TableOutline
from livejoin.plan.explain.footprint import index_bytes, record_bytes
from livejoin.plan.explain.log import describe_log
from livejoin.plan.explain.outline import atom_outlines
from livejoin.plan.explain.suggestions import suggest
from livejoin.query import ConjunctiveQuery
from livejoin.search.choose import Choice
from livejoin.search.guarantee import annotated_guarantee, triangle_guarantee
from livejoin.search.problem import Problem, passing_shares
from livejoin.search.statistics import Statistics, observe


def describe(
    query: ConjunctiveQuery,
    statistics: Statistics | None = None,
    free: frozenset[str] | None = None,
    live: bool = True,
    log: Sequence[ChangeBatch] | None = None,
    operators: Sequence[str] = (),
    physical: Program | None = None,
) -> Explanation:
    """Explain a conjunctive query: everything that is to be shown about it and its plan.

    Cost: that of `candidates` and `suggest`, bounded; with a log O(n log n) for its n changes.

    Args:
        query: The query; may be one that this version does not maintain.
        statistics: What is known of its tables; nothing if None.
        free: The output variables; all of them if None.
        live: Whether the view keeps live views for deltas.
        log: A change log, one batch a table, with ``_seq`` if there are several.
        operators: What stands above the join, from the join upwards.
        physical: The plan that maintains it; compiled from the chosen tree if None and there is one.

    Raises:
        ChangeFormatError: A log of several tables without ``_seq``.

    >>> from livejoin.schema import Catalog
    >>> from livejoin.sql import bind, parse_columns
    >>> catalog = Catalog()
    >>> catalog.add(parse_columns("G", "src BIGINT, dst BIGINT"))
    >>> told = describe(bind("SELECT A.src FROM G A JOIN G B ON A.dst = B.src JOIN G C ON B.dst = C.src", catalog))
    >>> told.query_class.name, told.guarantee.bound.name, told.plan.height, told.executable
    ('free-connex', 'FIFO', 2, True)
    """
    known = statistics or Statistics()
    if log is not None:
        known = known.over(observe(log, query))
    found = candidates(query, known, free, live)
    chosen = found.chosen
    if physical is None and free is None and chosen.executable and chosen.tree is not None:
        physical = compile_plan(query, chosen.tree, live)
    guarantee = chosen.guarantee
    if query.sums and isinstance(physical, PhysicalPlan):
        guarantee = annotated_guarantee(guarantee, _widens(physical, found.problem))
    if isinstance(physical, BaggedPlan) and physical.is_counted_triangle:
        guarantee = triangle_guarantee(guarantee)
    return Explanation(
        sql=query.sql,
        atoms=atom_outlines(query),
        output=tuple(sorted(query.variables if free is None else free)),
        query_class=classify(query, free, found.width),
        plan=chosen.outline,
        guarantee=guarantee,
        executable=chosen.executable,
        obstacle=chosen.obstacle,
        reason=_reason(found),
        alternatives=tuple(_alternative(plan, plan is chosen) for plan in found.plans),
        search=_search(found.choice, found.complete),
        suggestions=suggest(query, known, free, chosen.guarantee.bound),
        tables=_tables(query, physical, found.problem, known) if isinstance(physical, PhysicalPlan) else (),
        deltas=live,
        digest="" if physical is None else physical.digest,
        log=None if log is None else describe_log(log, query, chosen.tree),
        operators=tuple(operators),
    )


def _widens(plan: PhysicalPlan, problem: Problem) -> str:
    """An atom of which many rows may share the key of a row below whose annotation changes; empty if there is none."""
    dynamic = [node.atom in problem.dynamic for node in plan.nodes]
    for position in range(len(plan.nodes) - 1, 0, -1):
        node = plan.nodes[position]
        assert node.parent is not None
        parent = plan.nodes[node.parent]
        atom = parent.atom
        wide = atom is not None and not problem.identifies(frozenset(node.key), atom)
        if atom is not None and wide and not parent.connex and dynamic[position]:
            return plan.query.atoms[atom].alias
        dynamic[node.parent] = dynamic[node.parent] or dynamic[position]
    return ""


def _reason(found: Candidates) -> str:
    """Why the plan was chosen over the others."""
    chosen = found.chosen
    better = [plan for plan in found.plans if plan.guarantee.bound < chosen.guarantee.bound]
    parts = []
    if found.choice is not None and chosen.tree is found.choice.best.tree:
        parts.append(found.choice.reason)
    elif len(found.plans) == 1:
        parts.append("It is the only plan that is known for the query.")
    else:
        parts.append("It has the best bound of the plans that are known for the query.")
    if better:
        parts.append(f"A plan by {better[0].outline.kind} would have a better bound, but {better[0].obstacle}.")
    return " ".join(parts)


def _alternative(plan: Candidate, chosen: bool) -> Alternative:
    return Alternative(
        title=f"{plan.outline.kind} of height {plan.outline.height}",
        tree=plan.line,
        guarantee=plan.guarantee,
        cost=plan.cost,
        height=plan.outline.height,
        propagation=plan.propagation,
        executable=plan.executable,
        obstacle=plan.obstacle,
        chosen=chosen,
    )


def _search(choice: Choice | None, complete: bool) -> SearchOutline:
    if choice is None:
        note = (
            "the search for the best bags came to its end" if complete else "the search for the best bags was bounded"
        )
        return SearchOutline(0, 0, complete, note)
    one = "1 join tree" if choice.compared == 1 else f"{choice.compared} join trees"
    if not choice.searched:
        note = f"{one} compared; the search stopped early after {choice.steps:,} steps, a better tree may exist"
    elif choice.all_compared:
        note = f"{one} compared, all that there are"
    else:
        note = (
            f"{one} compared; there are more, among all of which the search found the least bound and cost, but not "
            "the least predicted propagation"
        )
    return SearchOutline(choice.compared, choice.steps, choice.searched and choice.all_compared, note)


def _tables(
    query: ConjunctiveQuery, plan: PhysicalPlan, problem: Problem, statistics: Statistics
) -> tuple[TableOutline, ...]:
    records = record_bytes(plan)
    indexes = index_bytes(plan, problem, passing_shares(query, statistics))
    outlines = []
    for use in plan.tables:
        table = query.atoms[use.atoms[0]].table
        known = statistics.of(use.name)
        outlines.append(
            TableOutline(
                name=use.name,
                columns=tuple(table.columns[column].name for column in use.columns),
                aliases=tuple(query.atoms[atom].alias for atom in use.atoms),
                row_bytes=records[use.name],
                index_bytes=indexes[use.name],
                changes=known.changes.value,
                changes_known=known.changes.known,
                rows=known.rows.value,
                rows_known=known.rows.known,
            )
        )
    return tuple(outlines)
