"""Why a row is in a relation: the combinations of rows that give it, stage by stage."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any, TypeAlias, assert_never

import numpy as np
import pyarrow as pa

from livejoin.database import reading
from livejoin.database.contents import refuse_large_joins
from livejoin.database.lineage.found import Absence, Combination, DerivedRow, Part, SourceRow, Why, values_text
from livejoin.database.lineage.narrowing import NAME, Found, Reader, narrowed
from livejoin.database.statements.beside import beside
from livejoin.dataflow.graph import Choices
from livejoin.plan.query_plan import plan_query
from livejoin.query.bound_query import Query
from livejoin.query.orders import SortKey
from livejoin.query.readable_names import is_unnamed, readable_names
from livejoin.query.relational import (
    Aggregate,
    AsOf,
    Distinct,
    Join,
    Numbers,
    Project,
    Ranked,
    Relation,
    Repeated,
    Running,
    SetOperation,
    TopK,
)
from livejoin.query.scalar import Value
from livejoin.query.traced import Traced, is_comparable, traced, where
from livejoin.schema import instants_of
from livejoin.words import Words

if TYPE_CHECKING:
    from livejoin.dataflow.batches import Rows
    from livejoin.schema import SqlType, Table

_PIECE = 1 << 10

Asked: TypeAlias = Mapping[int, pa.Array]
"""Values of some columns of a relation, one each, by the columns' positions."""


@dataclass(frozen=True, eq=False)
class Trail:
    """Combinations of rows that give rows of a relation.

    Args:
        traced: The relation, taken apart.
        found: The rows of each atom of its join that may be part of one.
        values: A line for each combination: the row of the relation.
        numbers: For each combination the row of each part, -1 where an optional one has none; (combinations, parts).
        is_complete: Whether these are all.
    """

    traced: Traced
    found: Sequence[Found]
    values: pa.Table
    numbers: Words
    is_complete: bool

    @property
    def length(self) -> int:
        """How many combinations there are."""
        return len(self.numbers)


class Explainer:
    """Finds what rows of a database's relations are made of.

    Args:
        reader: Reads the rows of the tables.
        limit: The most combinations of one row that are looked for.
        names: The names of the views, in lower case, with their spelling.
    """

    def __init__(self, reader: Reader, limit: int, names: Mapping[str, str]) -> None:
        self._reader = reader
        self._limit = limit
        self._names = names
        self._known: dict[tuple[int, tuple[pa.Scalar, ...]], Why | None] = {}

    def why(self, name: str, relation: Relation, names: Sequence[str], asked: Asked) -> Why | None:
        """Why a row is in a relation; None if it is not.

        Args:
            name: The name of the relation.
            relation: The relation.
            names: The names of its columns.
            asked: The values of all columns.
        """
        key = id(relation), tuple(asked[at][0] for at in sorted(asked))
        if key not in self._known:
            self._known[key] = self._why(name, relation, names, asked)
        return self._known[key]

    def _why(self, name: str, relation: Relation, names: Sequence[str], asked: Asked) -> Why | None:
        found = self.trail(relation, asked, self._limit)
        row = dict(zip(names, (value_of(asked[at]) for at in range(len(names))), strict=True))
        if not found.length:
            return None
        instants = instants_of(names, relation.types)
        if found.traced.is_derived and (found.length == 1 or not found.traced.projects):  # copies are one row
            return replace(self._stage(name, found, 0), row=row, instants=instants)
        return Why(name, row, (), tuple(self.combinations(found)), found.is_complete, instants)

    def trail(self, relation: Relation, asked: Asked, limit: int) -> Trail:
        """The combinations of rows that give rows with some values.

        Args:
            relation: The relation.
            asked: Values of some of its columns.
            limit: The most combinations that are wanted.
        """
        return self.followed(traced(relation), asked, limit)

    def followed(self, taken: Traced, asked: Asked, limit: int) -> Trail:
        """As `trail`, of a relation that is taken apart."""
        join = taken.join
        copied = enumerate(taken.copied())
        given = {place: asked[at] for at, place in copied if place is not None and at in asked}
        given = {at: value for at, value in given.items() if isinstance(join.query.outputs[at].source, int)}
        is_null = frozenset(at for at, value in given.items() if value.null_count)
        found = narrowed(self._reader, join, self._reader.words(given, join.types), is_null)
        values, numbers, is_complete = self._evaluated(taken, found, asked, limit)
        return Trail(taken, found, values, numbers, is_complete)

    def _evaluated(
        self, taken: Traced, found: Sequence[Found], asked: Asked, limit: int
    ) -> tuple[pa.Table, Words, bool]:
        """The rows of a relation over the rows of its parts, in a database of its own."""
        relation = taken.over_parts()
        width = len(relation.types) - len(taken.parts)
        plain = {at: _constant(value, relation.types[at]) for at, value in asked.items() if is_comparable(relation, at)}
        rest = {at: value[0].as_py() for at, value in asked.items() if at not in plain}
        rows = evaluated(where(relation, plain), taken.tables(), found, self._reader.contents.memory_limit)
        values = list[pa.Table]()
        numbers = list[Words]()
        is_complete = True
        for whole in rows:
            lines = range(whole.num_rows)
            kept = [at for at in lines if all(whole.column(c)[at].as_py() == value for c, value in rest.items())]
            room = limit - sum(one.shape[0] for one in numbers)
            is_complete = len(kept) <= room
            piece = whole.take(pa.array(kept[:room], pa.int64()))
            values.append(piece.select(range(width)))
            numbers.append(_numbers(piece, width))
            if not is_complete:
                break
        schema = pa.schema([pa.field(f"c{at}", relation.schema.field(at).type) for at in range(width)])
        table = pa.concat_tables([schema.empty_table(), *(one.rename_columns(schema.names) for one in values)])
        matrix = np.concatenate([np.empty((0, len(taken.parts)), np.int64), *numbers])
        return table, matrix, is_complete

    def combinations(self, found: Trail, gives: Mapping[int, str] | None = None) -> Iterator[Combination]:
        """The combinations, each with its rows, and with what it gives to aggregates."""
        for line in range(found.length):
            given = {name: value_of(found.values.column(at).slice(line, 1)) for at, name in (gives or {}).items()}
            yield Combination(tuple(self.parts(found, line)), given)

    def parts(self, found: Trail, line: int) -> Iterator[Part]:
        """The rows of a combination, then what must not be there."""
        query = found.traced.join.query
        there = {}
        for place, atom in enumerate(found.traced.parts):
            number = int(found.numbers[line, place])
            if number >= 0:
                there[atom] = number
                yield self.part(found, atom, number)
        for branch in query.branches:
            lacks = branch.kind == "not exists" or (branch.kind == "optional" and branch.atoms[0] not in there)
            above = query.core if branch.above is None else query.branches[branch.above].atoms
            if lacks and all(atom in there for atom in above):
                absence = self._absence(found, branch.key, branch.atoms, there)
                if branch.kind == "optional" or None not in absence.values.values():  # NULL never matches anything
                    yield absence

    def part(self, found: Trail, atom: int, number: int) -> Part:
        """A row of an atom."""
        one = found.traced.join.query.atoms[atom]
        rows = found.found[atom]
        row, copies = rows.rows.take(np.array([number])), int(rows.copies[number])
        derived = _derived(found.traced.join, one.table)
        if derived is None:
            values = dict(zip((c.name for c in one.table.columns), _row(row), strict=True))
            base = self._reader.contents.tables[one.table.name.lower()]
            for name in base.dropped():
                del values[name]
            instants = instants_of([column.name for column in one.table.columns], row.types)
            return SourceRow(base.table.name, one.alias, values, copies, instants)
        asked = {at: row.arrow(at) for at in range(len(row.types))}
        names, alias = readable_names(derived), self._called(one.table, one.alias)
        why = self.why(alias, derived, names, asked)
        assert why is not None, "a row of a relation is made of something"
        shown = zip(one.table.columns, names, _row(row), strict=True)
        values = {name: value for column, name, value in shown if not (column.is_made and is_unnamed(name))}
        return DerivedRow(alias, values, why, copies, why.instants)

    def _absence(
        self, found: Trail, key: Sequence[tuple[str, str]], atoms: Sequence[int], there: Mapping[int, int]
    ) -> Absence:
        query = found.traced.join.query
        values = {}
        for outer, inner in key:
            atom = next(atom for atom in there if outer in query.atoms[atom].variables)
            held = found.found[atom].rows.take(np.array([there[atom]]))
            below = next(one for one in atoms if inner in query.atoms[one].variables)
            name = self.names_of(found.traced.join, below)[query.atoms[below].column_of(inner)]
            values[name] = value_of(held.arrow(query.atoms[atom].column_of(outer)))
        conditions = tuple(str(query.atoms[one].predicate) for one in atoms if query.atoms[one].predicate is not None)
        return Absence(tuple(self.table_name(found.traced.join, atom) for atom in atoms), values, conditions)

    def _base_tables(self, relation: Relation) -> Iterator[str]:
        """The names of the tables that a relation reads, at any depth."""
        if isinstance(relation, Join):
            derived = {one.table.name for one in relation.inputs}
            for number, atom in enumerate(relation.query.atoms):
                if atom.table.name not in derived:
                    yield self.table_name(relation, number)
        for below in relation.below:
            yield from self._base_tables(below)

    def table_name(self, join: Join, atom: int) -> str:
        """What the relation of an atom is called."""
        table = join.query.atoms[atom].table
        base = self._reader.contents.tables.get(table.name.lower())
        return base.table.name if base is not None else self._called(table, table.name)

    def _called(self, table: Table, alias: str) -> str:
        """What a derived relation is called that a join sees as a table: the view, the sub-query's name, or none."""
        made = any(column.is_made for column in table.columns)
        return self._names.get(table.name.lower(), "a sub-query" if made else alias)

    def names_of(self, join: Join, atom: int) -> list[str]:
        """The names of the columns of an atom's relation."""
        table = join.query.atoms[atom].table
        derived = _derived(join, table)
        return [column.name for column in table.columns] if derived is None else readable_names(derived)

    def _stage(self, name: str, found: Trail, line: int) -> Why:
        """Why a row of an aggregate, an order or a set operation is there."""
        relation = found.traced.join.inputs[0].relation
        rows = found.found[0].rows.take(found.numbers[line, :1])
        asked = {at: rows.arrow(at) for at in range(len(rows.types))}
        names = readable_names(relation)
        row = dict(zip(names, _row(rows), strict=True))
        match relation:
            case Aggregate():
                below = relation.input
                group = {at: asked[at] for at in range(relation.groups)}
                members = self.trail(below, group, self._limit)
                gives = {}
                for call in relation.calls:
                    if call.argument is not None:
                        gives[call.argument] = readable_names(below)[call.argument]
                what = values_of_group(row, relation.groups)
                step = f"the group of {what}" if what else "one group of all rows"
                return Why(name, row, (step,), tuple(self.combinations(members, gives)), members.is_complete)
            case TopK():
                step = f"among the {first_rows(relation.limit, relation.offset)} by {order_text(relation.keys, names)}"
                return self._with_step(name, relation.input, names, asked, step)
            case Ranked():
                width = len(relation.input.types)
                rank = list(row.values())[-1]
                within = _within(relation.partition, row)
                ordered = f" by {order_text(relation.keys, names)}" if relation.keys else ""
                step = f"{relation.function.upper()} {rank}{ordered}{within}"
                own = {at: value for at, value in asked.items() if at < width}
                return self._with_step(name, relation.input, names[:width], own, step, others=True)
            case Running():
                width = len(relation.input.types)
                calls = ", ".join(
                    f"{c.function.upper()} = {v}"
                    for c, v in zip(relation.calls, list(row.values())[width:], strict=True)
                )
                step = f"{calls} over the rows around it{_within(relation.partition, row)}"
                own = {at: value for at, value in asked.items() if at < width}
                return self._with_step(name, relation.input, names[:width], own, step, others=True)
            case SetOperation():
                return self._of_sides(name, relation, row, asked)
            case AsOf():
                return self._of_match(name, relation, names, asked, row)
            case Repeated():
                width = len(relation.input.types)
                own = {at: value for at, value in asked.items() if at < width}
                step = f"one of the {relation.count:,} rows that each row gives"
                return self._with_step(name, relation.input, names[:width], own, step)
            case Numbers():
                return Why(name, row, ("a constant row of the query",), (), True)
            case Join() | Project() | Distinct():
                raise AssertionError("it was looked through")
            case _:
                assert_never(relation)

    def _with_step(
        self, name: str, below: Relation, names: Sequence[str], asked: Asked, step: str, others: bool = False
    ) -> Why:
        """Why a row is below a step; the others of its partition may count too, and are not named."""
        why = self.why(name, below, names, asked)
        assert why is not None, "the row stands below"
        return replace(why, steps=(step, *why.steps), is_complete=why.is_complete and not others, has_others=others)

    def _of_match(self, name: str, join: AsOf, names: Sequence[str], asked: Asked, row: Mapping[str, Any]) -> Why:
        """Why a row of an as-of join is there: the left row, and the right row that it is matched with."""
        width = len(join.left.types)
        left = self.why(name, join.left, names[:width], {at: value for at, value in asked.items() if at < width})
        assert left is not None, "the left row is there"
        if asked[width + join.on.right_time].null_count:  # no row without a time is a match
            absent = Absence(tuple(dict.fromkeys(self._base_tables(join.right))), {}, (join.written,))
            combinations = tuple(replace(one, parts=(*one.parts, absent)) for one in left.combinations)
            steps = (f"no row for {join.written}", *left.steps)
            return replace(left, row=row, steps=steps, combinations=combinations)
        others = {at - width: value for at, value in asked.items() if at >= width}
        right = self.why(name, join.right, names[width:], others)
        assert right is not None, "the match is there"
        combinations = tuple(
            Combination((*one.parts, *other.parts), {}) for one, other in product(left.combinations, right.combinations)
        )
        nearest = "last" if join.on.comparison.startswith("greater") else "first"
        steps = (f"the {nearest} row for {join.written}", *left.steps, *right.steps)
        return Why(name, row, steps, combinations[: self._limit], left.is_complete and right.is_complete)

    def _of_sides(self, name: str, relation: SetOperation, row: Mapping[str, Any], asked: Asked) -> Why:
        names = readable_names(relation)
        sides = [self.why(name, side, names, asked) for side in relation.below]
        there = [side for side in sides if side is not None]
        left, right = sides
        match relation.kind:
            case "union":
                where_from = "both sides" if len(there) == 2 else f"the {'left' if left else 'right'} side"
                step = f"from {where_from} of UNION"
            case "intersect":
                ways = ("the left side of INTERSECT", "the right side of INTERSECT")
                both = tuple(DerivedRow(way, row, side) for way, side in zip(ways, there, strict=True))
                return Why(name, row, ("on both sides of INTERSECT",), (Combination(both),), True)
            case "except":
                step = (
                    "more often on the left side of EXCEPT than on the right"
                    if right
                    else "not on the right side of EXCEPT"
                )
                there = [side for side in (left,) if side is not None]
            case _:
                assert_never(relation.kind)
        combinations = tuple(one for side in there for one in side.combinations)
        steps = (step, *(there[0].steps if len(there) == 1 else ()))
        return Why(name, row, steps, combinations, all(side.is_complete for side in there))


def _derived(join: Join, table: Table) -> Relation | None:
    """The relation that a join sees as a table; None for a base table."""
    return next((side.relation for side in join.inputs if side.table.name == table.name), None)


def evaluated(
    relation: Relation, tables: Sequence[Table], found: Sequence[Found], memory_limit: int | None
) -> Iterator[pa.Table]:
    """The rows of a relation over some rows, each once, piece by piece."""
    contents = beside(zip(tables, map(_numbered, tables, found), strict=True), memory_limit)
    query = Query("", relation)
    refuse_large_joins(query)
    known = contents.known(query)
    node = contents.graph.add(plan_query(query, known, False, "auto"), Choices("auto", False, known, NAME))
    contents.graph.show(node, NAME, False, None)
    for piece, _ in node.scan(_PIECE):
        yield piece.table()


def _numbered(table: Table, found: Found) -> pa.Table:
    """Rows with their numbers behind them, as a part has them."""
    arrays = [found.rows.arrow(at) for at in range(len(found.rows.types))]
    return pa.table([*arrays, pa.array(np.arange(found.rows.length))], names=[column.name for column in table.columns])


def values_of_group(row: Mapping[str, Any], groups: int) -> str:
    """The group's columns with their values, as text."""
    return values_text(dict(list(row.items())[:groups])) if groups else ""


def order_text(keys: Sequence[SortKey], names: Sequence[str]) -> str:
    """An order as SQL."""
    return ", ".join(f"{names[key.column]}{' DESC' if key.descending else ''}" for key in keys)


def first_rows(limit: int, offset: int) -> str:
    """Which rows an order keeps, in words."""
    many = "first row" if limit == 1 else f"first {limit:,} rows"
    return many + (f" behind {offset:,}" if offset else "")


def _within(partition: Sequence[int], row: Mapping[str, Any]) -> str:
    shown = list(row.items())
    return f", among the rows with {values_text(dict(shown[at] for at in partition))}" if partition else ""


def _numbers(piece: pa.Table, width: int) -> Words:
    lines = [piece.column(at).fill_null(-1).to_numpy() for at in range(width, piece.num_columns)]
    return np.array(lines, np.int64).reshape(len(lines), piece.num_rows).T


def _row(rows: Rows) -> list[Any]:
    return [value_of(rows.arrow(at)) for at in range(len(rows.types))]


def value_of(values: pa.Array | pa.ChunkedArray) -> Any:
    """The one value as a Python object."""
    return reading.to_columns(pa.table({"value": values}))[0][0]


def _constant(value: pa.Array, type: SqlType) -> Value:
    """A value as an expression has it."""
    scalar = value[0]
    if not scalar.is_valid:
        return None
    if type.kind in ("date", "timestamp"):
        return int(scalar.value)
    found: Value = scalar.as_py()
    return found
