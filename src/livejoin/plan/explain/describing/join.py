"""A query's explanation: its class, the plans that it was chosen from with their guarantees, what would be better."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain

from livejoin.changes import ChangeBatch
from livejoin.families.family import Candidate
from livejoin.families.outline import atom_outlines, with_promises
from livejoin.families.output import with_output, without_unneeded
from livejoin.families.program import Program
from livejoin.families.registry import RankedFamily, kept_output
from livejoin.plan.explain.describing.classify import classify
from livejoin.plan.explain.describing.log import describe_log
from livejoin.plan.explain.explanation import Alternative, Explanation, TableOutline
from livejoin.plan.explain.suggestions.seen import NOTHING_SEEN, Seen
from livejoin.plan.explain.suggestions.suggestions import suggest
from livejoin.plan.query_plan import join_candidates
from livejoin.query import ConjunctiveQuery
from livejoin.search.algorithm import Algorithm
from livejoin.search.guarantee import projected_guarantee
from livejoin.search.statistics import Statistics, observe
from livejoin.theory.classes.gyo import is_acyclic
from livejoin.theory.cyclic.decomposition import decompose


@dataclass(frozen=True)
class Planned:
    """A join with the program that maintains it, to be explained.

    Args:
        query: The join as it was asked for.
        program: The program.
        ranked: The families that it was chosen from, its own first.
        asked: The variables that are asked for; None for all.
        live: Whether the program gives deltas.
        algorithm: The name by which the families were selected.
        known: The figures of the tables when the plan was made.
    """

    query: ConjunctiveQuery
    program: Program
    ranked: tuple[RankedFamily, ...]
    asked: frozenset[str] | None
    live: bool
    algorithm: Algorithm
    known: Statistics


def describe(
    query: ConjunctiveQuery,
    statistics: Statistics | None = None,
    free: frozenset[str] | None = None,
    live: bool = True,
    log: Sequence[ChangeBatch] | None = None,
) -> Explanation:
    """Plan a conjunctive query and explain the plan.

    Cost: that of planning and `suggest`, bounded; with a log O(n log n) for its n changes.

    Args:
        query: The query.
        statistics: The known figures of the query's tables; none if None.
        free: The variables that distinct results are asked for; None asks for all, with multiplicities.
        live: Whether deltas are asked for.
        log: A change log, one batch a table, with ``_seq`` if there are several.

    Raises:
        ChangeFormatError: A log of several tables without ``_seq``.

    >>> from livejoin.catalog import Catalog
    >>> from livejoin.sql import bind_query, parse_columns
    >>> catalog = Catalog()
    >>> catalog.add(parse_columns("G", "src BIGINT, dst BIGINT"))
    >>> sql = "SELECT A.src FROM G A JOIN G B ON A.dst = B.src JOIN G C ON B.dst = C.src"
    >>> told = describe(bind_query(sql, catalog).root.query)
    >>> told.query_class.name, told.guarantee.bound.name, told.plan.height, told.executable
    ('free-connex', 'FIFO', 2, True)
    """
    known = statistics or Statistics()
    if log is not None:
        known = known.over(observe(log, query))
    kept = None if free is None else kept_output(query, free, known, "auto")
    join = query if kept is None else with_output(query, kept)
    found = join_candidates(join, known)
    program = found[0].first.compile(live)
    seen = Seen.in_log(log or ())
    return explained(Planned(join, program, found, free, live, "auto", known), log, seen)


def explained(planned: Planned, log: Sequence[ChangeBatch] | None = None, seen: Seen = NOTHING_SEEN) -> Explanation:
    """What there is to say of a join and the program that maintains it; nothing is planned here.

    Cost: that of `suggest` and of the families that are known to theory only.

    Args:
        planned: The join.
        log: A change log.
        seen: The changes that were seen.
    """
    query, known, asked = planned.query, planned.known, planned.asked
    chosen = planned.ranked[0].first
    guarantee = chosen.guarantee
    if asked is not None and query.free is not None and asked < query.free:
        guarantee = projected_guarantee(guarantee, ", ".join(sorted(query.free - asked)))
    width = "1" if is_acyclic(query.edges) else str(decompose(without_unneeded(query).edges, query.free).width)
    return Explanation(
        sql=query.sql,
        atoms=atom_outlines(query),
        output=tuple(sorted(query.variables if asked is None else asked)),
        query_class=classify(query, asked, width),
        plan=with_promises(chosen.outline(planned.live), atom_outlines(query)),
        guarantee=guarantee,
        executable=not chosen.obstacle,
        obstacle=chosen.obstacle,
        reason=_reason(planned),
        alternatives=_alternatives(planned),
        search=planned.ranked[0].candidates.search,
        suggestions=suggest(replace(query, free=asked), known, guarantee.bound, planned.algorithm, seen),
        tables=() if chosen.derived else _tables(query, planned.program, known),
        deltas=planned.live,
        digest=planned.program.digest,
        log=None if log is None else describe_log(log, query, None if query.branches else chosen.tree),
    )


def _alternatives(planned: Planned) -> tuple[Alternative, ...]:
    """The plans that the program was chosen from, each family's best first."""
    plans = chain.from_iterable(one.candidates.plans for one in planned.ranked)
    chosen = planned.ranked[0].first
    return tuple(_alternative(plan, plan is chosen, planned.live) for plan in plans)


def _alternative(plan: Candidate, chosen: bool, live: bool) -> Alternative:
    outline = plan.outline(live)
    return Alternative(
        title=f"{outline.kind} of height {outline.height}",
        tree=plan.line,
        guarantee=plan.guarantee,
        cost=plan.cost,
        height=outline.height,
        propagation=plan.propagation,
        touches=plan.touches,
        executable=not plan.obstacle,
        obstacle=plan.obstacle,
        chosen=chosen,
    )


def _reason(planned: Planned) -> str:
    """Why the plan was chosen over the others."""
    first, *behind = planned.ranked
    chosen = first.first
    bound = chosen.guarantee.bound
    better = [one.first for one in behind if one.first.guarantee.bound < bound]
    equal = [one.first for one in behind if one.first.guarantee.bound == bound and not one.first.obstacle]
    parts = []
    if planned.algorithm != "auto":
        parts.append(f"Asked for by algorithm={planned.algorithm!r}.")
    if first.candidates.reason:
        parts.append(first.candidates.reason)
    elif behind and not equal:
        parts.append("It has the best bound of the plans that are run.")
    elif planned.algorithm != "auto":
        parts.append("It is its only plan for the query.")
    elif not behind:
        parts.append(f"It is the only plan that {'is run' if better else 'is known'} for the query.")
    if equal:
        rival = min(equal, key=lambda plan: plan.touches)
        parts.append(
            f"A change is expected to touch {chosen.touches:.3g} records and keys, and {rival.touches:.3g} by "
            f"{rival.outline(planned.live).kind}, which has the same bound."
        )
    if better:
        best = min(better, key=lambda plan: plan.guarantee.bound)
        kind = best.outline(planned.live).kind
        parts.append(f"A plan by {kind} would have a better bound, but {best.obstacle}.")
    return " ".join(parts)


def _tables(query: ConjunctiveQuery, program: Program, statistics: Statistics) -> tuple[TableOutline, ...]:
    outlines = []
    for kept in program.footprint(statistics):
        use = kept.table
        table = query.atoms[use.atoms[0]].table
        known = statistics.of(use.name)
        outlines.append(
            TableOutline(
                name=use.name,
                columns=tuple(table.columns[column].name for column in use.columns),
                aliases=tuple(query.atoms[atom].alias for atom in use.atoms),
                row_bytes=kept.record,
                index_bytes=kept.indexes,
                changes=known.changes.value,
                changes_known=known.changes.known,
                rows=known.rows.value,
                rows_known=known.rows.known,
            )
        )
    return tuple(outlines)
