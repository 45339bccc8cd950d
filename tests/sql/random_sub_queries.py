"""Random texts with sub-queries in WHERE, SELECT, HAVING and ON, which mean the same in Spark and in DuckDB."""

from __future__ import annotations

import random
from dataclasses import dataclass

TABLES = {
    "R": "a INT, b INT NOT NULL, x BIGINT",
    "S": "k INT, c INT NOT NULL, v BIGINT",
    "T": "id INT PRIMARY KEY, y INT, z BIGINT",
}
_COLUMNS = {name: [part.split()[0] for part in columns.split(", ")] for name, columns in TABLES.items()}
_COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")


@dataclass(frozen=True)
class _Row:
    """A table in scope by its alias."""

    alias: str
    table: str

    @property
    def columns(self) -> list[str]:
        return [f"{self.alias}.{name}" for name in _COLUMNS[self.table]]


class Texts:
    """Texts from one seed.

    Args:
        seed: The seed.
    """

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._count = 0

    def query(self) -> str:
        """A whole query."""
        draw = self._random
        kind = draw.choice(["rows", "rows", "rows", "groups", "global", "distinct"])
        rows, clause = self._from(draw.choice([1, 1, 2]), outer=draw.random() < 0.2)
        where = [self._condition(2, [rows]) for _ in range(draw.choice([1, 1, 2]))]
        text = f" FROM {clause} WHERE {' AND '.join(where)}"
        if kind in ("groups", "global"):
            key = self._column(rows) if kind == "groups" else None
            items = [key] if key else []
            items += [self._aggregate(rows, 1, [])]
            seen: list[list[_Row]] = [] if key is None else [[_Only(key)]]
            if draw.random() < 0.4:
                items.append(self._scalar(1, seen))
            text = f"SELECT {', '.join(f'{item} AS o{i}' for i, item in enumerate(items))}{text}"
            text += f" GROUP BY {key}" if key else ""
            if draw.random() < 0.5:
                text += f" HAVING COUNT(*) {draw.choice(_COMPARISONS)} {self._scalar(1, seen)}"
            return text
        items = [self._column(rows) for _ in range(draw.choice([1, 2]))]
        if draw.random() < 0.5:
            items.append(self._value(2, [rows]))
        listed = ", ".join(f"{item} AS o{i}" for i, item in enumerate(items))
        return f"SELECT {'DISTINCT ' if kind == 'distinct' else ''}{listed}{text}"

    def _from(self, number: int, *, outer: bool = False) -> tuple[list[_Row], str]:
        rows, items = [], []
        for _ in range(number):
            self._count += 1
            rows.append(_Row(f"t{self._count}", self._random.choice(list(TABLES))))
            items.append(self._item(rows[-1]))
        clause = items[0]
        for row, item in zip(rows[1:], items[1:], strict=True):
            join = self._random.choice(["LEFT", "LEFT", "RIGHT", "FULL"]) + " JOIN" if outer else "JOIN"
            clause += f" {join} {item} ON {self._column(rows[:1])} = {self._column([row])}"
            if outer and self._random.random() < 0.6:
                clause += f" AND {self._condition(1, [[rows[0], row]])}"
        return rows, clause

    def _item(self, row: _Row) -> str:
        """A table, or a query over it with sub-queries of its own."""
        if self._random.random() < 0.9:
            return f"{row.table} {row.alias}"
        self._count += 1
        inner = _Row(f"t{self._count}", row.table)
        listed = ", ".join(inner.columns)
        return f"(SELECT {listed} FROM {row.table} {inner.alias} WHERE {self._condition(1, [[inner]])}) {row.alias}"

    def _column(self, rows: list[_Row]) -> str:
        return self._random.choice(self._random.choice(rows).columns)

    def _condition(self, depth: int, scopes: list[list[_Row]]) -> str:
        """A condition over the last scope, with sub-queries of some depth."""
        draw = self._random
        if depth == 0 or draw.random() < 0.15:
            column = self._column(scopes[-1])
            compared = f"{draw.choice(_COMPARISONS)} {draw.randrange(4)}"
            return f"{column} {draw.choice([compared, 'IS NOT NULL', 'IS NULL'])}"
        if draw.random() < 0.25:
            left, right = self._condition(depth, scopes), self._condition(depth - 1, scopes)
            return draw.choice([f"({left} OR {right})", f"NOT ({left} AND {right})", f"({left} AND {right})"])
        if draw.random() < 0.15:
            when, otherwise = self._condition(depth, scopes), self._condition(0, scopes)
            return f"CASE WHEN {when} THEN {draw.choice(['TRUE', 'FALSE'])} ELSE {otherwise} END"
        return self._predicate(depth, scopes)

    def _predicate(self, depth: int, scopes: list[list[_Row]]) -> str:
        draw = self._random
        column = self._column(scopes[-1])
        match draw.randrange(6):
            case 0 | 1:
                return f"{draw.choice(['', 'NOT '])}EXISTS ({self._rows('1', depth, scopes)})"
            case 2 | 3:
                query = self._one_column(depth, scopes)
                return f"{column} {draw.choice(['IN', 'NOT IN'])} ({query})"
            case 4:
                query = self._one_column(depth, scopes)
                return f"{column} {draw.choice(_COMPARISONS)} {draw.choice(['ANY', 'ALL'])} ({query})"
            case _:
                return f"{column} {draw.choice(_COMPARISONS)} {self._scalar(depth, scopes)}"

    def _value(self, depth: int, scopes: list[list[_Row]]) -> str:
        if self._random.random() < 0.5:
            return self._scalar(depth, scopes)
        return f"({self._predicate(depth, scopes)})"

    def _one_column(self, depth: int, scopes: list[list[_Row]]) -> str:
        draw = self._random
        rows, clause = self._from(draw.choice([1, 1, 2]))
        text = f" FROM {clause}{self._where(depth - 1, scopes, rows)}"
        match draw.randrange(5):
            case 0:
                key = self._column(rows)
                return f"SELECT {key}{text} GROUP BY {key} HAVING COUNT(*) > {draw.randrange(3)}"
            case 1:
                return f"SELECT DISTINCT {self._column(rows)}{text}"
            case 2 if self._random.random() < 0.5:
                self._count += 1
                outer, other = self._column(scopes[-1]), _Row(f"t{self._count}", draw.choice(list(TABLES)))
                operation = draw.choice(["UNION", "UNION ALL", "EXCEPT", "INTERSECT", "EXCEPT ALL"])
                return (
                    f"SELECT {self._column(rows)} FROM {clause} WHERE {self._column(rows)} = {outer} {operation} "
                    f"SELECT {self._column([other])} FROM {other.table} {other.alias} "
                    f"WHERE {self._column([other])} = {outer}"
                )
            case 3 if self._random.random() < 0.5 and len(rows) == 1:
                columns = ", ".join(f"{name} NULLS FIRST" for name in rows[0].columns)
                return f"SELECT {self._column(rows)}{text} ORDER BY {columns} LIMIT {draw.randrange(1, 3)}"
            case _:
                return f"SELECT {self._column(rows)}{text}"

    def _rows(self, item: str, depth: int, scopes: list[list[_Row]]) -> str:
        rows, clause = self._from(self._random.choice([1, 1, 2]))
        return f"SELECT {item} FROM {clause}{self._where(depth - 1, scopes, rows, compared=True)}"

    def _scalar(self, depth: int, scopes: list[list[_Row]]) -> str:
        draw = self._random
        if draw.random() < 0.2 and scopes:
            self._count += 1
            row = _Row(f"t{self._count}", "T")
            return (
                f"(SELECT {self._column([row])} FROM T {row.alias} WHERE {row.alias}.id = {self._column(scopes[-1])})"
            )
        rows, clause = self._from(draw.choice([1, 1, 2]))
        value = self._aggregate(rows, 0, scopes)
        having = f" HAVING COUNT(*) > {draw.randrange(2)}" if draw.random() < 0.15 else ""
        return f"(SELECT {value} FROM {clause}{self._where(depth - 1, scopes, rows)}{having})"

    def _aggregate(self, rows: list[_Row], depth: int, scopes: list[list[_Row]]) -> str:
        draw = self._random
        column = self._column(rows)
        call = draw.choice([f"MIN({column})", f"MAX({column})", f"COUNT({column})", "COUNT(*)", f"SUM({column})"])
        return draw.choice([call, call, f"COALESCE({call}, 1) + 1"])

    def _where(self, depth: int, scopes: list[list[_Row]], rows: list[_Row], *, compared: bool = False) -> str:
        draw = self._random
        found = []
        if scopes and draw.random() < 0.75:
            outer = scopes[-1] if draw.random() < 0.9 else draw.choice(scopes)
            found += [f"{self._column(rows)} = {self._column(outer)}" for _ in range(draw.choice([1, 1, 2]))]
            if draw.random() < (0.3 if compared else 0.1):
                found.append(f"{self._column(rows)} {draw.choice(_COMPARISONS[1:])} {self._column(outer)}")
            if draw.random() < 0.05:
                found.append(f"({self._column(rows)} = {self._column(outer)} OR {self._column(rows)} IS NULL)")
        if draw.random() < 0.6:
            found.append(self._condition(depth, [*scopes, rows]))
        return f" WHERE {' AND '.join(found)}" if found else ""


class _Only(_Row):
    """A row of which one column is seen."""

    def __init__(self, column: str) -> None:
        super().__init__(column, "")

    @property
    def columns(self) -> list[str]:
        return [self.alias]
