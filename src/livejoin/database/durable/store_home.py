"""The place of a database in an object store, which one database at a time has.

``log`` is the chain (`livejoin.database.durable.chain`), ``snapshots`` has the snapshots
(`livejoin.database.snapshots.stored`), ``lease`` says who has it (`livejoin.database.durable.lease`).
"""

from __future__ import annotations

from livejoin.database.contents import Contents
from livejoin.database.durable import lease
from livejoin.database.durable.chain import ChainFolder
from livejoin.database.durable.home import Damaged, open_log
from livejoin.database.durable.lease import Lease
from livejoin.database.durable.log import Log, Pace, Segment, TakenOverError
from livejoin.database.durable.places import StorePlace
from livejoin.database.durable.recovery import Damage, Recovered, read_snapshot, replay
from livejoin.errors import LivejoinError, StateError, StorageError
from livejoin.handlers import raised_by_handler
from livejoin.state.objects import Objects, check_creates_once

SEGMENT_RECORDS = 2_000
"""As an opening reads each object of the log, segments end sooner than those in folders, and snapshots come sooner."""

_TRIES = 3


def open_store(objects: Objects, empty: Contents, pace: Pace, damaged: Damaged) -> Contents:
    """The contents of the database below a URL of a store; its log is open.

    Args:
        objects: The store.
        empty: Contents with the threads and limits of the database.
        pace: How soon what is written is durable.
        damaged: What happens to a log that is damaged.

    Raises:
        StateError: Another process has it open, it is damaged, or the store cannot keep two writers apart.
        StorageError: The store refuses.
        MemoryLimitError: The database would take more than it may.
    """
    if damaged == "cut":
        msg = (
            "damaged='cut' is for folders: in a store nothing that was written is changed. Put the objects back from "
            "their versions or a copy, or begin anew below another prefix"
        )
        raise StateError(msg)
    try:
        check_creates_once(objects)
        taken = lease.take(objects)
        try:
            return _opened(objects, taken, empty, pace)
        except BaseException:
            taken.release()
            raise
    except TakenOverError as error:
        msg = f"{objects.name!r} was opened by another process at the same moment; try again when that one is closed"
        raise StateError(msg) from error
    except OSError as error:
        if raised_by_handler(error):
            raise
        msg = f"{objects.name!r} could not be opened: {error}; it may be sound, try again when that is mended"
        raise StorageError(msg) from error


def _opened(objects: Objects, taken: Lease, empty: Contents, pace: Pace) -> Contents:
    place = StorePlace(objects)
    chain = ChainFolder(objects, taken.epoch)
    if chain.is_empty and taken.log:
        msg = f"the log of the database in {objects.name!r} is gone; put the objects of {place.segments!r} back"
        raise StateError(msg)
    chain.claim()
    for left in reversed(range(_TRIES)):
        fresh = Contents(empty.workers, empty.memory_limit, scratch=empty.scratch)
        try:
            found, segment = _recovered(place, chain, fresh)
            break
        except (FileNotFoundError, LivejoinError, Damage) as error:
            # A process of before may have made a snapshot meanwhile, and removed what that one took over.
            if left and _is_newer(chain):
                continue
            if isinstance(error, Damage):
                raise error.error(str(place.segments)) from error.__cause__
            raise
    found.add_views()
    log = Log(objects.name, chain, segment, found.account, pace)
    log.segment_records = SEGMENT_RECORDS
    taken.say(found.account.identity)
    return open_log(place, found, log, taken.release)


def _is_newer(chain: ChainFolder) -> bool:
    """Look at the list of the log again; whether it begins elsewhere now."""
    first = chain.first
    chain.refresh()
    return chain.first != first


def _recovered(place: StorePlace, chain: ChainFolder, empty: Contents) -> tuple[Recovered, Segment]:
    found, first = read_snapshot(place, empty)
    segment = replay(chain, found, first)
    assert segment is not None
    return found, segment
