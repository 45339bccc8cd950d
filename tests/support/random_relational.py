"""A strategy for whole queries: DISTINCT, groups with aggregates, set operations, and the first rows of an order.

`CLASSES` names what is drawn; every class is drawn over random joins (`random_queries`) of random expressions
(`random_terms`).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import strategies as st

from random_queries import draw_join
from random_terms import Term, Terms
from scenario import ColumnType, QuerySpec, TableSpec

CLASSES = ("distinct", "groups", "global", "sets", "first")
CYCLIC = 6  # one join in so many is cyclic

MAX_ATOMS = 5

_AGGREGATED = ("groups", "global")


@dataclass
class _Select:
    """A SELECT without ORDER BY, with its outputs called o0, o1, ... in the plain text."""

    terms: Terms
    outputs: list[Term] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    keys: list[Term] = field(default_factory=list)
    distinct: bool = False
    body: tuple[str, str] = ("", "")
    grouping: tuple[str, str] = ("", "")
    groups: tuple[int, ...] | None = None
    shows_groups: bool = True

    @property
    def text(self) -> str:
        items = [t.text + (f" AS {name}" if name else "") for t, name in zip(self.outputs, self.names, strict=True)]
        return f"SELECT {'DISTINCT ' if self.distinct else ''}{', '.join(items)} {self.body[0]}{self.grouping[0]}"

    @property
    def plain(self) -> str:
        items = [f"{t.plain} AS o{i}" for i, t in enumerate(self.outputs)]
        items += [f"{t.plain} AS k{i}" for i, t in enumerate(self.keys)]
        return f"SELECT {'DISTINCT ' if self.distinct else ''}{', '.join(items)} {self.body[1]}{self.grouping[1]}"

    @property
    def join(self) -> str:
        """The rows under the groups, to be counted."""
        return f"SELECT 1 AS o0 {self.body[1]}"

    @property
    def has_lists(self) -> bool:
        return any(t.family == "list" for t in self.outputs)


@st.composite
def relational_queries(draw: st.DrawFn, tables: tuple[TableSpec, ...], classes: tuple[str, ...] = CLASSES) -> QuerySpec:
    """A query of one of some classes over the tables."""
    builder = _Builder(draw, tables)
    match draw(st.sampled_from(classes)):
        case "sets":
            return builder.set_operation()
        case "first":
            return builder.first_rows()
        case kind:
            return _whole(builder.select(kind))


def _whole(select: _Select) -> QuerySpec:
    return QuerySpec(select.text, select.plain, (select.join,), select.groups, select.shows_groups)


@dataclass
class _Builder:
    draw: st.DrawFn
    tables: tuple[TableSpec, ...]

    def select(self, kind: str, types: tuple[ColumnType, ...] | None = None, max_atoms: int = MAX_ATOMS) -> _Select:
        """A SELECT of a class: rows, distinct, groups or global.

        Args:
            kind: The class.
            types: Types of the outputs, None for any, lists among them.
            max_atoms: Most atoms of its join.
        """
        acyclic = self.draw(st.integers(1, CYCLIC)) < CYCLIC
        join = draw_join(self.draw, self.tables, max_atoms, acyclic)
        body = join.body()
        select = _Select(Terms(self.draw, join), body=body, distinct=kind == "distinct")
        if kind in _AGGREGATED:
            self._aggregate(select, kind, types)
        elif types is None:
            select.outputs = [select.terms.scalar() for _ in range(self.draw(st.sampled_from([1, 2, 3])))]
        else:
            select.outputs = [select.terms.of_family(t) for t in types]
        if not select.names:
            select.names = [self._name(i) for i in range(len(select.outputs))]
        return select

    def _name(self, position: int) -> str:
        return f"x{position}" if self.draw(st.booleans()) else ""

    def _aggregate(self, select: _Select, kind: str, types: tuple[ColumnType, ...] | None) -> None:
        """Groups, outputs and HAVING."""
        terms = select.terms
        groups: list[Term] = []
        if types is None:
            number = 0 if kind == "global" else self.draw(st.sampled_from([1, 2, 1, 3]))
            # Columns and products alone are what annotations can give.
            annotated = self.draw(st.booleans())
            groups = [terms.column() if annotated else terms.scalar() for _ in range(number)]
            aggregates = [
                terms.aggregate(annotated)
                for _ in range(self.draw(st.sampled_from([1, 2, 3] if number == 0 else [1, 2, 3, 0, 2, 1, 4])))
            ]
            computed = [self._over(a, groups) if self.draw(st.integers(0, 3)) == 3 else a for a in aggregates]
            shown = list(groups)
            if groups and self.draw(st.integers(0, 5)) == 5:
                shown = [g for g in groups if self.draw(st.booleans())]
            outputs = shown + computed or list(groups)
            select.outputs = self.draw(st.permutations(outputs)) if self.draw(st.booleans()) else outputs
        else:
            for t in types:
                value = terms.of_family(t)
                grouped = kind == "groups" and self.draw(st.booleans())
                if grouped:
                    groups.append(value)
                elif t.family == "integer" and self.draw(st.booleans()):
                    value = Term("COUNT(*)", "count(*)", "integer")
                else:
                    value = value.within(self.draw(st.sampled_from(["MIN({0})", "MAX({0})"])), t.family)
                select.outputs.append(value)
            if kind == "groups" and not groups:
                groups.append(terms.scalar())
        select.names = [self._name(i) for i in range(len(select.outputs))]
        places = {t.text: i for i, t in reversed(list(enumerate(select.outputs)))}
        select.shows_groups = all(g.text in places for g in groups)
        select.groups = tuple(places[g.text] for g in groups if g.text in places)
        text = plain = ""
        if groups:
            written = [self._grouped_by(g, places.get(g.text), select.names) for g in groups]
            text, plain = f" GROUP BY {', '.join(written)}", f" GROUP BY {', '.join(g.plain for g in groups)}"
        if self.draw(st.integers(0, 3)) == 3:
            having = self._having(terms, groups, select)
            text, plain = f"{text} HAVING {having.text}", f"{plain} HAVING {having.plain}"
        select.grouping = text, plain

    def _grouped_by(self, group: Term, place: int | None, names: list[str]) -> str:
        """An expression of GROUP BY as it is, by its position or by its name."""
        ways = [group.text, group.text]
        if place is not None:
            ways.append(str(place + 1))
            if names[place]:
                ways.append(names[place])
        return self.draw(st.sampled_from(ways))

    def _over(self, aggregate: Term, groups: list[Term]) -> Term:
        """An expression over an aggregate, and now and then over a group."""
        same = [g for g in groups if g.family == aggregate.family and aggregate.family != "number"]
        if same and self.draw(st.booleans()):
            group = self.draw(st.sampled_from(same))
            return Term(
                f"COALESCE({aggregate.text}, {group.text})", f"COALESCE({aggregate.plain}, {group.plain})", group.family
            )
        match aggregate.family:
            case "integer":
                return aggregate.within(
                    self.draw(st.sampled_from(["{0} % 5", "({0} IS NULL)", "CAST({0} AS STRING)"])), "expression"
                )
            case "double":
                return aggregate.within("{0} / 2", "double")
            case "boolean":
                return aggregate.within("NOT {0}", "boolean")
            case "string":
                return aggregate.within("{0} || '!'", "string")
            case "list":
                return aggregate
            case _:
                return aggregate.within("CASE WHEN {0} IS NULL THEN 'none' ELSE 'some' END", "string")

    def _having(self, terms: Terms, groups: list[Term], select: _Select) -> Term:
        """A condition over aggregates, over groups or over both."""
        count_all = Term("COUNT(*)", "count(*)", "integer")
        choices = [count_all.within(shape, "boolean") for shape in ("{0} > 1", "{0} % 2 = 1", "{0} < 3")]
        for term in [*groups, *[t for t in select.outputs if t.family != "list"]]:
            choices.append(term.within("({0}) IS NOT NULL", "boolean"))
            if term.family in ("integer", "double", "number"):
                choices.append(term.within("{0} > 0", "boolean"))
            if term.family == "boolean":
                choices.append(term.within("{0}", "boolean"))
        for name, term in zip(select.names, select.outputs, strict=True):
            if name and term not in groups and term.family != "list":
                choices.append(Term(f"{name} IS NOT NULL", f"({term.plain}) IS NOT NULL", "boolean"))
        another = terms.aggregate()
        if another.family != "list":
            choices.append(another.within("({0}) IS NOT NULL", "boolean"))
        one, two = self.draw(st.sampled_from(choices)), self.draw(st.sampled_from(choices))
        if self.draw(st.booleans()):
            return one
        word = self.draw(st.sampled_from(["AND", "OR"]))
        return Term(f"({one.text}) {word} ({two.text})", f"({one.plain}) {word} ({two.plain})", "boolean")

    def set_operation(self) -> QuerySpec:
        """UNION, EXCEPT and INTERSECT, with and without ALL, of two or three SELECTs."""
        kinds = [c.type for t in self.tables for c in t.columns]
        types = tuple(self.draw(st.sampled_from(kinds)) for _ in range(self.draw(st.sampled_from([1, 2, 3]))))
        sides = []
        for _ in range(self.draw(st.sampled_from([2, 2, 2, 3]))):
            kind = self.draw(st.sampled_from(["rows", "rows", "distinct", "groups", "global"]))
            sides.append(self.select(kind, types, max_atoms=3))
        text, plain = sides[0].text, sides[0].plain
        nested = self.draw(st.booleans())
        for number, side in enumerate(sides[1:]):
            word = self.draw(st.sampled_from(["UNION", "EXCEPT", "INTERSECT"])) + self.draw(
                st.sampled_from(["", " ALL"])
            )
            right = f"({side.text})" if self.draw(st.booleans()) else side.text
            if number == 1:
                # INTERSECT binds more tightly than the others.
                left = (f"({text})", f"({plain})")
                text, plain = (
                    (f"({side.text}) {word} {left[0]}", f"({side.plain}) {word} {left[1]}")
                    if nested
                    else (f"{left[0]} {word} {right}", f"{left[1]} {word} ({side.plain})")
                )
            else:
                text, plain = f"{text} {word} {right}", f"({plain}) {word} ({side.plain})"
        joins = tuple(side.join for side in sides)
        if self.draw(st.integers(0, 4)) == 4:
            keys = [(str(i + 1), f"o{i}") for i in range(len(types))]
            return self._first(
                f"({text})" if self.draw(st.booleans()) else text,
                f"SELECT * FROM ({plain}) AS q({_names(len(types))})",
                keys,
                len(types),
                joins,
            )
        return QuerySpec(text, plain, joins)

    def first_rows(self) -> QuerySpec:
        """ORDER BY with LIMIT over a SELECT of any class, by outputs or by what it does not show."""
        kind = self.draw(st.sampled_from(["rows", "rows", "distinct", "groups", "groups", "global"]))
        select = self.select(kind)
        while select.has_lists:
            select = self.select("distinct")
        keys = [(str(i + 1), f"o{i}") for i in range(len(select.outputs))]
        keys += [(name, f"o{i}") for i, name in enumerate(select.names) if name]
        if kind in ("rows", *_AGGREGATED) and not select.distinct:
            hidden = select.terms.scalar() if kind == "rows" else select.terms.aggregate()
            if hidden.family != "list" and not hidden.text.isdigit():
                select.keys.append(hidden)
                keys += [(hidden.text, "k0")] * 2
        return self._first(select.text, select.plain, keys, len(select.outputs), (select.join,))

    def _first(
        self, text: str, plain: str, keys: list[tuple[str, str]], width: int, joins: tuple[str, ...]
    ) -> QuerySpec:
        written, plain_keys = [], []
        for _ in range(self.draw(st.sampled_from([1, 1, 2]))):
            key, plain_key = self.draw(st.sampled_from(keys))
            descending = self.draw(st.booleans())
            nulls = self.draw(st.sampled_from(["", "", " NULLS FIRST", " NULLS LAST"]))
            direction = self.draw(st.sampled_from([" DESC"] if descending else ["", " ASC"]))
            written.append(key + direction + nulls)
            plain_keys.append(
                plain_key
                + (" DESC" if descending else " ASC")
                + (nulls or (" NULLS LAST" if descending else " NULLS FIRST"))
            )
        plain_keys += [f"o{i} ASC NULLS FIRST" for i in range(width)]
        limit, offset = (
            self.draw(st.sampled_from([2, 1, 3, 2, 5, 10, 0])),
            self.draw(st.sampled_from([0, 0, 0, 0, 1, 2])),
        )
        end = f" LIMIT {limit}" + (f" OFFSET {offset}" if offset else "")
        ordered = f"SELECT {_names(width)} FROM ({plain}) AS q ORDER BY {', '.join(plain_keys)}{end}"
        return QuerySpec(f"{text} ORDER BY {', '.join(written)}{end}", ordered, joins)


def _names(width: int) -> str:
    return ", ".join(f"o{i}" for i in range(width))
