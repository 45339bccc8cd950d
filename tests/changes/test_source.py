"""What changes may be made of."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from livejoin.changes.source import read_source
from livejoin.sql.tables.declare import parse_create_table

ROWS = [(1,), (2,)]


@pytest.mark.parametrize("rows", [ROWS, tuple(ROWS), [{"a": 1}, {"a": 2}], iter(ROWS)])
def test_pandas_may_be_half_imported(rows: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """By another thread, or because the import was interrupted; rows of Python need none."""
    monkeypatch.setitem(sys.modules, "pandas", ModuleType("pandas"))
    found = read_source(parse_create_table("CREATE TABLE T (a BIGINT)"), rows)
    assert (found.names, [list(column) for column in found.values]) == (("a",), [[1, 2]])
