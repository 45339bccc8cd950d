"""The parts of a SELECT while its sub-queries become parts of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from livejoin.query.conjunctive import ColumnRef, EdgeKind
from livejoin.sql.lower.conditions.split import conjuncts, note_places
from livejoin.sql.lower.parts.part_tree import below, flat, without_atoms
from livejoin.sql.parse.source import offset_of
from livejoin.sql.parse.sub_queries import has_marks
from livejoin.sql.resolved.column import REF, bound_column, over, refs_of
from livejoin.sql.resolved.outer import Outer, landed, lifted, outer_column
from livejoin.sql.resolved.part import Equality, Part
from livejoin.sql.resolved.query import Occurrence, SelectBlock, SubSelect
from livejoin.sql.sub_queries.domain import domain_of
from livejoin.sql.sub_queries.rewriter import Rewriter


@dataclass(frozen=True)
class Place:
    """The place of a sub-query, and of the part that it becomes.

    Args:
        within: The part in whose ON the sub-query stands; None for any other clause.
        above: The part that the new part hangs on; None for the core.
    """

    within: int | None = None
    above: int | None = None


class Parts:
    """The occurrences and the parts of a SELECT, to which sub-queries are added; mutable.

    Args:
        block: The SELECT; its own occurrences come first.
        rewriter: Makes relations.

    Attributes:
        place: The place of the sub-query that is being added.
        own: For each part its number among the SELECT's own; None for those that sub-queries became.
        domains: Further occurrences, which have the values of columns of queries around the SELECT.
        equal_around: The conditions that connect these with the columns.
    """

    def __init__(self, block: SelectBlock, rewriter: Rewriter) -> None:
        self.block = block
        self.rewriter = rewriter.within(None)
        self._enclosing = rewriter.enclosing
        self._beside: dict[tuple[int, ColumnRef], ColumnRef] = {}
        self.domains: list[int] = []
        self.equal_around: list[exp.Expr] = []
        self.relations = list(block.scope.relations)
        self.parts = list(block.parts)
        self.place = Place()
        self.own: list[int | None] = list(range(len(self.parts)))

    def unnested(self, query: SelectBlock) -> SelectBlock:
        """A sub-query of the SELECT whose own sub-queries became parts of it."""
        return self.rewriter.within(self).unnested(query)

    def beside(self, far: Sequence[Outer]) -> Mapping[Outer, ColumnRef] | None:
        """Columns of the SELECT with the values of columns of queries around it.

        A domain ``D`` is added to the FROM clause of the SELECT, with a condition ``D.d <=> d`` for each column.

        Args:
            far: The columns, as a sub-query of the SELECT has them.

        Returns:
            None if a column is of a query that is out of reach.
        """
        new = {
            (outer.level, outer.ref): replace(outer, level=outer.level - 1)
            for outer in far
            if (outer.level, outer.ref) not in self._beside
        }
        if new:
            domain = None if self._enclosing is None else self._enclosing.domain(list(new.values()), self.block)
            if domain is None:
                return None
            atom = len(self.relations)
            self._take(domain.scope.relations[0])
            self.domains.append(atom)
            for place, (key, outer) in enumerate(new.items()):
                column = bound_column(ColumnRef(atom, place), outer.name)
                self.equal_around.append(exp.NullSafeEQ(this=column, expression=outer_column(outer, None)))
                self._beside[key] = ColumnRef(atom, place)
        return {outer: self._beside[outer.level, outer.ref] for outer in far}

    def domain(self, outers: Sequence[Outer], reader: SelectBlock) -> SelectBlock | None:
        """``SELECT * FROM D``: see `livejoin.sql.sub_queries.rewriter.Enclosing`."""
        far = [outer for outer in outers if outer.level > 1]
        beside = self.beside(far) if far else {}
        if beside is None:
            return None
        refs = [beside.get(outer, outer.ref) for outer in outers]
        around, number = self._around()
        columns = [
            Outer(1, ColumnRef(number.get(ref.atom, ref.atom), ref.column), outer.name)
            for ref, outer in zip(refs, outers, strict=True)
        ]
        return domain_of(around, columns, self.rewriter, reader)

    def _around(self) -> tuple[SelectBlock, Mapping[int, int]]:
        """The SELECT whose rows the sub-query is evaluated for, and the numbers of its occurrences there.

        For a sub-query in ON these are the rows before ON: without the items joined after it.
        """
        if self.place.within is not None:
            return self._before(self.place.within)
        block = self.block
        number = {atom: len(block.scope.relations) + i for i, atom in enumerate(self.domains)}
        beside = (replace(self.relations[atom], atom=new) for atom, new in number.items())
        relations = (*block.scope.relations, *beside)
        return replace(block, scope=replace(block.scope, relations=relations)), number

    def _before(self, within: int) -> tuple[SelectBlock, Mapping[int, int]]:
        """The rows for which ON of a part is evaluated, as `_around`."""
        scope = replace(self.block.scope, relations=tuple(self.relations))
        source, start, equal = self.block.source, self.block.start, self.block.equalities
        block = flat(SelectBlock(scope, (), source, start, equal, self.block.conditions, parts=tuple(self.parts)))
        line: set[int | None] = {within}
        while (above := block.parts[min(i for i in line if i is not None)].above) is not None:
            line.add(above)
        kept: list[int] = []
        for i, part in enumerate(block.parts):  # a part before may read what its own sub-queries became, behind it
            is_its_own = self.own[i] is None and part.above in kept
            if i <= within or i in below(block, within) or is_its_own:
                kept.append(i)
        numbers = {i: place for place, i in enumerate(kept)}
        parts = []
        for i in kept:
            part = block.parts[i]
            above = None if part.above is None else numbers[part.above]
            conditions = tuple(one for one in part.conditions if not has_marks(one))
            kind: EdgeKind = "optional" if i in line else part.kind
            parts.append(replace(part, kind=kind, above=above, conditions=conditions))
        core = set(block.core)
        conditions = tuple(one for one in block.conditions if {ref.atom for ref in refs_of(one)} <= core)
        gone = {atom for i, part in enumerate(block.parts) if i not in kept for atom in part.atoms}
        left = [relation.atom for relation in self.relations if relation.atom not in gone]
        found = without_atoms(replace(block, parts=tuple(parts), conditions=conditions), gone)
        return found, {atom: place for place, atom in enumerate(left)}

    def attach(self, block: SelectBlock, kind: EdgeKind) -> int:
        """Add a plain sub-query as a part; returns the number of its first table."""
        start, place = len(self.relations), self.place
        # What is hung beside the part in whose ON it is stands before it, whose condition reads it.
        is_beside = place.within is not None and place.above != place.within
        first = place.within if is_beside and place.within is not None else len(self.parts)
        for relation in block.scope.relations:
            self._take(relation)
        for condition in (*block.conditions, *(one for part in block.parts for one in part.conditions)):
            note_places(condition, block.source, block.start)
        hanging = {atom for part in block.parts for atom in part.atoms}
        core = tuple(start + r.atom for r in block.scope.relations if r.atom not in hanging)
        conditions, equalities = self._placed(block.conditions, start), _moved(block.equalities, start)
        found = [Part(kind, core, conditions, equalities, place.above)]
        for part in block.parts:
            found.append(
                Part(
                    part.kind,
                    tuple(start + atom for atom in part.atoms),
                    self._placed(part.conditions, start),
                    _moved(part.equalities, start),
                    first if part.above is None else first + 1 + part.above,
                )
            )
        self.parts[first:] = [*found, *(_behind(part, first, len(found)) for part in self.parts[first:])]
        self.own[first:first] = [None] * len(found)
        if is_beside:
            self.place = replace(place, within=first + len(found))
        return start

    def _take(self, relation: Occurrence) -> None:
        """Add an occurrence, under an alias that no other one has."""
        aliases = {one.alias.lower() for one in self.relations}
        alias, number = relation.alias, 1
        while alias.lower() in aliases:
            number += 1
            alias = f"{relation.alias}_{number}"
        self.relations.append(replace(relation, atom=len(self.relations), alias=alias))

    def placed(self, value: exp.Expr, start: int) -> exp.Expr:
        """An expression of a sub-query over the SELECT; `attach` has given the number ``start`` of its first table."""
        return landed(over(value, lambda ref: ColumnRef(start + ref.atom, ref.column)), as_column)

    def _placed(self, conditions: Sequence[exp.Expr], start: int) -> tuple[exp.Expr, ...]:
        return tuple(self.placed(condition, start) for condition in conditions)

    def equal_to(self, block: SelectBlock, operands: Sequence[exp.Expr], sub: SubSelect) -> list[exp.Expr]:
        """The conditions that the columns of a sub-query equal its operands."""
        self.check_width(len(block.items), len(operands), sub)
        return [
            standing_at(exp.EQ(this=item.value.copy(), expression=lifted(operand)), operand)
            for item, operand in zip(block.items, operands, strict=False)
        ]

    def check_width(self, columns: int, operands: int, sub: SubSelect) -> None:
        """Refuse a sub-query whose number of columns is not that of its operands."""
        wanted = 1 if sub.form == "scalar" else operands
        if sub.form != "exists" and columns != wanted:
            msg = f"the sub-query has {columns} columns, and {wanted} are asked for; name as many in its SELECT list"
            raise sub.source.unsupported("sub-query", msg, sub.offset)

    def never_null(self, value: exp.Expr, block: SelectBlock) -> bool:
        """Whether an expression is never NULL for the rows that satisfy the conditions of a SELECT."""
        node = value.unnest()
        match node:
            case exp.Literal() | exp.Boolean():
                return True
            case exp.Add() | exp.Sub() | exp.Mul():
                return self.never_null(node.this, block) and self.never_null(node.expression, block)
            case exp.Neg():
                return self.never_null(node.this, block)
            case exp.Column():
                ref = node.meta[REF]
                if any(ref in _not_null(part) for condition in block.conditions for part in conjuncts(condition)):
                    return True
                optional = {atom for part in block.parts for atom in part.atoms}
                inside = ref.atom < len(block.scope.relations) and ref.atom not in optional
                return inside and not block.scope.declared(ref).nullable
            case _:
                return False


def _behind(part: Part, first: int, number: int) -> Part:
    """A part with its numbers shifted after ``number`` occurrences were inserted at ``first``."""
    return part if part.above is None or part.above < first else replace(part, above=part.above + number)


def as_column(outer: Outer) -> exp.Expr:
    """An outer column as a column of the query around, shown with its alias."""
    alias, _, name = outer.name.rpartition(".")
    column = exp.column(name, table=alias or None)
    column.meta[REF] = outer.ref
    return column


def standing_at(node: exp.Expr, written: exp.Expr) -> exp.Expr:
    """A node with the position of another one."""
    offset = offset_of(written, -1)
    if offset >= 0:
        node.meta["start"] = offset
    return node


def _not_null(conjunct: exp.Expr) -> set[ColumnRef]:
    """The columns that cannot be NULL if a conjunct is true."""
    if isinstance(conjunct, exp.Not):
        inner = conjunct.this.unnest()
        if isinstance(inner, exp.Is) and isinstance(inner.expression, exp.Null) and isinstance(inner.this, exp.Column):
            return {inner.this.meta[REF]}
        return set()
    if isinstance(conjunct, (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE)):
        sides = (conjunct.this.unnest(), conjunct.expression.unnest())
        return {side.meta[REF] for side in sides if isinstance(side, exp.Column)}
    return set()


def _moved(equalities: Sequence[Equality], start: int) -> tuple[Equality, ...]:
    def moved(ref: ColumnRef) -> ColumnRef:
        return ColumnRef(start + ref.atom, ref.column)

    return tuple(Equality(moved(e.left), moved(e.right), e.offset) for e in equalities)
