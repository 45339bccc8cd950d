"""The tables and views that a text names."""

from __future__ import annotations

import pytest

from livejoin.sql import names_read
from livejoin.sql.bind import views


def test_names_of_a_text_are_found_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever opens a log asks for those of all views at each of its records."""
    parsed: list[str] = []
    parse = views.parse
    monkeypatch.setattr(views, "parse", lambda sql: (parsed.append(sql), parse(sql))[1])
    text = "WITH d AS (SELECT a FROM Named_Once) SELECT d.a FROM d JOIN other USING (a)"
    assert names_read(text) == names_read(text) == {"named_once", "other"}
    assert parsed == [text]
