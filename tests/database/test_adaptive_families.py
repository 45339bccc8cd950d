"""Adaptive views whose join two families take with one bound: they move from one to the other, and stay right."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from typing import Any

import pytest

from livejoin import Database
from livejoin.dataflow.moving import adaptive

TABLES = {
    "sales": ("s BIGINT PRIMARY KEY, p BIGINT, c BIGINT", 40),
    "product": ("p BIGINT PRIMARY KEY, m BIGINT", 6),
    "maker": ("m BIGINT PRIMARY KEY, k BIGINT", 6),
    "client": ("c BIGINT PRIMARY KEY, t BIGINT", 6),
    "town": ("t BIGINT PRIMARY KEY, x BIGINT", 6),
}
SNOWFLAKE = (
    "SELECT s, k, x FROM sales JOIN product ON sales.p = product.p JOIN maker ON product.m = maker.m "
    "JOIN client ON sales.c = client.c JOIN town ON client.t = town.t"
)


def expected(rows: dict[str, dict[int, tuple[int, ...]]]) -> Counter[tuple[Any, ...]]:
    found = Counter[tuple[Any, ...]]()
    for s, p, c in rows["sales"].values():
        product, client = rows["product"].get(p), rows["client"].get(c)
        if product and client and product[1] in rows["maker"] and client[1] in rows["town"]:
            found[s, rows["maker"][product[1]][1], rows["town"][client[1]][1]] += 1
    return found


def test_a_snowflake_moves_between_families(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adaptive, "PERIOD", 30)
    monkeypatch.setattr(adaptive, "LOAD", 0.01)
    monkeypatch.setattr(adaptive, "MARGIN", 1.0)
    draw, database = random.Random(1), Database()
    for name, (columns, _) in TABLES.items():
        database.create_table(name, columns)
    view = database.create_view("v", SNOWFLAKE, adaptive=True)
    rows: dict[str, dict[int, tuple[int, ...]]] = {name: {} for name in TABLES}
    seen = {view.explain().plan.kind}
    for step in range(80):
        hot = ["sales", "maker", "product", "town"][step // 20]
        changes = defaultdict[str, list[tuple[tuple[int, ...], str]]](list)
        for _ in range(12):
            name = hot if draw.random() < 0.8 else draw.choice(list(TABLES))
            key = draw.randrange(TABLES[name][1])
            if key in rows[name]:
                changes[name].append((rows[name].pop(key), "delete"))
            else:
                row = (key, *(draw.randrange(6) for _ in range(2 if name == "sales" else 1)))
                rows[name][key] = row
                changes[name].append((row, "insert"))
        for name, made in changes.items():
            names = [part.split()[0] for part in TABLES[name][0].split(", ")]
            for row, kind in made:
                database.apply(name, [{**dict(zip(names, row, strict=True)), "_change_type": kind}])
        assert Counter(tuple(row.values()) for row in view.to_arrow().to_pylist()) == expected(rows), step
        if step % 10 == 9:
            seen.add(view.explain().plan.kind)
    database._check()
    assert seen == {"foreign keys", "join tree"}
