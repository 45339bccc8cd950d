"""The journal of a commit: what the commit may touch, written down before anything is touched.

The point of no return is one assignment, that of the database's version. A commit that is cut off before it is undone;
one that is cut off after it is finished. Both steps may be cut off and repeated. Undoing costs as much as the commit
did, except for the blocks that the commit was cut off in (`livejoin.dataflow.graph`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa

from livejoin.database.durable.log import Placed
from livejoin.database.transactions.compaction import NOTHING, Passed, note
from livejoin.database.transactions.requests import Answer, Numbered
from livejoin.database.transactions.subscribers import Subscription
from livejoin.database.versions.links import Stepped
from livejoin.dataflow.blocks.table_change import TableChange
from livejoin.dataflow.deltas.view_delta import ViewDelta
from livejoin.errors import ChangeError
from livejoin.state.table import BaseTable

if TYPE_CHECKING:
    from livejoin.database.contents import Contents

Letter: TypeAlias = tuple[Subscription, pa.Table, int, int]
"""A subscription, the delta that it is to be told, where the log has the commit (0 without one), its version."""


@dataclass(eq=False, slots=True)
class Journal:
    """A commit under way; mutable.

    Args:
        tables: The tables that it may have staged.
        version: The version of the database when the commit stands.
        events: The events of base tables, by name in lower case; of a commit that stands.
        deltas: The deltas of the views that keep deltas and that it may reach, by the view's name.
        versions: How many versions it is.
        then: Called once it stands, by whatever call ends it; may be called again.
        passed: The values that come and go, for the dictionaries; of a commit that stands.
        offsets: Up to where sources are read when it stands.
        request: The request that it answers, and the answer; None if it is none of a client.
        steps: The steps of views and tables whose versions somebody reads or follows.
        changed: The staged changes of the tables that change, by name in lower case; of a commit that stands.
        placed: Where the log has the deltas of views with a history.
    """

    tables: Sequence[BaseTable]
    version: int
    versions: int
    events: dict[str, int] = field(default_factory=dict)
    deltas: Mapping[str, ViewDelta] = field(default_factory=dict)
    then: Callable[[], object] | None = None
    passed: Passed = NOTHING
    is_noted: bool = False
    offsets: Mapping[str, Any] = field(default_factory=dict)
    request: tuple[Numbered, Answer] | None = None
    steps: Mapping[str, Stepped] = field(default_factory=dict)
    placed: Placed = ()
    changed: Mapping[str, TableChange] = field(default_factory=dict)


def settle(contents: Contents) -> None:
    """Finish or undo a commit that was cut off, if there is one."""
    journal = contents.journal
    if journal is None:
        return
    if contents.workers.threads > 1:
        contents.workers.wait()
    contents.budget.end()  # what is taken back is not refused
    if contents.log is not None:
        contents.log.settle()
    if contents.version == journal.version:
        _finish(contents, journal)
    else:
        contents.graph.undo()
        for base in journal.tables:
            base.rollback()
        contents.pause = 0  # what made room for it may be given back
        if contents.scratch is not None:
            contents.scratch.drop()
        contents.journal = None


def _finish(contents: Contents, journal: Journal) -> None:
    contents.graph.finish()
    for base in journal.tables:
        base.commit()
    if contents.scratch is not None:
        contents.scratch.keep()
    if journal.then is not None:
        journal.then()
    if journal.offsets:
        contents.offsets.update(journal.offsets)
    if journal.request is not None:
        contents.requests.note(*journal.request)
    tally = contents.tally
    if tally.analyses:
        for analysis in tally.analyses.values():
            analysis.note(journal.changed, journal.version)
    if not journal.is_noted:
        journal.is_noted = True
        note(contents, journal.passed)
        tally.note(journal.versions, journal.events)
        for name, delta in journal.deltas.items():
            contents.views[name.lower()]._note(delta)
    if journal.placed:
        contents.note_told(journal.placed)
    if journal.steps:
        contents.links.extend(journal.version, 0 if contents.log is None else contents.log.written, journal.steps)
    if tally.listened:
        told = letters(contents, journal.deltas, journal.version)
        contents.letters, contents.journal = deque([*contents.letters, *told]), None
    else:
        contents.journal = None


def letters(contents: Contents, deltas: Mapping[str, ViewDelta], version: int) -> Iterator[Letter]:
    """The deltas of a version to call subscribers with."""
    written = 0 if contents.log is None else contents.log.written
    for view in contents.views.values():
        for one in view._subscribers.now():
            yield one, deltas.get(view.name, view._no_delta).table(), written, version


def deliver(contents: Contents) -> None:
    """Call the subscribers for which deltas wait and may be told, in the order of versions, each delta once.

    Where there is a log these are the deltas of commits that are durable.

    All subscribers are called, whatever they raise; one whose subscription another one has ended is not. A letter goes
    when its subscriber was called, so that a call that is cut off loses none, and none is told twice. What they
    raise goes to their handlers (`Subscription.tell`); the first one that is no `Exception` is raised at the end.
    """
    failure: BaseException | None = None
    contents.is_telling = True
    try:
        while contents.letters and (contents.log is None or contents.letters[0][2] <= contents.log.told):
            subscription, delta, _, version = contents.letters[0]
            if not subscription.has_ended and subscription.called < version:
                try:
                    subscription.tell(delta, version)
                except BaseException as error:
                    failure = failure or error
                    if subscription.called < version:  # cut off before it was called: the next call does it
                        break
            contents.letters.popleft()
    finally:
        contents.is_telling = False  # or, if that is cut off, by the next call that comes out of no other one
    if failure is not None:
        raise failure


def refuse_in_subscriber(contents: Contents) -> None:
    """Refuse a commit that a subscriber makes: later subscribers would hear of it before the commit that stands.

    Raises:
        ChangeError: Subscribers are being called.
    """
    if contents.is_telling:
        msg = (
            f"a subscriber makes a commit while it is called for version {contents.version}, of which others may not "
            "have heard yet; note what is to change, and apply it when the call that made the commit has returned"
        )
        raise ChangeError(msg)
