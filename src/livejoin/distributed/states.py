"""The rows of a view after a batch, read cell by cell from the files that a manifest lists, while drivers go on.

Law: the rows of a view are those that its cells have of it, all together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import pyarrow as pa

from livejoin.checkpoint.states import NotKeptError, as_columns, bound_view, gone, not_kept, tried
from livejoin.database.of_stage import show
from livejoin.database.snapshots.tables import NO_LIMITS
from livejoin.distributed.cells import held_tables
from livejoin.distributed.declaration import read_declaration
from livejoin.distributed.manifest import Held, Manifest, batches_in, read_manifest
from livejoin.errors import StateError, StorageError
from livejoin.plan.stages import Stage
from livejoin.state.store_folder import Place, at


@dataclass(frozen=True)
class ViewPart:
    """What one cell has of a view after a batch.

    Args:
        folder: The folder of the cells' files.
        batch: The batch.
        stage: The stage that shows the view, without what else it shows.
        cell: The cell.
        held: The state of the cell.
        columns: The columns of the view.
    """

    folder: Place
    batch: int
    stage: Stage
    cell: int
    held: Held
    columns: pa.Schema

    def rows(self) -> Iterator[pa.RecordBatch]:
        """The rows.

        Raises:
            StateError: The batch is not kept any more, or a file is damaged.
            StorageError: The disk refuses to read.

        Cost: O(rows of the cell), applying the batches behind its snapshot, and loading the view.
        """
        try:
            database = held_tables(self.folder, self.stage, self.held, NO_LIMITS)
        except (StateError, StorageError) as error:
            kept = kept_batches(self.folder)
            if kept and kept[0] > self.batch:
                raise gone(self.batch, kept[0], self.folder.parent) from error
            raise
        show(database, self.stage, self.cell == 0)
        for view in database.views.values():
            for batch in view.batches():
                yield as_columns(batch, self.columns)


def parts_of(folder: Place, view: str, version: int | None) -> tuple[list[ViewPart], pa.Schema]:
    """The parts of a view, and its columns.

    Args:
        folder: The folder of the cells' files.
        view: The view.
        version: The number of the batch; None for the newest one.

    Raises:
        SchemaError: There is no such view.
        StateError: The version is not kept or does not exist, or a file is damaged.
        StorageError: The disk refuses to read.

    Cost: O(cells); with a version O(batches that are kept).
    """

    def read() -> tuple[list[ViewPart], pa.Schema]:
        manifest = _manifest(folder, version)
        declaration = read_declaration(folder, manifest.plan)
        bound = declaration.bound
        name, columns = bound_view(bound, declaration.job, view, folder.parent)
        staged = declaration.plan(bound, NO_LIMITS).staged
        relation = staged.views[name]
        found = []
        for (number, cell), held in sorted(manifest.cells.items(), key=lambda one: one[0]):
            stage = staged.stages[number]
            shown = tuple(one for one in stage.shown if one.relation == relation)
            if shown and (cell == 0 or not shown[0].alone):
                found.append(ViewPart(folder, manifest.batch_id, replace(stage, shown=shown), cell, held, columns))
        return found, columns

    return tried(read)


def kept_batches(folder: Place) -> list[int]:
    """The batches after which the state of every cell is still there, ascending.

    Raises:
        StorageError: The disk refuses to read.
    """
    manifests = [read_manifest(folder, batch) for batch in batches_in(folder)]
    try:
        with at(folder) as opened:
            names = set(opened.names())
    except OSError as error:
        msg = f"{folder} could not be read: {error}"
        raise StorageError(msg) from error
    return [one.batch_id for one in manifests if one.state_files <= names]


def _manifest(folder: Place, version: int | None) -> Manifest:
    batches = batches_in(folder)
    if not batches:
        msg = f"the checkpoint in {folder.parent} has no batch yet; read it when the query has committed one"
        raise NotKeptError(msg)
    if version is None:
        return read_manifest(folder, batches[-1])
    kept = kept_batches(folder)
    if version not in kept:
        raise not_kept(version, kept[0] if kept else batches[-1], batches[-1], folder.parent, begins=0)
    return read_manifest(folder, version)
