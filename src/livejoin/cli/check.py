"""``livejoin check``: whether a pipeline file or a file of a server is right, without running it."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import livejoin
from livejoin.errors import StorageError

OF_PIPELINES = frozenset(("servers", "tables", "views", "assertions", "sink", "run"))
"""The keys of pipeline files; what has none of them is a server's."""


def check(path: Path) -> str:
    """What a file is and has, in a line.

    Raises:
        PipelineError: A pipeline file is wrong; the message lists all errors, with keys and lines.
        SchemaError: A file of a server is wrong.
        SqlError: The CREATE statements of a server are wrong.
        StorageError: A file cannot be read.
        ImportError: The file is of a pipeline or a server, and the extra ``spark`` or ``serve`` is not installed.
    """
    if _is_pipeline(path):
        from livejoin.pipeline.load import load  # noqa: PLC0415  # an extra of its own

        found = load(path)
        return f"{path} is right: a pipeline of {_counted(len(found.declared), len(found.views))}"
    from livejoin.server.access import read_tokens  # noqa: PLC0415  # an extra of its own
    from livejoin.server.settings import read_settings  # noqa: PLC0415

    settings = read_settings(path)
    if settings.tokens is not None:
        read_tokens(settings.tokens)
    if settings.sql is None:
        return f"{path} is right: a server of {settings.folder or 'a database that keeps nothing'}"
    try:
        text = settings.sql.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        msg = f"the file {str(settings.sql)!r} cannot be read: {error}"
        raise StorageError(msg) from error
    db = livejoin.Database()
    db.execute(text)
    return f"{path} is right: a server of {_counted(len(db.tables), len(db.views))}"


def _counted(tables: int, views: int) -> str:
    return f"{tables} table{'s' * (tables != 1)} and {views} view{'s' * (views != 1)}"


def _is_pipeline(path: Path) -> bool:
    """Whether a file has tables or views, as pipelines have; one that is no TOML is left to who reads pipelines."""
    try:
        return bool(tomllib.loads(path.read_text(encoding="utf-8")).keys() & OF_PIPELINES)
    except (OSError, ValueError):
        return True


def schema() -> str:
    """The JSON schema of pipeline files, for editors.

    Raises:
        ImportError: The extra ``spark`` is not installed.
    """
    from livejoin.pipeline.model import PipelineFile  # noqa: PLC0415  # an extra of its own

    found = {"$schema": "https://json-schema.org/draft/2020-12/schema", **PipelineFile.model_json_schema()}
    return json.dumps(found, indent=2, ensure_ascii=False)
