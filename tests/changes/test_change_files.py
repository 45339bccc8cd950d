"""Changes in CSV and Parquet files."""

from __future__ import annotations

import datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from livejoin.changes import read_changes, read_file
from livejoin.errors import ChangeFormatError
from livejoin.sql import parse_columns

pytestmark = pytest.mark.nojit

TABLE = parse_columns("T", "a BIGINT, b STRING, c DECIMAL(10, 2), d DATE, e TIMESTAMP, f BOOLEAN, g DOUBLE")
HEADER = "_seq,A,b,c,d,e,f,g,_change_type\n"


def written(folder: Path, text: str) -> Path:
    file = folder / "log.CSV"
    file.write_text(text, encoding="utf-8")
    return file


def test_csv_in_every_type(tmp_path: Path) -> None:
    """Types are those of the declaration: the column b holds digits only and stays text."""
    rows = '7,1,05,3.1,2024-01-02,2024-01-02 03:04:05.000006,true,1e3,insert\n8,,"",,,,,,delete\n9,,,,,,,,delete\n'
    batch = read_changes(TABLE, read_file(written(tmp_path, HEADER + rows), TABLE), needs_sequence=True)
    nothing = {"a": None, "c": None, "d": None, "e": None, "f": None, "g": None}
    assert batch.rows.to_pylist() == [
        {
            "a": 1,
            "b": "05",
            "c": Decimal("3.10"),
            "d": datetime.date(2024, 1, 2),
            "e": datetime.datetime(2024, 1, 2, 3, 4, 5, 6),
            "f": True,
            "g": 1000.0,
        },
        nothing | {"b": ""},
        nothing | {"b": None},
    ]
    assert batch.weights.tolist() == [1, -1, -1]
    assert batch.sequence is not None
    assert batch.sequence.tolist() == [7, 8, 9]


def test_parquet(tmp_path: Path) -> None:
    table = parse_columns("G", "src BIGINT, dst STRING")
    rows = pa.table({"dst": ["x", None], "src": pa.array([1, 2], pa.int32()), "_change_type": ["insert", "delete"]})
    pq.write_table(rows, tmp_path / "g.parquet")
    batch = read_changes(table, read_file(tmp_path / "g.parquet", table))
    assert batch.rows.to_pylist() == [{"src": 1, "dst": "x"}, {"src": 2, "dst": None}]
    assert batch.weights.tolist() == [1, -1]


def test_a_header_alone(tmp_path: Path) -> None:
    assert read_changes(TABLE, read_file(written(tmp_path, HEADER), TABLE)).rows.num_rows == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "Empty CSV file"),
        ("a,b\nx,y\n", "invalid value 'x'"),
        ("a,b\n1\n", "Expected 2 columns, got 1"),
        ("f\nmaybe\n", "invalid value 'maybe'"),
    ],
)
def test_a_csv_that_does_not_fit(tmp_path: Path, text: str, message: str) -> None:
    file = written(tmp_path, text)
    with pytest.raises(ChangeFormatError, match=message) as caught:
        read_file(file, TABLE)
    assert f"table 'T': {file} does not hold changes of the table" in str(caught.value)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "bad.parquet").write_text("no")
    for name, message in (
        ("none.csv", "No such file"),
        ("none.parquet", "No such file"),
        ("bad.parquet", "does not hold changes"),
        ("log.json", r"what kind of file .*log.json is; allowed are .csv \(with a header\) and .parquet"),
        ("", "what kind of file"),
    ):
        with pytest.raises(ChangeFormatError, match=message):
            read_file(tmp_path / name, TABLE)


def test_columns_of_another_table_are_named_by_who_reads_the_changes(tmp_path: Path) -> None:
    table = parse_columns("G", "src BIGINT, dst BIGINT")
    for header, message in (("src,dst,when\n1,2,3\n", "unknown column 'when'"), ("src,src\n1,2\n", "there twice")):
        with pytest.raises(ChangeFormatError, match=message):
            read_changes(table, read_file(written(tmp_path, header), table))


@pytest.mark.parametrize("text", ["1e-999999999", "1e999999999", "0.001", "1e-3", "x", "12345678901"])
def test_decimals_of_csv_that_do_not_fit(text: str, tmp_path: Path) -> None:
    """Arrow's own reader of CSV ends the process at the first of them."""
    with pytest.raises(ChangeFormatError, match=rf"column 'c' is DECIMAL\(10, 2\), and has '{text}' in row 1"):
        read_file(written(tmp_path, f"{HEADER}1,1,x,1.5e1,,,,,insert\n2,1,x,{text},,,,,insert\n"), TABLE)
