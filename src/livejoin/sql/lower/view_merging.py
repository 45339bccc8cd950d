"""Merge plain queries in FROM into the SELECT that reads them, so that the planner sees one join (view merging).

A plain query is a SELECT that neither groups nor sorts nor takes distinct rows. Under bag semantics its reader may join
its tables itself, with its conditions, and write its expressions in the place of its columns:

    SELECT f(q.x) FROM (SELECT e AS x FROM R WHERE c) q, S WHERE p(q.x)
      =  SELECT f(e) FROM R, S WHERE c AND p(e).

Parts of the query hang on the rows of the reader. A reader on the right side of an outer join can be merged too. A
query stays separate, and its rows are stored where they are joined, if

* a condition of the reader could not be decided any more: it compares a column computed from several of the query's
  tables with a column of another table (a join is on columns of two tables), or is over several of the query's tables,
  which no equality connects (a filter over the query decides it);
* it is a view that is read alone, so that a filter over it shares the view's join;
* the reader would join more than `MOST_ATOMS` tables;
* the expressions that replace columns would grow too long: each level of queries may double them;
* an optional part reads it, and one of its expressions is used above that part, where it is NULL without a match;
* a grouping set of the reader may lack a computed column of it: its expression might occur elsewhere in the reader,
  where it is not NULL;
* it has lists, which a join does not read;
* it compares its rows with now() and is joined: so a time that moves meets the rows that cross it, and not the join's.

A query that reads columns of a query around it is always merged.

Merging changes the rows for which an expression is evaluated. In the SELECT list, in groups and in aggregates these are
some of the query's rows, so an expression that failed for none still fails for none. A condition of the reader becomes
a predicate of one table, and could fail for rows that the query's WHERE keeps from the reader. So the query's own
conditions come first: the reader's conditions are not evaluated for a row that they drop (`livejoin.query.filters`). A
condition that may fail also stands behind the query's residuals. Rows of the table without a match are evaluated: SQL
leaves open whether a filter comes before a join, and Spark filters first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from livejoin.query.conjunctive import MOST_ATOMS, ColumnRef
from livejoin.query.of_time import is_of_time
from livejoin.schema import SqlType, is_made_list
from livejoin.sql.lower.conditions.equalities import computed_pairs
from livejoin.sql.lower.conditions.split import (
    BEHIND,
    are_connected,
    column_equality,
    conjuncts,
    equality_of,
    join_conditions,
)
from livejoin.sql.lower.conditions.substitute import onto_one_atom
from livejoin.sql.lower.parts.part_tree import below
from livejoin.sql.parse.source import offset_of
from livejoin.sql.parse.walking import nodes, nodes_of
from livejoin.sql.resolved.column import REF, bound_column, over, refs_of
from livejoin.sql.resolved.part import Equality, Part, moved
from livejoin.sql.resolved.query import Occurrence, Scope, SelectBlock
from livejoin.sql.resolved.typed import cast_to

_MOST_NODES = 400  # written in the place of the columns of one query
_MOST_LEVELS = 40  # of one expression


def merge_views(block: SelectBlock) -> SelectBlock:
    """A SELECT with the plain queries that it reads merged into it, where the result is equal.

    Cost: the nodes of its expressions times the queries that stay apart.
    """
    chosen = _candidates(block)
    while chosen:
        merged = _Merger(block, chosen).merged()
        if block.sets is not None and len(merged.groups or ()) != len(block.groups or ()):
            return block  # a set may have one of two groups that are the same below, and not the other
        apart = _undecided(block, chosen, merged) - _correlated(block)
        if not apart:
            return merged
        chosen -= apart
    return block


def _correlated(block: SelectBlock) -> frozenset[int]:
    """The queries that read columns of a query around, which must be merged."""
    nested = ((relation.atom, relation.nested) for relation in block.scope.relations)
    return frozenset(atom for atom, query in nested if query is not None and query.correlated is not None)


def _candidates(block: SelectBlock) -> frozenset[int]:
    """The queries that are plain and not too large, taken in their order."""
    found: set[int] = set()
    atoms = len(block.scope.relations)
    grouped = [ref for value in block.groups or () for ref in _all_refs(value)]
    uses = [ref for value in block.expressions for ref in _all_refs(value)]
    for relation in block.scope.relations:
        plain = None if relation.nested is None else relation.nested.plain
        if plain is None or atoms + len(plain.scope.relations) - 1 > MOST_ATOMS:
            continue
        if len(block.scope.relations) > 1 and (_reads_lists(plain) or _waits(relation, plain)):
            continue
        used = [plain.items[ref.column].value for ref in uses if ref.atom == relation.atom]
        computed = [value for value in used if not isinstance(value, exp.Column)]
        if block.sets is not None and any(_is_computed(ref, relation, plain) for ref in grouped):
            continue
        if sum(len(nodes(value)) for value in computed) > _MOST_NODES:
            continue
        if not _may_be_null(relation, plain, block):
            continue
        if max((_levels(value) for value in computed), default=0) > _MOST_LEVELS:
            continue
        found.add(relation.atom)
        atoms += len(plain.scope.relations) - 1
    return frozenset(found)


def _waits(relation: Occurrence, plain: SelectBlock) -> bool:
    """Whether a query compares its rows with now(), and may stay apart: its rows wait in the order of their time."""
    nested = [one.nested for one in plain.scope.relations if one.nested is not None]
    is_free = relation.nested is not None and relation.nested.correlated is None
    return is_free and any(is_of_time(one.relation) for one in nested)


def _is_computed(ref: ColumnRef, relation: Occurrence, plain: SelectBlock) -> bool:
    return ref.atom == relation.atom and not isinstance(plain.items[ref.column].value, exp.Column)


def _may_be_null(relation: Occurrence, plain: SelectBlock, block: SelectBlock) -> bool:
    """Whether a query's columns are all NULL when the tables of an optional part of its reader have no match.

    That is so for plain columns. An expression may have another value, so none may be used above the innermost part.
    """
    level = next((i for i, part in enumerate(block.parts) if relation.atom in part.atoms), None)
    while level is not None and block.parts[level].kind != "optional":
        level = block.parts[level].above
    if level is None:
        return True
    inside = below(block, level)
    outside = (one for i, part in enumerate(block.parts) if i not in inside for one in part.conditions)
    refs = {ref for value in (*block.values, *block.conditions, *outside) for ref in _all_refs(value)}
    return all(isinstance(plain.items[ref.column].value, exp.Column) for ref in refs if ref.atom == relation.atom)


def _undecided(block: SelectBlock, chosen: frozenset[int], merged: SelectBlock) -> frozenset[int]:
    """The merged queries because of which a condition of the reader can no longer be decided."""
    merger = _Merger(block, chosen)
    source, start = block.source, block.start
    joined, _ = join_conditions(merged.conditions, merged.equalities, merged.scope, source, start, merged.core)
    equal, scope = joined.equal, joined.scope
    links = (*joined.joins, *((e.left, e.right) for e in _pairs(merged)))
    found: set[int] = set()
    for written in (*_conjuncts(block), *(equality_of(using, block.scope) for using in block.equalities)):
        for conjunct in conjuncts(merger.over(written)):
            if onto_one_atom(conjunct, equal, scope) is not None:
                continue
            pairs = computed_pairs(conjunct, equal, scope, source, start, merged.core)
            if pairs is not None and joined.joins_all(pairs[1]):
                continue
            computed = {ref.atom for ref in refs_of(written) if ref.atom in chosen and not merger.is_column(ref)}
            both = column_equality(written, 0)
            if computed and both is not None and both.left.atom != both.right.atom:
                found |= computed
            elif _is_view(block) or not are_connected(conjunct, links, scope):
                found |= {ref.atom for ref in refs_of(written)} & chosen
    for written in _of_parts(block):
        refs = refs_of(written)
        if len({ref.atom for ref in refs}) > 1:
            found |= {ref.atom for ref in refs if ref.atom in chosen and not merger.is_column(ref)}
    for using in (one for part in block.parts for one in part.equalities):
        sides = {ref for ref in (using.left, using.right) if ref.atom in chosen}
        found |= {ref.atom for ref in sides if not merger.is_column(ref)}
    return frozenset(found)


def _is_view(block: SelectBlock) -> bool:
    """Whether a SELECT reads one view alone, whose join it may then share."""
    only = block.scope.relations[0]
    return len(block.scope.relations) == 1 and only.nested is not None and only.nested.bound is None


def _conjuncts(block: SelectBlock) -> Iterator[exp.Expr]:
    return (conjunct for condition in block.conditions for conjunct in conjuncts(condition))


def _of_parts(block: SelectBlock) -> Iterator[exp.Expr]:
    return (conjunct for part in block.parts for condition in part.conditions for conjunct in conjuncts(condition))


def _pairs(block: SelectBlock) -> Iterator[Equality]:
    """The columns that conditions of parts make equal."""
    yield from (one for part in block.parts for one in part.equalities)
    yield from (found for one in _of_parts(block) if (found := column_equality(one, 0)) is not None)


def _all_refs(value: exp.Expr) -> Iterator[ColumnRef]:
    return (column.meta[REF] for column in nodes_of(value, exp.Column))


def _levels(value: exp.Expr) -> int:
    """How deeply an expression is nested."""
    level, nodes = 0, [value]
    while nodes:
        level, nodes = level + 1, [child for node in nodes for child in node.iter_expressions()]
    return level


def _reads_lists(block: SelectBlock) -> bool:
    refs = [ref for value in (*block.values, *block.conditions) for ref in _all_refs(value)]
    return any(is_made_list(block.scope.arrow(ref)) for ref in refs)


@dataclass(frozen=True)
class _Merger:
    """A SELECT and the occurrences of nested queries that are merged into it."""

    block: SelectBlock
    chosen: frozenset[int]

    def merged(self) -> SelectBlock:
        """The SELECT over the tables of the queries."""
        block = self.block
        equalities, conditions = self._joined(block.core, block.equalities, block.conditions)
        above = replace(block, conditions=(), parts=()).mapped(self.over).with_groups_once()
        return replace(
            above,
            scope=Scope(tuple(self._relations())),
            equalities=equalities,
            conditions=conditions,
            parts=self._parts(),
        )

    def _joined(
        self, atoms: Sequence[int], equalities: Sequence[Equality], conditions: Sequence[exp.Expr]
    ) -> tuple[tuple[Equality, ...], tuple[exp.Expr, ...]]:
        """The equalities and conditions of some occurrences: first those of their queries, then the reader's."""
        merged = [self.block.scope.relations[atom] for atom in atoms if atom in self.chosen]
        equal = [one for relation in merged for one in self._inner_equalities(relation)]
        equal += [
            Equality(self._ref(e.left), self._ref(e.right), e.offset)
            for e in equalities
            if self.is_column(e.left) and self.is_column(e.right)
        ]
        inner = [one for relation in merged for one in self._inner_conditions(relation)]
        computed = [e for e in equalities if not (self.is_column(e.left) and self.is_column(e.right))]
        own = [self._behind(equality_of(e, self.block.scope)) for e in computed]
        own += [self._behind(conjunct) for condition in conditions for conjunct in conjuncts(condition)]
        return tuple(equal), (*inner, *own)

    def _parts(self) -> tuple[Part, ...]:
        """The parts of the reader and of the queries; those of a query come after the level that reads it."""
        block = self.block
        found = list(self._inner_parts(block.core, 0, None))
        places: dict[int, int] = {}
        for position, part in enumerate(block.parts):
            places[position] = len(found)
            atoms = tuple(self._start(atom) + own for atom in part.atoms for own in self._core(atom))
            equalities, conditions = self._joined(part.atoms, part.equalities, part.conditions)
            above = None if part.above is None else places[part.above]
            found.append(Part(part.kind, atoms, conditions, equalities, above))
            found += self._inner_parts(part.atoms, len(found), places[position])
        return tuple(found)

    def _inner_parts(self, atoms: Sequence[int], number: int, above: int | None) -> Iterator[Part]:
        """The parts of the queries among some occurrences, after ``number`` others."""
        for relation in (self.block.scope.relations[atom] for atom in atoms if atom in self.chosen):
            start, plain = self._start(relation.atom), self._plain(relation)
            for part in moved(plain.parts, number, above):
                yield replace(
                    part,
                    atoms=tuple(start + atom for atom in part.atoms),
                    conditions=tuple(self._read(part.conditions, relation)),
                    equalities=tuple(self._equal(part.equalities, relation)),
                )
            number += len(plain.parts)

    def _core(self, atom: int) -> tuple[int, ...]:
        """The tables of an occurrence, without those in parts of its query, numbered from 0."""
        return self._plain(self.block.scope.relations[atom]).core if atom in self.chosen else (0,)

    def over(self, value: exp.Expr) -> exp.Expr:
        """An expression of the reader over the tables of the queries."""

        def exchanged(part: exp.Expr) -> exp.Expr:
            if not isinstance(part, exp.Column):
                return part
            found = _placed_at(self._value(part.meta[REF]), part)
            return found if part.parent is None else _within(found, self._type(part.meta[REF]))

        return value.transform(exchanged)

    def _behind(self, condition: exp.Expr) -> exp.Expr:
        """A condition of the reader over the tables of the queries, to be decided after theirs."""
        found = self.over(condition)
        if any(ref.atom in self.chosen for ref in refs_of(condition)):
            found.meta[BEHIND] = True
        return found

    def is_column(self, ref: ColumnRef) -> bool:
        """Whether a column of the reader is a column of a table, and not computed."""
        return isinstance(self._value(ref), exp.Column)

    def _plain(self, relation: Occurrence) -> SelectBlock:
        plain = None if relation.nested is None else relation.nested.plain
        assert plain is not None, "only plain queries are merged"
        return plain

    def _value(self, ref: ColumnRef) -> exp.Expr:
        """The expression of a reader's column over the tables of the queries."""
        relation = self.block.scope.relations[ref.atom]
        if ref.atom in self.chosen:
            return self._shifted(self._plain(relation).items[ref.column].value, ref.atom)
        return bound_column(ColumnRef(self._start(ref.atom), ref.column), relation.names[ref.column])

    def _ref(self, ref: ColumnRef) -> ColumnRef:
        found: ColumnRef = self._value(ref).meta[REF]
        return found

    def _type(self, ref: ColumnRef) -> SqlType:
        return self.block.scope.declared(ref).type

    def _start(self, atom: int) -> int:
        """The position of an occurrence's first table in the merged SELECT."""
        return sum(self._width(relation) for relation in self.block.scope.relations[:atom])

    def _width(self, relation: Occurrence) -> int:
        return len(self._plain(relation).scope.relations) if relation.atom in self.chosen else 1

    def _shifted(self, value: exp.Expr, atom: int) -> exp.Expr:
        """An expression of a query over the tables of the merged SELECT."""
        start = self._start(atom)
        return over(value, lambda ref: ColumnRef(start + ref.atom, ref.column))

    def _inner_conditions(self, relation: Occurrence) -> Iterator[exp.Expr]:
        """The conditions of a query."""
        yield from self._read(_conjuncts(self._plain(relation)), relation)

    def _read(self, conditions: Iterable[exp.Expr], relation: Occurrence) -> Iterator[exp.Expr]:
        """Conditions of a query; those of another text get the position where the query is read."""
        plain = self._plain(relation)
        for conjunct in conditions:
            found = self._shifted(conjunct, relation.atom)
            yield found if plain.source.sql == self.block.source.sql else _moved(found, relation.offset)

    def _inner_equalities(self, relation: Occurrence) -> Iterator[Equality]:
        yield from self._equal(self._plain(relation).equalities, relation)

    def _equal(self, equalities: Iterable[Equality], relation: Occurrence) -> Iterator[Equality]:
        plain, start = self._plain(relation), self._start(relation.atom)
        for e in equalities:
            left, right = (ColumnRef(start + ref.atom, ref.column) for ref in (e.left, e.right))
            yield Equality(left, right, e.offset if plain.source.sql == self.block.source.sql else relation.offset)

    def _relations(self) -> Iterator[Occurrence]:
        """The occurrences of the merged SELECT; the alias of their query is put before an alias that occurs twice."""
        own = [(relation, inner) for relation in self.block.scope.relations for inner in self._occurrences(relation)]
        aliases = [inner.alias.lower() for _, inner in own]
        taken = {relation.alias.lower() for relation, inner in own if relation is inner}
        for atom, (relation, inner) in enumerate(own):
            name, number = inner.alias, 1
            if relation is not inner:
                if aliases.count(name.lower()) > 1:
                    name = f"{relation.alias}.{name}"
                readable = name
                while name.lower() in taken:
                    number += 1
                    name = f"{readable}_{number}"
                taken.add(name.lower())
            yield replace(inner, atom=atom, alias=name)

    def _occurrences(self, relation: Occurrence) -> Iterable[Occurrence]:
        return self._plain(relation).scope.relations if relation.atom in self.chosen else [relation]


def _placed_at(value: exp.Expr, column: exp.Column) -> exp.Expr:
    """An expression with the position of a column."""
    return _moved(value, offset_of(column, -1))


def _moved(value: exp.Expr, offset: int) -> exp.Expr:
    """An expression whose parts all have one position; none if it is negative."""
    for node in nodes(value):
        for name in ("start", "end", "line", "col"):
            node.meta.pop(name, None)
    if offset >= 0:
        value.meta["start"] = offset
    return value


def _within(value: exp.Expr, kind: SqlType) -> exp.Expr:
    """A value as a part of an expression: a bare literal would take any type there, but a column has one."""
    if isinstance(value, (exp.Column, exp.Null)):
        return value
    if _has_any_type(value):
        return cast_to(value, kind)
    return exp.paren(value, copy=False)


def _has_any_type(value: exp.Expr) -> bool:
    """Whether a value consists of literals, so that its type depends on its context."""
    match value:
        case exp.Literal() | exp.Null():
            return True
        case exp.Paren() | exp.Neg():
            return _has_any_type(value.this)
        case exp.Add() | exp.Sub() | exp.Mul():
            return _has_any_type(value.this) and _has_any_type(value.expression)
        case exp.Case():
            results = [*(part.args["true"] for part in value.args["ifs"]), value.args.get("default")]
        case exp.If():
            results = [value.args["true"], value.args.get("false")]
        case exp.Coalesce():
            results = [value.this, *value.expressions]
        case _:
            return False
    return all(result is None or _has_any_type(result) for result in results)
