"""Why no row with some values is in a relation: the first thing that is missing, from the tables on."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, assert_never

import pyarrow as pa

from livejoin.database.lineage.explained import Asked, Explainer, Trail, first_rows, order_text, value_of
from livejoin.database.lineage.found import DerivedRow, Part, values_text
from livejoin.query.readable_names import readable_names
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
from livejoin.query.traced import Traced, over_some, traced
from livejoin.shown import in_sql

_UNNAMED = re.compile(r"\b[ckv]\d+\b")  # a column that no user named
_UNNAMED_PLACE = re.compile(r"\bc(\d+)\b")
SHOWN = 3
"""Rows that show a reason, at most of each relation."""


@dataclass(frozen=True)
class Missing:
    """What is missing.

    Args:
        reason: A sentence without its full stop.
        rows: Rows that show it.
    """

    reason: str
    rows: tuple[Part, ...] = ()


def missing(explainer: Explainer, relation: Relation, names: Sequence[str], asked: Asked) -> Missing | None:
    """Why no row of a relation has some values; None if one has.

    Args:
        explainer: Finds rows.
        relation: The relation.
        names: The names of its columns.
        asked: Values of some of its columns.
    """
    return _Search(explainer).of(relation, names, asked)


@dataclass(frozen=True)
class _Level:
    """What stands below some projections of a relation.

    Args:
        taken: The rest of the relation.
        names: The names of its columns, those that users gave them where they are shown.
        asked: The values that are known of them.
    """

    taken: Traced
    names: Sequence[str]
    asked: Asked

    def below(self) -> _Level:
        """One projection less."""
        project, rest = self.taken.projects[0], self.taken.below(1)
        names, asked = list(readable_names(rest.relation)), dict[int, pa.Array]()
        for at, output in enumerate(project.outputs):
            if isinstance(output.source, int):
                names[output.source] = self.names[at]
                if at in self.asked:
                    asked[output.source] = self.asked[at]
        return _Level(rest, names, asked)


@dataclass(frozen=True)
class _Search:
    explainer: Explainer

    def of(self, relation: Relation, names: Sequence[str], asked: Asked) -> Missing | None:
        taken = traced(relation)
        if self.explainer.followed(taken, asked, 1).length:
            return None
        level = _Level(taken, names, asked)
        while level.taken.projects:
            below = level.below()
            found = self.explainer.followed(below.taken, below.asked, SHOWN)
            if found.length:
                return self._stopped(level, found)
            level = below
        if not taken.is_derived:
            return self._of_join(level)
        return self._of_stage(taken.join.inputs[0].relation, level.names, level.asked)

    def _stopped(self, level: _Level, found: Trail) -> Missing:
        """Rows come up to a projection, and none with the values leaves it."""
        project = level.taken.projects[0]
        copied = {at: value for at, value in level.asked.items() if isinstance(project.outputs[at].source, int)}
        passed = self.explainer.followed(level.taken, copied, SHOWN)
        if passed.length:
            return self._others(passed, level.names, level.asked)
        condition = project.across or project.written
        if not condition or _UNNAMED.search(condition):
            condition = _with_values(str(project.predicate), found)
        return Missing(f"the condition {condition} is not true", self._rows(found))

    def _others(self, found: Trail, names: Sequence[str], asked: Asked) -> Missing:
        """Rows are there, with other values in some columns."""
        held = {names[at]: value_of(found.values.column(at).slice(0, 1)) for at in asked}
        wanted = {names[at]: value_of(value) for at, value in asked.items()}
        other = {name: value for name, value in held.items() if wanted[name] != value}
        return Missing(f"what is there has {values_text(other or held)}", self._rows(found))

    def _of_stage(self, relation: Relation, names: Sequence[str], asked: Asked) -> Missing | None:
        match relation:
            case Aggregate():
                group = {at: value for at, value in asked.items() if at < relation.groups}
                there = self.explainer.trail(relation, group, SHOWN)
                if there.length:
                    return self._others(there, names, asked)
                below = self.of(relation.input, readable_names(relation.input), group)
                return below and Missing(f"its group has no rows: {below.reason}", below.rows)
            case TopK():
                found = self.explainer.trail(relation.input, asked, SHOWN)
                if not found.length:
                    return self.of(relation.input, names, asked)
                first = first_rows(relation.limit, relation.offset)
                return Missing(f"it is not among the {first} by {order_text(relation.keys, names)}", self._rows(found))
            case Repeated():
                width = len(relation.input.types)
                own = {at: value for at, value in asked.items() if at < width}
                there = self.explainer.trail(relation.input, own, SHOWN)
                if there.length:
                    return self._others(there, names, own)
                return self.of(relation.input, names[:width], own)
            case Ranked() | Running():
                width = len(relation.input.types)
                own = {at: value for at, value in asked.items() if at < width}
                there = self.explainer.trail(relation, own, SHOWN)
                if there.length:
                    return self._others(there, names, asked)
                found = self.explainer.trail(relation.input, own, SHOWN)
                if found.length and isinstance(relation, Ranked):
                    rank = relation.function.upper()
                    reason = f"its {rank} by {order_text(relation.keys, names)} is above {relation.limit:,}"
                    return Missing(reason, self._rows(found))
                return self.of(relation.input, names[:width], own)
            case AsOf():
                width = len(relation.left.types)
                own = {at: value for at, value in asked.items() if at < width}
                there = self.explainer.trail(relation, own, SHOWN)
                if there.length:
                    return self._others(there, names, asked)
                found = self.explainer.trail(relation.left, own, SHOWN)
                if found.length:
                    return Missing(f"there is no row for {relation.written}", self._rows(found))
                return self.of(relation.left, names[:width], own)
            case SetOperation():
                return self._of_sides(relation, names, asked)
            case Numbers():
                return Missing("the constant rows of the query have other values")
            case Join() | Project() | Distinct():
                raise AssertionError("it was looked through")
            case _:
                assert_never(relation)

    def _of_sides(self, relation: SetOperation, names: Sequence[str], asked: Asked) -> Missing:
        left, right = (self.of(side, names, asked) for side in relation.below)
        match relation.kind:
            case "union":
                assert left is not None
                assert right is not None
                reason = f"on the left side of UNION {left.reason}; on the right side {right.reason}"
                return Missing(reason, left.rows + right.rows)
            case "intersect" | "except" if left is not None:
                return Missing(f"on the left side of {relation.kind.upper()} {left.reason}", left.rows)
            case "intersect":
                reason = (
                    "both sides of INTERSECT have such rows, but none is on both"
                    if right is None
                    else f"on the right side of INTERSECT {right.reason}"
                )
                return Missing(reason, () if right is None else right.rows)
            case "except":
                found = self.explainer.trail(relation.right, asked, SHOWN)
                return Missing("the right side of EXCEPT has it", self._rows(found))
            case _:
                assert_never(relation.kind)

    def _of_join(self, level: _Level) -> Missing:
        taken, asked = level.taken, level.asked
        query = taken.join.query
        joined = list[int]()
        before: Trail | None = None
        for atom in _in_order(taken, asked):
            joined.append(atom)
            part, values = _some(taken, joined, asked)
            found = self.explainer.followed(part, values, SHOWN)
            if not found.length:
                return self._no_row(taken, joined, asked, before)
            before = found
        assert before is not None
        for branch in query.branches:
            if branch.above is not None or branch.kind == "optional":
                continue
            part, values = _some(taken, [*joined, *branch.atoms], asked)
            found = self.explainer.followed(part, values, SHOWN)
            tables = " joined with ".join(self.explainer.table_name(taken.join, atom) for atom in branch.atoms)
            if branch.kind == "not exists" and found.length:
                return Missing(f"a row of {tables} matches, which must not be there", self._rows(found))
            if branch.kind == "exists" and not found.length:
                return Missing(f"no row of {tables} matches, which must be there", self._rows(before))
        for branch in query.branches:
            if branch.kind == "optional" and branch.above is None:
                failed = self._no_match(taken, [*joined, *branch.atoms], branch.atoms, asked)
                if failed is not None:
                    return failed
        copied = {at: value for at, value in asked.items() if isinstance(query.outputs[at].source, int)}
        in_core = {at: value for at, value in copied.items() if self._atom(taken, at) in query.core}
        for wanted in (copied, in_core):
            found = self.explainer.followed(taken, wanted, SHOWN)
            if found.length:
                return self._others(found, level.names, asked)
        return Missing("no combination of its rows has all of this", self._rows(before))

    def _no_match(self, taken: Traced, atoms: Sequence[int], below: Sequence[int], asked: Asked) -> Missing | None:
        """That rows of an outer join with the values are there, and fail its conditions; None if that is not why."""
        conditions = [str(one) for atom in below if (one := taken.join.query.atoms[atom].predicate) is not None]
        if not conditions or not any(_outputs_of(taken, atom) & asked.keys() for atom in below):
            return None
        part, values = _some(taken, atoms, asked, below)
        found = self.explainer.followed(part, values, SHOWN)
        if not found.length or self.explainer.followed(_some(taken, atoms, asked)[0], values, SHOWN).length:
            return None
        tables = " joined with ".join(self.explainer.table_name(taken.join, atom) for atom in below)
        reason = f"no row of {tables} that fits passes the condition {' and '.join(conditions)}"
        rows = tuple(
            self.explainer.part(found, at, int(line[at])) for line in found.numbers for at in range(len(atoms))
        )
        return Missing(reason, tuple(row for place, row in enumerate(rows) if row not in rows[:place]))

    def _atom(self, taken: Traced, output: int) -> int:
        source = taken.join.query.outputs[output].source
        assert isinstance(source, int)
        return taken.join.query.head[source].atom

    def _no_row(self, taken: Traced, joined: Sequence[int], asked: Asked, before: Trail | None) -> Missing:
        """The last of some atoms has no row that fits."""
        query, atom = taken.join.query, joined[-1]
        name = self.explainer.table_name(taken.join, atom)
        part, values = _some(taken, joined, asked, [atom])
        predicate = query.atoms[atom].predicate
        if predicate is not None:
            found = self.explainer.followed(part, values, SHOWN)
            if found.length:
                rows = tuple(self.explainer.part(found, len(joined) - 1, int(line[-1])) for line in found.numbers)
                return Missing(f"no row of {name} that fits passes the condition {predicate}", rows)
        own = {at: value for at, value in asked.items() if at in _outputs_of(taken, atom)}
        wanted = self._values(taken, joined, own, before)
        reason = f"there is no row of {name}" + (f" with {values_text(wanted)}" if wanted else "")
        shown = self.explainer.names_of(taken.join, atom)
        own_names = {shown[query.head[_source(taken, at)].column] for at in own}
        nulls = [column for column, value in wanted.items() if value is None and column not in own_names]
        if nulls:
            return Missing(f"NULL equals no {nulls[0]} of {name}", () if before is None else self._rows(before))
        nested = next(
            (one.relation for one in taken.join.inputs if one.table.name == query.atoms[atom].table.name), None
        )
        if nested is not None and before is None:
            below = {query.head[_source(taken, at)].column: value for at, value in own.items()}
            found_below = self.of(nested, readable_names(nested), below)
            if found_below is not None:
                return Missing(f"{reason}: {found_below.reason}", found_below.rows)
        return Missing(reason, () if before is None else self._rows(before))

    def _values(self, taken: Traced, joined: Sequence[int], own: Asked, before: Trail | None) -> Mapping[str, Any]:
        """The values that a row of the last of some atoms must have: those asked for, and those of the rows before."""
        query, atom = taken.join.query, taken.join.query.atoms[joined[-1]]
        names = self.explainer.names_of(taken.join, joined[-1])
        wanted = {names[query.head[_source(taken, at)].column]: value_of(value) for at, value in own.items()}
        if before is None:
            return wanted
        for column, variable in zip(atom.columns, atom.variables, strict=True):
            for place, other in enumerate(joined[:-1]):
                if variable in query.atoms[other].variables and names[column] not in wanted:
                    rows = before.found[place].rows
                    line = pa.array([int(before.numbers[0, place])])
                    values = rows.arrow(query.atoms[other].column_of(variable))
                    wanted[names[column]] = value_of(values.take(line))
        return wanted

    def _rows(self, found: Trail) -> tuple[Part, ...]:
        """The rows of the first combinations, each once."""
        rows = list[Part]()
        for line in range(min(found.length, SHOWN)):
            for part in self.explainer.parts(found, line):
                below = [part]
                if found.traced.is_derived and isinstance(part, DerivedRow):
                    below = [one for combination in part.why.combinations[:SHOWN] for one in combination.parts]
                rows += [one for one in below if one not in rows]
        return tuple(rows)


def _with_values(condition: str, found: Trail) -> str:
    """A condition over columns by their numbers, with their names, or the values of those that have none."""
    taken = found.traced
    names = readable_names(taken.relation)
    written = taken.relation.schema.names
    own = [name if name == shown else None for name, shown in zip(written, names, strict=True)]

    def said(match: re.Match[str]) -> str:
        place = int(match[1])
        name = own[place] if place < len(own) else match[0]
        is_made = name is None or _UNNAMED.fullmatch(name.rpartition(".")[2])
        return in_sql(value_of(found.values.column(place).slice(0, 1))) if is_made or name is None else name

    return _UNNAMED_PLACE.sub(said, condition)


def _source(taken: Traced, output: int) -> int:
    source = taken.join.query.outputs[output].source
    assert isinstance(source, int)
    return source


def _outputs_of(taken: Traced, atom: int) -> set[int]:
    """The outputs that copy a column of an atom."""
    query = taken.join.query
    sources = enumerate(output.source for output in query.outputs)
    return {at for at, source in sources if isinstance(source, int) and query.head[source].atom == atom}


def _some(taken: Traced, atoms: Sequence[int], asked: Asked, without: Sequence[int] = ()) -> tuple[Traced, Asked]:
    """Some atoms of a join, and the values of its outputs that are asked for."""
    part, places = over_some(taken, list(atoms), without)
    return part, {at: asked[place] for at, place in enumerate(places) if place in asked}


def _in_order(taken: Traced, asked: Asked) -> list[int]:
    """The atoms of the core: first one with a value that is asked for, then always one that is joined with those."""
    query = taken.join.query
    left = sorted(query.core, key=lambda atom: (not (_outputs_of(taken, atom) & asked.keys()), atom))
    order, known = list[int](), set[str]()
    while left:
        atom = next((one for one in left if known.intersection(query.atoms[one].variables)), left[0])
        left.remove(atom)
        order.append(atom)
        known.update(query.atoms[atom].variables)
    return order
