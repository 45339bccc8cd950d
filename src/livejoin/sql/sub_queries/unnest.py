"""Unnesting: sub-queries in the expressions of a SELECT become its parts (Kim 1982; Neumann and Kemper 2015).

* A conjunct ``EXISTS (q)`` of WHERE becomes a part of kind ``exists``: its tables join the SELECT's, and its WHERE
  condition decides what matches. ``x IN (SELECT k ...)`` adds ``k = x``. With NOT, the part is of kind ``not exists``.
* ``x NOT IN (q)`` is true if and only if q is empty, or x is not NULL and no k is NULL and none equals x. So it becomes
  up to three ``not exists`` parts: rows with k = x; rows where k is NULL; and, for a NULL x, all rows. Columns that are
  known not to be NULL save the second and the third. `not_in` treats several columns.
* A conjunct of ON over the joined part becomes a part of that part. Other sub-queries in ON become values: of a part
  beside the joined one if they read nothing of it, else of one within it, where NULLs of the join do not matter.
* Every other sub-query becomes a value: columns of an ``optional`` part and an expression over them (see `values`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from livejoin.sql.lower.conditions.split import conjuncts
from livejoin.sql.lower.parts.part_tree import atoms_below
from livejoin.sql.parse.sub_queries import has_marks, marked, marks
from livejoin.sql.resolved.column import key_of, refs_of
from livejoin.sql.resolved.outer import Outer
from livejoin.sql.resolved.query import SelectBlock, SubSelect
from livejoin.sql.sub_queries.correlation import correlation
from livejoin.sql.sub_queries.free import free_columns, moved_outer
from livejoin.sql.sub_queries.in_from import merged_into
from livejoin.sql.sub_queries.not_in import unknown_ways
from livejoin.sql.sub_queries.over_groups import over_groups
from livejoin.sql.sub_queries.parts import Parts, Place
from livejoin.sql.sub_queries.plain import attachable, plain_of
from livejoin.sql.sub_queries.rewriter import Rewriter
from livejoin.sql.sub_queries.values import value_of


def unnest(block: SelectBlock, rewriter: Rewriter) -> SelectBlock:
    """A SELECT with the same rows, and without sub-queries in its expressions.

    ORDER BY without LIMIT is removed: it only counts for a whole query, which is read as it is written.

    Raises:
        UnsupportedQueryError: The correlation of a sub-query is not supported; the message says what would work.
        SqlError: A sub-query is not valid.
    """
    block = replace(block, read_order=()) if block.read_order else block
    if not block.sub_queries:
        return merged_into(block)
    return merged_into(_Unnester(over_groups(block, rewriter), rewriter).unnested())


class _Unnester:
    """A SELECT while its sub-queries become parts; mutable."""

    def __init__(self, block: SelectBlock, rewriter: Rewriter) -> None:
        self._parts = Parts(block, rewriter)
        self._values: dict[tuple[str, bool], exp.Expr] = {}

    @property
    def block(self) -> SelectBlock:
        """The SELECT, with the parts that sub-queries in ON became."""
        return self._parts.block

    def unnested(self) -> SelectBlock:
        """The SELECT with its parts."""
        self._in_parts()
        block = self.block
        written = [part for condition in block.conditions for part in conjuncts(condition)]
        conditions = [found for part in written for found in self._condition(part)]
        above = replace(block, conditions=(), parts=()).mapped(self._value).with_groups_once()
        return replace(
            above,
            scope=replace(block.scope, relations=tuple(self._parts.relations)),
            parts=tuple(self._parts.parts),
            conditions=(*conditions, *self._parts.equal_around),
            sub_queries=(),
        )

    def _in_parts(self) -> None:
        """Make parts of the sub-queries in ON: inner parts first, else from the left."""
        parts = self._parts
        if not any(has_marks(condition) for part in self.block.parts for condition in part.conditions):
            return
        for own in _children_first(self.block):
            position = parts.own.index(own)
            written = [c for condition in parts.parts[position].conditions for c in conjuncts(condition)]
            found = [one for conjunct in written for one in self._in_part(own, conjunct)]
            position = parts.own.index(own)
            parts.parts[position] = replace(parts.parts[position], conditions=tuple(found))
        scope = replace(self.block.scope, relations=tuple(parts.relations))
        parts.block = replace(self.block, scope=scope, parts=tuple(parts.parts))

    def _in_part(self, own: int, conjunct: exp.Expr) -> list[exp.Expr]:
        """The rest of a conjunct of ON after its sub-queries became parts."""
        if not has_marks(conjunct):
            return [conjunct]
        parts = self._parts
        position = parts.own.index(own)
        inside = atoms_below(replace(self.block, parts=tuple(parts.parts)), position)
        reads = self._reads(conjunct)
        within = Place(position, position if reads & inside else parts.parts[position].above)
        parts.place, self._values = within, {}
        try:
            if reads and reads <= inside:
                return self._condition(conjunct)
            return [self._value(conjunct, as_condition=True)]
        finally:
            parts.place, self._values = Place(), {}

    def _reads(self, node: exp.Expr) -> frozenset[int]:
        """The occurrences that an expression and its sub-queries read."""
        found = {ref.atom for ref in refs_of(node)}

        def read(outer: Outer, _: exp.Expr) -> Outer:
            found.add(outer.ref.atom)
            return outer

        for query in (self.block.sub_queries[number].query for number in marks(node)):
            if isinstance(query, SelectBlock):
                moved_outer(query, read)
        return frozenset(found)

    def _value(self, node: exp.Expr, *, as_condition: bool = False) -> exp.Expr:
        """An expression without marks.

        Args:
            node: A resolved expression.
            as_condition: Whether NULL counts as FALSE.
        """
        if not has_marks(node):
            return node
        number = marked(node)
        if number is not None:
            key = (key_of(node), as_condition)
            if key not in self._values:
                self._values[key] = self._value_of(node, self.block.sub_queries[number], as_condition=as_condition)
            return self._values[key].copy()
        found = node.copy()
        keeps = as_condition and isinstance(node, (exp.And, exp.Or, exp.Paren))
        for child in list(found.iter_expressions()):
            if has_marks(child):
                child.replace(self._value(child, as_condition=keeps))
        return found

    def _condition(self, conjunct: exp.Expr) -> list[exp.Expr]:
        """The rest of a conjunct of WHERE after its sub-queries became parts."""
        if not has_marks(conjunct):
            return [conjunct]
        node, negated = conjunct, False
        while isinstance(node, exp.Not):
            node, negated = node.this.unnest(), not negated
        number = marked(node)
        if number is not None:
            sub = self.block.sub_queries[number]
            is_in = sub.form == "in" or (sub.form, sub.comparison) == ("any", exp.EQ)
            is_not_in = (sub.form, sub.comparison) == ("all", exp.NEQ)
            if (sub.form == "exists" or is_in or is_not_in) and not self._is_one_row(sub):
                operands = [self._value(operand) for operand in node.expressions]
                is_wanted = negated == is_not_in
                if self._become_parts(sub, operands, is_wanted=is_wanted):
                    return []
        return [self._value(conjunct, as_condition=True)]

    def _is_one_row(self, sub: SubSelect) -> bool:
        """Whether a sub-query is a correlated aggregate, which gives one value for every row, whatever matches."""
        return isinstance(sub.query, SelectBlock) and sub.query.is_global and any(free_columns(sub.query))

    def _become_parts(self, sub: SubSelect, operands: Sequence[exp.Expr], *, is_wanted: bool) -> bool:
        """Turn an EXISTS, an IN or their negation into parts; False if they must be values."""
        block = plain_of(self._parts, sub)
        equal = self._parts.equal_to(block, operands, sub)
        found = correlation([*block.conditions, *equal])
        if len(found.compared) == 1 and not found.others:
            return False  # decided by a least or greatest value
        if is_wanted:
            self._parts.attach(
                attachable(self._parts, replace(block, conditions=(*block.conditions, *equal)), sub), "exists"
            )
            return True
        cases = [equal, *unknown_ways(self._parts, block, operands, equal, sub)]
        for case in cases:
            conditions = (*block.conditions, *case)
            self._parts.attach(attachable(self._parts, replace(block, conditions=conditions), sub), "not exists")
        return True

    def _value_of(self, mark: exp.Expr, sub: SubSelect, *, as_condition: bool) -> exp.Expr:
        operands = [self._value(operand) for operand in mark.expressions]
        return value_of(self._parts, sub, operands, as_condition=as_condition)


def _children_first(block: SelectBlock) -> list[int]:
    """The parts, each after those that hang on it."""
    found: list[int] = []

    def visit(above: int | None) -> None:
        for position, part in enumerate(block.parts):
            if part.above == above:
                visit(position)
                found.append(position)

    visit(None)
    return found
