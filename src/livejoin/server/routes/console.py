"""The console: its page and the files of it, the graph, and the figures that change."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from http import HTTPStatus
from pathlib import Path

from starlette.requests import Request
from starlette.responses import FileResponse, Response

from livejoin.server.answers import RequestError, json_answer
from livejoin.server.service import service_of, who_asks

ASSETS = Path(__file__).parents[1] / "static" / "console"
THEME = Path(__file__).parents[2] / "plan" / "draw" / "theme.css"
"""Colours and fonts, which pictures and pages of `explain` have too."""
_TYPES: Mapping[str, str] = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}


def page() -> Response:
    """The page, which tells nothing of the database by itself: it asks for the token, and then for the rest."""
    return _file("index.html")


async def asset(request: Request) -> Response:
    """A file of the page."""
    name = request.path_params["file"]
    if name not in _files():
        msg = f"the console has no file {name!r}; GET / is its page"
        raise RequestError(msg, HTTPStatus.NOT_FOUND)
    return _file(name)


@cache
def _files() -> frozenset[str]:
    return frozenset((THEME.name, *(path.name for path in ASSETS.iterdir() if path.suffix in _TYPES)))


def _file(name: str) -> Response:
    """A file, which a browser keeps and asks after each time."""
    path = THEME if name == THEME.name else ASSETS / name
    headers = {"cache-control": "no-cache", "vary": "Accept"}
    return FileResponse(path, media_type=_TYPES[path.suffix], headers=headers)


async def graph(request: Request) -> Response:
    """Tables, blocks and views, and how they hang together."""
    service, who = service_of(request), who_asks(request)
    return json_answer(await service.run(service.figures.graph, who))


async def stats(request: Request) -> Response:
    """The figures that change, small enough to be asked for each second."""
    service, who = service_of(request), who_asks(request)
    return json_answer(await service.run(service.figures.stats, who))
