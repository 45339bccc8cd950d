from __future__ import annotations

from livejoin.pipeline.lines import key_lines, line_of

TEXT = '''# a comment with key = 1
title = "x"
[tables.G]   # header
schema = "a = 1"
options = { header = true }
"quoted key" = 1
a.b = 2

[views.hop3]
sql = """
[tables.H]
fake = 1
"""
after = 3
one_line = """x"""
last = \'\'\'
also = fake\'\'\'
[[list]]
key = 1
'''


def test_every_key_has_its_line() -> None:
    assert key_lines(TEXT) == {
        ("title",): 2,
        ("tables", "G"): 3,
        ("tables", "G", "schema"): 4,
        ("tables", "G", "options"): 5,
        ("tables", "G", "quoted key"): 6,
        ("tables", "G", "a", "b"): 7,
        ("views", "hop3"): 9,
        ("views", "hop3", "sql"): 10,
        ("views", "hop3", "after"): 14,
        ("views", "hop3", "one_line"): 15,
        ("views", "hop3", "last"): 16,
        ("list",): 18,
        ("list", "key"): 19,
    }


def test_a_key_that_is_not_written_has_the_line_of_its_table() -> None:
    lines = key_lines(TEXT)
    assert line_of(lines, ("tables", "G", "options", "header")) == 5
    assert line_of(lines, ("tables", "G", "path")) == 3
    assert line_of(lines, ("sink",)) == 0
