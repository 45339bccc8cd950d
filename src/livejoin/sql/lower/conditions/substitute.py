"""Move a condition over several atoms to one of them, through columns that the joins make equal.

Let a condition c use columns x_1, ..., x_k, and let an atom have for each of them a column y_i in the same class of
equal columns. In every row of the join x_i = y_i, so that

    c(x_1, ..., x_k) = c(CAST(y_1 AS type of x_1), ..., CAST(y_k AS type of x_k)),

and the right side is a predicate of the atom. Rows for which the two sides differ join nothing. As every predicate,
this one is evaluated for all rows of its atom.

Equal values give equal results in every expression: strings are compared by their bytes, the decimals of a class have
one scale, and DOUBLEs have one zero and one NaN (see `livejoin.state.codec`). So neither 1 / x nor CAST(x AS STRING)
can tell a -0.0 from the 0.0 that it is joined with.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from sqlglot import exp

from livejoin.query.conjunctive import ColumnRef
from livejoin.sql.parse.copying import rewritten
from livejoin.sql.resolved.column import REF, refs_of
from livejoin.sql.resolved.query import Scope

Classes = Sequence[tuple[ColumnRef, ...]]


def onto_one_atom(
    node: exp.Expr, equal: Classes, scope: Scope, among: Collection[int] | None = None
) -> tuple[int, exp.Expr] | None:
    """The atom that can decide a resolved condition, and the condition over that atom's columns.

    Among several atoms, the one with the fewest exchanged columns is taken, then the fewest of another type, then the
    first. So a condition over the columns of one atom stays, and one without columns goes to the first atom.

    Args:
        node: A condition whose columns are resolved; it is not changed.
        equal: The classes of equal columns.
        scope: All occurrences of tables.
        among: The atoms that it may be a predicate of; all of them if None.

    Returns:
        None if no atom has a column of every class that the condition uses.

    Cost: columns of the condition times columns in their classes.
    """
    refs = refs_of(node)
    atoms = [relation.atom for relation in scope.relations if among is None or relation.atom in among]
    choices = [(atom, stand_ins(refs, atom, equal, scope)) for atom in atoms]
    complete = [(atom, chosen) for atom, chosen in choices if len(chosen) == len(refs)]
    if not complete:
        return None
    atom, chosen = min(complete, key=lambda choice: _cost(choice[1], scope))
    return atom, rewritten(node, lambda part: exchange(part, chosen, scope))


def stand_ins(refs: Sequence[ColumnRef], atom: int, equal: Classes, scope: Scope) -> dict[ColumnRef, ColumnRef]:
    """For each column with an equal one in an atom: that column, of the same type if possible."""
    chosen: dict[ColumnRef, ColumnRef] = {}
    for ref in refs:
        members = next((members for members in equal if ref in members), (ref,))
        own = [member for member in members if member.atom == atom]
        if ref in own:
            chosen[ref] = ref
        elif own:
            chosen[ref] = min(own, key=lambda member: (_differ(ref, member, scope), member))
    return chosen


def _cost(chosen: Mapping[ColumnRef, ColumnRef], scope: Scope) -> tuple[int, int]:
    exchanged = [(ref, other) for ref, other in chosen.items() if ref != other]
    return len(exchanged), sum(_differ(ref, other, scope) for ref, other in exchanged)


def _differ(ref: ColumnRef, other: ColumnRef, scope: Scope) -> bool:
    return scope.declared(ref).type != scope.declared(other).type


def exchange(part: exp.Expr, chosen: Mapping[ColumnRef, ColumnRef], scope: Scope) -> exp.Expr:
    """A column replaced by its equal one, cast to its own type; other nodes stay."""
    if not isinstance(part, exp.Column):
        return part
    ref = part.meta[REF]
    part.meta[REF] = chosen[ref]
    if not _differ(ref, chosen[ref], scope):
        return part
    # TRY: a value that the column exchanged cannot hold is in no row of the join, and must not fail.
    to = exp.DataType.build(str(scope.declared(ref).type), dialect="spark")
    return exp.TryCast(this=part, to=to, safe=True)
