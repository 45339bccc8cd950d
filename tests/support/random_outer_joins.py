"""Random SELECTs over nested outer, semi and anti joins."""

from __future__ import annotations

from random import Random

COLUMNS = {"R": ("a", "b", "c"), "S": ("a", "b", "d"), "T": ("a", "c", "d"), "U": ("b", "c", "d"), "K": ("k", "b", "d")}
DECLARED = {name: ", ".join(f"{column} INT" for column in columns) for name, columns in COLUMNS.items()}
DECLARED["K"] = "k INT PRIMARY KEY, b INT NOT NULL, d INT"

_JOINS = ("LEFT JOIN",) * 4 + ("RIGHT JOIN",) * 2 + ("JOIN",) * 2 + ("SEMI JOIN", "ANTI JOIN", "FULL JOIN")


class RandomOuterJoins:
    """Texts by a generator; no text reads more than five tables."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self._count = 0

    def select(self) -> str:
        """A SELECT."""
        self._count = 0
        clause, names = self._item(self.random.randrange(2, 6))
        columns = [f"{alias}.{column}" for alias, table in names for column in COLUMNS[table]]
        shown = self.random.sample(columns, self.random.randrange(1, min(5, len(columns) + 1)))
        where = ""
        if self.random.random() < 0.4:
            where = " WHERE " + " AND ".join(self._filter(columns) for _ in range(self.random.randrange(1, 3)))
        listed = ", ".join(f"{column} AS x{i}" for i, column in enumerate(shown))
        match self.random.randrange(8):
            case 0:
                return f"SELECT {shown[0]} AS g, COUNT(*) AS n, COUNT({columns[-1]}) AS m, SUM({shown[-1]}) AS s " + (
                    f"FROM {clause}{where} GROUP BY {shown[0]}"
                )
            case 1:
                return f"SELECT DISTINCT {listed} FROM {clause}{where}"
            case 2:
                return f"SELECT COUNT(*) AS n, MAX({shown[0]}) AS m, SUM({shown[-1]}) AS s FROM {clause}{where}"
            case _:
                return f"SELECT {listed} FROM {clause}{where}"

    def _item(self, size: int) -> tuple[str, list[tuple[str, str]]]:
        """Joined tables, and what is seen of them: aliases with their tables."""
        if self.random.random() < 0.2:
            return self._query(size)
        if size == 1:
            table = self.random.choice(list(COLUMNS))
            self._count += 1
            return f"{table} {table}{self._count}", [(f"{table}{self._count}", table)]
        left_size = size - 1 if self.random.random() < 0.7 else self.random.randrange(1, size)
        left, seen = self._item(left_size)
        right, other = self._item(size - left_size)
        right = f"({right})" if " JOIN " in right and not right.startswith("(SELECT") else right
        join = self.random.choice(_JOINS)
        mine = [f"{alias}.{column}" for alias, table in seen for column in COLUMNS[table]]
        theirs = [f"{alias}.{column}" for alias, table in other for column in COLUMNS[table]]
        conditions = [f"{self.random.choice(mine)} = {self.random.choice(theirs)}"]
        if self.random.random() < 0.3:
            conditions.append(f"{self.random.choice(mine)} = {self.random.choice(theirs)}")
        if self.random.random() < 0.25:
            conditions.append(self._filter(mine))
        if self.random.random() < 0.25:
            conditions.append(self._filter(theirs))
        if self.random.random() < 0.25:
            conditions.append(self._residual(self.random.choice(mine), self.random.choice(theirs)))
        self.random.shuffle(conditions)
        visible = seen if join in ("SEMI JOIN", "ANTI JOIN") else seen + other
        return f"{left} {join} {right} ON {' AND '.join(conditions)}", visible

    def _query(self, size: int) -> tuple[str, list[tuple[str, str]]]:
        """A query in parentheses, whose columns are called as those of some table."""
        clause, seen = self._item(size)
        columns = [f"{alias}.{column}" for alias, table in seen for column in COLUMNS[table]]
        table = self.random.choice(list(COLUMNS))
        shown = []
        for name in COLUMNS[table]:
            one = self.random.choice(columns)
            value = self.random.choice((one, one, one, f"COALESCE({one}, 1)", f"{one} + {self.random.choice(columns)}"))
            shown.append(f"{value} AS {name}")
        where = f" WHERE {self._filter(columns)}" if self.random.random() < 0.4 else ""
        self._count += 1
        alias = f"q{self._count}"
        return f"(SELECT {', '.join(shown)} FROM {clause}{where}) {alias}", [(alias, table)]

    def _filter(self, columns: list[str]) -> str:
        one, other = self.random.choice(columns), self.random.choice(columns)
        return self.random.choice(
            (
                f"{one} > 1",
                f"{one} IS NULL",
                f"{one} IS NOT NULL",
                f"{one} IN (1, 2)",
                f"({one} = 1 OR {one} IS NULL)",
                f"COALESCE({one}, 1) = 1",
                f"NOT {one} BETWEEN 1 AND 2",
            )
            if one == other or one.split(".")[0] != other.split(".")[0]
            else (f"{one} = {other}", f"{one} <= {other}", f"COALESCE({one}, {other}) < 2")
        )

    def _residual(self, mine: str, theirs: str) -> str:
        return self.random.choice(
            (
                f"{mine} < {theirs}",
                f"{mine} <> {theirs}",
                f"({mine} = 1 OR {theirs} = 2)",
                f"{mine} + 1 = {theirs}",
                f"{mine} IS NOT DISTINCT FROM {theirs}",
                f"({mine} IS NULL OR {theirs} > 0)",
                f"COALESCE({mine}, 0) <= COALESCE({theirs}, 1)",
            )
        )
