"""Digests in views, with what a real Spark 4.1 gives for these rows; deletions and NULL included."""

from __future__ import annotations

from typing import Any

import pytest

import livejoin
from livejoin.errors import SqlTypeError

SQL = (
    "SELECT md5(upper(s)) AS a, sha1(s) AS b, sha(z) AS c, sha2(s, 256) AS d, sha2(z, n) AS e, crc32(s) AS f, "
    "base64(z) AS g, base64(lower(s)) AS h FROM T"
)
ROWS: list[tuple[Any, ...]] = [("abc", b"\x00\xff", 224), ("", b"", 0), ("Äö", None, 512), (None, b"x" * 100, 7)]
SPARK: list[tuple[Any, ...]] = [
    (
        "902fbdd2b1df0c4f70b4a5d23525e932",
        "a9993e364706816aba3e25717850c26c9cd0d89d",
        "aa3e5dcdd77b153f2e59bd0d8794fde33cb4e486",
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
        "f6e6401dd7d060d232a0ff6c0ad9283550990e0216ecbe9499e1b20b",
        891568578,
        "AP8=",
        "YWJj",
    ),
    (
        "d41d8cd98f00b204e9800998ecf8427e",
        "da39a3ee5e6b4b0d3255bfef95601890afd80709",
        "da39a3ee5e6b4b0d3255bfef95601890afd80709",
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        0,
        "",
        "",
    ),
    (
        "de18422375753faa41953e5220aed0a7",
        "24b8e1cbbc6cdfde3adb1de355274c7a0d17b0a6",
        None,
        "8370c18d2a7e459301ec5bd24df7af3e7a153787ace6ac632227d7cd511f589f",
        None,
        1633009564,
        None,
        "w6TDtg==",
    ),
    (
        None,
        None,
        "50e483690ec481f4af7f6fb524b2b99eb1716565",
        None,
        None,
        None,
        "eHh4" * 19 + "\r\n" + "eHh4" * 14 + "eA==",
        None,
    ),
]


def test_values_are_those_of_spark() -> None:
    database = livejoin.Database()
    database.create_table("T", "s STRING, z BINARY, n INT")
    view = database.create_view("v", SQL)
    for row, expected in zip(ROWS, SPARK, strict=True):
        database.apply("T", [row])
        assert view.at(0) == expected
        database.apply("T", [dict(zip(("s", "z", "n"), row, strict=True)) | {"_change_type": "delete"}])
        assert view.to_arrow().num_rows == 0
    database.apply("T", ROWS + ROWS)
    assert sorted(map(repr, map(view.at, range(8)))) == sorted(map(repr, SPARK + SPARK))


@pytest.mark.parametrize("call", ["md5(n)", "sha1(n)", "sha2(n, 256)", "crc32(n)", "base64(n)"])
def test_a_number_is_no_run_of_bytes(call: str) -> None:
    database = livejoin.Database()
    database.create_table("T", "n INT")
    with pytest.raises(SqlTypeError, match="BINARY is wanted, and INT is found"):
        database.explain(f"SELECT {call} AS r FROM T")
