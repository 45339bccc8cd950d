"""Random lives of the tables that `random_outer_joins` reads: every side empties and fills again."""

from __future__ import annotations

import random
from collections.abc import Iterator

from scenario import Change, ColumnSpec, Row, TableSpec
from strategies import type_named

INT = type_named("INT")
COLUMNS = {"R": "abc", "S": "abd", "T": "acd", "U": "bcd", "K": "kbd"}
TABLES = tuple(
    TableSpec(
        name,
        tuple(ColumnSpec(column, INT, not_null=(name, column) == ("K", "b")) for column in columns),
        primary_key=(0,) if name == "K" else (),
    )
    for name, columns in COLUMNS.items()
)
VALUES = (0, 1, 2, 3, None)


def row(name: str, generator: random.Random, taken: set[int]) -> Row | None:
    """A new row of a table; None if all keys are taken."""
    if name != "K":
        return tuple(generator.choice(VALUES) for _ in range(3))
    free = [key for key in range(5) if key not in taken]
    return (generator.choice(free), generator.randrange(3), generator.choice(VALUES)) if free else None


def commits(seed: int, number: int = 10) -> Iterator[list[Change]]:
    """Random changes with duplicates and NULLs; in every third commit tables lose all rows."""
    generator = random.Random(seed)
    rows: dict[str, list[Row]] = {name: [] for name in COLUMNS}
    for step in range(number):
        changes: list[Change] = []
        for name, own in rows.items():
            before = {one[0] for one in own}
            if step % 3 == 2 and generator.random() < 0.5:
                changes += [Change(name, "delete", one) for one in own]
                own.clear()
                continue
            for _ in range(generator.randrange(4)):
                if own and generator.random() < 0.35:
                    changes.append(Change(name, "delete", own.pop(generator.randrange(len(own)))))
                    continue
                new = row(name, generator, before | {one[0] for one in own})
                if new is not None:
                    own.append(new)
                    changes.append(Change(name, "insert", new))
        yield changes
