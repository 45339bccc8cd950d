"""What `tools/tpcds.py` wrote to a folder: the texts of the 99 queries, and the tables; and the keys of these."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from livejoin.catalog import Catalog
from livejoin.sql import parse_schema

KEYS = {
    "store_sales": ("ss_item_sk", "ss_ticket_number"),
    "store_returns": ("sr_item_sk", "sr_ticket_number"),
    "catalog_sales": ("cs_item_sk", "cs_order_number"),
    "catalog_returns": ("cr_item_sk", "cr_order_number"),
    "web_sales": ("ws_item_sk", "ws_order_number"),
    "web_returns": ("wr_item_sk", "wr_order_number"),
    "inventory": ("inv_date_sk", "inv_item_sk", "inv_warehouse_sk"),
}
"""The primary keys that are not the first column (TPC-DS specification, section 2)."""

REFERENCED = {
    "date": "date_dim",
    "time": "time_dim",
    "item": "item",
    "customer": "customer",
    "cdemo": "customer_demographics",
    "hdemo": "household_demographics",
    "addr": "customer_address",
    "store": "store",
    "promo": "promotion",
    "reason": "reason",
    "warehouse": "warehouse",
    "ship_mode": "ship_mode",
    "call_center": "call_center",
    "catalog_page": "catalog_page",
    "web_page": "web_page",
    "web_site": "web_site",
    "income_band": "income_band",
}
"""The table that a column refers to whose name ends so, with ``_sk`` behind it."""


class MissingDataError(Exception):
    """The folder has no texts."""


def queries(folder: Path) -> dict[str, str]:
    """The texts, ``q01`` to ``q99``.

    Raises:
        MissingDataError: There are none.
    """
    found = {file.stem: file.read_text().strip().removesuffix(";") for file in sorted(folder.glob("queries/q*.sql"))}
    if not found:
        msg = f"{folder} has no queries; make it by tools/tpcds.py, which says what it wants"
        raise MissingDataError(msg)
    return found


def schema(folder: Path) -> str:
    """The statements that make the tables.

    Raises:
        MissingDataError: There are none.
    """
    file = folder / "schema.sql"
    if not file.exists():
        msg = f"{file} is not there; make it by tools/tpcds.py, which says what it wants"
        raise MissingDataError(msg)
    return file.read_text()


def used_tables(schema: str, texts: Iterable[str]) -> list[str]:
    """The tables of a schema that some queries name, each behind those that it refers to."""
    words = {word for text in texts for word in re.findall(r"\w+", text.lower())}
    columns = {name: inside for name, inside in _tables(schema).items() if name in words}
    found: list[str] = []
    while left := [name for name in columns if name not in found]:
        ready = [name for name in left if not _references(name, columns[name], left)]
        found += ready
    return found


def statements(schema: str, used: Iterable[str], keyed: bool) -> list[str]:
    """The statements that make some tables, with their primary and foreign keys on request."""
    inside = _tables(schema)
    made: list[str] = []
    names: list[str] = []
    for name in used:
        keys = _declared_keys(name, inside[name], names) if keyed else ""
        made.append(f"CREATE TABLE {name} ({inside[name]}{keys})")
        names.append(name)
    return made


def catalog(schema: str, used: Iterable[str], keyed: bool) -> Catalog:
    """The declarations of some tables."""
    return parse_schema(";\n".join(statements(schema, used, keyed)))


def _tables(schema: str) -> dict[str, str]:
    """The columns of each table as they are declared, in Spark's types."""
    text = re.sub(r"\bVARCHAR(\(\d+\))?", "STRING", schema)
    return {name.lower(): inside for name, inside in re.findall(r"CREATE TABLE (\w+)\s*\((.*?)\)\s*;", text, re.DOTALL)}


def _declared_keys(name: str, inside: str, before: list[str]) -> str:
    primary = KEYS.get(name, (inside.split(maxsplit=1)[0],))
    found = [f"PRIMARY KEY ({', '.join(primary)})"]
    for column, other in _references(name, inside, before):
        found.append(f"FOREIGN KEY ({column}) REFERENCES {other}")
    return "".join(f", {one}" for one in found)


def _references(name: str, inside: str, others: Iterable[str]) -> list[tuple[str, str]]:
    """The columns of a table that refer to others of some, which these are."""
    allowed = set(others) - {name}
    own = KEYS.get(name, (inside.split(maxsplit=1)[0],))
    found = []
    for column in re.findall(r"(\w+_sk)\b", inside):
        if own == (column,):
            continue
        end = next((end for end in REFERENCED if re.search(rf"(^|_){end}_sk$", column)), None)
        if end is not None and REFERENCED[end] in allowed:
            found.append((column, REFERENCED[end]))
    return found
