"""Parts in normal form, as the branches of a conjunctive query need them.

A part is in normal form if

* each condition is over one of its occurrences, an equality of columns of two of them, or an equality of a column
  above and a column of the part, a *pair*, which no other pair repeats;
* the columns above of all pairs are of one occurrence of the level that the part is applied to, or of the part that it
  hangs on, and the others are of one occurrence of the part;
* its occurrences are joined by their equalities, without a cycle; those of the core may be joined by none, but not in a
  cycle either.

What is not becomes so in steps, each of which keeps the rows of the SELECT:

1. `_hold_above`: columns above become equal ones of one occurrence; the part hangs on an optional one if it is over
   columns of that alone and rejects its NULLs; else what it is over is joined by a nested query.
2. `_hold_within`: columns of the part become equal ones of one occurrence.
3. `_once`: of two pairs with one column above only one stays, and the columns of the part are equal; the reverse.
4. `_computed`: a side that is an expression becomes a column of a nested query over its occurrence.
5. `_alone`: conditions above alone decide whether the row above has a key at all, ``CASE WHEN c THEN key END``.
6. `_apart`: a part whose conditions decide more becomes one occurrence, a nested query. If what they decide is over
   both sides, it joins the different values k of the columns above that they use,

       L LEFT JOIN S ON c(L.k, S)
         =  L LEFT JOIN (SELECT d.k, S.* FROM (SELECT DISTINCT k FROM L) d, S WHERE c(d.k, S)) m ON L.k = m.k,

   with state in O(matches). A NULL in k that c does not reject is compared as ``k IS NULL`` and ``COALESCE(k, 0)``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from livejoin.errors import UnsupportedQueryError
from livejoin.query.conjunctive import ColumnRef
from livejoin.schema import SqlType
from livejoin.sql.lower.apart import Apart, Bind, exchanged, occurrence
from livejoin.sql.lower.conditions import AT, column_equality, join_conditions
from livejoin.sql.lower.join_types import can_join
from livejoin.sql.lower.null_rejection import reject
from livejoin.sql.lower.part_tree import (
    atoms_at,
    atoms_below,
    atoms_of,
    below,
    conditions_at,
    flat,
    over,
    values_above,
    with_conditions,
    with_part,
    without_parts,
)
from livejoin.sql.lower.select_block import SelectBlock
from livejoin.sql.lower.simplify_parts import simplified
from livejoin.sql.lower.substitute import exchange, onto_one_atom, stand_ins
from livejoin.sql.lower.variables import classes
from livejoin.sql.names.from_clause import Equality
from livejoin.sql.names.outputs import Item, compute
from livejoin.sql.names.part import Part
from livejoin.sql.names.scope import Scope
from livejoin.sql.to_duckdb.result_types import column_type
from livejoin.sql.to_duckdb.scalar_text import bound_column, refs_of
from livejoin.theory.classes.gyo import is_acyclic

Classes = tuple[tuple[ColumnRef, ...], ...]


def normal(block: SelectBlock, bind: Bind) -> SelectBlock:
    """A SELECT with the same rows whose parts are in normal form, and whose conditions are flat.

    Args:
        block: The SELECT.
        bind: What makes the relations of nested queries.

    Raises:
        SqlError: A condition that a nested query would have to decide, and cannot.
    """
    if not block.parts:
        return block
    block = simplified(flat(block))
    while True:
        steps = (step(block, position, bind) for position in range(len(block.parts)) for step in _STEPS)
        found = next((one for one in steps if one is not None), None)
        if found is None:
            break
        block = found
    joined, _ = join_conditions(block.conditions, (), block.scope, block.source, block.start, block.core)
    if block.parts and _is_cyclic(joined.joins, block.core):
        return _joined_above(block, None, frozenset(block.core), (), bind)
    return block


@dataclass(frozen=True)
class Sides:
    """The conditions of a part by what they are over.

    Args:
        own: Columns of the part and of those that hang on it, or none.
        alone: Columns above, and none of the part.
        both: Columns of both.
    """

    own: tuple[exp.Expr, ...]
    alone: tuple[exp.Expr, ...]
    both: tuple[exp.Expr, ...]

    @staticmethod
    def of(block: SelectBlock, position: int) -> Sides:
        """Those of a part by its position."""
        inside = atoms_below(block, position)
        found: tuple[list[exp.Expr], list[exp.Expr], list[exp.Expr]] = [], [], []
        for condition in block.parts[position].conditions:
            atoms = atoms_of(condition)
            found[0 if atoms <= inside else 2 if atoms & inside else 1].append(condition)
        return Sides(*map(tuple, found))


def level_classes(conditions: Sequence[exp.Expr], atoms: Collection[int], scope: Scope) -> Classes:
    """The classes of columns that the conditions of a level make equal within some occurrences."""
    found = (column_equality(condition, 0) for condition in conditions)
    own = (e for e in found if e is not None and {e.left.atom, e.right.atom} <= set(atoms))
    return classes(e for e in own if can_join(e, scope))


def _hold_above(block: SelectBlock, position: int, bind: Bind) -> SelectBlock | None:
    part = block.parts[position]
    refs = _refs_above(block, position)
    atoms = atoms_at(block, part.above)
    if not refs:
        return None
    equal = level_classes(conditions_at(block, part.above), atoms, block.scope)
    held = _holder(refs, atoms, equal, block.scope)
    if held is not None:
        return _with_stand_ins(block, position, held)
    siblings = [i for i, other in enumerate(block.parts) if other.above == part.above and other.kind == "optional"]
    read = [i for i in siblings if i != position and atoms_below(block, i) & {ref.atom for ref in refs}]
    if part.kind == "optional" and len(read) == 1:
        (other,) = read
        own = atoms_below(block, other)
        if {ref.atom for ref in refs} <= own and reject(part.conditions, lambda ref: ref.atom in own):
            return _behind(block, position, other)
    gone = frozenset(atoms).union(*(atoms_below(block, i) for i in read))
    missing = [ref for ref in refs if ref.atom not in gone]
    if missing:
        raise _not_above(block, part, missing[0])
    return _joined_above(block, part.above, gone, read, bind)


def _joined_above(
    block: SelectBlock, level: int | None, gone: frozenset[int], parts: Sequence[int], bind: Bind
) -> SelectBlock:
    """The occurrences of a level, and of some optional parts that are applied to it, as one."""
    conditions = conditions_at(block, level)
    moved = [one for one in conditions if atoms_of(one) and atoms_of(one) <= gone]
    inner = [i for other in parts for i in below(block, other)]
    inner.sort()
    rest = without_parts(with_conditions(block, level, _without(conditions, moved)), inner, level)
    own = _set_apart(block, inner, {level})
    refs = _used(rest, gone)
    alias = " JOIN ".join(one.alias for one in block.scope.relations if one.atom in gone)
    new = occurrence(block, Apart(alias, f"{alias} rows", gone, moved, own, _columns(refs, block.scope)), bind)
    return exchanged(rest, gone, new, {ref: i for i, ref in enumerate(refs)})


def _set_apart(block: SelectBlock, chosen: Sequence[int], levels: Collection[int | None]) -> tuple[Part, ...]:
    """Parts as those of a query whose core has some levels."""
    found = []
    for i in chosen:
        above = block.parts[i].above
        place = None if above is None or above in levels else chosen.index(above)
        found.append(replace(block.parts[i], above=place))
    return tuple(found)


def _hold_within(block: SelectBlock, position: int, _: Bind) -> SelectBlock | None:
    part = block.parts[position]
    both = Sides.of(block, position).both
    refs = list(dict.fromkeys(ref for one in both for ref in refs_of(one) if ref.atom in part.atoms))
    if not refs or any(_pair(one, block, position) is None for one in both):
        return None
    equal = level_classes(part.conditions, part.atoms, block.scope)
    held = _holder(refs, part.atoms, equal, block.scope)
    return None if held is None else _with_stand_ins(block, position, held, both)


def _once(block: SelectBlock, position: int, bind: Bind) -> SelectBlock | None:
    """Two pairs with one column in common."""
    del bind
    pairs = [(one, pair) for one in block.parts[position].conditions if (pair := _pair(one, block, position))]
    for i, (_written, first) in enumerate(pairs):
        for written, second in pairs[i + 1 :]:
            if first.left == second.left or first.right == second.right:
                part = block.parts[position]
                rest = _without(part.conditions, [written])
                if first != replace(second, offset=first.offset):
                    same = first.left == second.left
                    ends = (first.right, second.right) if same else (first.left, second.left)
                    left, right = _columns(ends, block.scope)
                    rest = (*rest, _equal(left, right, written.meta.get(AT, block.start)))
                return simplified(with_part(block, position, replace(part, conditions=rest)))
    return None


def _computed(block: SelectBlock, position: int, bind: Bind) -> SelectBlock | None:
    """An equality of expressions, each over one occurrence of its side."""
    others = [one for one in Sides.of(block, position).both if _pair(one, block, position) is None]
    found = [_separate(one, block, position) for one in others]
    if not found or found[0] is None or None in found:
        return None
    rest = with_conditions(block, position, _without(block.parts[position].conditions, others[:1]))
    return _with_pair(rest, position, found[0], others[0], bind)


def _separate(condition: exp.Expr, block: SelectBlock, position: int) -> tuple[exp.Expr, exp.Expr] | None:
    """The sides of an equality of an expression over one occurrence above and one over one of the part."""
    inside = atoms_below(block, position)
    if not isinstance(condition, exp.EQ):
        return None
    values = (condition.this.unnest(), condition.expression.unnest())
    outer, inner = values if not atoms_of(values[0]) & inside else values[::-1]
    if atoms_of(outer) & inside or len(atoms_of(outer)) != 1 or len(atoms_of(inner)) != 1:
        return None
    if not atoms_of(inner) <= set(block.parts[position].atoms) or not _join(outer, inner, block):
        return None
    return outer, inner


def _alone(block: SelectBlock, position: int, bind: Bind) -> SelectBlock | None:
    """Conditions over the row above alone."""
    part, sides = block.parts[position], Sides.of(block, position)
    if not sides.alone or _needs_matches(block, position):
        return None
    whole = exp.and_(*(one.copy() for one in sides.alone))
    pair = next(one for one in (*sides.both, None) if one is None or _pair(one, block, position) is not None)
    gone = list(sides.alone)
    outer: exp.Expr = exp.Literal.number(0)
    inner: exp.Expr = exp.Literal.number(0)
    if pair is not None:
        found = _pair(pair, block, position)
        assert found is not None, "it is a pair"
        outer, inner = (bound_column(ref, block.scope.name(ref)) for ref in (found.left, found.right))
        gone.append(pair)
    key = exp.Case(ifs=[exp.If(this=whole, true=outer)])
    rest = with_part(block, position, replace(part, conditions=_without(part.conditions, gone)))
    return _with_pair(rest, position, (key, inner), sides.alone[0], bind)


def _apart(block: SelectBlock, position: int, bind: Bind) -> SelectBlock | None:
    """A part whose conditions decide more than equalities and predicates do."""
    part, sides, inside = block.parts[position], Sides.of(block, position), atoms_below(block, position)
    matches = _needs_matches(block, position)
    if not matches and not _is_joined_by_more(block, position):
        return None
    inner = [i for i in below(block, position) if i != position]
    own = _set_apart(block, inner, {position})
    rest = with_conditions(without_parts(block, inner, position), position, ())
    shown = _used(rest, inside)
    alias = " JOIN ".join(one.alias for one in block.scope.relations if one.atom in inside)
    distinct = part.kind != "optional"
    if not matches:
        refs = list(dict.fromkeys([*shown, *(r for one in sides.both for r in refs_of(one) if r.atom in inside)]))
        given = Apart(alias, f"{alias} rows", inside, sides.own, own, _columns(refs, block.scope), distinct)
        rest = with_conditions(rest, position, (*sides.alone, *sides.both))
        return exchanged(rest, inside, occurrence(block, given, bind), {ref: i for i, ref in enumerate(refs)})
    outer = _refs_above(block, position)
    (above,) = {ref.atom for ref in outer}
    kept = [one for one in conditions_at(block, part.above) if atoms_of(one) == {above}]
    name = block.scope.relations[above].alias
    keys = occurrence(block, Apart(name, f"{name} keys", {above}, kept, (), _columns(outer, block.scope), True), bind)
    pairs = [pair for ref in outer for pair in _compared(ref, part.conditions, block.scope)]
    values = [*(value for value in pairs), *_columns(shown, block.scope)]
    given = Apart(
        alias,
        f"matches of {alias}",
        inside,
        part.conditions,
        own,
        values,
        distinct,
        keys,
        {ref: i for i, ref in enumerate(outer)},
    )
    new = occurrence(block, given, bind)
    place = {ref: len(pairs) + i for i, ref in enumerate(shown)}
    rest = exchanged(with_conditions(rest, position, pairs), inside, new, place)
    (found,) = rest.parts[position].atoms
    columns = _columns([ColumnRef(found, i) for i in range(len(pairs))], rest.scope)
    sides_of_pairs = zip(rest.parts[position].conditions, columns, strict=True)
    return with_conditions(rest, position, [_equal(*sides, block.start) for sides in sides_of_pairs])


def _compared(ref: ColumnRef, conditions: Sequence[exp.Expr], scope: Scope) -> list[exp.Expr]:
    """Expressions that are equal for two values of a column, NULLs too if the conditions may be true for NULL."""
    column = bound_column(ref, scope.name(ref))
    if not scope.declared(ref).nullable or reject(conditions, {ref}):
        return [column]
    known = exp.Coalesce(this=column, expressions=[_some_value(scope.declared(ref).type)])
    return [known, exp.Is(this=column.copy(), expression=exp.null())]


def _some_value(kind: SqlType) -> exp.Expr:
    match kind.kind:
        case "string":
            return exp.Literal.string("")
        case "boolean":
            return exp.false()
        case "date" | "timestamp":
            value: exp.Expr = exp.Literal.string("1970-01-01")
        case _:
            value = exp.Literal.number(0)
    return exp.Cast(this=value, to=exp.DataType.build(str(kind), dialect="spark"))


def _needs_matches(block: SelectBlock, position: int) -> bool:
    """Whether only both sides together say what matches."""
    part, inside = block.parts[position], atoms_below(block, position)
    sides = Sides.of(block, position)
    if any(_pair(one, block, position) is None for one in sides.both):
        return True
    for other in below(block, position)[1:]:
        if any(not atoms_of(one) <= inside for one in block.parts[other].conditions):
            return True
    return bool(_refs_above(block, position)) and not _is_connected(block, part)


def _is_joined_by_more(block: SelectBlock, position: int) -> bool:
    """Whether a part is not a join of its occurrences by equalities of columns, without a cycle."""
    part, sides = block.parts[position], Sides.of(block, position)
    own = Scope(tuple(one for one in block.scope.relations if one.atom in part.atoms))
    equal = level_classes(part.conditions, part.atoms, block.scope)
    for condition in sides.own:
        if not atoms_of(condition) <= set(part.atoms):
            return True
        equality = column_equality(condition, 0)
        if equality is not None and can_join(equality, block.scope):
            continue
        if onto_one_atom(condition, equal, own) is None:
            return True
    if len({ref.atom for one in sides.both for ref in refs_of(one) if ref.atom in part.atoms}) > 1:
        return True
    if not _is_connected(block, part):
        return True
    return _is_cyclic(equal, part.atoms)


def _is_cyclic(equal: Classes, atoms: Sequence[int]) -> bool:
    """Whether classes of equal columns join some occurrences in a cycle."""
    edges = [
        frozenset(str(i) for i, members in enumerate(equal) if any(ref.atom == atom for ref in members))
        for atom in atoms
    ]
    return not is_acyclic(edges)


def _is_connected(block: SelectBlock, part: Part) -> bool:
    reached = {part.atoms[0]}
    equal = [{ref.atom for ref in members} for members in level_classes(part.conditions, part.atoms, block.scope)]
    for _ in part.atoms:
        reached = reached.union(*(atoms for atoms in equal if atoms & reached))
    return len(reached) == len(part.atoms)


def _pair(condition: exp.Expr, block: SelectBlock, position: int) -> Equality | None:
    """The pair that a condition of a part is, the column above on the left; None if it is none."""
    part, inside = block.parts[position], atoms_below(block, position)
    found = column_equality(condition, 0)
    if found is None or not can_join(found, block.scope):
        return None
    if found.left.atom in inside:
        found = Equality(found.right, found.left, 0)
    return found if found.left.atom not in inside and found.right.atom in part.atoms else None


def _refs_above(block: SelectBlock, position: int) -> list[ColumnRef]:
    """The columns above that the conditions of a part and of those that hang on it are over."""
    inside = atoms_below(block, position)
    conditions = (one for i in below(block, position) for one in block.parts[i].conditions)
    return list(dict.fromkeys(ref for one in conditions for ref in refs_of(one) if ref.atom not in inside))


def _holder(
    refs: Sequence[ColumnRef], atoms: Collection[int], equal: Classes, scope: Scope
) -> dict[ColumnRef, ColumnRef] | None:
    """For some columns equal ones of one occurrence, None if none has all."""
    choices = [stand_ins(refs, atom, equal, scope) for atom in atoms]
    complete = [chosen for chosen in choices if len(chosen) == len(refs)]
    return min(complete, key=lambda chosen: sum(a != b for a, b in chosen.items()), default=None)


def _with_stand_ins(
    block: SelectBlock, position: int, chosen: Mapping[ColumnRef, ColumnRef], only: Sequence[exp.Expr] | None = None
) -> SelectBlock | None:
    """A SELECT in which the conditions of a part are over other columns; None if they are already.

    Args:
        block: The SELECT.
        position: The part.
        chosen: For columns the ones in their place.
        only: The conditions of the part that change; all of them, and those of what hangs on it, if None.
    """
    if all(ref == other for ref, other in chosen.items()):
        return None

    def change(condition: exp.Expr) -> exp.Expr:
        if not any(ref in chosen and chosen[ref] != ref for ref in refs_of(condition)):
            return condition
        if column_equality(condition, 0) is not None:
            return over(condition, lambda ref: chosen.get(ref, ref))
        whole = {ref: chosen.get(ref, ref) for ref in refs_of(condition)}
        return condition.copy().transform(lambda node: exchange(node, whole, block.scope))

    for i in below(block, position) if only is None else [position]:
        conditions = block.parts[i].conditions
        found = [change(one) if only is None or any(one is other for other in only) else one for one in conditions]
        block = with_conditions(block, i, found)
    return block


def _behind(block: SelectBlock, position: int, other: int) -> SelectBlock:
    """A part hangs on another one, which stands before it."""
    part = replace(block.parts[position], above=other)
    if other < position:
        return with_part(block, position, part)
    order = [i for i in range(len(block.parts)) if i not in below(block, position)]
    order += below(block, position)
    parts = with_part(block, position, part).parts
    place = {old: new for new, old in enumerate(order)}
    return replace(
        block,
        parts=tuple(
            replace(parts[old], above=None if (above := parts[old].above) is None else place[above]) for old in order
        ),
    )


def _with_pair(
    block: SelectBlock, position: int, values: tuple[exp.Expr, exp.Expr], written: exp.Expr, bind: Bind
) -> SelectBlock:
    """A SELECT in which two expressions, of one occurrence above and of one of a part, are columns and a pair."""
    part = block.parts[position]
    outer, inner = values
    (above,) = atoms_of(outer)
    within = min(atoms_of(inner), default=part.atoms[0])
    left, right = outer, inner
    if not isinstance(outer, exp.Column):
        block, left = _with_column(block, above, outer, bind)
    if not isinstance(inner, exp.Column):
        block, right = _with_column(block, within, inner, bind)
    equation = _equal(left, right, written.meta.get(AT, block.start))
    return with_conditions(block, position, (*block.parts[position].conditions, equation))


def _equal(left: exp.Expr, right: exp.Expr, offset: int) -> exp.Expr:
    found = exp.EQ(this=left, expression=right)
    found.meta[AT] = offset
    return found


def _with_column(block: SelectBlock, atom: int, value: exp.Expr, bind: Bind) -> tuple[SelectBlock, exp.Expr]:
    """A SELECT in which an occurrence has an expression over it as one more column; numbers stay."""
    refs = _used(block, {atom})
    relation = block.scope.relations[atom]
    new = occurrence(
        block,
        Apart(relation.alias, f"{relation.alias} rows", {atom}, (), (), [*_columns(refs, block.scope), value]),
        bind,
    )
    found = exchanged(block, {atom}, new, {ref: i for i, ref in enumerate(refs)})
    return found, bound_column(ColumnRef(atom, len(refs)), new.table.columns[-1].name)


def _join(outer: exp.Expr, inner: exp.Expr, block: SelectBlock) -> bool:
    """Whether two expressions have types of which equal values are equal words."""
    kinds = []
    for value in (outer, inner):
        _, (output,) = compute([Item("key", value, block.start)], block.scope, block.source)
        kinds.append(column_type(output.type))
    return None not in kinds and kinds[0].join_class == kinds[1].join_class  # type: ignore[union-attr]


def _not_above(block: SelectBlock, part: Part, ref: ColumnRef) -> UnsupportedQueryError:
    named = " and ".join(repr(block.scope.relations[atom].alias) for atom in part.atoms)
    msg = (
        f"the condition by which {named} is matched is over {block.scope.qualified(ref)}, which is not of what it is "
        "joined to; return that column from there"
    )
    return block.source.unsupported("JOIN", msg, block.start)


def _used(block: SelectBlock, atoms: Collection[int]) -> list[ColumnRef]:
    """The columns of some occurrences that a SELECT uses."""
    conditions = (one for part in block.parts for one in part.conditions)
    values = (*values_above(block), *block.conditions, *conditions)
    return sorted({ref for value in values for ref in refs_of(value) if ref.atom in atoms})


def _columns(refs: Sequence[ColumnRef], scope: Scope) -> list[exp.Expr]:
    return [bound_column(ref, scope.name(ref)) for ref in refs]


def _without(conditions: Sequence[exp.Expr], gone: Sequence[exp.Expr]) -> tuple[exp.Expr, ...]:
    return tuple(one for one in conditions if not any(one is other for other in gone))


_STEPS = (_hold_above, _hold_within, _once, _computed, _alone, _apart)
