"""Nested values that come in: arrays, structs, maps and variants of any form, as canonical Arrow of their type.

Law: the canonical value equals the given value, part by part as `livejoin.changes.convert` says for the types of parts;
or the change is refused with its row and the path of the part. The entries of a map are sorted by the bytes of their
keys.

=======  ================================================  =====================================================
Type     Arrow                                             Python object in a tuple or dict
=======  ================================================  =====================================================
ARRAY    lists of any kind                                 list, tuple
STRUCT   structs with its fields, in any order             dict or object with its fields, tuple in their order
MAP      maps                                              dict, list of pairs; no key twice
VARIANT  structs of value and metadata, both binary        dict or tuple of these
=======  ================================================  =====================================================
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from livejoin.changes.payload_bytes import encode_payload
from livejoin.changes.records import fields_of, named_values
from livejoin.changes.source import Values
from livejoin.errors import CapacityError, ChangeValueError
from livejoin.schema import Column, SqlType, Table
from livejoin.shown import shown
from livejoin.words import Words

Convert = Callable[[Values, Column, Table, bool], pa.Array]
"""What converts a column of single values, and refuses NULL if it is told so."""

_OF_VARIANT = (("value", SqlType("binary")), ("metadata", SqlType("binary")))
_MOST = (1 << 31) - 1
_types = pa.types


@dataclass(frozen=True)
class Payload:
    """The conversion of one nested column, or of a part of it.

    Args:
        column: The declaration of the column; the name of a part is its path.
        table: Named in errors.
        single: Converts values that are not nested.
    """

    column: Column
    table: Table
    single: Convert

    def convert(self, values: pa.Array | tuple[Any, ...], required: bool = False) -> pa.Array:
        """The canonical values.

        Raises:
            ChangeValueError: A value outside of the type, or NULL where it is required.
            CapacityError: More elements than Arrow holds.
        """
        kind = self.column.type
        if not kind.is_payload:
            given: Values = pa.chunked_array([values]) if isinstance(values, pa.Array) else values
            return self.single(given, self.column, self.table, required)
        if isinstance(values, pa.Array) and _types.is_null(values.type):
            return pa.nulls(len(values), kind.arrow)
        match kind.kind:
            case "array":
                return self._array(values)
            case "map":
                return self._map(values)
            case _:
                return self._struct(values, kind.inner or _OF_VARIANT)

    def _part(self, name: str, values: Any, rows: Words, kind: SqlType, required: bool = False) -> pa.Array:
        """A part of the values; an error names the row that the part belongs to."""
        part = replace(self, column=Column(f"{self.column.name}.{name}", kind))
        try:
            return part.convert(values, required)
        except ChangeValueError as error:
            row = int(rows[error.row]) if error.row >= 0 else -1
            raise ChangeValueError(error.message, error.table, row) from error

    def _array(self, values: pa.Array | tuple[Any, ...]) -> pa.Array:
        ((name, kind),) = self.column.type.inner
        if isinstance(values, pa.Array):
            if not (_types.is_list(values.type) or _types.is_large_list(values.type) or _other_list(values.type)):
                raise self._misfit_type(values, "lists")
            valid = values.is_valid().to_numpy(zero_copy_only=False)
            lengths = pc.list_value_length(values).fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
            elements: Any = values.flatten()
        else:
            valid = np.array([value is not None for value in values], bool)
            self._check_each(values, lambda value: isinstance(value, (list, tuple)), "lists")
            lengths = np.array([0 if value is None else len(value) for value in values], np.int64)
            elements = tuple(element for value in values if value is not None for element in value)
        rows = np.repeat(np.arange(lengths.size), lengths)
        part = self._part(name, elements, rows, kind)
        return pa.Array.from_buffers(self._arrow, valid.size, [_bits(valid), self._bounds(lengths)], children=[part])

    def _struct(self, values: pa.Array | tuple[Any, ...], inner: Sequence[tuple[str, SqlType]]) -> pa.Array:
        names = [name for name, _ in inner]
        if isinstance(values, pa.Array):
            found = (
                {field.name.lower(): i for i, field in enumerate(values.type)} if _types.is_struct(values.type) else {}
            )
            if found.keys() != {name.lower() for name in names} or values.type.num_fields != len(names):
                raise self._misfit_type(values, f"structs with the fields {', '.join(names)}")
            valid = values.is_valid().to_numpy(zero_copy_only=False)
            flat = values.flatten()
            columns: list[Any] = [flat[found[name.lower()]] for name in names]
        else:
            valid = np.array([value is not None for value in values], bool)
            read = [self._fields(value, names, row) for row, value in enumerate(values)]
            columns = list(zip(*read, strict=True)) if read else [()] * len(names)
        rows = np.arange(valid.size)
        parts = [self._part(name, column, rows, kind) for (name, kind), column in zip(inner, columns, strict=True)]
        if self.column.type.kind == "variant":
            for name, part in zip(names, parts, strict=True):
                lacking = valid & part.is_null().to_numpy(zero_copy_only=False)
                if lacking.any():
                    raise self._misfit(int(np.argmax(lacking)), f"its {name} is NULL; allowed are value and metadata")
        return pa.Array.from_buffers(self._arrow, valid.size, [_bits(valid)], children=parts)

    def _fields(self, value: Any, names: Sequence[str], row: int) -> Sequence[Any]:
        """The fields of one Python object in order; NULLs for None."""
        if value is None:
            return [None] * len(names)
        own = fields_of(type(value))
        if own is not None:
            value = named_values(value, own)
        if isinstance(value, Mapping):
            found = {str(name).lower(): one for name, one in value.items()}
            if len(value) == len(names) and found.keys() == {name.lower() for name in names}:
                return [found[name.lower()] for name in names]
        elif isinstance(value, (tuple, list)) and len(value) == len(names):
            return value
        allowed = f"dicts with the fields {', '.join(names)}, objects with these, or tuples"
        raise self._misfit(row, f"{shown(value)} is none; allowed are {allowed}")

    def _map(self, values: pa.Array | tuple[Any, ...]) -> pa.Array:
        (_, key_type), (_, value_type) = self.column.type.inner
        if isinstance(values, pa.Array):
            if not _types.is_map(values.type):
                raise self._misfit_type(values, "maps")
            valid = values.is_valid().to_numpy(zero_copy_only=False)
            begins = values.offsets.to_numpy().astype(np.int64)
            lengths = np.where(valid, np.diff(begins), 0)
            chosen = np.repeat(begins[:-1] - _starts(lengths)[:-1], lengths) + np.arange(int(lengths.sum()))
            keys, items = (part.take(pa.array(chosen)) for part in (values.keys, values.items))
        else:
            valid = np.array([value is not None for value in values], bool)
            self._check_each(values, _is_pairs, "dicts and lists of pairs")
            pairs = [list(v.items() if isinstance(v, Mapping) else v) for v in values if v is not None]
            lengths = np.zeros(valid.size, np.int64)
            lengths[valid] = [len(one) for one in pairs]
            keys, items = (tuple(pair[i] for one in pairs for pair in one) for i in range(2))
        rows = np.repeat(np.arange(lengths.size), lengths)
        whole_keys = self._part("key", keys, rows, key_type, required=True)
        if whole_keys.null_count:
            raise self._misfit(int(rows[pc.index(whole_keys.is_null(), True).as_py()]), "a key is NULL")
        whole_values = self._part("value", items, rows, value_type)
        order = self._sorted(whole_keys, rows, key_type)
        if order is not None:
            whole_keys, whole_values = whole_keys.take(order), whole_values.take(order)
        entries = pa.struct([self._arrow.key_field, self._arrow.item_field])
        parts = pa.Array.from_buffers(entries, rows.size, [None], children=[whole_keys, whole_values])
        return pa.Array.from_buffers(self._arrow, valid.size, [_bits(valid), self._bounds(lengths)], children=[parts])

    def _sorted(self, keys: pa.Array, rows: Words, kind: SqlType) -> pa.Array | None:
        """The order of map entries by row and bytes of the key; None if no map has two entries."""
        if not (rows[1:] == rows[:-1]).any():
            return None
        data, bounds = encode_payload(keys, kind)
        texts = pa.Array.from_buffers(pa.large_binary(), rows.size, [None, pa.py_buffer(bounds), pa.py_buffer(data)])
        table = pa.table({"row": rows, "key": texts})
        order = pc.sort_indices(table, sort_keys=[("row", "ascending"), ("key", "ascending")])
        taken = table.take(order).combine_chunks()
        row, key = taken["row"].combine_chunks(), taken["key"].combine_chunks()
        twice = pc.and_(pc.equal(row[1:], row[:-1]), pc.equal(key[1:], key[:-1]))
        if pc.any(twice).as_py():
            at = pc.index(twice, True).as_py()
            raise self._misfit(row[at].as_py(), f"the key {shown(keys[order[at].as_py()].as_py())} is there twice")
        return order

    @property
    def _arrow(self) -> pa.DataType:
        return self.column.type.arrow

    def _bounds(self, lengths: Words) -> pa.Buffer:
        bounds = _starts(lengths)
        if bounds[-1] > _MOST:
            msg = (
                f"table {self.table.name!r}: column {self.column.name!r} has {bounds[-1]} elements; an Arrow array "
                "holds 2^31 - 1 of them: give fewer rows at a time"
            )
            raise CapacityError(msg)
        return pa.py_buffer(bounds.astype(np.int32))

    def _check_each(self, values: Sequence[Any], fits: Callable[[Any], bool], allowed: str) -> None:
        for row, value in enumerate(values):
            if value is not None and not fits(value):
                raise self._misfit(row, f"{shown(value)} is none; allowed are {allowed}")

    def _misfit(self, row: int, why: str) -> ChangeValueError:
        msg = f"value of column {self.column.name!r} does not fit {self.column.type}: {why}"
        return ChangeValueError(msg, self.table.name, row)

    def _misfit_type(self, values: pa.Array, allowed: str) -> ChangeValueError:
        row = -1 if values.null_count == len(values) else pc.index(values.is_valid(), True).as_py()
        msg = (
            f"column {self.column.name!r} is {self.column.type}, but its data has the Arrow type {values.type}; "
            f"allowed: {allowed}; cast the data first"
        )
        return ChangeValueError(msg, self.table.name, row)


def _other_list(kind: pa.DataType) -> bool:
    return bool(_types.is_fixed_size_list(kind) or _types.is_list_view(kind) or _types.is_large_list_view(kind))


def _is_pairs(value: Any) -> bool:
    if isinstance(value, Mapping):
        return True
    return isinstance(value, (list, tuple)) and all(isinstance(one, (list, tuple)) and len(one) == 2 for one in value)


def _starts(lengths: Words) -> Words:
    bounds = np.zeros(lengths.size + 1, np.int64)
    np.cumsum(lengths, out=bounds[1:])
    return bounds


def _bits(valid: np.ndarray[Any, np.dtype[np.bool_]]) -> pa.Buffer | None:
    return None if valid.all() else pa.py_buffer(np.packbits(valid, bitorder="little"))
