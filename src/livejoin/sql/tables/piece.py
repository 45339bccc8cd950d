"""One statement of a script, and where in the script its errors stand.

A statement is parsed by itself, with values in the place of ``?``, and the query of a view by itself once more. Law:
the error that a user sees shows a line of the script as it was given, and its caret stands in the word that is wrong.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

from livejoin.errors import SqlError
from livejoin.sql.parse.source import Source

_BEGINS = ("BEGIN", "BEGIN TRANSACTION", "START TRANSACTION")
_COMMITS = ("COMMIT", "END")
_ROLLBACK = "ROLLBACK"
_PLACE = re.compile(r"\bline (\d+), column (\d+)")


class Filled(NamedTuple):
    """A value in the place of a parameter.

    Args:
        begin: Where in the filled text the value begins.
        end: Where it ends.
        given: Where in the script the parameter begins.
        length: The length of the parameter.
    """

    begin: int
    end: int
    given: int
    length: int


@dataclass(frozen=True)
class Piece:
    """A statement of a script.

    Args:
        text: The statement, with values in the place of parameters.
        script: The script as it was given.
        begin: Where in the filled script the statement begins.
        filled: The values in the whole script, in their order.
    """

    text: str
    script: str
    begin: int = 0
    filled: tuple[Filled, ...] = ()

    @property
    def begins_transaction(self) -> bool:
        """Whether it is BEGIN."""
        return self._words in _BEGINS

    @property
    def ends_transaction(self) -> bool:
        """Whether it is COMMIT or ROLLBACK."""
        return self._words in (*_COMMITS, _ROLLBACK)

    @property
    def takes_back(self) -> bool:
        """Whether it is ROLLBACK."""
        return self._words == _ROLLBACK

    @property
    def _words(self) -> str:
        return " ".join(self.text.upper().split())

    def put_in_script(self, error: SqlError, part: str = "", begins: int = 0) -> None:
        """Move an error to its place in the script; one of another text stays as it is.

        Args:
            error: The error; changed in place.
            part: A part of the statement that was parsed by itself, as the query of a view.
            begins: Where in the statement the part begins.

        >>> from livejoin.errors import UnknownNameError
        >>> error = UnknownNameError("no column 'b'", "SELECT b FROM t", 1, 8)
        >>> script = "DROP VIEW v;\\nCREATE VIEW v AS SELECT b FROM t"
        >>> Piece(script[13:], script, 13).put_in_script(error, "SELECT b FROM t", 17)
        >>> print(error)
        no column 'b'
          at line 2, column 25:
            CREATE VIEW v AS SELECT b FROM t
                                    ^
        """
        if not error.line or error.sql not in (self.text, part):
            return
        text, start = Source(error.sql, ()), self.begin + (0 if error.sql == self.text else begins)
        script = Source(self.script, ())

        def place(line: int, column: int) -> tuple[int, int]:
            return script.position(self._given(start + text.offset(line, column)))

        def said(match: re.Match[str]) -> str:
            line, column = place(int(match[1]), int(match[2]))
            return f"line {line}, column {column}"

        message = _PLACE.sub(said, error.message)
        error.move(message, self.script, *place(error.line, error.column))

    def _given(self, offset: int) -> int:
        """The offset in the script of one in the filled script; within a value that of its parameter."""
        moved = 0
        for one in self.filled:
            if offset < one.begin:
                break
            if offset < one.end:
                return one.given
            moved = one.given + one.length - one.end
        return offset + moved
