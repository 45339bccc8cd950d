"""Long runs: tables fill, empty to the last row and fill again, over random queries, checked as they go.

The random scenarios are short, so that they shrink well; here one view goes through hundreds of changes, in which ids
are given back and used again, blocks grow and shrink, and live rows come and go in every order.
"""

from __future__ import annotations

from random import Random

from hypothesis import given, note, settings
from hypothesis import strategies as st

from harness import Harness
from random_queries import queries
from scenario import Change, ColumnSpec, TableSpec
from strategies import EXAMPLES, FUZZ, IS_FUZZ, type_named

BIGINT = type_named("BIGINT")
STRING = type_named("STRING")


@st.composite
def wide_tables(draw: st.DrawFn) -> tuple[TableSpec, ...]:
    """One to three tables of integers and a string; a window on some."""
    specs = []
    for name in "RST"[: draw(st.integers(1, 3))]:
        kinds = [BIGINT] * draw(st.integers(1, 3)) + [STRING] * draw(st.integers(0, 1))
        columns = tuple(ColumnSpec("abcd"[i], kind) for i, kind in enumerate(kinds))
        specs.append(TableSpec(name, columns, window_rows=draw(st.sampled_from([None, None, 7, 15]))))
    return tuple(specs)


def changes(random: Random, harness: Harness, size: int, inserting: float, domain: int) -> list[Change]:
    """Random changes, each possible at its turn."""
    ahead = harness.oracle.copy()
    result: list[Change] = []
    for _ in range(size):
        table = random.choice(list(harness.tables.values()))
        present = ahead.rows[table.name]
        if random.random() < inserting or not present:
            row = tuple(
                random.choice("abc") if c.type is STRING else min(int(random.expovariate(0.5)), domain)
                for c in table.columns
            )
            result.append(Change(table.name, "insert", row))
        else:
            result.append(Change(table.name, "delete", random.choice(present)))
        ahead.apply(result[-1:])
    return result


@settings(FUZZ, max_examples=max(2, EXAMPLES // 10))
@given(wide_tables(), st.data(), st.integers(0, 2**32), st.integers(2, 12))
def test_tables_fill_and_empty_and_fill_again(
    specs: tuple[TableSpec, ...], data: st.DataObject, seed: int, domain: int
) -> None:
    random = Random(seed)
    harness = Harness(specs)
    query = data.draw(queries(specs, max_atoms=5))
    note(f"{specs} {query.sql}")
    harness.create_view("v", query)
    harness.create_view("quiet", query, deltas=False)
    for inserting in (0.9, 0.5, 0.1, 0.0, 0.8, 0.5):
        for _ in range(4 if IS_FUZZ else 2):
            batch = changes(random, harness, random.choice([1, 10, 30]), inserting, domain)
            if inserting == 0.0:
                rows = harness.oracle.rows.items()
                batch = [Change(name, "delete", row) for name, contents in rows for row in contents]
                random.shuffle(batch)
            if inserting and any(harness.too_large(batch[:end]) for end in range(0, len(batch) + 1, 5)):
                break
            if random.random() < 0.5 and batch:
                harness.replay(batch)
            elif not any(t.window_rows for t in specs):
                harness.apply(batch)
    harness.reload()
