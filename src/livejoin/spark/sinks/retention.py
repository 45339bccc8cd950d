"""Which files of deltas have been removed, since an output that lives for years keeps the newest ones alone.

The file ``_removed`` in the folder of a view has the newest batch whose files were removed. Readers of Parquet folders
pass over names that begin so.

Law: the file says so before any file of that batch goes. So who lists the files first, and reads ``_removed`` then, has
all files of the batches behind the one that it names.
"""

from __future__ import annotations

from livejoin.checkpoint.checked_json import checked, with_checksum
from livejoin.errors import StateError, StorageError
from livejoin.spark.sinks.output_files import content, put_whole, remove
from livejoin.spark.sinks.part_names import parts_in
from livejoin.spark.sinks.ranges import ranges_in
from livejoin.state.store_folder import Place

NOTE = "_removed"
NOTHING = -1


def removed_up_to(folder: Place) -> int:
    """The newest batch whose files were removed from a folder; -1 if none were.

    Raises:
        StateError: The note is damaged.
        StorageError: The disk refuses to read it.
    """
    file = folder / NOTE
    try:
        found = checked(content(file))["batch"]
        if not isinstance(found, int):
            msg = f"it names the batch {found!r:.80}"
            raise TypeError(msg)
    except FileNotFoundError:
        return NOTHING
    except OSError as error:
        msg = f"{file}, which says what was removed, could not be read: {error}; repair that and start again"
        raise StorageError(msg) from error
    except (ValueError, KeyError, TypeError) as error:
        msg = f"{file}, which says what was removed, is damaged: {error}; restore it from a backup, or start over"
        raise StateError(msg) from error
    return found


def remove_before(folder: Place, batch_id: int) -> None:
    """Remove the files of the batches before one, but for the newest files that are there: they tell the columns.

    A file of many batches goes when all of them are before that one.

    Raises:
        OSError: The system refuses; what is left goes with a later call.
    """
    there = parts_in(folder)
    old = [batch for batch in there if batch < batch_id and batch != max(there)]
    done = removed_up_to(folder)
    ranges = [one for one in ranges_in(folder) if done < one.last < batch_id]
    newest = max((*old, *(one.last for one in ranges)), default=done)
    if newest > done:
        note = with_checksum({"batch": newest})
        put_whole(folder / NOTE, lambda stream: stream.write(note))
    names = [name for batch in old for name in there[batch]]
    for name in (*names, *(name for one in ranges for name in (one.name, one.hidden))):
        remove(folder / name)
