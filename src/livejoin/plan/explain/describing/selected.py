"""The explanation of a query over one relation whose rows go into a store as they are: there is no join to plan."""

from __future__ import annotations

from collections.abc import Sequence

from livejoin.changes import ChangeBatch
from livejoin.families.family import SearchOutline
from livejoin.families.outline import NodeOutline, PlanOutline, atom_outlines
from livejoin.plan.explain.describing.classify import classify
from livejoin.plan.explain.describing.log import describe_log
from livejoin.plan.explain.explanation import Alternative, Explanation, TableOutline
from livejoin.plan.operators import NumbersOperator, SelectedOperator
from livejoin.query.conjunctive import Atom, ColumnRef, ConjunctiveQuery, Output
from livejoin.schema import Column, Table, TableSettings
from livejoin.search.guarantee import Guarantee, UpdateBound
from livejoin.search.statistics import Statistics

KIND = "selected rows"
"""What such a plan is called; an entry of the glossary."""

_CONSTANT = "constant rows"


def explained_selection(
    plan: SelectedOperator, known: Statistics, live: bool, log: Sequence[ChangeBatch] | None = None
) -> Explanation:
    """What there is to say of the rows of one relation below a store.

    Args:
        plan: The selection.
        known: The known figures of the tables.
        live: Whether the view's deltas are asked for.
        log: A change log, one batch a table.
    """
    query, promise = plan.query, _promise(plan)
    outline = _outline(plan)
    return Explanation(
        sql=query.sql,
        atoms=atom_outlines(query),
        output=tuple(sorted(query.variables)),
        query_class=classify(query),
        plan=outline,
        guarantee=promise,
        executable=True,
        obstacle="",
        reason=_reason(plan),
        alternatives=(Alternative(KIND, plan.name, promise, 0.0, 0, 1.0, 1.0, True, "", True),),
        search=SearchOutline(0, 0, True, "there was nothing to search for"),
        suggestions=(),
        tables=(_table(plan, known),),
        deltas=live,
        digest="",
        log=None if log is None else describe_log(log, query, None),
    )


def constant(plan: NumbersOperator) -> SelectedOperator:
    """Constant rows as those of a table that never changes, to be explained."""
    number = Column("number", plan.types[0], nullable=False)
    table = Table(_CONSTANT, (number,), settings=TableSettings(static=True))
    atom = Atom(table.name, table, (0,), ("number",))
    output = Output("number", number.type.arrow, 0)
    return SelectedOperator(ConjunctiveQuery("", (atom,), (ColumnRef(0, 0),), (output,)), plan.types)


def _reason(plan: SelectedOperator) -> str:
    if not plan.aliases:
        return "There is one relation and no join, so that there is nothing to choose."
    return (
        f"{', '.join(plan.aliases)} are equal but for their names, and only the numbers of their rows count: they are "
        f"one relation, counted by what they are joined on, the counts to the power {len(plan.aliases)} are added up."
    )


def _promise(plan: SelectedOperator) -> Guarantee:
    if plan.name == _CONSTANT:
        return Guarantee(
            bound=UpdateBound.ALWAYS,
            update="no change reaches constant rows",
            delay="constant delay a row",
            space="nothing",
            preprocessing="linear in these rows",
            source="they never change",
        )
    return Guarantee(
        bound=UpdateBound.ALWAYS,
        update=f"O(1), always: a changed row of {plan.name} is tested, and goes on if it passes",
        delay="none is read here",
        space=f"nothing: no row of {plan.name} is kept a second time",
        preprocessing="linear in the base rows",
        source="what is selected of a change is the change of what is selected",
    )


def _outline(plan: SelectedOperator) -> PlanOutline:
    (atom,) = atom_outlines(plan.query)
    node = NodeOutline(
        label=atom.name,
        variables=atom.variables,
        atoms=(atom.alias,),
        key=(),
        connex=False,
        views=(),
        indexes=(),
        predicate=atom.predicate,
        depth=0,
    )
    return PlanOutline(KIND, f"{KIND} of {atom.table}, no join and no state", (node,), (), 1)


def _table(plan: SelectedOperator, known: Statistics) -> TableOutline:
    (atom,) = plan.query.atoms
    figures = known.of(plan.name)
    return TableOutline(
        name=plan.name,
        columns=(),
        aliases=(atom.alias,),
        row_bytes=0,
        index_bytes=0.0,
        changes=figures.changes.value,
        changes_known=figures.changes.known,
        rows=figures.rows.value,
        rows_known=figures.rows.known,
    )
