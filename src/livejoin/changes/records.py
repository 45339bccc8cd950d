"""Rows that are objects with named fields, and NumPy's arrays of records: their columns, by name.

==================  ==================================================================================================
Rows                Names
==================  ==================================================================================================
dataclasses         their fields
named tuples        their fields; tuples without names have their columns by position
pydantic models     their fields, and what ``extra="allow"`` keeps
attrs classes       their attributes
NumPy records       the fields of the array, read as a whole: strings of NumPy as texts, ``datetime64`` of days, weeks,
                    months and years as dates, others as timestamps, NaT and masked values as NULL
==================  ==================================================================================================

A value is that of the attribute: a default counts as given.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

_OF_DAYS = ("Y", "M", "W")
_OF_SECONDS = ("h", "m")
_OBJECTS = "OV"


def fields_of(kind: type) -> tuple[str, ...] | None:
    """The names of the fields that objects of a class have, in their order; None if it is no such class.

    >>> from typing import NamedTuple
    >>> class Edge(NamedTuple):
    ...     src: int
    ...     dst: int
    >>> fields_of(Edge), fields_of(tuple)
    (('src', 'dst'), None)
    """
    if dataclasses.is_dataclass(kind):
        return tuple(field.name for field in dataclasses.fields(kind))
    if issubclass(kind, tuple):
        names = getattr(kind, "_fields", None)
        return tuple(names) if isinstance(names, tuple) else None
    fields = getattr(kind, "model_fields", None)
    if isinstance(fields, Mapping) and callable(getattr(kind, "model_dump", None)):
        return tuple(fields)
    attributes = getattr(kind, "__attrs_attrs__", None)
    return None if attributes is None else tuple(attribute.name for attribute in attributes)


def named_values(row: Any, names: tuple[str, ...]) -> dict[str, Any]:
    """The fields of an object, and what a pydantic model has beside them."""
    extra = getattr(row, "model_extra", None)
    return {**{name: getattr(row, name) for name in names}, **(extra if isinstance(extra, Mapping) else {})}


def columns_of(records: npt.NDArray[Any]) -> tuple[pa.ChunkedArray | tuple[Any, ...], ...]:
    """The columns of an array of records, which has one dimension.

    Raises:
        ArrowException, ValueError, TypeError, OverflowError: Arrow has no type for a field.

    Cost: O(values); of objects and of fields that are arrays or records themselves, one by one.
    """
    assert records.dtype.names is not None
    return tuple(_column(records[name]) for name in records.dtype.names)


def _column(values: npt.NDArray[Any]) -> pa.ChunkedArray | tuple[Any, ...]:
    mask = np.ma.getmaskarray(values) if isinstance(values, np.ma.MaskedArray) else None
    values = np.ma.getdata(values)
    kind = values.dtype
    if kind.kind in _OBJECTS or values.ndim > 1:
        objects = values.tolist()
        if mask is not None:
            gone = mask if mask.dtype == np.bool_ and mask.ndim == 1 else _all_masked(mask)
            objects = [None if absent else value for value, absent in zip(objects, gone.tolist(), strict=True)]
        return tuple(objects)
    if kind.kind in "mM":
        unit, _ = np.datetime_data(kind)
        if kind.kind == "M" and unit in _OF_DAYS:
            values = values.astype("M8[D]")
        elif unit in _OF_SECONDS or (kind.kind == "m" and unit in ("W", "D")):
            values = values.astype(f"{kind.kind}8[s]")
    values = np.ascontiguousarray(values, values.dtype.newbyteorder("="))
    return pa.chunked_array([pa.array(values, mask=mask)])


def _all_masked(mask: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Of records and arrays whether all of each is masked."""
    if mask.dtype.names is not None:
        return np.asarray(np.logical_and.reduce([_all_masked(mask[name]) for name in mask.dtype.names]), np.bool_)
    return np.asarray(mask.reshape(mask.shape[0], -1).all(axis=1), np.bool_)
