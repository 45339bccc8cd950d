"""How far a change of one atom of a join goes: the rows of other atoms that it meets, and the results it is part of.

From the changed row one goes from atom to atom over the columns that are equal, those with few rows first, as an index
nested-loop join would. The rows met are the sum over the atoms of the combinations so far, and the results are the
product of all. Where only some columns of the results are asked for (DISTINCT, GROUP BY, annotations), atoms are left
out that do not lead to one of them: a look-up says there whether there is a row.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from livejoin.families.nodes import MadeRelation
from livejoin.plan.explain.effects.amount import NOTHING, ONE, Amount, Growth
from livejoin.plan.explain.effects.figures import Figures, Meeting
from livejoin.plan.explain.effects.nested import Nested
from livejoin.query import Atom, ConjunctiveQuery
from livejoin.query.scalar import Expression
from livejoin.schema import Table

_MADE = re.compile(r"[a-z]\d+")

Conditions = tuple[Expression | None, Expression | None]

NONE_DERIVED: Mapping[str, Nested] = {}
NONE_MADE: Mapping[int, MadeRelation] = {}

Columns = Mapping[str, int]
"""The variables of an atom, those that an edge says are equal to variables above by their names there."""


@dataclass(frozen=True)
class Hop:
    """A step to the rows of one more atom.

    Args:
        alias: The atom.
        table: The table of the atom.
        columns: The columns of the atom that are compared.
        compared: The columns that they are equal to, of the row that was met before; empty if it is of several rows.
        before: The atoms of these rows.
        rows: The rows of it that each combination so far meets.
        by_key: Whether these are at most one, by a key.
        kept: Whether it leads to a column that is asked for.
        source: Where the figures are from; empty if there are none.
        is_nested: Whether it is over the rows of a nested query.
        met: The rows of it that all combinations together meet; none if it leads to no column that is asked for.
        position: Position of the atom in the join.
        found: As ``rows``, without those of NULLs that stand in the place of none.
        is_selected: Whether only rows that fit a condition of the query on them alone are met.
        different: The columns of which one row is met for each of their different values, as the plan keeps no more of
            the atom than these; empty if each row is met.
    """

    alias: str
    table: str
    columns: tuple[str, ...]
    compared: tuple[str, ...]
    before: tuple[str, ...]
    rows: Amount
    by_key: bool
    kept: bool = True
    source: str = ""
    is_nested: bool = False
    met: Amount = NOTHING
    position: int = -1
    found: Amount = NOTHING
    is_selected: bool = False
    different: tuple[str, ...] = ()


@dataclass(frozen=True)
class Reach:
    """What a change of an atom meets and changes.

    Args:
        hops: The steps from atom to atom.
        met: The rows that are met.
        results: The results of the join that come or go; different ones where only some columns are asked for.
        condition: The condition of the query on the change alone, without which it goes nowhere; empty for none.
        fits: The share of changes that fit it; None if that is not known.
        only: The share of these that are the only match of a row above, without which it goes nowhere; None if there is
            no such condition, or it is not known.
    """

    hops: tuple[Hop, ...]
    met: Amount
    results: Amount
    condition: str = ""
    fits: float | None = None
    only: float | None = None

    def bounded(self) -> Reach:
        """At most as far: a change may stop on its way, where nothing new comes of it."""
        hops = tuple(replace(hop, met=hop.met.bounded()) for hop in self.hops)
        return replace(self, hops=hops, met=self.met.bounded(), results=self.results.bounded())

    def met_by(self, share: float) -> Reach:
        """As far, where only a share of the changes goes on."""
        some = Amount(share, 1.0)
        hops = tuple(replace(hop, met=hop.met.times(some)) for hop in self.hops)
        return replace(self, hops=hops, met=self.met.times(some), only=share)


def reach(
    query: ConjunctiveQuery,
    start: int,
    wanted: frozenset[str] | None,
    figures: Figures,
    derived: Mapping[str, Nested] = NONE_DERIVED,
    made: Mapping[int, MadeRelation] = NONE_MADE,
) -> Reach:
    """How far a change of a row of an atom goes.

    Cost: atoms squared, and that of `Figures.meeting` for each pair of atoms that are compared, once.

    Args:
        query: The join.
        start: Position of the atom.
        wanted: The variables of the results that are asked for; None for all, with multiplicities.
        figures: The known figures of the tables.
        derived: The facts about the tables that are relations of nested queries, by name.
        made: The relations of different values that the plan makes, by the atom that they are right above.
    """
    return _Walk(query, figures, derived, made).from_atom(start, wanted)


class _Walk:
    """A join as it is walked over."""

    def __init__(
        self,
        query: ConjunctiveQuery,
        figures: Figures,
        derived: Mapping[str, Nested],
        made: Mapping[int, MadeRelation],
    ) -> None:
        self._made = made
        self._query = query
        self._derived = derived
        self._figures = figures
        self._names = _names(query)
        self._columns = columns_by_variable(query)

    def from_atom(self, start: int, wanted: frozenset[str] | None) -> Reach:
        query = self._query
        own_branches = set(_above(query, start))
        asked = {i for i, one in enumerate(query.branches) if one.kind != "optional" and i not in own_branches}
        left_out = {atom for i in asked for atom in query.branches[i].atoms}
        left_out |= {a for one in query.branches if one.above in asked for a in one.atoms}
        found = self._own(start)
        if left_out or any(query.branches[i].kind != "optional" for i in own_branches):
            found = found.bounded()
        visited, hops, waiting = [start], dict[int, Hop](), set(range(len(query.atoms))) - left_out - {start}
        parents: dict[int, tuple[int, ...]] = {}
        optional = {a for i, one in enumerate(query.branches) if i not in own_branches for a in one.atoms}
        steps = {atom: self._hop(atom, visited, atom in optional) for atom in sorted(waiting)}
        while steps:
            atom = min(steps, key=lambda one: _order(steps[one][0]))
            hops[atom], parents[atom] = steps.pop(atom)
            visited.append(atom)
            own = self._columns[atom].keys()
            joined = [one for one in steps if not own.isdisjoint(self._columns[one])]
            steps |= {one: self._hop(one, visited, one in optional) for one in joined}
        needed = set(visited)
        if wanted is not None:
            needed = self._needed(visited, parents, frozenset(self._names.get(v, v) for v in wanted))
        results, met = found, replace(found, expected=0.0, most=0.0)
        for atom in visited[1:]:
            hop = hops[atom]
            if atom in needed:
                values = hop if wanted is None else self._of_values(hop, wanted)
                hop = values if wanted is not None and self._reads_values(start, atom, wanted) else hop
                hop = replace(hop, met=results.times(hop.rows))
                results, met, hops[atom] = results.times(values.rows), met.plus(hop.met), hop
                coincide = wanted is not None and not hop.by_key and not tells_apart(query, atom, wanted)
                results = results.bounded() if coincide else results
            else:
                hops[atom] = replace(hop, kept=False)
                if hop.rows.expected is None or hop.rows.expected < 1:
                    results = results.bounded()
        first = query.atoms[start]
        condition = "" if first.predicate is None else first.predicate.text
        fits = None if first.predicate is None else self._figures.share(first.table, first.predicate)
        return Reach(tuple(hops[atom] for atom in visited[1:]), met, results, condition, fits)

    def _of_values(self, hop: Hop, wanted: frozenset[str]) -> Hop:
        """A step of which only some columns are wanted: it meets their different values, however many rows have them.

        Those columns count too that other atoms are compared with, as the plan needs them for its keys.
        """
        own, table = self._columns[hop.position], self._query.atoms[hop.position].table
        read = sorted(own[v] for v in self._asked(hop.position, wanted))
        if table.name in self._derived or hop.by_key or any(set(key) <= set(read) for key in table.keys):
            return hop
        values, rows = self._figures.values(table, read), hop.rows
        compared = sorted(own[v] for v in own if self._column_name(table, own[v]) in hop.columns)
        keys = self._figures.values(table, compared) if compared else 1.0
        if values is None or keys is None or rows.expected is None or values / max(1.0, keys) >= rows.expected:
            return hop
        names = tuple(self._column_name(table, column) for column in read if column not in compared)
        cause = f"different {' and '.join(names) or 'rows'} of {hop.table}"
        causes = (cause + (f" per {' and '.join(hop.columns)}" if hop.columns else ""),)
        most = values if rows.most is None else min(rows.most, values)
        expected = values / max(1.0, keys)
        is_size = rows.is_size or most != rows.most
        found = replace(rows, expected=expected, most=most, causes=causes if rows.growth else (), is_size=is_size)
        return replace(hop, rows=found, different=names)

    def _asked(self, atom: int, wanted: frozenset[str]) -> frozenset[str]:
        """The variables of an atom that are wanted, or compared with those of other atoms."""
        others = [there for other, there in enumerate(self._columns) if other != atom]
        called = {self._names.get(v, v) for v in wanted}
        return frozenset(v for v in self._columns[atom] if v in called or any(v in there for there in others))

    def _reads_values(self, start: int, atom: int, wanted: frozenset[str]) -> bool:
        """Whether a change of one atom reads the different values of another one, which the plan keeps."""
        made = self._made.get(atom)
        if made is None or start in made.below:
            return False
        return self._asked(atom, wanted) <= {self._names.get(v, v) for v in made.variables}

    def _own(self, start: int) -> Amount:
        """The rows of the change itself that take part."""
        atom = self._query.atoms[start]
        if atom.predicate is None:
            return ONE
        share = self._figures.share(atom.table, atom.predicate)
        return ONE.bounded() if share is None else Amount(share, 1.0)

    def _is_nested(self, table: Table) -> bool:
        """Whether it is the relation of a nested query that users gave no name."""
        made = any(column.is_made or _MADE.fullmatch(column.name) for column in table.columns)
        return made and table.name in self._derived

    def _table_name(self, table: Table) -> str:
        """What users call a table; rows of one with computed columns are called after it, as ``orders with b - 1``."""
        return table.name.partition(" with ")[0] if table.name in self._derived else table.name

    def _column_name(self, table: Table, column: int) -> str:
        name = table.columns[column].name
        return name if table.name not in self._derived or name.isidentifier() else "a computed value"

    def _hop(self, atom: int, visited: Sequence[int], is_optional: bool) -> tuple[Hop, tuple[int, ...]]:
        """The step to an atom, and the atoms whose rows it is compared with."""
        query, own = self._query, self._columns[atom]
        one = query.atoms[atom]
        known = [v for v in own if any(v in self._columns[other] for other in visited)]
        columns = tuple(own[v] for v in known)
        names = tuple(self._column_name(one.table, column) for column in columns)
        inner = self._derived.get(one.table.name)
        by_key = any(set(key) <= set(columns) for key in one.table.keys)
        by_key |= inner is not None and inner.is_key(columns)
        nested = self._is_nested(one.table)
        meeting, sources = self._meeting(one, own, known, visited)
        if by_key:
            expected = 1.0 if meeting is None else min(1.0, meeting.expected)
            rows = Amount(expected, 1.0, meeting is None)
        else:
            what = f"rows of {self._table_name(one.table)}" + (f" per {' and '.join(names)}" if names else "")
            what = f"rows of a nested query{' per key' if columns else ''}" if nested else what
            growth = Growth.NONE if one.table.static else Growth.KEY if names else Growth.TABLE
            causes = (what,) if growth else ()
            mean, most = (None, None) if meeting is None else (meeting.expected, meeting.most)
            is_size = meeting is not None and meeting.is_size
            rows = Amount(mean, most, causes=causes, growth=growth, is_size=is_size)
        limit = (one.table.settings.window_rows or math.inf) if inner is None else inner.limit
        if not by_key and limit < math.inf:
            rows = rows.capped(limit)
        if inner is not None:
            rows = rows.among(inner.rows)
        if meeting is not None and not meeting.is_mean:
            rows = rows.bounded()
        if one.predicate is not None and (meeting is None or not meeting.fits):
            share = self._figures.share(one.table, one.predicate)
            expected_ = rows.expected if share is None or rows.expected is None else rows.expected * share
            rows = replace(rows, expected=expected_, is_bound=rows.is_bound or share is None)
        found = rows
        if is_optional and rows.expected is not None:
            most = None if rows.most is None else max(1.0, rows.most)
            rows = replace(rows, expected=max(1.0, rows.expected), most=most, is_bound=rows.is_bound and not by_key)
        source = "" if meeting is None else meeting.source
        compared: tuple[str, ...] = ()
        if len(sources) == 1 and not self._is_nested(query.atoms[sources[0]].table):
            other = query.atoms[sources[0]].table
            compared = tuple(self._column_name(other, self._columns[sources[0]][v]) for v in known)
        before = tuple(query.atoms[source].alias for source in sources)
        called = self._table_name(one.table)
        alias = called if one.alias == one.table.name else one.alias
        hop = Hop(alias, called, names, compared, before, rows, by_key, True, source, nested, position=atom)
        hop = replace(hop, found=found, is_selected=one.predicate is not None)
        return hop, sources

    def _meeting(
        self, one: Atom, own: Columns, known: Sequence[str], visited: Sequence[int]
    ) -> tuple[Meeting | None, tuple[int, ...]]:
        """The rows of an atom that a combination of rows of others meets, and these others."""
        if not known:
            return (None if one.table.name in self._derived else self._figures.rows(one.table)), ()
        for other in visited:
            if set(known) <= self._columns[other].keys():
                conditions = (self._query.atoms[other].predicate, one.predicate)
                return self._between(other, one, own, known, conditions), (other,)
        whole = self._figures.rows(one.table)
        holders = {v: next(other for other in visited if v in self._columns[other]) for v in known}
        groups = {other: [v for v in known if holders[v] == other] for other in holders.values()}
        found = [self._between(other, one, own, some) for other, some in groups.items()]
        met = [part for part in found if part is not None]
        if whole is None or not whole.expected or len(met) < len(found):
            return None, tuple(groups)
        share = math.prod(part.expected / whole.expected for part in met)
        most = min((part.most for part in met if part.most is not None), default=None)
        return Meeting(whole.expected * share, most, met[0].source), tuple(groups)

    def _between(
        self, other: int, one: Atom, own: Columns, known: Sequence[str], conditions: Conditions = (None, None)
    ) -> Meeting | None:
        """The rows of an atom that a row of another one meets by some variables."""
        columns, others = zip(*sorted((self._columns[other][v], own[v]) for v in known), strict=True)
        table = self._query.atoms[other].table
        here, there = self._base(table, columns), self._base(one.table, others)
        if there is None:
            return None
        met, met_columns, nulls, each = there
        # without an origin as rows of the one table meet one another: none has a more frequent key
        first, first_columns, first_nulls, own_each = here or there
        if each is None and own_each is None:
            return self._figures.meeting(first, first_columns, met, met_columns, conditions)
        found = self._figures.meeting(first, first_columns, met, met_columns, nulls=nulls and first_nulls)
        if found is None:
            return None
        many = ONE if each is None else each
        expected = None if many.expected is None else found.expected * many.expected
        most = None if found.most is None or many.most is None else found.most * many.most
        if expected is None:
            return None
        return replace(found, expected=expected, most=most, is_mean=here is not None and not many.is_bound)

    def _base(
        self, table: Table, columns: tuple[int, ...]
    ) -> tuple[Table, tuple[int, ...], bool, Amount | None] | None:
        """The base columns that some columns are, and how many rows each of these rows is in; None for its own row.

        Before that whether NULLs are equal.
        """
        inner = self._derived.get(table.name)
        if inner is None:
            return table, columns, False, None
        found = inner.origin(columns)
        return None if found is None else (found[0].table, found[0].columns, found[0].nulls, found[1])

    def _needed(
        self, visited: Sequence[int], parents: Mapping[int, tuple[int, ...]], wanted: frozenset[str]
    ) -> set[int]:
        """The atoms that bring a wanted variable first, and those on the way to them."""
        known: set[str] = set()
        needed = {visited[0]}
        for atom in visited:
            bring = (self._columns[atom].keys() - known) & wanted
            known |= self._columns[atom].keys()
            waiting = [atom] if bring else []
            while waiting:
                one = waiting.pop()
                needed.add(one)
                waiting += [parent for parent in parents.get(one, ()) if parent not in needed]
        return needed


def tells_apart(query: ConjunctiveQuery, atom: int, wanted: frozenset[str]) -> bool:
    """Whether different rows of an atom differ in the wanted variables."""
    one = query.atoms[atom]
    shown = {column for column, v in zip(one.columns, one.variables, strict=True) if v in wanted}
    return any(shown.issuperset(key) for key in one.table.keys)


def grown(table: Table, columns: Sequence[int]) -> str:
    """The rows of a base table for each key, in words."""
    per = " and ".join(table.columns[column].name for column in columns)
    return f"rows of {table.name}" + (f" per {per}" if per else "")


def _order(hop: Hop) -> tuple[bool, bool, float]:
    """Steps by keys come first, those over no columns last."""
    expected = hop.rows.expected
    return (not hop.by_key, not hop.columns, math.inf if expected is None else expected)


def _names(query: ConjunctiveQuery) -> Mapping[str, str]:
    """For variables of branches those above them that an edge says are equal."""
    names: dict[str, str] = {}
    for branch in query.branches:
        for outer, inner in branch.key:
            names.setdefault(inner, names.get(outer, outer))
    return names


def columns_by_variable(query: ConjunctiveQuery) -> tuple[Columns, ...]:
    """The columns of each atom."""
    names = _names(query)
    return tuple(
        {names.get(v, v): column for v, column in zip(atom.variables, atom.columns, strict=True)}
        for atom in query.atoms
    )


def called_above(query: ConjunctiveQuery, variables: frozenset[str]) -> frozenset[str]:
    """Some variables by the names that `Columns` have."""
    names = _names(query)
    return frozenset(names.get(v, v) for v in variables)


def is_asked(query: ConjunctiveQuery, atom: int) -> bool:
    """Whether of an atom, and of all below it, no more is asked than whether there is a row."""
    return any(query.branches[place].kind != "optional" for place in _above(query, atom))


def is_optional(query: ConjunctiveQuery, atom: int) -> bool:
    """Whether results are there without a row of an atom, with NULLs."""
    return any(query.branches[place].kind == "optional" for place in _above(query, atom))


def _above(query: ConjunctiveQuery, atom: int) -> Iterator[int]:
    """The branch that an atom is in, and those above it."""
    place = next((i for i, one in enumerate(query.branches) if atom in one.atoms), None)
    while place is not None:
        yield place
        place = query.branches[place].above
