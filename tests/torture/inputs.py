"""Input fuzz: values in every Arrow layout and Python object that can carry them, well-formed and broken.

Each case gives a table of one column some rows and asserts the law of the border: data that is well-formed and fits is
taken, and the tables, the delta and an expression over it are what DuckDB makes of the plain values; all else raises an
error of livejoin's own and leaves the version and the rows as they were. After a case its rows are deleted again, in
another layout.

``python -m torture.inputs CASES SEED`` in ``tests`` runs a campaign; a failure names the case, and `run_case` runs it
alone.
"""

from __future__ import annotations

import datetime as dt
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

import livejoin
from oracle import connect
from scenario import canonical_row

TEXTS = ("", "a", "é€😀", "\0", "no view has room for this text", "ab" * 200, "Ω" * 12, "'", "x\ny")
EDGES = {bits: (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1, 0, 1, -1, 7) for bits in (8, 16, 32, 64)}


@dataclass(frozen=True)
class Kind:
    """A column type: its values, the wider Arrow types that hold each of them, and an expression over x."""

    sql: str
    arrow: pa.DataType
    values: tuple[Any, ...]
    wider: tuple[pa.DataType, ...]
    expression: str = "CAST(x AS STRING)"


def _integer(sql: str, bits: int, arrow: pa.DataType) -> Kind:
    wide = tuple(t for b, t in ((16, pa.int16()), (32, pa.int32()), (64, pa.int64())) if b > bits)
    decimals = (pa.decimal128(38, 0), pa.decimal128(30, 5), pa.decimal256(50, 3))
    floats = (pa.float64(),) if bits < 64 else ()
    return Kind(sql, arrow, EDGES[bits], (*wide, *decimals, *floats))


DAY = (dt.date(1, 1, 1), dt.date(9999, 12, 31), dt.date(1970, 1, 1), dt.date(1969, 12, 31), dt.date(2024, 2, 29))
MOMENT = (
    dt.datetime(1970, 1, 1),
    dt.datetime(1969, 12, 31, 23, 59, 59, 999999),
    dt.datetime(2024, 2, 29, 1, 2, 3, 456789),
    dt.datetime(2100, 1, 1),
)
MONEY = tuple(map(Decimal, ("0.00", "-0.01", "99999999.99", "-99999999.99", "1.10", "5.00")))
KINDS = {
    "text": Kind("STRING", pa.string(), TEXTS, (pa.large_string(), pa.string_view()), "upper(x)"),
    "tiny": _integer("TINYINT", 8, pa.int8()),
    "small": _integer("SMALLINT", 16, pa.int16()),
    "plain": _integer("INT", 32, pa.int32()),
    "big": _integer("BIGINT", 64, pa.int64()),
    "real": Kind("DOUBLE", pa.float64(), (0.0, -0.0, 1.5, -1e300, float("inf"), float("nan"), 5e-324), ()),
    "money": Kind("DECIMAL(10, 2)", pa.decimal128(10, 2), MONEY, (pa.decimal128(38, 2), pa.decimal256(60, 9))),
    "day": Kind("DATE", pa.date32(), DAY, (pa.date64(),)),
    "moment": Kind("TIMESTAMP", pa.timestamp("us"), MOMENT, (pa.timestamp("ns"), pa.timestamp("us", "Asia/Kolkata"))),
    "yes": Kind("BOOLEAN", pa.bool_(), (True, False), ()),
}
NAMES = tuple(KINDS)


# --- layouts: each keeps the values ----------------------------------------------------------------------------------


def _sliced(rng: random.Random, values: pa.Array) -> pa.Array:
    before, after = rng.randrange(9), rng.randrange(3)
    padded = pa.concat_arrays([pa.nulls(before, values.type), values, pa.nulls(after, values.type)])
    return padded.slice(before, len(values))


def _chunked(rng: random.Random, values: pa.Array) -> pa.ChunkedArray:
    cuts = sorted(rng.randrange(len(values) + 1) for _ in range(rng.randrange(4)))
    parts = [values.slice(a, b - a) for a, b in zip([0, *cuts], [*cuts, len(values)], strict=True)]
    return pa.chunked_array(parts, values.type)


def _dictionary(rng: random.Random, values: pa.Array) -> pa.Array:
    """Entries may be NULL, repeated or unused, and a NULL may be one of an index or of an entry."""
    values = values.cast(pa.string()) if values.type == pa.string_view() else values
    entries = pa.concat_arrays([values.slice(0, 1), pa.nulls(1, values.type), values])
    indices = [None if not v.is_valid and rng.random() < 0.5 else i + 2 for i, v in enumerate(values)]
    kind = rng.choice((pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint64()))
    return pa.DictionaryArray.from_arrays(pa.array(indices, kind), entries)


def _run_ends(rng: random.Random, values: pa.Array) -> pa.Array:
    length, kind = rng.randrange(1, 4), rng.choice((pa.int16(), pa.int32(), pa.int64()))
    ends = pa.array([length * (i + 1) for i in range(len(values))], kind)
    whole = pa.RunEndEncodedArray.from_arrays(ends, values)
    if length == 1:
        return whole
    return pa.chunked_array(
        [whole.slice(length * i + rng.randrange(length), 1) for i in range(len(values))], whole.type
    )


def _garbage_under_nulls(rng: random.Random, values: pa.Array) -> pa.Array:
    """The bytes under a NULL mean nothing, whatever they are."""
    if values.type != pa.string():
        return values
    parts = [b"\xe9\xff" if v is None else v.encode() for v in values.to_pylist()]
    offsets = np.cumsum([0, *map(len, parts)], dtype=np.int32)
    valid = np.packbits([v.is_valid for v in values], bitorder="little") if len(values) else np.zeros(1, np.uint8)
    buffers = [pa.py_buffer(valid), pa.py_buffer(offsets), pa.py_buffer(b"".join(parts))]
    return pa.Array.from_buffers(pa.string(), len(values), buffers)


LAYOUTS: tuple[Callable[[random.Random, pa.Array], Any], ...] = (
    _sliced,
    _dictionary,
    _run_ends,
    _garbage_under_nulls,
    lambda _, values: values,
)


def well_formed(rng: random.Random, kind: Kind, values: list[Any]) -> pa.Array | pa.ChunkedArray:
    """The values in some layout that livejoin takes."""
    array = pa.array(values, kind.arrow)
    if kind.wider and rng.random() < 0.4:
        wide = rng.choice(kind.wider)
        if not (pa.types.is_timestamp(wide) and wide.unit == "ns" and any(v and v.year > 2200 for v in values)):
            array = array.cast(wide)
    for layout in rng.sample(LAYOUTS, rng.randrange(3)):
        if isinstance(array, pa.ChunkedArray) or pa.types.is_run_end_encoded(array.type):
            break
        if not (pa.types.is_dictionary(array.type) and layout in (_dictionary, _garbage_under_nulls, _sliced)):
            array = layout(rng, array)
    if isinstance(array, pa.Array) and rng.random() < 0.3 and not pa.types.is_run_end_encoded(array.type):
        return _chunked(rng, array)
    return array


# --- broken data -----------------------------------------------------------------------------------------------------


def _from(kind: pa.DataType, length: int, *buffers: Any, **more: Any) -> pa.Array:
    return pa.Array.from_buffers(kind, length, [b if b is None else pa.py_buffer(b) for b in buffers], **more)


def _latin1(kind: pa.DataType, rows: int, bad: int) -> pa.Array:
    """Texts of which one is not UTF-8."""
    raw = [b"M\xfcnchen, M\xfcnchen" if i == bad else b"Bern" for i in range(rows)]
    binary = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary(), pa.string_view(): pa.binary_view()}
    return pa.array(raw, binary[kind]).view(kind)


def broken(rng: random.Random) -> tuple[str, pa.Table]:
    """A kind of column, and a table with an array of it that is none, or whose values do not fit."""
    name, column, *spoilt = _broken_column(rng)
    table = pa.table({"x": column})
    for buffer, position, value in spoilt:
        buffer[position] = value  # behind Arrow's back, which looks at offsets when an array or a table is made
    return name, table


def _broken_column(rng: random.Random) -> tuple[Any, ...]:
    """A kind of column, an array, and what is to be changed in its buffers when it is in a table."""
    rows, text = rng.randrange(1, 6), rng.choice((pa.string(), pa.large_string(), pa.string_view()))
    bad = rng.randrange(rows)
    match rng.randrange(13):
        case 0:
            return "text", _latin1(text, rows, bad)
        case 1:
            whole = _latin1(text, rows + 2, bad + 1)
            return "text", whole.slice(1, rows)
        case 2:
            indices = pa.array([rng.randrange(rows) for _ in range(rows)] + [bad], pa.int8())
            return "text", pa.DictionaryArray.from_arrays(indices, _latin1(text, rows, bad), safe=False)
        case 3:
            ends = pa.array([2 * i + 2 for i in range(rows)], pa.int32())
            children = [ends, _latin1(text, rows, bad)]
            return "text", pa.Array.from_buffers(
                pa.run_end_encoded(pa.int32(), text), 2 * rows, [None], children=children
            )
        case 4:
            indices = [0] * rows
            indices[bad] = rng.choice((-1, 3, 100))
            entries = rng.choice((pa.array(["a", None, "b"]), pa.array([1, 2, 3])))
            taken = pa.DictionaryArray.from_arrays(pa.array(indices, pa.int16()), entries, safe=False)
            return rng.choice(("text", "big")), taken
        case 5:
            width = np.int32 if text != pa.large_string() else np.int64
            kind = pa.string() if width == np.int32 else text
            return "text", _from(kind, 3, None, np.array([0, 7, rng.randrange(7), 9], width), b"123456789")
        case 6:
            offsets = np.array([0, 0, 3], np.int32)
            return "text", _from(pa.string(), 2, None, offsets, b"abc"), (offsets, 0, -5)
        case 7:
            return "money", _from(pa.decimal128(10, 2), 1, None, (10 ** rng.randrange(11, 30)).to_bytes(16, "little"))
        case 8:
            nulls = rng.randrange(1, rows + 1)
            return "big", _from(pa.int64(), rows + 1, np.zeros(1, np.uint8), np.arange(rows + 1), null_count=nulls)
        case 9:
            ends = np.arange(1, rows + 3, dtype=np.int32)
            array = pa.RunEndEncodedArray.from_arrays(
                _from(pa.int32(), rows + 2, None, ends), pa.array(range(rows + 2))
            )
            return "big", array, (ends, bad + 1, rng.choice((-1, 0, ends[bad])))
        case 10:
            view = np.frombuffer(bytes([13, 0, 0, 0]) + b"abcd" + bytes([0, 0, 0, 0, 1, 0, 0, 0]), np.uint8).copy()
            buffers = [None, pa.py_buffer(view), pa.py_buffer(b"abcd" * 4)]
            array = pa.Array.from_buffers(pa.string_view(), 1, buffers)
            return "text", array, (view, *rng.choice(((8, 9), (12, 9), (12, 255), (15, 255), (4, 0))))
        case 11:
            name = rng.choice(("tiny", "small", "plain", "big"))
            bits = KINDS[name].arrow.bit_width
            return name, pa.array([0] * bad + [Decimal(2 ** (bits - 1))], pa.decimal128(38, 0))
        case _:
            name = rng.choice(NAMES)
            others = (pa.array([b"x"]), pa.array([[1]]), pa.array([{"a": 1}]), pa.array([dt.time(1)]))
            return name, rng.choice((*others, pa.array([dt.timedelta(1)]), pa.array([b"0" * 16], pa.uuid())))


class _Loud(int):
    def __repr__(self) -> str:
        msg = "no name"
        raise RuntimeError(msg)


class _NoZone(dt.tzinfo):
    def utcoffset(self, when: dt.datetime | None) -> dt.timedelta:
        raise KeyError("zone")


ODD: tuple[Any, ...] = (
    *(True, 0, 1, -1, 127, 128, 2**31, 2**63 - 1, 2**63, -(2**63) - 1, 10**40, _Loud(3), _Loud(10**30)),
    *(1.0, 1.5, -0.0, float("nan"), float("inf"), 2.0**53, 1e308, np.longdouble("1.0000000000000000001")),
    *(
        np.int8(5),
        np.uint64(2**64 - 1),
        np.float16(0.1),
        np.float32(0.1),
        np.bool_(True),
        np.str_("x"),
        np.bytes_(b"x"),
    ),
    *map(Decimal, ("1", "1.10", "1.105", "1E+3", "-0.00", "NaN", "sNaN", "Infinity", "1E-50", "1E+50", "99999999.999")),
    *("", "x", "1", "\0", "\ud800", "é", b"x", bytearray(b"x"), "2024-01-01"),
    *(
        *DAY,
        *MOMENT,
        dt.time(1),
        dt.timedelta(1),
        np.datetime64("2024-01-01"),
        pd.Timestamp(1),
        pd.Timestamp(2024, 1, 1),
    ),
    *(dt.datetime(2024, 1, 1, tzinfo=dt.timezone(dt.timedelta(seconds=1, microseconds=1))), pd.NaT, pd.NA),
    *(dt.datetime.min.replace(tzinfo=dt.timezone(dt.timedelta(hours=1))), dt.datetime(2024, 1, 1, tzinfo=_NoZone())),
    *(None, (), [], {}, [1], object(), object, Ellipsis, 1j, pa.scalar(1), np.array(1), np.array([1, 2]), lambda: 0),
)


PLAUSIBLE: tuple[tuple[type | tuple[type, ...], tuple[str, ...]], ...] = (
    ((bool, np.bool_), ("yes",)),
    ((int, np.integer), ("tiny", "small", "plain", "big", "real", "money")),
    ((float, np.floating), ("real",)),
    (Decimal, ("money",)),
    (str, ("text",)),
    (dt.datetime, ("moment",)),
    (dt.date, ("day",)),
)


def plausible(rng: random.Random, value: Any) -> str:
    """A kind of column that may take a value, where there is one."""
    kinds = next((names for classes, names in PLAUSIBLE if isinstance(value, classes)), NAMES)
    return rng.choice(kinds)


def equal(type: Kind, given: Any, stored: Any) -> bool:
    """Whether a value in a table is the one that was given, as Python compares them."""
    if isinstance(given, dt.datetime) and given.tzinfo is not None:
        given = given.astimezone(dt.UTC).replace(tzinfo=None)
    if isinstance(given, bool | np.bool_) != (type.sql == "BOOLEAN") or isinstance(given, str) != (
        type.sql == "STRING"
    ):
        return False
    return bool(canonical_row([given]) == canonical_row([stored]))


class _Stream:
    """Data behind the Arrow interface alone, as of a library that nobody has heard of."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)


class _Failing:
    """Data that fails while it is read."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        raise self._error


class _Liar(Mapping[str, Any]):
    """A dict whose keys have no values."""

    def __getitem__(self, key: str) -> Any:
        raise LookupError(key)

    def __iter__(self) -> Iterator[str]:
        return iter(["x"])

    def __len__(self) -> int:
        return 1


def _half(values: list[Any]) -> Iterator[Any]:
    yield from [(v,) for v in values]
    raise OSError("the source is gone")


def hostile(rng: random.Random, values: list[Any]) -> Any:
    """Data, or a mapping of it, that livejoin refuses."""
    column = pa.array([1])
    return rng.choice(
        (
            *(None, 5, "x", b"x", object(), {"x": values}, [1], [None], [()], [(1, 2)], [{}], [{5: 1}], [{"y": 1}]),
            *(_Failing(KeyError("k")), _Failing(OSError("o")), _half(values), [_Liar()], {"x"}, [object()]),
            pa.table([column, column], ["x", "X"]),
            pa.table({"x": column, "_change_type": pa.array([7])}),
            pa.table({"x": column, "_change_type": _latin1(pa.string(), 1, 0)}),
            pa.table({"x": column, "_change_type": ["upsert"]}),
            pa.table({"x": column, "_seq": pa.array([None], pa.int64())}),
            pa.table({"x": column, "_seq": ["1"]}),
            pa.table({"y": column}),
            pd.DataFrame({"x": [object()]}),
            np.array([1, 2]),
            [(1,), {"x": 1}],
        )
    )


def carrier(rng: random.Random, column: pa.Array | pa.ChunkedArray, plain: list[Any], kind: Kind) -> Any:
    """Something that carries a column, of which the values are also there as Python objects."""
    table = pa.table({rng.choice(("x", "X")): column})
    match rng.randrange(9):
        case 0:
            return [(value,) for value in plain]
        case 1:
            return ({rng.choice("xX"): value} for value in plain)
        case 2:
            return _Stream(table)
        case 3:
            return pa.RecordBatchReader.from_batches(table.schema, table.to_batches())
        case 4 if kind.sql not in ("DOUBLE", "DATE"):  # NaN is NULL in pandas
            return pa.table({"x": pa.array(plain, kind.arrow)}).to_pandas(types_mapper=pd.ArrowDtype)
        case 5 if kind.sql != "DECIMAL(10, 2)":
            return pl.from_arrow(pa.table({"x": pa.array(plain, kind.arrow)}))
        case _:
            return table


# --- the harness -----------------------------------------------------------------------------------------------------


class Harness:
    """A database with a table for each kind of column, which is empty between two cases."""

    def __init__(self) -> None:
        self.db = livejoin.Database()
        self.duckdb = connect()
        for name, kind in KINDS.items():
            self.db.create_table(name, f"x {kind.sql}")
            self.db.create_view(f"of_{name}", f"SELECT x, {kind.expression} AS t FROM {name}")

    def expected(self, name: str, values: list[Any]) -> Counter[Any]:
        kind = KINDS[name]
        if kind.sql == "DOUBLE":
            values = [v if v is None else v + 0.0 for v in values]  # livejoin has one zero
        given = pa.table({"x": pa.array(values, kind.arrow)})
        found = self.duckdb.from_arrow(given).project(f"x, {kind.expression} AS t").to_arrow_table()
        return rows_of(found)

    def accepts(self, name: str, data: Any, values: list[Any], again: Any, kinds: Any) -> None:
        """The data is taken and means the values; then the rows are deleted by ``again``, with the type ``kinds``."""
        expected = self.expected(name, values)
        commit = self.db.apply(name, data)
        assert commit.changes == len(values)
        assert rows_of(commit[f"of_{name}"].select(["x", "t"])) == expected, "the delta differs"
        assert rows_of(self.db.views[f"of_{name}"].to_arrow()) == expected, "the view differs"
        self.db.replay({name: pa.table({"x": again, "_change_type": kinds, "_seq": pa.array(range(len(values)))})})
        assert self.db.views[f"of_{name}"].to_arrow().num_rows == 0, "the deletion left rows"

    def refuses(self, changes: Any, *data: Any) -> None:
        before = self.db.version
        try:
            self.db.apply(changes, *data)
        except livejoin.LivejoinError:
            pass
        else:
            msg = "the data was taken"
            raise AssertionError(msg)
        assert self.db.version == before
        assert all(view.to_arrow().num_rows == 0 for view in self.db.views.values())

    def judges(self, name: str, given: list[Any]) -> bool:
        """Python objects of which only livejoin knows whether they fit: what is taken is what was given."""
        before = self.db.version
        try:
            self.db.apply(name, [(value,) for value in given])
        except livejoin.LivejoinError:
            assert self.db.version == before
            assert self.db.views[f"of_{name}"].to_arrow().num_rows == 0
            return False
        stored = self.db.views[f"of_{name}"].to_arrow()["x"].to_pylist()
        assert len(stored) == len(given)
        assert all(any(equal(KINDS[name], g, s) or (g is None and s is None) for s in stored) for g in given)
        self.db.apply(
            name, pa.table({"x": pa.array(stored, KINDS[name].arrow), "_change_type": ["delete"] * len(stored)})
        )
        return True


def rows_of(table: pa.Table) -> Counter[Any]:
    return Counter(map(canonical_row, zip(*(column.to_pylist() for column in table.columns), strict=True)))


def run_case(harness: Harness, seed: int, case: int) -> str:
    """One case; returns what kind of case it was.

    Raises:
        AssertionError: The law does not hold.
        Exception: Whatever else than an error of livejoin's came out of it.
    """
    rng = random.Random(f"{seed}:{case}")
    name = rng.choice(NAMES)
    kind = KINDS[name]
    values = [None if rng.random() < 0.2 else rng.choice(kind.values) for _ in range(rng.randrange(8))]
    match rng.randrange(8):
        case 0 | 1 | 2 | 3:
            data = carrier(rng, well_formed(rng, kind, values), values, kind)
            kinds = well_formed(rng, KINDS["text"], ["delete"] * len(values))
            harness.accepts(name, data, values, well_formed(rng, kind, values), kinds)
            return "well-formed"
        case 4 | 5:
            found, table = broken(rng)
            harness.refuses(found, rng.choice((table, _Stream(table))))
            return "broken"
        case 6:
            given = [rng.choice(ODD) for _ in range(rng.choice((1, 1, 2)))]
            name = plausible(rng, given[0]) if rng.random() < 0.8 else name
            return "odd, taken" if harness.judges(name, given) else "odd, refused"
        case _:
            data = hostile(rng, values)
            if rng.random() < 0.2:
                harness.refuses(rng.choice((None, 5, [data], {1: data}, {None: data}, {"nothing": data}, _Liar())))
            else:
                harness.refuses(name, data)
            return "hostile"


def run(cases: int, seed: int) -> Counter[str]:
    """Run cases; returns how many there were of each kind.

    Raises:
        AssertionError: A case failed; the message names it.
    """
    harness, kinds = Harness(), Counter[str]()
    for case in range(cases):
        try:
            kinds[run_case(harness, seed, case)] += 1
        except Exception as error:
            msg = f"run_case(Harness(), {seed}, {case}) failed: {type(error).__name__}: {error}"
            raise AssertionError(msg) from error
        if case % 100 == 99:
            harness.db._check()
    harness.db._check()
    return kinds


if __name__ == "__main__":
    print(dict(run(int(sys.argv[1]), int(sys.argv[2]))))
