"""What a notebook shows: the first rows, escaped, of any type."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pyarrow as pa

import livejoin


def texts(page: str) -> list[list[str]]:
    """The cells of each line."""
    return [
        [html.unescape(cell) for cell in re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", line, re.DOTALL)]
        for line in re.findall(r"<tr>(.*?)</tr>", page, re.DOTALL)
    ]


def test_a_view_a_commit_and_a_database(tmp_path: Path) -> None:
    db = livejoin.Database(tmp_path / "a <b> & c")
    db.execute("CREATE TABLE `t<1>` (id INT PRIMARY KEY, s STRING, d DATE, a ARRAY<INT>)")
    view = db.create_view("v", "SELECT id, s, d, a FROM `t<1>` WHERE id < 1000")
    db.create_view("quiet", "SELECT s FROM `t<1>`", deltas=False)
    assert texts(view._repr_html_()) == [["id", "s", "d", "a"]]
    commit = db.execute("INSERT INTO `t<1>` VALUES (1, '<script>', DATE'2024-01-01', array(1)), (2, NULL, NULL, NULL)")
    assert commit is not None
    first = ["1", "<script>", "2024-01-01", "[1]", "insert", "1"]
    assert texts(commit._repr_html_())[1:] == [first, ["2", "NULL", "NULL", "NULL", "insert", "1"]]
    assert "<script>" not in commit._repr_html_()
    db.apply("t<1>", [(number, "x", None, None) for number in range(3, 50)])
    shown = view._repr_html_()
    assert len(texts(shown)) == 21
    assert "49 rows, of which the first are shown" in shown
    assert "WHERE id &lt; 1000" in shown
    page = db._repr_html_()
    assert texts(page)[1][:2] == ["t<1>", "49"]
    assert [line[:2] for line in texts(page)[3:]] == [["v", "49"], ["quiet", ""]]
    assert "a &lt;b&gt; &amp; c" in page
    assert "2 views" in repr(db)
    assert str(tmp_path) in repr(db)
    assert "unchanged: v" in db.apply("t<1>", [(5000, "x", None, None)])._repr_html_()


def test_a_date_that_python_has_not() -> None:
    db = livejoin.Database()
    db.execute("CREATE TABLE t (d DATE)")
    view = db.create_view("v", "SELECT d FROM t")
    db.apply("t", pa.table({"d": pa.array([4_000_000], pa.int32()).cast(pa.date32())}))
    assert len(texts(view._repr_html_())) == 2
