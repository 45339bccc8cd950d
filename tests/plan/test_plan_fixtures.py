"""Planner fixtures (`tests/fixtures/plans/`): class, tree and guarantee of queries, and that their plans compute them.

A fixture names a query, its schema, what is known of its tables, and what must come out. Every plan that this version
runs is run on random rows with deletions, side by side with DuckDB (see `harness.py`).
"""

from __future__ import annotations

import random
import tomllib
from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import livejoin
from conjunctive import bind
from harness import Harness
from livejoin.catalog import Catalog
from livejoin.plan import Explanation, Statistics, describe
from livejoin.schema import Table
from livejoin.search.statistics import given
from livejoin.sql import parse_schema
from scenario import Change, ColumnSpec, ColumnType, QuerySpec, Row, TableSpec
from strategies import seeds

FOLDER = Path(__file__).parent.parent / "fixtures"
KNOWN = {
    *("name", "sql", "schema", "free", "statistics", "class", "tree", "height", "bound", "width", "kind"),
    *("executable", "properties"),
}

VALUES: dict[str, tuple[Any, ...]] = {
    "integer": tuple(range(6)),
    "string": ("a", "b", "MAIL"),
    "decimal": (Decimal("1.00"), Decimal("2.50")),
    "date": (date(1995, 3, 15), date(1996, 1, 1)),
    "double": (0.5, 1.0),
    "boolean": (True, False),
    "timestamp": (datetime(1995, 3, 15), datetime(1996, 1, 1)),
}


def fixtures() -> Iterator[Any]:
    for path in sorted((FOLDER / "plans").glob("*.toml")):
        content = tomllib.loads(path.read_text())
        schema = content.get("schema") or (FOLDER / content["schema_file"]).read_text()
        for query in content["query"]:
            assert set(query) <= KNOWN, f"{path.name}: {query['name']} has keys that nothing reads"
            paths = [{"schema": schema, **query}]
            yield from (pytest.param(fixture, id=f"{path.stem}: {query['name']}") for fixture in paths)
    for number in range(2, 13):
        yield pytest.param(path_query(number), id=f"path of {number}")


def path_query(number: int) -> dict[str, Any]:
    """A path over one table: its height is half its length, rounded up (CROWN, section 3.2 and figure 1)."""
    joins = " ".join(f"JOIN G A{i} ON A{i - 1}.dst = A{i}.src" for i in range(1, number))
    height = (number + 1) // 2
    return {
        "schema": "CREATE TABLE G (src BIGINT, dst BIGINT);",
        "sql": f"SELECT A0.src, A{number - 1}.dst FROM G A0 {joins}",
        "class": "q-hierarchical" if number == 2 else "free-connex",
        "height": height,
        "bound": ["O1", "FIFO", "lambda"][min(height, 3) - 1],
    }


def explained(fixture: dict[str, Any]) -> tuple[Explanation, Catalog, Statistics]:
    catalog = parse_schema(fixture["schema"])
    statistics = given(catalog, fixture.get("statistics", {}))
    free = frozenset(fixture["free"]) if "free" in fixture else None
    return describe(bind(fixture["sql"], catalog), statistics, free), catalog, statistics


FIXTURES = list(fixtures())


@pytest.mark.parametrize("fixture", FIXTURES)
def test_class_tree_and_guarantee(fixture: dict[str, Any]) -> None:
    found, _, _ = explained(fixture)
    line = next(plan.tree for plan in found.alternatives if plan.chosen)
    assert found.query_class.name == fixture["class"]
    assert found.query_class.width == fixture.get("width", "1")
    assert str(found.guarantee.bound) == fixture["bound"]
    assert found.executable == fixture.get("executable", True), found.obstacle
    assert found.plan.kind == fixture.get("kind", "bags" if fixture["class"] == "cyclic" else "join tree")
    assert found.plan.height == fixture.get("height", found.plan.height)
    assert line == fixture.get("tree", line)
    assert {p.name: p.holds for p in found.query_class.properties} == {
        p.name: fixture.get("properties", {}).get(p.name, p.holds) for p in found.query_class.properties
    }
    assert set(fixture.get("properties", {})) <= {p.name for p in found.query_class.properties}
    assert all(suggestion.guarantee.bound < found.guarantee.bound for suggestion in found.suggestions)


@pytest.mark.parametrize("fixture", [f for f in FIXTURES if f.values[0].get("executable", True)])
def test_the_chosen_plan_computes_the_query(fixture: dict[str, Any]) -> None:
    """Static tables are filled before the view and stay; rows of the others come and go under it."""
    found, catalog, statistics = explained(fixture)
    chance = random.Random(fixture["sql"])
    used = {atom.table for atom in found.atoms}
    specs = [spec(table) for table in catalog if table.name in used]
    static = [s for s in specs if catalog[s.name].static]
    harness = Harness(specs)
    harness.database = database = livejoin.Database()
    for table in catalog:
        database._contents.add_table(table)
    run(harness, static, chance)
    database.create_view = partial(database.create_view, statistics=statistics)  # type: ignore[method-assign]
    harness.create_view("v", QuerySpec(fixture["sql"], fixture["sql"]))
    if not static and found.digest and "free" not in fixture:
        assert database.views["v"].explain().digest == found.digest
    for _ in seeds(2, 5):
        run(harness, [s for s in specs if s not in static], chance)
    harness.reload()
    assert harness.database.views["v"].explain().digest == database.views["v"].explain().digest


def run(harness: Harness, tables: list[TableSpec], chance: random.Random) -> None:
    """A commit that takes a third of the rows out and brings random ones, unless results would get too many."""
    changes: list[Change] = []
    for table in tables:
        there = harness.oracle.rows[table.name]
        changes += [Change(table.name, "delete", row) for row in chance.sample(there, len(there) // 3)]
        for _ in range(4):
            row = random_row(table, chance)
            new = [c.row for c in changes if c.table == table.name and c.sign > 0]
            if not table.primary_key or all(table.key(row) != table.key(other) for other in [*there, *new]):
                changes.append(Change(table.name, "insert", row))
    if harness.watched and harness.too_large(changes):
        return
    harness.apply(changes)


def random_row(table: TableSpec, chance: random.Random) -> Row:
    return tuple(chance.choice(column.type.values) for column in table.columns)


def spec(table: Table) -> TableSpec:
    columns = tuple(
        ColumnSpec(c.name, ColumnType(str(c.type), c.type.arrow, c.type.kind, VALUES[c.type.kind], ()))
        for c in table.columns
    )
    return TableSpec(table.name, columns, table.primary_key)
