"""Dead letters: changes that could not be applied, in files of Parquet or handed to a function of the user."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa

from livejoin.checkpoint.batch import REASON
from livejoin.errors import StorageError
from livejoin.spark.paths import made
from livejoin.spark.sinks.parquet import put
from livejoin.spark.sinks.part_names import part_name
from livejoin.state.store_folder import Place, StorePath

Letter = Callable[[dict[str, Any], str, int, str], object]
"""A function that gets a row, its table, the batch and the reason."""


class DeadLetters:
    """Takes the changes that could not be applied. A batch that runs again is delivered again, unchanged.

    Args:
        target: A folder or a place in a store, which gets ``<table>/part-<batch>.parquet`` with the changes as they
            came and the reason in ``_reason``. Or a function, called for each change with its row, its table, the
            batch and the reason.
    """

    def __init__(self, target: Place | Letter) -> None:
        self._target = target

    @property
    def place(self) -> Place | None:
        """Where they go; None if a function gets them."""
        return self._target if isinstance(self._target, (Path, StorePath)) else None

    def prepare(self) -> None:
        """Make the folder now, so that an unusable one is known before the first letter.

        Raises:
            StorageError: The disk refuses.
        """
        if isinstance(self._target, Path):
            made(self._target, "dead letters")

    def deliver(self, letters: Mapping[str, pa.Table], batch_id: int) -> None:
        """Take the changes of a batch, by table.

        Raises:
            StorageError: The disk refuses.
        """
        for table, rows in letters.items():
            if isinstance(self._target, (Path, StorePath)):
                self._write(self._target / quote(table, safe=" "), rows, batch_id)
                continue
            for row in rows.to_pylist():
                reason = row.pop(REASON)
                self._target(row, table, batch_id, reason)

    def _write(self, folder: Place, rows: pa.Table, batch_id: int) -> None:
        target = folder / part_name(batch_id)
        try:
            if isinstance(folder, Path):
                folder.mkdir(parents=True, exist_ok=True)
            put(rows, target)
        except OSError as error:
            msg = f"dead letters could not be written to {target}: {error}; repair that and go on"
            raise StorageError(msg) from error
