"""The manual that came with livejoin, at ``/docs``."""

from __future__ import annotations

import mimetypes
from functools import cache
from http import HTTPStatus
from pathlib import Path

from starlette.requests import Request
from starlette.responses import FileResponse, RedirectResponse, Response

from livejoin.manual import INDEX, manual
from livejoin.server.answers import RequestError
from livejoin.server.policy import policy

PAGES = "/docs"


async def first(_request: Request) -> Response:
    """The way to its first page, from wherever the server is mounted."""
    return RedirectResponse(f"{PAGES.removeprefix('/')}/{INDEX}")


async def page(request: Request) -> Response:
    """A page, or a file of pages."""
    folder, name = manual(), request.path_params["file"] or INDEX
    if folder is None:
        msg = "the manual is not here: it comes with the wheel, and `make docs` builds it in a checkout"
        raise RequestError(msg, HTTPStatus.NOT_FOUND)
    if name not in _files(folder):
        msg = f"the manual has no page {name!r}; GET {PAGES} is its first one"
        raise RequestError(msg, HTTPStatus.NOT_FOUND)
    kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
    # The field that searches is a form of the page.
    headers = {"cache-control": "no-cache", "content-security-policy": policy(forms="'self'")}
    return FileResponse(folder / name, media_type=kind, headers=headers)


@cache
def _files(folder: Path) -> frozenset[str]:
    return frozenset(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
