"""What one who asks may take."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from livejoin.database.arguments import check_bytes
from livejoin.errors import SchemaError


def _size(value: object) -> object:
    """A number of bytes; also a text as ``64MB``."""
    if not isinstance(value, str):
        return value
    try:
        return check_bytes(value, "a size")
    except SchemaError as error:
        raise ValueError(str(error)) from None


Bytes = Annotated[int, BeforeValidator(_size), Field(gt=0)]
"""A number of bytes, or a text as ``64MB``."""


class Limits(BaseModel):
    """The limits of a server; each is refused by a message that names it.

    Attributes:
        body: The most bytes of a request, also after it was decompressed.
        rows: The most rows of a request, and of an answer that asks for no fewer.
        requests: The most requests at a time; more are told to come again (503).
        followers: The most connections that follow views.
        waiting: The most bytes of changes that wait for one who follows and reads slowly; beyond it that one begins
            anew with all rows.
        recent: The most bytes of changes of a view that stay in memory for those who come back.
        query_seconds: The most seconds of an ad-hoc query.
        query_memory: The most bytes of memory of an ad-hoc query.
        queries: The most ad-hoc queries at a time; each has a process of its own.
        read_seconds: The most seconds until a request has come whole.
        send_seconds: The most seconds in which one who follows takes nothing.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    body: Bytes = 64_000_000
    rows: int = Field(default=1_000_000, gt=0)
    requests: int = Field(default=500, gt=0)
    followers: int = Field(default=2_000, gt=0)
    waiting: Bytes = 16_000_000
    recent: Bytes = 16_000_000
    query_seconds: float = Field(default=10.0, gt=0, le=86_400)
    query_memory: Bytes = 1_000_000_000
    queries: int = Field(default=2, gt=0, le=64)
    read_seconds: float = Field(default=30.0, gt=0)
    send_seconds: float = Field(default=60.0, gt=0)
