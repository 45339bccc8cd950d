"""A strategy for random conjunctive queries, rendered as SQL in mixed syntax.

Atoms are drawn along a random tree: every atom shares variables with one earlier atom only (its parent), which is the
running intersection property, so that the query is acyclic, and every acyclic query can be drawn. Now and then the tree
begins with a cycle of three to five atoms.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import permutations

from hypothesis import strategies as st

from scenario import ColumnType, QuerySpec, TableSpec

Occurrence = tuple[int, int]  # (atom, column)


@dataclass
class Atom:
    """An atom of the query: a table with an alias, and the variable of each column."""

    alias: str
    table: TableSpec
    variables: list[int]

    def name(self, column: int) -> str:
        return self.table.columns[column].name

    def type(self, column: int) -> ColumnType:
        return self.table.columns[column].type


@st.composite
def queries(draw: st.DrawFn, tables: tuple[TableSpec, ...], max_atoms: int = 6) -> QuerySpec:
    """A join over the tables; one in eight is cyclic, with at most 5 atoms."""
    acyclic = draw(st.integers(1, 8)) < 8
    rendering = draw_join(draw, tables, max_atoms if acyclic else min(5, max_atoms), acyclic)
    text, plain = rendering.body()
    select, plain_select = rendering.select()
    return QuerySpec(f"SELECT {select} {text}", f"SELECT {plain_select} {plain}")


def draw_join(
    draw: st.DrawFn, tables: tuple[TableSpec, ...], max_atoms: int = 6, acyclic: bool = True
) -> JoinRendering:
    """The FROM and WHERE clauses of a query; without ``acyclic`` some atoms form a cycle, if the tables allow it."""
    atoms, families = ([], []) if acyclic else _draw_cycle(draw, tables)
    _add_atoms(draw, tables, max_atoms, atoms, families)
    order = draw(st.permutations(range(len(atoms)))) if draw(st.booleans()) else list(range(len(atoms)))
    return JoinRendering(draw, [atoms[i] for i in order])


def _draw_cycle(draw: st.DrawFn, tables: tuple[TableSpec, ...]) -> tuple[list[Atom], list[str]]:
    """Atoms in a circle, each sharing a variable with the next, and the families of their variables."""
    pairs = [
        (table, one, two)
        for table in tables
        for one, two in permutations(range(len(table.columns)), 2)
        if table.columns[one].type.family == table.columns[two].type.family
    ]
    if not pairs:
        return [], []
    family = draw(st.sampled_from(sorted({table.columns[one].type.family for table, one, _ in pairs})))
    pairs = [(table, one, two) for table, one, two in pairs if table.columns[one].type.family == family]
    length = draw(st.sampled_from([3, 3, 4, 3, 4, 5]))
    atoms, families = [], [family] * length
    for number in range(length):
        table, one, two = draw(st.sampled_from(pairs))
        variables = []
        for position, column in enumerate(table.columns):
            if position in (one, two):
                variables.append((number + (position == two)) % length)
            else:
                variables.append(len(families))
                families.append(column.type.family)
        atoms.append(Atom("", table, variables))
    return atoms, families


def _add_atoms(
    draw: st.DrawFn, tables: tuple[TableSpec, ...], max_atoms: int, atoms: list[Atom], families: list[str]
) -> None:
    """Add atoms along a tree, at least one if there is none yet, and give all of them aliases."""
    fresh = len(families)
    size = draw(st.sampled_from([n for n in (2, 3, 1, 2, 3, 4, 4, 5, 6) if n <= max_atoms]))
    for number in range(len(atoms), size):
        table = draw(st.sampled_from(tables))
        variables: list[int] = []
        parent = atoms[draw(st.integers(0, number - 1))] if number else None
        cartesian = draw(st.sampled_from([False] * 12 + [True]))
        for position, column in enumerate(table.columns):
            family = column.type.family
            shared = [v for v in parent.variables if families[v] == family] if parent and not cartesian else []
            own = [v for v in variables if families[v] == family]
            first_chance = bool(shared) and not any(v in shared for v in variables)
            action = draw(st.sampled_from(["share", "fresh", "share", "own"]))
            if shared and (action == "share" or (first_chance and position == len(table.columns) - 1)):
                variables.append(draw(st.sampled_from(shared)))
            elif own and action == "own" and draw(st.integers(0, 3)) == 3:
                variables.append(draw(st.sampled_from(own)))
            else:
                variables.append(fresh)
                families.append(family)
                fresh += 1
        atoms.append(Atom("", table, variables))
    uses = Counter(atom.table.name for atom in atoms)
    for number, atom in enumerate(atoms):
        plain = uses[atom.table.name] == 1 and draw(st.integers(0, 3)) == 3
        atom.alias = atom.table.name if plain else f"t{number}"


@dataclass
class _Visible:
    """A column that `*` shows: its name and the occurrences that it stands for (several after USING)."""

    name: str
    occurrences: list[Occurrence]


@dataclass
class JoinRendering:
    """Renders atoms, in the order of FROM, as SQL text; all choices are drawn."""

    draw: st.DrawFn
    atoms: list[Atom]
    visible: list[_Visible] = field(default_factory=list)

    def body(self) -> tuple[str, str]:
        """FROM and WHERE, as the engine's text and as plain text; to be called first."""
        group, using = self._joins()
        on: list[list[str]] = [[] for _ in self.atoms]
        where: list[str] = []
        plain_where: list[str] = []
        for left, right in self._equalities(using):
            shapes, equals = self._equality(left)
            plain_sides = [shape.format(self.plain(one)) for shape, one in zip(shapes, (left, right), strict=True)]
            plain_where.append(equals.replace("<=>", "IS NOT DISTINCT FROM").join(plain_sides))
            last = max(left[0], right[0])
            inside = group[left[0]] == group[right[0]] and group[last] != last
            sides = [shape.format(self.reference(one)) for shape, one in zip(shapes, (left, right), strict=True)]
            if self.draw(st.booleans()):
                sides.reverse()
            target = on[last] if inside and last not in using and self.draw(st.integers(0, 4)) else where
            target.append(equals.join(sides))
        for shape, columns in self._across():
            where.append(shape.format(*map(self.plain, columns)))
            plain_where.append(where[-1])
        plain_where += [f"{self.plain(p)} = {self.plain(q)}" for pairs in using.values() for p, q in pairs]
        for number in range(len(self.atoms)):
            for engine, plain in self._predicates(number):
                joined = group[number] != number and number not in using
                (on[number] if joined and self.draw(st.booleans()) else where).append(engine)
                plain_where.append(plain)
        text = f"FROM {self._from(group, using, on)}"
        if where:
            text += " WHERE " + " AND ".join(self.draw(st.permutations(where)))
        plain_from = ", ".join(f"{a.table.name} AS {a.alias}" for a in self.atoms)
        plain_text = f"FROM {plain_from}"
        if plain_where:
            plain_text += " WHERE " + " AND ".join(f"({p})" for p in plain_where)
        return text, plain_text

    def _joins(self) -> tuple[list[int], dict[int, list[tuple[Occurrence, Occurrence]]]]:
        """The first atom of each atom's comma group, and the pairs of columns that USING joins, by atom."""
        style = self.draw(st.sampled_from(["comma", "join", "mixed"]))
        group: list[int] = []
        using: dict[int, list[tuple[Occurrence, Occurrence]]] = {}
        shown: list[_Visible] = []
        for number, atom in enumerate(self.atoms):
            own = [_Visible(atom.name(c), [(number, c)]) for c in range(len(atom.variables))]
            starts = number == 0 or style == "comma" or (style == "mixed" and self.draw(st.booleans()))
            group.append(number if starts else group[-1])
            if starts:
                self.visible += shown
                shown = own
                continue
            pairs = self._using(shown, own) if self.draw(st.booleans()) else []
            if pairs:
                using[number] = [(left.occurrences[0], right.occurrences[0]) for left, right in pairs]
                merged = [_Visible(left.name, left.occurrences + right.occurrences) for left, right in pairs]
                gone = {id(column) for pair in pairs for column in pair}
                shown = merged + [c for c in shown + own if id(c) not in gone]
            else:
                shown = shown + own
        self.visible += shown
        return group, using

    def _using(self, shown: list[_Visible], own: list[_Visible]) -> list[tuple[_Visible, _Visible]]:
        """Pairs of equally named columns that share a variable, of which the left name is not ambiguous."""
        pairs = []
        for right in own:
            left = [c for c in shown if c.name == right.name]
            if len(left) == 1 and self._variable(left[0].occurrences[0]) == self._variable(right.occurrences[0]):
                pairs.append((left[0], right))
        return pairs

    def _variable(self, occurrence: Occurrence) -> int:
        return self.atoms[occurrence[0]].variables[occurrence[1]]

    def _equalities(self, using: dict[int, list[tuple[Occurrence, Occurrence]]]) -> list[tuple[Occurrence, Occurrence]]:
        """For every variable, equalities that connect all of its occurrences, and now and then a redundant one."""
        linked = {right for pairs in using.values() for _, right in pairs}
        occurrences: dict[int, list[Occurrence]] = {}
        result = []
        for number, atom in enumerate(self.atoms):
            for column, variable in enumerate(atom.variables):
                earlier = occurrences.setdefault(variable, [])
                here = (number, column)
                if earlier and (here not in linked or self.draw(st.integers(0, 5)) == 5):
                    result.append((self.draw(st.sampled_from(earlier)), here))
                earlier.append(here)
        return result

    def _equality(self, one: Occurrence) -> tuple[tuple[str, str], str]:
        """Templates of the two sides of an equality and its sign: mostly columns, now and then computed ones."""
        if self.draw(st.integers(0, 9)) < 8:
            return ("{}", "{}"), " = "
        family = self.atoms[one[0]].type(one[1]).family
        changed = {"integer": "({} + 0)", "string": "({} || '')", "boolean": "(NOT {})"}.get(family)
        sides = [("COALESCE({0}, {0})", "{}"), ("{}", "COALESCE({0}, {0})")]
        if changed is not None:
            sides.append((changed, changed))
        return self.draw(st.sampled_from(sides)), self.draw(st.sampled_from([" = ", " = ", " <=> "]))

    def _across(self) -> list[tuple[str, list[Occurrence]]]:
        """Now and then a condition over columns of two atoms that equalities connect, with one `{}` a column."""
        if self.draw(st.integers(0, 5)) < 5:
            return []
        parts: list[set[int]] = []
        for atom in self.atoms:
            known = [part for part in parts if part & set(atom.variables)]
            parts = [part for part in parts if part not in known]
            parts.append(set(atom.variables).union(*known))
        everything = [(n, c) for n, atom in enumerate(self.atoms) for c in range(len(atom.variables))]
        pairs = [
            (one, two)
            for one, two in permutations(everything, 2)
            if one[0] < two[0] and self._types(one, two)
            if any({self._variable(one), self._variable(two)} <= part for part in parts)
        ]
        if not pairs:
            return []
        shapes = ["{} < {}", "{} <> {}", "({} IS NULL OR {} IS NOT NULL)", "NOT ({} = {})", "COALESCE({} >= {}, TRUE)"]
        return [(self.draw(st.sampled_from(shapes)), list(self.draw(st.sampled_from(pairs))))]

    def _types(self, one: Occurrence, two: Occurrence) -> bool:
        """Whether two columns are of one family."""
        return self.atoms[one[0]].type(one[1]).family == self.atoms[two[0]].type(two[1]).family

    def plain(self, occurrence: Occurrence) -> str:
        """A column as plain text."""
        atom = self.atoms[occurrence[0]]
        return f"{atom.alias}.{atom.name(occurrence[1])}"

    def reference(self, occurrence: Occurrence) -> str:
        """A column as the engine's text names it: without its alias where that is not ambiguous, in any case."""
        atom = self.atoms[occurrence[0]]
        name = atom.name(occurrence[1])
        same = [column for column in self.visible if column.name == name]
        if len(same) == 1 and self.draw(st.booleans()):
            return self._any_case(name)
        return f"{self._any_case(atom.alias)}.{self._any_case(name)}"

    def _any_case(self, name: str) -> str:
        return name.swapcase() if self.draw(st.integers(0, 9)) == 9 else name

    def _from(
        self, group: list[int], using: dict[int, list[tuple[Occurrence, Occurrence]]], on: list[list[str]]
    ) -> str:
        parts: list[str] = []
        for number, atom in enumerate(self.atoms):
            text = self._any_case(atom.table.name)
            if atom.alias != atom.table.name:
                text += (" AS " if self.draw(st.booleans()) else " ") + atom.alias
            if group[number] == number:
                parts.append(text)
            elif number in using:
                names = ", ".join(self.atoms[number].name(right[1]) for _, right in using[number])
                parts[-1] += f" JOIN {text} USING ({names})"
            elif on[number]:
                join = "JOIN" if self.draw(st.booleans()) else "INNER JOIN"
                parts[-1] += f" {join} {text} ON {' AND '.join(on[number])}"
            else:
                parts[-1] += f" CROSS JOIN {text}"
        return ", ".join(parts)

    def _predicates(self, number: int) -> list[tuple[str, str]]:
        """Predicates over one atom, as the engine's text and as plain text."""
        result = []
        while self.draw(st.sampled_from([False] * 6 + [True])) and len(result) < 3:
            templates = [self.predicate(number)]
            if self.draw(st.integers(0, 3)) == 3:
                templates.append(self.predicate(number))
            shapes = " OR ".join(t for t, _ in templates)
            columns = [o for _, used in templates for o in used]
            shape = f"({shapes})" if len(templates) > 1 else shapes
            # A column that USING merged belongs to the left table, so a predicate over two columns names its own.
            named = self.reference if len(columns) == 1 else self.plain
            result.append((fill(shape, [named(o) for o in columns]), fill(shape, [self.plain(o) for o in columns])))
        return result

    def predicate(self, number: int) -> tuple[str, list[Occurrence]]:
        """A template with one `{}` a column, and its columns."""
        atom = self.atoms[number]
        column = self.draw(st.integers(0, len(atom.variables) - 1))
        here = (number, column)
        kind = atom.type(column)
        literal = self.draw(st.sampled_from(kind.literals))
        shapes: list[tuple[str, list[Occurrence]]] = [
            ("{} IS NOT NULL", [here]),
            ("{} IS NULL", [here]),
            (f"{{}} = {literal}", [here]),
            (f"{literal} <> {{}}", [here]),
            (f"{{}} <= {literal}", [here]),
            (f"NOT {{}} IN ({', '.join(kind.literals)})", [here]),
            (f"{{}} BETWEEN {literal} AND {literal}", [here]),
            (f"COALESCE({{}}, {literal}) = {literal}", [here]),
            (f"CASE WHEN {{}} > {literal} THEN TRUE ELSE FALSE END", [here]),
            (f"{{}} IS NOT DISTINCT FROM {literal}", [here]),
            ("1 = 1", []),
        ]
        if kind.family == "string":
            shapes += [("{} LIKE 'a%'", [here]), ("length({}) > 1", [here]), ("upper({}) = 'A'", [here])]
        if kind.family == "integer":
            shapes += [("{} % 2 = 0", [here]), ("{} > 0.5", [here])]
        if kind.family == "boolean":
            shapes += [("{}", [here]), ("NOT {}", [here])]
        shapes += [
            ("{} < {}", [here, (number, other)])
            for other in range(len(atom.variables))
            if other != column and atom.type(other).family == kind.family
        ]
        return self.draw(st.sampled_from(shapes))

    def select(self) -> tuple[str, str]:
        """The SELECT list of the engine's text and of the plain text; the plain one names its columns o0, o1, ..."""
        items: list[str] = []
        plain: list[str] = []
        everything = [(n, c) for n, atom in enumerate(self.atoms) for c in range(len(atom.variables))]
        for number in range(self.draw(st.sampled_from([1, 2, 3, 4]))):
            kind = self.draw(st.sampled_from(["column", "column", "column", "star", "atom", "expression"]))
            if kind == "star":
                items.append("*")
                plain += [self.plain(column.occurrences[0]) for column in self.visible]
            elif kind == "atom":
                chosen = self.draw(st.integers(0, len(self.atoms) - 1))
                items.append(f"{self.atoms[chosen].alias}.*")
                plain += [self.plain((chosen, c)) for c in range(len(self.atoms[chosen].variables))]
            else:
                shape, used = "{}", [self.draw(st.sampled_from(everything))]
                if kind == "expression":
                    shape, used = self._expression(everything)
                alias = f" AS x{number}" if kind == "expression" or self.draw(st.booleans()) else ""
                items.append(fill(shape, [self.reference(o) for o in used]) + alias)
                plain.append(fill(shape, [self.plain(o) for o in used]))
        return ", ".join(items), ", ".join(f"{text} AS o{i}" for i, text in enumerate(plain))

    def _expression(self, everything: list[Occurrence]) -> tuple[str, list[Occurrence]]:
        """A total expression over the columns of one or two atoms."""
        one = self.draw(st.sampled_from(everything))
        two = self.draw(st.sampled_from(everything))
        families = [self.atoms[n].type(c).family for n, c in (one, two)]
        shapes: list[tuple[str, list[Occurrence]]] = [
            ("1", []),
            ("'literal'", []),
            ("DATE '2024-02-29'", []),
            ("{} IS NULL", [one]),
            ("CASE WHEN {} IS NULL THEN 'none' ELSE 'some' END", [one]),
        ]
        others = ("double", "float", "binary")  # whose texts differ in DuckDB
        if families[0] not in others:
            shapes.append(("COALESCE(CAST({} AS STRING), '-')", [one]))
        if not set(others) & set(families):
            shapes.append(("CAST({} AS STRING) || '/' || CAST({} AS STRING)", [one, two]))
        if families[0] == families[1]:
            shapes += [("{} = {}", [one, two]), ("COALESCE({}, {})", [one, two])]
        if families[0] == families[1] == "integer":
            shapes.append(("CAST({} AS DECIMAL(30, 0)) - CAST({} AS DECIMAL(30, 0)) * 2", [one, two]))
        if families[0] == "integer":
            shapes += [("{} % 7", [one]), ("CAST({} AS DOUBLE) / 2", [one])]
        if families[0] == "double":
            shapes.append(("{} * 2", [one]))
        if families[0] in ("date", "timestamp"):
            shapes.append(("year({})", [one]))
        if families[0] == "string":
            shapes += [("upper({})", [one]), ("length({})", [one])]
        return self.draw(st.sampled_from(shapes))


def fill(shape: str, names: list[str]) -> str:
    """A template with its columns."""
    return shape.format(*names)
