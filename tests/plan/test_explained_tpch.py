"""What explain says of TPC-H's queries is what the documentation says, and no query is without an explanation."""

from __future__ import annotations

import re
from pathlib import Path

import livejoin
from tpch_rows import QUERIES, schema, statements

PAGE = Path(__file__).parents[2] / "docs" / "tpch.md"


def _section(title: str) -> str:
    """What the page says below a heading."""
    return PAGE.read_text().split(f"## {title}\n")[1].split("\n## ")[0]


def test_the_bounds_are_those_of_the_page() -> None:
    db = livejoin.Database()
    for statement in statements(schema(nullable=False)):
        db.execute(statement)
    found = {}
    for name, sql in QUERIES.items():
        told = db.explain(sql.rstrip().removesuffix(";"))
        found[int(name[1:])] = max(one.guarantee.bound for one in (told, *told.others)).formula
    rows = re.findall(
        r"^\| (\d+) \| ([^|]*) \| ((?:[^|]|\\\|)*) \|", _section("What a change costs").replace(r"\|D\|", "!D!"), re.M
    )
    written = {int(number): bound.replace("!", "|") for number, _, bound in rows}
    assert written == found
