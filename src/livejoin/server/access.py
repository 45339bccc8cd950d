"""Who may do what: tokens with roles, by view and table.

A file has, of each token, a name, the SHA-256 of the token, and what it may do; the token itself is nowhere.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Protocol

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from livejoin.errors import SchemaError, StorageError

UNKNOWN_TOKEN = (
    "the server does not know this token: it may be misspelled, or withdrawn; `livejoin token` makes one, for who runs "
    "the server"
)
"""What is said to one whose token is none of those that are known."""

_ALL = "*"
_Hash = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


@dataclass(frozen=True)
class Who:
    """One who asks.

    Args:
        name: The name of the token.
        reads: The views and tables that may be read, in lower case; ``*`` for all.
        writes: The tables that may be changed, in lower case; ``*`` for all.
        is_admin: Whether all is allowed, and declarations too.
    """

    name: str
    reads: frozenset[str]
    writes: frozenset[str]
    is_admin: bool = False

    def may_read(self, name: str) -> bool:
        """Whether a view or table may be read."""
        return self.is_admin or _ALL in self.reads or name.lower() in self.reads

    def may_write(self, name: str) -> bool:
        """Whether a table may be changed."""
        return self.is_admin or _ALL in self.writes or name.lower() in self.writes

    @property
    def reads_all(self) -> bool:
        """Whether every view and table may be read."""
        return self.is_admin or _ALL in self.reads


ANYBODY = Who("anybody", frozenset((_ALL,)), frozenset((_ALL,)), is_admin=True)
"""Who asks where there are no tokens: whoever is on this machine."""


class Access(Protocol):
    """Finds out who asks."""

    @property
    def is_open(self) -> bool:
        """Whether anybody may do anything, so that nobody but this machine may come in."""

    def who(self, token: str | None) -> Who | None:
        """Who has a token; None if nobody has. A request without a token has None."""


class Open:
    """Anybody may do anything."""

    is_open = True

    def who(self, token: str | None) -> Who | None:
        """Whoever it is."""
        del token
        return ANYBODY


class Tokens:
    """Those whose tokens are known.

    Args:
        known: The SHA-256 of each token, in hexadecimal digits, and whose it is.
    """

    is_open = False

    def __init__(self, known: Sequence[tuple[str, Who]]) -> None:
        self._known = [(bytes.fromhex(digest), who) for digest, who in known]

    def who(self, token: str | None) -> Who | None:
        """Who has a token; takes as long whoever it is, and compares all."""
        if token is None:
            return None
        digest = hashlib.sha256(token.encode()).digest()
        found = None
        for known, who in self._known:
            if hmac.compare_digest(known, digest):
                found = who
        return found

    def named_in_vain(self, known: Iterable[str]) -> list[tuple[str, str]]:
        """The token and the name of each right to a view or table that is not among the known ones."""
        there = {name.lower() for name in known} | {_ALL}
        return [(who.name, name) for _, who in self._known for name in sorted((who.reads | who.writes) - there)]


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: str = Field(min_length=1, max_length=200)
    sha256: _Hash
    read: list[str] = []
    write: list[str] = []
    admin: bool = False


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid")

    tokens: list[_Entry] = Field(min_length=1)


def read_tokens(path: str | Path) -> Tokens:
    """The tokens of a file, as `livejoin token` writes it.

    Raises:
        SchemaError: The file is none of tokens; the message names the entry.
        StorageError: The file cannot be read.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        msg = f"the file of tokens {str(path)!r} cannot be read: {error}"
        raise StorageError(msg) from error
    try:
        found = _File.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        msg = f"the file of tokens {str(path)!r} is no TOML: {error}"
        raise SchemaError(msg) from error
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        msg = f"the file of tokens {str(path)!r}: {place}: {first['msg']}; `livejoin token` writes an entry"
        raise SchemaError(msg) from None  # its own message shows values
    names = [entry.name for entry in found.tokens]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        msg = f"the file of tokens {str(path)!r} has two of the name {twice!r}"
        raise SchemaError(msg)
    return Tokens(
        [
            (entry.sha256, Who(entry.name, _names(entry.read), _names(entry.write), entry.admin))
            for entry in found.tokens
        ]
    )


def _names(given: Sequence[str]) -> frozenset[str]:
    return frozenset(name.lower() for name in given)


def new_token(name: str, read: Sequence[str], write: Sequence[str], admin: bool) -> tuple[str, str]:
    """A new token, and the entry for the file of tokens, which does not have the token itself.

    Args:
        name: The name of who has it.
        read: The views and tables that may be read; ``*`` for all.
        write: The tables that may be changed.
        admin: Whether all is allowed.
    """
    token = secrets.token_urlsafe(32)
    rows = [
        f"name = {_text(name)}",
        f'sha256 = "{hashlib.sha256(token.encode()).hexdigest()}"',
        f"read = [{', '.join(map(_text, read))}]",
        f"write = [{', '.join(map(_text, write))}]",
        *(["admin = true"] if admin else []),
    ]
    return token, "\n".join(["[[tokens]]", *rows, ""])


def _text(value: str) -> str:
    escaped = "".join(
        f"\\u{ord(one):04x}" if one < " " or one == "\x7f" else "\\" + one if one in '"\\' else one for one in value
    )
    return f'"{escaped}"'
