"""The file of a server: what is served, where, and to whom."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from livejoin.errors import SchemaError, StorageError
from livejoin.server.limits import Limits
from livejoin.shown import meant


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
        folder: The folder of the database, made if it is missing; without it nothing stays.
        sql: A file of CREATE statements, run where the database is new.
        host: The address to listen at.
        port: The port.
        flight: Where to listen with Arrow Flight SQL too, as ``grpc://127.0.0.1:31337``; by default nowhere.
        tokens: The file of tokens; without it the server listens on this machine alone.
        origins: The sites whose pages may ask.
        tick: Seconds between two messages of a view at least.
        history: Rows of changes of each view that is followed that are kept for those who come back.
        tls: The files of a certificate.
        limits: The limits of one who asks.
        database: The options of `livejoin.open`, as ``memory_limit``.
    """

    model_config = ConfigDict(extra="forbid")

    folder: Path | None = None
    sql: Path | None = None
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

    def at(self, folder: Path) -> Settings:
        """The settings with paths that begin at a folder."""
        paths = {
            name: folder / path for name in ("folder", "sql", "tokens") if (path := getattr(self, name)) is not None
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
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        what = first["msg"]
        if first["type"] == "extra_forbidden":
            models: dict[str, type[BaseModel]] = {"limits": Limits, "tls": Tls}
            model = models.get(str(first["loc"][0]), Settings) if len(first["loc"]) > 1 else Settings
            hint = meant(first["loc"][-1], model.model_fields)
            what = f"there is no such key{hint}; known keys are {', '.join(model.model_fields)}"
        msg = f"{str(path)!r}: {place}: {what}"
        raise SchemaError(msg) from error
    return found.at(path.parent)
