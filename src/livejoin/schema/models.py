"""The columns of a table from a class with annotated fields, or from an Arrow schema: as SQL declares them.

=====================  ===============================================================================================
Annotation             Type
=====================  ===============================================================================================
bool, int, float       BOOLEAN, BIGINT, DOUBLE; those of NumPy of their own width
str, bytes, UUID       STRING, BINARY, UUID
date, datetime         DATE, TIMESTAMP
timedelta              INTERVAL DAY TO SECOND
Decimal                DECIMAL(38, 18), as Spark has it; of ``max_digits`` and ``decimal_places`` of pydantic, if given
Literal, enumerations  that of their values
list[X], dict[K, V]    ARRAY<X>, MAP<K, V>
another such class     STRUCT of its fields
Annotated[X, "INT"]    the type that the text says in SQL, whatever X is
X | None               X, and NULL; all others are NOT NULL, but for ``NotRequired`` of a TypedDict
=====================  ===============================================================================================
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
import types
import typing
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Annotated, Any, Literal, NamedTuple, NotRequired, Required, Union, get_args, get_origin
from uuid import UUID

import numpy as np
import pyarrow as pa

from livejoin.errors import SchemaError
from livejoin.schema.names import backticked
from livejoin.schema.types import is_variant
from livejoin.shown import shown

_MOST_DIGITS, _ROOM = 38, 18
_TYPES: tuple[tuple[type, str], ...] = (
    (bool, "BOOLEAN"),
    (np.bool_, "BOOLEAN"),
    (np.int8, "TINYINT"),
    (np.int16, "SMALLINT"),
    (np.int32, "INT"),
    (np.int64, "BIGINT"),
    (np.float32, "FLOAT"),
    (int, "BIGINT"),
    (float, "DOUBLE"),
    (str, "STRING"),
    (bytes, "BINARY"),
    (bytearray, "BINARY"),
    (UUID, "UUID"),
    (dt.datetime, "TIMESTAMP"),
    (dt.date, "DATE"),
    (dt.timedelta, "INTERVAL DAY TO SECOND"),
    (Decimal, f"DECIMAL({_MOST_DIGITS}, {_ROOM})"),
)
"""What instances of a class are; of several that a class is derived from the first one counts."""
_ALLOWED = (
    "allowed are bool, int, float, str, bytes, date, datetime, timedelta, Decimal, UUID, lists and dicts of these, "
    "classes with such fields, each of them | None, and Annotated[..., 'DECIMAL(10, 2)'], which names a type of SQL"
)
_CLASSES = "a dataclass, a NamedTuple, a TypedDict, a pydantic model, or a schema of pyarrow"


class _Field(NamedTuple):
    """A field of a class.

    Args:
        name: The name of the field.
        annotation: The type that is written.
        metadata: The values beside the annotation.
        is_optional: Whether it may be left out.
    """

    name: str
    annotation: Any
    metadata: tuple[Any, ...] = ()
    is_optional: bool = False


def declared_columns(table: str, columns: object, key: str | Sequence[str] | None) -> str:
    """The columns of a table as SQL declares them.

    Args:
        table: The name of the table, for messages.
        columns: The columns as text, a dict of names and types, a class with annotated fields, or an Arrow schema.
        key: The columns of its primary key, by name.

    Raises:
        SchemaError: There is no such class, a field has no type in SQL, or the key names none.

    >>> class Order(NamedTuple):
    ...     id: int
    ...     price: Annotated[Decimal, "DECIMAL(10, 2)"] | None
    >>> declared_columns("orders", Order, "id")
    '`id` BIGINT NOT NULL, `price` DECIMAL(10, 2), PRIMARY KEY (`id`)'
    >>> declared_columns("G", {"src": "BIGINT NOT NULL", "label": str | None}, None)
    '`src` BIGINT NOT NULL, `label` STRING'
    """
    names = _key_names(table, key)
    if isinstance(columns, str):
        parts = [columns]
    else:
        declared = _declared(table, columns)
        known = {name.lower() for name, _ in declared}
        for name in names:
            if name.lower() not in known:
                listed = ", ".join(one for one, _ in declared)
                msg = f"table {table!r}: key names {name!r}, which is no field; the fields are {listed}"
                raise SchemaError(msg)
        parts = [f"{backticked(name)} {kind}" for name, kind in declared]
    if names:
        parts.append(f"PRIMARY KEY ({', '.join(map(backticked, names))})")
    return ", ".join(parts)


def _key_names(table: str, key: object) -> list[str]:
    if key is None:
        return []
    names = [key] if isinstance(key, str) else list(key) if isinstance(key, Sequence) else []
    if not names or not all(isinstance(name, str) for name in names):
        msg = f"table {table!r}: key is {shown(key)}; allowed is the name of a column, or a list of names"
        raise SchemaError(msg)
    return names


def _declared(table: str, columns: object) -> list[tuple[str, str]]:
    """The names and types of columns."""
    if isinstance(columns, Mapping):
        return [(_named(table, name), _of_value(table, name, kind)) for name, kind in columns.items()]
    if isinstance(columns, pa.Schema):
        return [
            (field.name, _of_arrow(f"table {table!r}: field {field.name!r}", field.type) + _null(field.nullable))
            for field in columns
        ]
    fields = _fields(f"table {table!r}", columns)
    if fields is None:
        msg = (
            f"table {table!r}: the columns are {shown(columns)}; allowed is a text such as 'src BIGINT, dst BIGINT', "
            f"a dict such as {{'src': 'BIGINT', 'dst': 'BIGINT'}}, {_CLASSES}"
        )
        raise SchemaError(msg)
    found = []
    for field in fields:
        kind, nullable = _of_annotation(f"table {table!r}: field {field.name!r}", field.annotation, field.metadata)
        found.append((field.name, kind + _null(nullable or field.is_optional)))
    return found


def _named(table: str, name: object) -> str:
    if not isinstance(name, str):
        msg = f"table {table!r}: a column is named {shown(name)}; allowed is a text"
        raise SchemaError(msg)
    return name


def _of_value(table: str, name: str, kind: object) -> str:
    """The type of a column that a dict names, as SQL declares it: a text of SQL, a type of Arrow, or an annotation."""
    where = f"table {table!r}: field {name!r}"
    if isinstance(kind, str):
        return kind
    if isinstance(kind, pa.DataType):
        return _of_arrow(where, kind)
    declared, nullable = _of_annotation(where, kind, ())
    return declared + _null(nullable)


def _null(nullable: bool) -> str:
    return "" if nullable else " NOT NULL"


def _fields(where: str, model: object) -> list[_Field] | None:
    """The annotated fields of a class; None if it is no such class.

    Raises:
        SchemaError: An annotation names what is not there.
    """
    if not isinstance(model, type):
        return None
    fields = getattr(model, "model_fields", None)
    if isinstance(fields, Mapping) and hasattr(model, "model_dump"):
        return [
            _Field(name, getattr(field, "annotation", None), tuple(getattr(field, "metadata", ())))
            for name, field in fields.items()
        ]
    if dataclasses.is_dataclass(model):
        names = [field.name for field in dataclasses.fields(model)]
    elif typing.is_typeddict(model):
        names = list(model.__annotations__)
    elif issubclass(model, tuple) and isinstance(getattr(model, "_fields", None), tuple):
        names = list(getattr(model, "_fields", ()))
    elif hasattr(model, "__attrs_attrs__"):
        names = [attribute.name for attribute in model.__attrs_attrs__]
    else:
        return None
    try:
        hints = typing.get_type_hints(model, include_extras=True)
    except (NameError, TypeError) as error:
        msg = f"{where}: the annotations of {model.__qualname__} name what is not there: {error}"
        raise SchemaError(msg) from error
    required = getattr(model, "__required_keys__", frozenset(names)) if typing.is_typeddict(model) else names
    missing = [name for name in names if name not in hints]
    if missing:
        msg = f"{where}: the field {missing[0]!r} of {model.__qualname__} has no annotation; give it one"
        raise SchemaError(msg)
    return [_Field(name, hints[name], (), name not in required) for name in names]


def _of_annotation(where: str, annotation: Any, metadata: Iterable[Any] = ()) -> tuple[str, bool]:
    """The type that an annotation stands for, and whether it allows NULL.

    Raises:
        SchemaError: The annotation stands for none.
    """
    beside = list(_spread(metadata))
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _of_annotation(where, arguments[0], [*arguments[1:], *beside])
    if origin is NotRequired or origin is Required:
        kind, nullable = _of_annotation(where, arguments[0], beside)
        return kind, nullable or origin is NotRequired
    if origin is Union or origin is types.UnionType:
        others = [one for one in arguments if one is not types.NoneType]
        if len(others) == 1:
            return _of_annotation(where, others[0], beside)[0], len(others) < len(arguments)
        raise _no_type(where, annotation)
    said = next((one for one in beside if isinstance(one, str)), None)
    if said is not None:
        return said, False
    if origin is Literal:
        kinds = {_of_annotation(where, type(value))[0] for value in arguments if value is not None}
        if len(kinds) != 1:
            raise _no_type(where, annotation)
        return kinds.pop(), None in arguments
    if isinstance(annotation, typing.NewType):
        return _of_annotation(where, annotation.__supertype__, beside)
    if origin in (list, Sequence) and arguments:
        return f"ARRAY<{_of_annotation(where, arguments[0])[0]}>", False
    if origin is tuple and len(arguments) == 2 and arguments[1] is ...:
        return f"ARRAY<{_of_annotation(where, arguments[0])[0]}>", False
    if origin in (dict, Mapping) and arguments:
        key, value = (_of_annotation(where, one)[0] for one in arguments)
        return f"MAP<{key}, {value}>", False
    if isinstance(annotation, type) and origin is None:
        return _of_class(where, annotation, beside), False
    raise _no_type(where, annotation)


def _of_class(where: str, kind: type, beside: Sequence[Any]) -> str:
    if issubclass(kind, Decimal):
        return _of_decimal(beside)
    fields = _fields(where, kind)
    if fields is not None:
        parts = [f"{backticked(one.name)}: {_of_annotation(where, one.annotation, one.metadata)[0]}" for one in fields]
        return f"STRUCT<{', '.join(parts)}>"
    found = next((name for one, name in _TYPES if issubclass(kind, one)), None)
    if found is None or (issubclass(kind, enum.Enum) and not issubclass(kind, (str, int))):
        raise _no_type(where, kind)
    return found


def _of_decimal(beside: Sequence[Any]) -> str:
    """A DECIMAL of the digits that are said beside the annotation."""
    digits = next((found for one in beside if (found := getattr(one, "max_digits", None)) is not None), None)
    places = next((found for one in beside if (found := getattr(one, "decimal_places", None)) is not None), None)
    if digits is None and places is None:
        return f"DECIMAL({_MOST_DIGITS}, {_ROOM})"
    return f"DECIMAL({_MOST_DIGITS if digits is None else digits}, {_ROOM if places is None else places})"


def _spread(metadata: Iterable[Any]) -> Iterator[Any]:
    """What stands beside an annotation, and what that holds itself, as the ``Field`` of pydantic does."""
    for one in metadata:
        yield one
        inner = getattr(one, "metadata", ())
        if isinstance(inner, (list, tuple)):
            yield from inner


def _no_type(where: str, annotation: object) -> SchemaError:
    return SchemaError(f"{where} is {shown(annotation)}, which is no type of a column; {_ALLOWED}")


_ARROW: dict[pa.DataType, str] = {
    pa.bool_(): "BOOLEAN",
    pa.int8(): "TINYINT",
    pa.int16(): "SMALLINT",
    pa.int32(): "INT",
    pa.int64(): "BIGINT",
    pa.uint8(): "SMALLINT",
    pa.uint16(): "INT",
    pa.uint32(): "BIGINT",
    pa.uint64(): "DECIMAL(20, 0)",
    pa.float16(): "FLOAT",
    pa.float32(): "FLOAT",
    pa.float64(): "DOUBLE",
    pa.string(): "STRING",
    pa.large_string(): "STRING",
    pa.string_view(): "STRING",
    pa.binary(): "BINARY",
    pa.large_binary(): "BINARY",
    pa.binary_view(): "BINARY",
    pa.date32(): "DATE",
    pa.date64(): "DATE",
    pa.month_day_nano_interval(): "INTERVAL YEAR TO MONTH",
}
"""Types of columns that take all values of an Arrow type, the narrowest."""


def _of_arrow(where: str, kind: pa.DataType) -> str:
    """The type of a column that takes values of an Arrow type.

    Raises:
        SchemaError: There is none.
    """
    is_a = pa.types
    if kind in _ARROW:
        return _ARROW[kind]
    if is_a.is_timestamp(kind):
        return "TIMESTAMP"
    if is_a.is_duration(kind):
        return "INTERVAL DAY TO SECOND"
    if is_a.is_decimal(kind) and kind.precision <= _MOST_DIGITS and 0 <= kind.scale <= kind.precision:
        return f"DECIMAL({kind.precision}, {kind.scale})"
    if is_a.is_dictionary(kind) or is_a.is_run_end_encoded(kind):
        return _of_arrow(where, kind.value_type)
    if isinstance(kind, pa.BaseExtensionType):
        return "UUID" if kind.extension_name == "arrow.uuid" else _of_arrow(where, kind.storage_type)
    if is_a.is_fixed_size_binary(kind):
        return "BINARY"
    if is_variant(kind):
        return "VARIANT"
    if is_a.is_struct(kind) and kind.num_fields:
        parts = [f"{backticked(one.name)}: {_of_arrow(where, one.type)}" for one in kind]
        return f"STRUCT<{', '.join(parts)}>"
    if is_a.is_map(kind):
        return f"MAP<{_of_arrow(where, kind.key_type)}, {_of_arrow(where, kind.item_type)}>"
    if is_a.is_list(kind) or is_a.is_large_list(kind) or is_a.is_fixed_size_list(kind) or is_a.is_list_view(kind):
        return f"ARRAY<{_of_arrow(where, kind.value_type)}>"
    msg = f"{where} has the Arrow type {kind}, which is no type of a column; cast it, or declare the column in SQL"
    raise SchemaError(msg)
