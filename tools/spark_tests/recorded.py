"""Reads Spark's recorded answers: files of statements, each with the schema and the text of what Spark gave for it.

-- !query
SELECT a, COUNT(b) FROM t GROUP BY a
-- !query schema
struct<a:int,count(b):bigint>
-- !query output
1	2
NULL	1
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_FAILED = re.compile(r"^[\w.$]+(?:Exception|Error)\b")
_CLASS = re.compile(r'"(?:errorClass|condition)"\s*:\s*"([^"]+)"')


@dataclass(frozen=True)
class Recorded:
    """A statement and what Spark gave for it.

    Args:
        number: Its place in the file, from 1 on.
        sql: Its text, without comments before it.
        schema: The columns as Spark writes them, ``struct<a:int>``; without columns if it gave none.
        output: The rows, as lines of columns with tabs between, or the text of an error.
    """

    number: int
    sql: str
    schema: str
    output: str

    @property
    def error(self) -> str | None:
        """What Spark calls its error; None if there was none."""
        if self.schema != "struct<>" or not _FAILED.match(self.output):
            return None
        named = _CLASS.search(self.output)
        return named[1] if named else self.output.splitlines()[0].rsplit(".", 1)[-1]


def read(file: Path) -> Iterator[Recorded]:
    """The statements of a file of answers, in order."""
    parts = re.split(r"^-- !query.*\n", _text(file), flags=re.MULTILINE)[1:]
    for number, start in enumerate(range(0, len(parts) - 2, 3), 1):
        sql, schema, output = parts[start : start + 3]
        yield Recorded(number, sql.strip().rstrip(";"), schema.strip(), output.removesuffix("\n\n").rstrip())


def settings(folder: Path, name: str) -> dict[str, str]:
    """What a file of statements sets for all of them: its lines ``--SET name=value``, and of the files it imports.

    Args:
        folder: Where the files are.
        name: That of the file, by which it is imported too.
    """
    found: dict[str, str] = {}
    file = folder / name
    if not file.exists():
        return found
    for line in _text(file).split("\n"):
        if line.startswith("--IMPORT "):
            found = settings(folder, line.split(None, 1)[1].strip()) | found
        elif line.startswith("--SET "):
            for pair in re.split(r",(?=\s*spark\.)", line.split(None, 1)[1]):
                name, _, value = pair.partition("=")
                found[name.strip()] = value.strip()
    return found


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8", errors="replace")
