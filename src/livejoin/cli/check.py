"""``livejoin check``: whether a pipeline file or a file of a server is right, without running it."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from pathlib import Path

import livejoin
from livejoin.errors import SchemaError, StorageError

OF_PIPELINES = frozenset(("servers", "tables", "views", "assertions", "sink", "run"))
"""Keys that only pipeline files have; what has none of them is a server's."""
SCHEMA = Path(__file__).parent / "pipeline.schema.json"
"""Made of the model by ``tools/manual/reference.py``, so that who has no Spark has it too."""


def check(path: Path) -> str:
    """What a file is and has, in a line; a line more for each warning.

    There are warnings of what may not be meant so, as of a name in the file of tokens that nothing has.

    Raises:
        PipelineError: A pipeline file is wrong; the message lists all errors, with keys and lines.
        SchemaError: A file is no TOML, or one of a server is wrong.
        SqlError: The CREATE statements of a server are wrong.
        StorageError: A file cannot be read.
        ImportError: The file is of a pipeline or a server, and the extra ``spark`` or ``serve`` is not installed.
    """
    is_pipeline = bool(OF_PIPELINES.intersection(_keys(path)))
    try:
        return _pipeline(path) if is_pipeline else _server(path)
    except ImportError as error:
        kind = "a pipeline's" if is_pipeline else "a server's"
        msg = f"{path} is valid TOML and {kind} file; its keys and its SQL were not checked: {error}"
        raise ImportError(msg, name=error.name) from error


def _pipeline(path: Path) -> str:
    from livejoin.pipeline.load import load  # noqa: PLC0415  # an extra of its own

    found = load(path)
    right = f"{path} is right: a pipeline of {_counted(len(found.declared), len(found.views))}"
    return "\n".join([right, *(f"warning: {one}" for one in found.warnings)])


def _server(path: Path) -> str:
    from livejoin.cli.serve import declare, in_vain  # noqa: PLC0415  # an extra of its own
    from livejoin.server.access import read_tokens  # noqa: PLC0415  # an extra of its own
    from livejoin.server.settings import read_settings  # noqa: PLC0415

    settings = read_settings(path)
    access = None if settings.tokens is None else read_tokens(settings.tokens)
    options = {
        name: value for name, value in settings.database.items() if not name.startswith("spill")
    }  # makes a folder
    db = livejoin.Database(**{"coerce": "json", **options})
    if settings.sql is None and settings.models is None:
        return f"{path} is right: a server of {settings.folder or 'a database that keeps nothing'}"
    declare(db, settings)
    right = f"{path} is right: a server of {_counted(len(db.tables), len(db.views))}"
    return "\n".join([right, *(() if access is None else in_vain(access, db))])


def _counted(tables: int, views: int) -> str:
    return f"{tables} table{'s' * (tables != 1)} and {views} view{'s' * (views != 1)}"


def _keys(path: Path) -> Iterable[str]:
    """The keys of a file.

    Raises:
        StorageError: The file cannot be read.
        SchemaError: The file is no TOML.
    """
    try:
        return tomllib.loads(path.read_text(encoding="utf-8")).keys()
    except tomllib.TOMLDecodeError as error:
        msg = f"{str(path)!r} is not valid TOML: {error}"
        raise SchemaError(msg) from error
    except (OSError, UnicodeDecodeError) as error:
        msg = f"{str(path)!r} cannot be read: {error}"
        raise StorageError(msg) from error


def schema() -> str:
    """The JSON schema of pipeline files, for editors."""
    return SCHEMA.read_text(encoding="utf-8")
