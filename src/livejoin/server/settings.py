"""The file of a server: what is served, where, and to whom."""

from __future__ import annotations

import inspect
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from livejoin.database import Database
from livejoin.errors import SchemaError, StateError, StorageError
from livejoin.server.limits import Limits
from livejoin.server.origins import check_origins
from livejoin.shown import meant
from livejoin.state.objects import path_or_url


class Tls(BaseModel):
    """The files of a certificate.

    Attributes:
        certificate: The certificate chain, in PEM.
        key: The key of it, in PEM.
    """

    model_config = ConfigDict(extra="forbid")

    certificate: Path
    key: Path


class Settings(BaseModel):
    """A server. Paths are relative to the file.

    Attributes:
        folder: The folder of the database, made if it is missing; or its URL in an object store. Without it nothing
            stays.
        sql: A file of CREATE statements, run where the database is new.
        models: A folder of SQL files with ``ref()`` and ``source()``, each a view; made where the database is new.
        host: The address to listen at.
        port: The port.
        flight: Where to listen with Arrow Flight SQL too, as ``grpc://127.0.0.1:31337``; by default nowhere.
        tokens: The file of tokens; without it the server listens on this machine alone.
        origins: The sites whose pages may ask, as ``https://shop.example``.
        tick: Seconds between two messages of a view at least.
        history: Rows of changes of each view that is followed that are kept for those who come back.
        tls: The files of a certificate.
        limits: The limits of one who asks.
        database: The options of `livejoin.open`, as ``memory_limit``.
    """

    model_config = ConfigDict(extra="forbid")

    folder: Path | str | None = None
    sql: Path | None = None
    models: Path | None = None
    host: str = "127.0.0.1"
    port: int = Field(default=8000, ge=0, le=65_535)
    flight: str | None = None
    tokens: Path | None = None
    origins: list[str] = []
    tick: float = Field(default=0.02, ge=0, le=60)
    history: int = Field(default=100_000, ge=0)
    tls: Tls | None = None
    limits: Limits = Limits()
    database: dict[str, Any] = {}

    @field_validator("folder", mode="before")
    @classmethod
    def _folder(cls, given: Any) -> Any:
        try:
            return path_or_url(given) if isinstance(given, str) else given
        except StateError as error:
            raise ValueError(str(error)) from None

    @field_validator("origins")
    @classmethod
    def _origins(cls, given: list[str]) -> list[str]:
        try:
            check_origins(given)
        except SchemaError as error:
            raise ValueError(str(error)) from None
        return given

    @field_validator("database")
    @classmethod
    def _options(cls, given: dict[str, Any]) -> dict[str, Any]:
        known = [name for name in inspect.signature(Database).parameters if name != "path"]
        for name in given:
            if name not in known:
                msg = f"there is no option {name!r}{meant(name, known)}; known options are {', '.join(known)}"
                raise ValueError(msg)
        return given

    def at(self, folder: Path) -> Settings:
        """The settings with paths that begin at a folder."""
        paths = {
            name: folder / path
            for name in ("folder", "sql", "models", "tokens")
            if isinstance(path := getattr(self, name), Path)
        }
        tls = None if self.tls is None else Tls(certificate=folder / self.tls.certificate, key=folder / self.tls.key)
        return self.model_copy(update={**paths, "tls": tls})


def read_settings(path: Path) -> Settings:
    """The settings of a file.

    Raises:
        SchemaError: The file is none; the message names the key.
        StorageError: The file cannot be read.
    """
    try:
        found = Settings.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError) as error:
        msg = f"{str(path)!r} cannot be read: {error}"
        raise StorageError(msg) from error
    except tomllib.TOMLDecodeError as error:
        msg = f"{str(path)!r} is no TOML: {error}"
        raise SchemaError(msg) from error
    except ValidationError as error:
        # A key that is missing may be the one that was misspelled, so that unknown keys come first.
        found_errors = sorted(error.errors(include_url=False), key=lambda one: one["type"] != "extra_forbidden")
        msg = f"{str(path)!r}: " + "\n".join(map(_said, found_errors))
        raise SchemaError(msg) from error
    return found.at(path.parent)


def _said(found: Mapping[str, Any]) -> str:
    """An error of pydantic, in plain words and with its key."""
    key, what = ".".join(map(str, found["loc"])), str(found["msg"])
    if found["type"] == "extra_forbidden":
        models: dict[str, type[BaseModel]] = {"limits": Limits, "tls": Tls}
        model = models.get(str(found["loc"][0]), Settings) if len(found["loc"]) > 1 else Settings
        hint = meant(found["loc"][-1], model.model_fields)
        what = f"there is no such key{hint}; known keys are {', '.join(model.model_fields)}"
    elif found["type"] == "missing":
        what = "is missing"
    elif found["type"] == "value_error":
        what = str(found["ctx"]["error"])
    return f"{key}: {what}"
