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
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

import livejoin
from oracle import connect
from scenario import canonical_row
from torture.layouts import DAY, KINDS, MOMENT, NAMES, Kind, broken, latin1, well_formed


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
            pa.table({"x": column, "_change_type": latin1(pa.string(), 1, 0)}),
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
