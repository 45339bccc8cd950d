"""Random queries with queries in FROM, WITH clauses and views, by a grammar over the tables of `make_tables`.

Every query is one that livejoin binds: tables are joined on equal columns, and other conditions are over one of them.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from livejoin.catalog import Catalog
from livejoin.sql import parse_columns

TABLES = {
    "R": "k INT PRIMARY KEY, a BIGINT, s STRING",
    "S": "a BIGINT, b INT, t STRING",
    "T": "x INT NOT NULL, y INT NOT NULL, PRIMARY KEY (x, y)",
}
_COLUMNS = {
    "R": {"k": "int", "a": "int", "s": "text"},
    "S": {"a": "int", "b": "int", "t": "text"},
    "T": {"x": "int", "y": "int"},
}
_MOST_LEVELS = 4

Columns = dict[str, str]


def make_tables() -> Catalog:
    catalog = Catalog()
    for name, columns in TABLES.items():
        catalog.add(parse_columns(name, columns))
    return catalog


@dataclass
class Generator:
    """Draws queries; ``named`` are the views and the definitions of WITH in scope, with their columns."""

    draw: random.Random
    named: dict[str, Columns] = field(default_factory=dict)
    number: int = 0

    def query(self, level: int = _MOST_LEVELS) -> tuple[str, Columns]:
        """A text and the columns of its result."""
        kind = self.draw.choice(["plain"] * 5 + ["groups"] * 3 + ["distinct", "global", "set", "first", "with", "with"])
        match kind:
            case "set" if level > 0:
                return self._set_operation(level)
            case "first":
                return self._first_rows(level)
            case "with" if level > 0:
                return self._with(level)
            case "groups" | "global":
                return self._aggregates(kind == "global", level)
            case _:
                return self._rows(level, kind == "distinct")

    def _name(self, prefix: str) -> str:
        self.number += 1
        return f"{prefix}{self.number}"

    def _item(self, level: int) -> tuple[str, str, Columns]:
        """What stands in FROM, its alias and its columns."""
        if level > 0 and self.draw.random() < 0.6:
            saved = dict(self.named)
            text, columns = self.query(level - 1)
            self.named = saved
            alias = self._name("q")
            if self.draw.random() < 0.2:
                columns = {self._name("r"): kind for kind in columns.values()}
                return f"({text}) AS {alias}({', '.join(columns)})", alias, columns
            return f"({text}) {alias}", alias, columns
        choices = {**_COLUMNS, **self.named}
        names = list(self.named) * 3 + list(_COLUMNS)
        name = self.draw.choice(names)
        alias = self._name("t")
        return f"{name} {alias}", alias, choices[name]

    def _from(self, level: int) -> tuple[str, list[tuple[str, str]]]:
        """A FROM clause with WHERE, and the columns in scope with their kinds."""
        text, alias, columns = self._item(level)
        scope = [(f"{alias}.{name}", kind) for name, kind in columns.items()]
        conditions = []
        for _ in range(self.draw.choice([0, 0, 0, 1, 1, 2])):
            item, alias, columns = self._item(level - 1)
            own = [(f"{alias}.{name}", kind) for name, kind in columns.items()]
            pairs = [(a, b) for a, kind in scope for b, other in own if kind == other]
            chosen = self.draw.sample(pairs, min(len(pairs), self.draw.choice([1, 1, 1, 1, 2])))
            on = " AND ".join(f"{a} = {b}" for a, b in chosen)
            if self.draw.random() < 0.7 and on:
                text = f"{text} JOIN {item} ON {on}"
            else:
                text = f"{text} CROSS JOIN {item}"
                conditions += [on] if on else []
            scope += own
        for _ in range(self.draw.choice([0, 0, 1, 2])):
            conditions.append(self._condition(*self.draw.choice(scope)))
        return text + (f" WHERE {' AND '.join(conditions)}" if conditions else ""), scope

    def _condition(self, column: str, kind: str) -> str:
        shapes = ["{} IS NOT NULL", "{} IS NULL OR {} IS NOT NULL"]
        if kind == "int":
            shapes += ["{} > 1", "{} + 1 < 4", "{} IN (0, 2, 3)", "NOT {} = 2", "abs({}) <= 5"]
        else:
            shapes += ["{} >= 'a'", "upper({}) <> 'A'", "length({}) < 3"]
        shape = self.draw.choice(shapes)
        return "(" + shape.replace("{}", column) + ")"

    def _value(self, scope: list[tuple[str, str]]) -> tuple[str, str]:
        column, kind = self.draw.choice(scope)
        other = self.draw.choice([name for name, own in scope if own == kind])
        if self.draw.random() < 0.55:
            return column, kind
        if kind == "int":
            shapes = [
                "{0} + {1}",
                "{0} % 3",
                "coalesce({0}, 0)",
                "CASE WHEN {0} > 1 THEN {1} ELSE 0 END",
                "1",
                "{0} - 1",
            ]
            return self.draw.choice(shapes).format(column, other), "int"
        shapes = ["upper({0})", "coalesce({0}, {1})", "{0} || 'x'", "'c'"]
        return self.draw.choice(shapes).format(column, other), "text"

    def _rows(self, level: int, distinct: bool) -> tuple[str, Columns]:
        body, scope = self._from(level)
        columns, items = {}, []
        for _ in range(self.draw.choice([1, 2, 2, 3])):
            value, kind = self._value(scope)
            name = self._name("c")
            columns[name] = kind
            items.append(f"{value} AS {name}")
        return f"SELECT {'DISTINCT ' if distinct else ''}{', '.join(items)} FROM {body}", columns

    def _aggregates(self, is_global: bool, level: int) -> tuple[str, Columns]:
        body, scope = self._from(level)
        groups = [] if is_global else [self._value(scope) for _ in range(self.draw.choice([1, 1, 2]))]
        groups = [(text, kind) for text, kind in groups if not text[0].isdigit() and text[0] != "'"]
        columns, items = {}, []
        for text, kind in groups:
            name = self._name("g")
            columns[name] = kind
            items.append(f"{text} AS {name}")
        for _ in range(self.draw.choice([1, 1, 2])):
            value, kind = self._value(scope)
            calls = ["count(*)", f"count({value})", f"count(DISTINCT {value})", f"min({value})", f"max({value})"]
            calls += [f"sum({value})"] * 3 if kind == "int" else []
            call = self.draw.choice(calls)
            name = self._name("a")
            columns[name] = "int" if call.startswith(("count", "sum")) else kind
            items.append(f"{call} AS {name}")
        text = f"SELECT {', '.join(items)} FROM {body}"
        if groups:
            text += f" GROUP BY {', '.join(group for group, _ in groups)}"
        if self.draw.random() < 0.2:
            text += " HAVING count(*) > 1"
        return text, columns

    def _set_operation(self, level: int) -> tuple[str, Columns]:
        left, columns = self.query(level - 1)
        sides = [f"SELECT {', '.join(columns)} FROM ({left}) {self._name('q')}"]
        body, scope = self._from(level - 1)
        items = []
        for kind in columns.values():
            fitting = [name for name, own in scope if own == kind]
            items.append(self.draw.choice(fitting) if fitting else "1" if kind == "int" else "'a'")
        sides.append(f"SELECT {', '.join(items)} FROM {body}")
        word = self.draw.choice(["UNION", "UNION ALL", "EXCEPT", "EXCEPT ALL", "INTERSECT", "INTERSECT ALL"])
        return f"{sides[0]} {word} {sides[1]}", columns

    def _first_rows(self, level: int) -> tuple[str, Columns]:
        text, columns = self.query(level - 1) if level > 0 else self._rows(0, False)
        key = self.draw.choice([*columns, "1"])
        return f"({text}) ORDER BY {key}{self.draw.choice(['', ' DESC'])} LIMIT {self.draw.choice([1, 3, 5])}", columns

    def _with(self, level: int) -> tuple[str, Columns]:
        saved, definitions = dict(self.named), []
        for _ in range(self.draw.choice([1, 1, 2])):
            text, columns = self.query(level - 1)
            # Now and then a name that is taken: that of a table, or of a definition around.
            name = self.draw.choice([self._name("w"), self._name("w"), *self.named, "S"])
            if any(name == other for other, _ in definitions):
                name = self._name("w")
            definitions.append((name, f"{name} AS ({text})"))
            self.named[name] = columns
        text, columns = self._rows(level - 1, False) if self.draw.random() < 0.5 else self._aggregates(False, level - 1)
        self.named = saved
        return f"WITH {', '.join(text for _, text in definitions)} {text}", columns
