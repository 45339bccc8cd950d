"""What is no database, access, limits or host is refused when a server is made, not at its first request."""

from __future__ import annotations

from typing import Any

import pytest

import livejoin
from livejoin.errors import SchemaError
from livejoin.server import Server, app


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"access": "tokens.toml"}, r"access is 'tokens.toml'; give read_tokens\('tokens.toml'\)"),
        ({"access": 5}, "access is 5"),
        ({"limits": {"requests": 1}}, r"limits is .*; give Limits\("),
    ],
)
def test_arguments_of_another_type(given: dict[str, Any], why: str) -> None:
    with pytest.raises(SchemaError, match=why):
        app(livejoin.Database(), **given)
    with pytest.raises(SchemaError, match=why):
        Server(livejoin.Database(), port=0, **given)


def test_no_database() -> None:
    with pytest.raises(SchemaError, match=r"db is 'shop'; give a database, as livejoin.open\('folder'\)"):
        app("shop")  # type: ignore[arg-type]
    with pytest.raises(SchemaError, match="host is 5; give a name or an address"):
        Server(livejoin.Database(), host=5)  # type: ignore[arg-type]


def test_a_query_that_is_no_text() -> None:
    with pytest.raises(livejoin.errors.SqlSyntaxError, match="a query is a text; found None"):
        livejoin.Database().sql(None)  # type: ignore[arg-type]
