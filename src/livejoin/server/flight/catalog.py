"""What there is, as Flight SQL asks for it: tables and views, their keys, and what the server can do.

A database has one catalog and one schema, without names: SQL here has no qualified names. Views and tables are seen by
those who may read them, tables by those who may change them too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

import livejoin
from livejoin.database import Database
from livejoin.schema import Table
from livejoin.server.access import Who
from livejoin.server.flight.protobuf import Message
from livejoin.server.limits import Limits

TABLE, VIEW = "TABLE", "VIEW"

_TEXT = pa.string()


def _named(name: str, kind: pa.DataType = _TEXT) -> pa.Field:
    return pa.field(name, kind, nullable=False)


CATALOGS = pa.schema([_named("catalog_name")])
SCHEMAS = pa.schema([pa.field("catalog_name", _TEXT), _named("db_schema_name")])
TABLE_TYPES = pa.schema([_named("table_type")])
_OF_TABLE = [pa.field("catalog_name", _TEXT), pa.field("db_schema_name", _TEXT), _named("table_name")]
TABLES = pa.schema([*_OF_TABLE, _named("table_type")])
TABLES_WITH_SCHEMAS = TABLES.append(_named("table_schema", pa.binary()))
PRIMARY_KEYS = pa.schema(
    [*_OF_TABLE, _named("column_name"), pa.field("key_name", _TEXT), _named("key_sequence", pa.int32())]
)
FOREIGN_KEYS = pa.schema(
    [
        *(
            field
            for side in ("pk", "fk")
            for field in (
                pa.field(f"{side}_catalog_name", _TEXT),
                pa.field(f"{side}_db_schema_name", _TEXT),
                _named(f"{side}_table_name"),
                _named(f"{side}_column_name"),
            )
        ),
        _named("key_sequence", pa.int32()),
        pa.field("fk_key_name", _TEXT),
        pa.field("pk_key_name", _TEXT),
        _named("update_rule", pa.uint8()),
        _named("delete_rule", pa.uint8()),
    ]
)
_NO_ACTION = 3
_VALUE = pa.dense_union(
    [
        pa.field("string_value", _TEXT),
        pa.field("bool_value", pa.bool_()),
        pa.field("bigint_value", pa.int64()),
        pa.field("int32_bitmask", pa.int32()),
        pa.field("string_list", pa.list_(_TEXT)),
        pa.field("int32_to_int32_list_map", pa.map_(pa.int32(), pa.list_(pa.int32()))),
    ]
)
SQL_INFO = pa.schema([_named("info_name", pa.uint32()), _named("value", _VALUE)])


def catalogs() -> pa.Table:
    """The one catalog."""
    return _table(CATALOGS, [("",)])


def schemas(asked: Message) -> pa.Table:
    """The one schema, CommandGetDbSchemas: of a catalog (1), with a name like a pattern (2)."""
    is_asked = _is_ours(asked.optional_text(1)) and _is_like("", asked.optional_text(2))
    return _table(SCHEMAS, [("", "")] if is_asked else [])


def table_types() -> pa.Table:
    """The types of what GetTables lists."""
    return _table(TABLE_TYPES, [(TABLE,), (VIEW,)])


def tables(db: Database, who: Who, asked: Message) -> pa.Table:
    """Tables and views, CommandGetTables: of a catalog (1), with a schema's (2) and a name (3) like patterns, of some
    types (4), with the schemas of Arrow (5)."""
    types, with_schemas = asked.texts(4), asked.flag(5)
    found: list[tuple[Any, ...]] = []
    if _is_ours(asked.optional_text(1)) and _is_like("", asked.optional_text(2)):
        pattern = asked.optional_text(3)
        for name, kind, schema in listed(db, who):
            if (not types or kind in types) and _is_like(name, pattern):
                row = ("", "", name, kind)
                found.append((*row, schema.serialize().to_pybytes()) if with_schemas else row)
    return _table(TABLES_WITH_SCHEMAS if with_schemas else TABLES, found)


def listed(db: Database, who: Who) -> Iterator[tuple[str, str, pa.Schema]]:
    """The name, the type and the columns of each table and view that somebody may use."""
    for name, table in db.tables.items():
        if who.may_read(name) or who.may_write(name):
            yield table.name, TABLE, table.arrow
    for name, view in db.views.items():
        if who.may_read(name):
            yield view.name, VIEW, view.schema


def primary_keys(db: Database, who: Who, asked: Message) -> pa.Table:
    """The columns of a table's primary key, CommandGetPrimaryKeys: of a catalog (1), a schema (2), a table (3)."""
    found = []
    table = _asked_table(db, who, asked, 1)
    if table is not None:
        for place, column in enumerate(table.primary_key, 1):
            found.append(("", "", table.name, table.columns[column].name, None, place))
    return _table(PRIMARY_KEYS, found)


def foreign_keys(db: Database, who: Who, asked: Message, to_field: int | None, of_field: int | None) -> pa.Table:
    """The foreign keys to a table, or of a table, or both.

    Args:
        db: The database.
        who: Who asks.
        asked: CommandGetExportedKeys, CommandGetImportedKeys or CommandGetCrossReference.
        to_field: Where the referenced table stands: its catalog, and then its schema and its name; None if any counts.
        of_field: Where the table stands that references it; None if any counts.
    """
    to = None if to_field is None else _asked_table(db, who, asked, to_field)
    of = None if of_field is None else _asked_table(db, who, asked, of_field)
    if (to_field is not None and to is None) or (of_field is not None and of is None):
        return _table(FOREIGN_KEYS, [])
    seen = [table for name, table in db.tables.items() if who.may_read(name) or who.may_write(name)]
    known = {table.name.lower(): table for table in seen}
    found = []
    for table in seen if of is None else [of]:
        for key in table.foreign_keys:
            target = known.get(key.table.lower())
            if target is None or (to is not None and target.name != to.name):
                continue
            for place, (its, theirs) in enumerate(zip(key.columns, key.targets(target), strict=True), 1):
                primary = ("", "", target.name, target.columns[theirs].name)
                foreign = ("", "", table.name, table.columns[its].name)
                found.append((*primary, *foreign, place, None, None, _NO_ACTION, _NO_ACTION))
    return _table(FOREIGN_KEYS, found)


def _asked_table(db: Database, who: Who, asked: Message, first: int) -> Table | None:
    """The table of a message, in the fields of its catalog, schema and name; None if there is none for them."""
    name = asked.text(first + 2)
    if not _is_ours(asked.optional_text(first)) or not _is_ours(asked.optional_text(first + 1)):
        return None
    return db.tables[name] if name in db.tables and (who.may_read(name) or who.may_write(name)) else None


def _is_ours(name: str | None) -> bool:
    """Whether it is the name of our catalog or schema, or none is asked for."""
    return not name


def _is_like(name: str, pattern: str | None) -> bool:
    """Whether a name is like a pattern of SQL, in any case; in time linear in both."""
    return pattern is None or bool(pc.match_like(pa.array([name]), pattern, ignore_case=True)[0].as_py())


def sql_info(asked: Sequence[int], limits: Limits) -> pa.Table:
    """What the server can do, CommandGetSqlInfo; all that is known if nothing is asked for.

    Args:
        asked: The numbers of what is asked for, as FlightSql.proto has them.
        limits: The limits of one who asks.
    """
    known: dict[int, str | bool | int] = {
        0: "livejoin",
        1: livejoin.__version__,
        2: pa.__version__,
        3: False,  # read only
        4: True,  # SQL
        5: False,  # Substrait
        8: 0,  # no transactions
        9: False,  # no CancelQuery
        10: True,  # bulk ingestion
        11: False,  # none of it in transactions
        100: int(limits.query_seconds * 1000),
        500: False,  # no CREATE CATALOG
        501: False,  # no CREATE SCHEMA
        502: True,  # CREATE TABLE
        503: 1,  # identifiers are the same in any case
        504: "`",
        505: 1,
        506: True,  # all tables that are listed may be selected from
        514: "\\",
    }
    chosen = {number: known[number] for number in (asked or known) if number in known}
    places = [_place(number, value) for number, value in chosen.items()]
    pairs = list(zip(places, chosen.values(), strict=True))
    children = [
        pa.array([value for place, value in pairs if place == one], _VALUE.field(one).type)
        for one in range(_VALUE.num_fields)
    ]
    offsets = pa.array([places[:at].count(place) for at, place in enumerate(places)], pa.int32())
    names = [_VALUE.field(one).name for one in range(_VALUE.num_fields)]
    values = pa.UnionArray.from_dense(pa.array(places, pa.int8()), offsets, children, names)
    return pa.table([pa.array(chosen, pa.uint32()), values], schema=SQL_INFO)


def _place(number: int, value: str | bool | int) -> int:
    """Which of the types of `_VALUE` a value has."""
    if isinstance(value, str):
        return 0
    if isinstance(value, bool):
        return 1
    return 3 if number in _OF_32_BITS else 2


_OF_32_BITS = frozenset((8, 100))


def _table(schema: pa.Schema, rows: Sequence[tuple[Any, ...]]) -> pa.Table:
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(schema)
    arrays = [pa.array(values, field.type) for values, field in zip(columns, schema, strict=True)]
    return pa.table(arrays, schema=schema)
