"""A commit: changes of tables go to the tables and through the graph of blocks, or nothing changes at all."""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, NoReturn

import numpy as np

from livejoin.changes import STRICT, ByKey, ChangeBatch, Intake, read_changes
from livejoin.changes.batch import NO_DEFAULTS, Flags
from livejoin.database.commit import NOTHING, Commit
from livejoin.database.contents import Contents
from livejoin.database.declared.defaults import defaults_of
from livejoin.database.durable.history import told
from livejoin.database.durable.log import Log
from livejoin.database.lineage.causes import Given
from livejoin.database.names import ByName
from livejoin.database.now import is_time, times_that_move
from livejoin.database.transactions.assertions import violations
from livejoin.database.transactions.commit_plan import CommitPlan, TablePlan, plan_of
from livejoin.database.transactions.compaction import FEW, compact_in_turn, passed
from livejoin.database.transactions.journal import Journal, deliver, refuse_in_subscriber, settle
from livejoin.database.transactions.partial import completed
from livejoin.database.transactions.python_lock import ALONE, Held, calm, hasten
from livejoin.database.transactions.requests import Answer, Numbered
from livejoin.database.transactions.retention import kept_columns
from livejoin.database.transactions.sealing import note_sealed, sealings, with_freed
from livejoin.database.transactions.staging import (
    Granularity,
    OnConflict,
    TableInput,
    refuse_by_key,
    refuse_leaving,
    refuse_looking,
    refuse_replacing,
    refuse_static,
    select_brought,
    stage,
)
from livejoin.database.transactions.watermarks import (
    in_time,
    moved_on,
    refuse_given_watermark,
    with_late_counted,
    with_watermarks,
)
from livejoin.database.versions.images import steps_of
from livejoin.dataflow.blocks.block import Change
from livejoin.dataflow.blocks.table_change import TableChange
from livejoin.dataflow.deltas.view_delta import ViewDelta
from livejoin.dataflow.graph import selections
from livejoin.dataflow.node import Node
from livejoin.errors import ChangeFormatError, LivejoinError, MemoryLimitError, ViolationError
from livejoin.schema.now import NOW
from livejoin.state.budget import COMMIT, DELETE
from livejoin.state.table import Staged
from livejoin.words import Words

NO_NOTES: Mapping[str, Any] = MappingProxyType({})
_ASKED_ABOUT = 100_000  # changes of the last commit that are kept for questions about it
_STAGING_BYTES = 64  # of a change beside its words: what it touched, and its events


def read(
    contents: Contents,
    named: Mapping[str, object],
    needs_sequence: bool,
    on_conflict: OnConflict,
    intake: Intake = STRICT,
) -> list[ChangeBatch]:
    """Validate changes: one batch a table, in the order of ``_seq`` where that matters.

    Raises:
        ChangeError: Changes break what a table promises.
    """
    batches = read_any(contents, named, needs_sequence, on_conflict, intake)
    for place, batch in enumerate(batches):
        if batch.table.static or batch.table.append_only:
            refuse_unpromised(contents, batch)
        if batch.table.name == NOW and is_time(batch.table):
            batches[place] = times_that_move(contents, batch)
    return batches


def read_any(
    contents: Contents,
    named: Mapping[str, object],
    needs_sequence: bool,
    on_conflict: OnConflict,
    intake: Intake = STRICT,
) -> list[ChangeBatch]:
    """As `read`, but changes that break a table's promise pass; the caller has checked them.

    With ``on_conflict="update"`` the changes of an append-only table do not go by key, though others of the commit do.
    """
    if on_conflict != "error":
        refuse_unknown(on_conflict)
    batches: list[ChangeBatch] = []
    by_key: ByKey = "always" if on_conflict == "update" else "given"
    goes_by: ByKey
    for name, data in named.items():
        table = contents.catalog[name]
        if table.is_beside:
            refuse_given_watermark(contents, table)
        if batches and any(batch.table.name == table.name for batch in batches):
            msg = "the table is given twice in one commit; give all of its changes together"
            raise ChangeFormatError(msg, table.name)
        if table.is_trusted:
            refuse_looking(table, on_conflict)
        goes_by = "given" if table.append_only else by_key
        defaults = defaults_of(table) if table.has_defaults else NO_DEFAULTS
        batch = read_changes(table, data, needs_sequence, goes_by, intake, defaults)
        if table.is_trusted:
            refuse_by_key(batch)
        batches.append(batch)
    if by_key == "always" and batches and not any(batch.by_key for batch in batches):
        for batch in batches:
            if batch.table.append_only and batch.table.primary_key:
                refuse_replacing(batch.table, 0)
        names = ", ".join(repr(batch.table.name) for batch in batches)
        msg = (
            f"on_conflict is 'update', and no row of {names} has a key: a table needs a PRIMARY KEY for a row to take "
            "the place of another one; declare one, or leave on_conflict out"
        )
        raise ChangeFormatError(msg)
    return batches


def refuse_unpromised(contents: Contents, batch: ChangeBatch) -> None:
    """Refuse changes of a static table that views use, and those by which a row leaves an append-only one.

    Raises:
        ChangeError: The changes are such.
    """
    table = batch.table
    if table.static:
        refuse_static(batch, [view.name for view in contents.views.values() if view._reads_table(table.name)])
    if table.append_only:
        refuse_leaving(batch)


def refuse_unknown(on_conflict: OnConflict) -> None:
    """Refuse an unknown ``on_conflict``.

    Raises:
        ChangeFormatError: The value is none of ``error``, ``ignore`` and ``update``.
    """
    if not isinstance(on_conflict, str) or on_conflict not in ("error", "ignore", "update"):
        msg = f"on_conflict is {on_conflict!r}; allowed are 'error', 'ignore' and 'update'"
        raise ChangeFormatError(msg)


def commit(
    contents: Contents,
    batches: Sequence[ChangeBatch],
    on_conflict: OnConflict,
    notes: Mapping[str, Any] = NO_NOTES,
) -> Commit:
    """Apply batches as one version, behind those that seal; arguments and errors as `run`."""
    for batch in batches:
        if batch.table.keep == "open":
            seal(contents, batches)
            break
    changes: list[tuple[ChangeBatch, Words]] = []
    length = 0
    for batch in batches:
        versions = np.empty(batch.weights.shape, np.int64)
        versions.fill(contents.version + 1)
        changes.append((batch, versions))
        length += len(versions)
    done = run(contents, changes, 1, "commit", on_conflict, notes=notes)
    contents.last = None
    if length <= _ASKED_ABOUT:
        contents.last = Given(contents, tuple(batches), on_conflict, done.version, trial)
        done.given = weakref.ref(contents.last)
    return done


def seal(contents: Contents, batches: Sequence[ChangeBatch]) -> None:
    """Free rows of closed windows of the tables that some changes are of, if it is time; errors as `run`."""
    for sealing in sealings(contents, batches):
        trial(contents, sealing.changes, "error", partial(sealing.note, contents))
        versions = contents.version + 1
        changes = [(batch, np.full(batch.length, versions)) for batch in sealing.changes]
        run(contents, changes, 1, "commit", "error")
        note_sealed(contents, sealing)


class Tried(Exception):  # it says that nothing is wrong
    """Ends a commit that was only tried and would have stood."""


def trial(
    contents: Contents,
    batches: Sequence[ChangeBatch],
    on_conflict: OnConflict,
    look: Callable[[Commit], object] = lambda _: None,
) -> None:
    """Try to apply batches as one version; nothing is applied. Cost and errors as `commit`.

    Args:
        contents: The database's contents.
        batches: The changes of each table.
        on_conflict: What happens to changes that conflict, as for `livejoin.Database.apply`.
        look: Called with the commit before it is undone.
    """
    changes = [(batch, np.full(batch.weights.shape, contents.version + 1)) for batch in batches]
    try:
        run(contents, changes, 1, "commit", on_conflict, tried=look)
    except Tried:
        return


def run(
    contents: Contents,
    changes: Sequence[tuple[ChangeBatch, Words]],
    count: int,
    granularity: Granularity,
    on_conflict: OnConflict,
    then: Callable[[], object] | None = None,
    tried: Callable[[Commit], object] | None = None,
    notes: Mapping[str, Any] = NO_NOTES,
) -> Commit:
    """Stage all tables, then bring the changes into all blocks; undo everything if anything fails.

    An exception, as one of a signal, may come out of any line. If the database has the new version then, the commit
    stands; if not, nothing of it does. What is left to do is done here, or by the next call.

    Args:
        contents: The database's contents.
        changes: The changes of each table, with the version of each change.
        count: How many versions there are.
        granularity: Whether deltas are those of the commit or of each change.
        on_conflict: What happens to changes that cannot be applied.
        then: Called once the commit stands, also where another call has to end it; may be called again.
        tried: Called with the commit where it is only to be tried, and does not stand in the end.
        notes: JSON values that stand with it: ``offsets``; ``request``, as `Numbered.noted` gives it.

    Raises:
        ChangeError, ExpressionError, CapacityError, StorageError: As for `livejoin.Database.apply`; nothing was
            applied.
        ViolationError: An assertion would not hold; where the commit is only tried, it says so.
        Tried: The commit would have stood, but for its violations, and was only tried.
    """
    if contents.is_telling:
        refuse_in_subscriber(contents)
    began = time.perf_counter()
    if contents.pause <= 0 or contents.seen.is_due:
        compact_in_turn(contents)
    with _held(contents, changes) if contents.guard.is_shared else ALONE:
        graph = contents.graph
        plan = plan_of(contents, tuple([batch.table.name for batch, _ in changes]))
        if plan.has_time:
            changes = with_watermarks(contents, with_freed(contents, changes), granularity)
            plan = plan_of(contents, tuple([batch.table.name for batch, _ in changes]))
        static_change = plan.has_static and any(batch.table.static and batch.weights.shape[0] for batch, _ in changes)
        graph.prepare(plan.path, static_change)
        contents.budget.begin(COMMIT if contents.budget.limit is None else _remedy(changes))
        inputs = [_encode(contents, planned, *one) for planned, one in zip(plan.tables, changes, strict=True)]
        for place, given in enumerate(inputs):
            if given.batch.given is not None:
                inputs[place] = _completed(contents, given, granularity, on_conflict)
        version = contents.version + count
        journal = Journal(
            [given.base for given in inputs], version, count, {}, {}, then, offsets=notes.get("offsets", {})
        )
        contents.journal = journal
        prepared = time.perf_counter()
        try:
            staged: dict[str, TableChange] = {}
            changed: dict[str, TableChange] = {}
            ignored = late = applied = 0
            left_out = NOTHING
            stagings: dict[str, Staged] = {}
            for name, read_in in zip(plan.names, inputs, strict=True):
                given = moved_on(contents, read_in, stagings, version) if plan.has_time else read_in
                done = stage(given, granularity, on_conflict)
                if given.whole is not None:
                    done = with_late_counted(given, given.whole, done)
                stagings[name] = done
                selections = given.selections if given.batch.replaces is None else select_brought(graph, given, done)
                staged[name] = change = TableChange(done, given.versions, selections, count == 1)
                journal.events[name] = events = done.rows.shape[0]
                if events:
                    changed[name] = change
                if done.ignored or done.late:
                    left_out = {**left_out, name: (done.ignored, done.late)}
                ignored, late = ignored + done.ignored, late + done.late
                applied += (read_in.whole or read_in).versions.shape[0] - done.ignored - done.late
            journal.changed, staged_at = changed, time.perf_counter()
            blocks = graph.apply(
                changed, plan.path if len(changed) == len(plan.names) else None, contents.tally.listened
            )
            applied_at = time.perf_counter()
            journal.deltas = deltas = _deltas(contents, plan, blocks) if plan.views else {}
            violated = violations(plan.asserted, deltas, count, refuses=tried is None) if plan.asserted else ()
            if contents.links.tips:
                journal.steps = steps_of(contents, deltas, blocks, staged)
            journal.passed = passed(contents, staged, inputs)
            shown_at = time.perf_counter()
            slowest = graph.slowest()
            by_name = ByName(deltas.items(), plan.shown.unchanged) if deltas else plan.shown.unchanged
            commit = Commit(
                version, applied, ignored, by_name, plan.shown.quiet, _last_sequence(changes), late, left_out
            )
            if tried is not None:
                _tell_trial(tried, commit, violated)
            if "request" in notes:
                asked, bad = Numbered.of(notes["request"])
                journal.request = asked, Answer(journal.version, applied, ignored, late, bad, asked.digest)
            if contents.log is not None:
                _write(contents, contents.log, journal, inputs, (granularity, on_conflict), notes)
            logged_at = shown_at if contents.log is None else time.perf_counter()
            contents.version = version  # the point of no return
        finally:
            settle(contents)
        _note_time(
            contents,
            (began, prepared, staged_at, applied_at, shown_at, logged_at, time.perf_counter()),
            journal,
            slowest,
        )
    if static_change or contents.letters or contents.links.news:
        _tell(contents, static_change)
    return commit


def _held(contents: Contents, changes: Sequence[tuple[ChangeBatch, Words]]) -> Held:
    """Python's lock while a commit runs, where other threads of Python wait for it."""
    return Held(sum([batch.weights.shape[0] for batch, _ in changes]), contents.times)


def _deltas(contents: Contents, plan: CommitPlan, blocks: Mapping[Node, Change]) -> dict[str, ViewDelta]:
    """What blocks have changed, as the views with deltas show it."""
    deltas: dict[str, ViewDelta] = {}
    for name, view in plan.views:
        try:
            deltas[view.name] = view._delta(blocks, None if name in contents.tally.listened else contents.scratch)
        except LivejoinError as error:
            view._naming.name(error)
            raise
    return deltas


def _tell_trial(tried: Callable[[Commit], object], commit: Commit, violated: Sequence[ViolationError]) -> NoReturn:
    """Let the commit that was only tried be looked at, and end it.

    Raises:
        Tried: Always.
    """
    commit.violations = tuple(violated)
    tried(commit)
    raise Tried


def _write(
    contents: Contents,
    log: Log,
    journal: Journal,
    inputs: Sequence[TableInput],
    manner: tuple[Granularity, OnConflict],
    notes: Mapping[str, Any],
) -> None:
    """Write a commit to the log, with the deltas of views that have a history."""
    stands = partial(_stands, contents, journal.version)
    kept = told(contents.histories, contents.views, journal.deltas) if contents.histories else ()
    versions = (contents.version + 1, journal.versions)
    interval = hasten()
    asked = [given.whole or given for given in inputs if not given.batch.is_derived]
    try:
        journal.placed = log.commit(asked, contents.codec, versions, manner, notes, stands, kept)
    finally:
        calm(interval)


def _note_time(
    contents: Contents, clock: tuple[float, ...], journal: Journal, slowest: tuple[Node, float] | None
) -> None:
    """Count what a commit took, by its clock at the ends of its steps, and keep it if it is among the slowest."""
    guard, took = contents.guard, clock[-1] - clock[0]
    contents.times.note(took)
    if guard.ended is not None:  # a commit of the same call, as a piece of a replay
        guard.ended(0.0)
    if contents.log is not None:  # it has not waited for the disk yet
        guard.ended = partial(_note_slow, contents, clock, journal, slowest, guard.waited)
    elif took + guard.waited[0] + guard.waited[1] > contents.slowest.least:
        _note_slow(contents, clock, journal, slowest, guard.waited, 0.0)


def _note_slow(
    contents: Contents,
    clock: tuple[float, ...],
    journal: Journal,
    slowest: tuple[Node, float] | None,
    waited: tuple[float, float],
    for_disk: float,
) -> None:
    """Keep a commit if it is among the slowest, with what it waited for counted."""
    if clock[-1] - clock[0] + sum(waited) + for_disk > contents.slowest.least:
        with contents.guard.lock:
            changes = _by_table(contents, journal.events)
            contents.slowest.note(journal.version, clock, changes, slowest, (*waited, for_disk))


def _tell(contents: Contents, static_change: bool) -> None:
    """Behind a commit that stands: give back what only it needed, and tell of it."""
    if static_change:
        contents.graph.rest()
    if contents.letters:
        deliver(contents)
    if contents.links.news:
        contents.wake()


def _by_table(contents: Contents, events: Mapping[str, int]) -> Mapping[str, int]:
    """The net changes of the tables that changed, by their names as declared."""
    return {contents.tables[name].table.name: number for name, number in events.items() if number}


def _stands(contents: Contents, version: int) -> bool:
    """Whether a commit stands that makes a version."""
    return contents.version == version


def _last_sequence(changes: Sequence[tuple[ChangeBatch, Words]]) -> int | None:
    last: int | None = None
    for batch, _ in changes:
        if batch.sequence is not None and batch.length:
            most = int(batch.sequence.max())
            last = most if last is None else max(last, most)
    return last


def words_of(contents: Contents, batch: ChangeBatch, fresh: Words | None = None) -> Words:
    """The words of a batch's rows, of shape (columns, rows); nothing but the dictionaries changes.

    Args:
        contents: The database's contents.
        batch: The batch.
        fresh: Gets the number of new dictionary entries of each column; None if nobody asks.

    Raises:
        CapacityError: The words take more memory than is allowed.
    """
    if batch.written is not None:  # not before: what no row uses is forgotten before a commit
        return batch.written()
    if batch.words is not None and not batch.texts:
        return batch.words
    keeps_all = batch.table.retain == "all" and not batch.table.is_trusted
    kept = None if keeps_all else kept_columns(contents, batch.table)
    try:
        if batch.words is not None:
            contents.codec.encode_texts(batch.text_columns(), batch.words, fresh)
            return batch.words
        return contents.codec.encode_columns(batch.columns, batch.length, batch.table, kept, fresh)
    except MemoryLimitError:
        contents.seen.is_due = True  # so that the next commit forgets what only this one brought
        raise


def _remedy(changes: Sequence[tuple[ChangeBatch, Words]]) -> str:
    """What helps where there is no room for changes."""
    return DELETE if all((batch.weights < 0).all() for batch, _ in changes) else COMMIT


def _generated(contents: Contents, batch: ChangeBatch, words: Words, whole: Flags) -> Words:
    """The words with those of generated columns, for whole rows; a log has them already."""
    if batch.table.generated and batch.written is None:
        return contents.generated_of(batch.table).filled(words, whole)
    return words


def _refuse_broken(contents: Contents, batch: ChangeBatch, words: Words, come: Flags) -> None:
    """Refuse rows that come and break a CHECK; what a log has did not."""
    if batch.table.checks and batch.written is None:
        contents.checks_of(batch.table).refuse_broken(words, come)


def _encode(contents: Contents, planned: TablePlan, batch: ChangeBatch, versions: Words) -> TableInput:
    """Words and masks of a batch of a table; nothing but the dictionaries changes."""
    length = batch.weights.shape[0]
    if contents.budget.refuses:
        contents.budget.hold((8 * len(batch.table.columns) + _STAGING_BYTES) * length, "staged changes")
    base, words, fresh = planned.base, batch.words, None
    if base.table.is_trusted:
        kept_columns(contents, base.table)  # the changes that stay have what views read now, in whatever form they come
    if words is None or batch.texts:
        if batch.written is None and length > FEW and base.coded:  # what a log has says nothing of new entries
            fresh = np.zeros(len(batch.table.columns), np.int64)
        words = words_of(contents, batch, fresh)
    given = TableInput(base, batch, words, versions, {}, fresh)
    if batch.given is not None:  # it is completed first
        return given
    if planned.has_time:
        given = in_time(contents, given)
        batch = given.batch
    if planned.has_rules:
        come = batch.weights > 0
        whole = np.ones(batch.length, np.bool_) if batch.replaces is None else come
        given.words = _generated(contents, batch, given.words, whole)
        _refuse_broken(contents, batch, given.words, come)
    if batch.replaces is None:
        given.selections = selections(
            planned.readers, planned.name, given.words, batch.words is not None and not batch.has_null
        )
    return given


def _completed(contents: Contents, given: TableInput, granularity: Granularity, on_conflict: OnConflict) -> TableInput:
    """Changes of which some leave columns out, with all columns; raises as `run`."""
    taken = in_time(contents, given)  # no change has values of one that is left out
    words, whole = completed(taken, granularity, on_conflict)
    come = whole & (taken.batch.weights > 0)
    taken.words = _generated(contents, taken.batch, words, come)
    _refuse_broken(contents, taken.batch, taken.words, come)
    if taken.whole is not None:  # a log has whole rows
        taken.whole.words = taken.whole.words.copy()
        taken.whole.words[:, taken.places_in_whole] = taken.words
    return in_time(contents, taken, is_completed=True)
