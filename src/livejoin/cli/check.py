"""``livejoin check``: whether a pipeline file or a file of a server is right, without running it."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import livejoin
from livejoin.errors import StorageError
from livejoin.pipeline.load import load
from livejoin.pipeline.model import PipelineFile


def check(path: Path) -> str:
    """What a file is and has, in a line.

    Raises:
        PipelineError: A pipeline file is wrong; the message lists all errors, with keys and lines.
        SchemaError: A file of a server is wrong.
        SqlError: The CREATE statements of a server are wrong.
        StorageError: A file cannot be read.
        ImportError: The file is of a server, and the extra ``serve`` is not installed.
    """
    if _is_pipeline(path):
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
        return bool(tomllib.loads(path.read_text(encoding="utf-8")).keys() & PipelineFile.model_fields.keys())
    except (OSError, ValueError):
        return True


def schema() -> str:
    """The JSON schema of pipeline files, for editors."""
    found = {"$schema": "https://json-schema.org/draft/2020-12/schema", **PipelineFile.model_json_schema()}
    return json.dumps(found, indent=2, ensure_ascii=False)
