"""The aggregate operator: groups and their results, maintained under changes of their rows (AJU, section 5).

Law: after every version, what `scan` gives is one row for each group of the rows given so far, with the results that
SQL defines for them, and the deltas of `maintain` add up to it. NULLs group together; NULL arguments do not count, but
in ARRAY_AGG, whose lists are sorted, NULLs first, so that they are determined.

Results do not depend on how the rows came and went: sums of doubles and variances are those of exact arithmetic,
rounded once. ARRAY_AGG is for small groups: a version that touches a group costs the length of its list.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from livejoin.dataflow.batches import Delta, Rows, ones
from livejoin.dataflow.stores.aggregate_checks import check
from livejoin.dataflow.stores.aggregate_plan import AggregatePlan
from livejoin.dataflow.stores.aggregate_rows import one_word_each, result_rows
from livejoin.errors import CapacityError, StateError
from livejoin.kernels.groups import kept as kept_groups
from livejoin.kernels.groups import layout as g
from livejoin.kernels.groups import look_up as group_access
from livejoin.kernels.groups import maintain as kernel
from livejoin.kernels.groups.buffers import GroupBuffers
from livejoin.kernels.groups.lines import arrange
from livejoin.kernels.memory.layout import D_COUNT, DONE, H_BUMP, H_END, NEED_SPACE, TOO_LARGE
from livejoin.schema import Kind
from livejoin.state.addressed import Addressed
from livejoin.state.arena import Arena
from livejoin.state.codec import Codec
from livejoin.state.kept import Kept
from livejoin.words import NULL_CODE, Words

OUTPUT_GROUPS = 1 << 15  # touched groups a call of the kernel, and words of their lists
_SMALL_OUTPUT = 1 << 12  # words that a delta may hold though it needs fewer
_CURSOR = slice(g.H_ROW, g.H_PAIR + 1)  # what a call of the kernel goes on from
_WEIGHT, _VERSION, _PAIR = -3, -2, -1  # lines of the kernel's output


class AggregateStore:
    """The groups of an aggregation; mutable.

    Args:
        plan: The plan.
        codec: The database's codec.
        capacity: Touched groups whose changes are written at a time.
    """

    def __init__(self, plan: AggregatePlan, codec: Codec, capacity: int = OUTPUT_GROUPS) -> None:
        self.plan = plan
        self._codec = codec
        self._capacity = capacity
        self.arena = Arena(plan.header_words, (g.H_DIRECTORY,), budget=codec.budget)
        self._at = Addressed(GroupBuffers(self.arena.words, plan.words, np.empty(g.SCRATCH, np.int64)))
        # A global result stands there without rows; no row at all compiles the kernel now and not in a commit.
        nothing = np.zeros((plan.line_words, int(plan.is_global)), np.int64)
        weights = np.zeros(nothing.shape[1], np.int64)
        self._run(nothing, weights, weights, emit=False)
        one_word_each(plan, np.empty((plan.width, 0), np.int64))

    @property
    def _line(self) -> Words:
        """The line of addresses of the groups."""
        words = self.arena.words
        if self._at.buffers.arena is not words:
            self._at = self._at.replaced(arena=words)
        return self._at.line

    def maintain(self, inputs: Sequence[Delta]) -> Delta:
        """Apply the changes of the one input; which rows of results go and come, net within each version.

        Raises:
            CapacityError: A sum does not fit its type; the state is that after the changes. Or a group has more rows
                than 64 bits count; the state is of no use any more.
            ChangeValueError: A group or an argument is the one value that stands for NULL.

        Cost: expected O(1) a row and aggregate, O(log(distinct values of the group)) for MIN, MAX and DISTINCT.
        """
        (delta,) = inputs
        words, lists = self._run(lines_of(self.plan, delta.rows), delta.weights, delta.versions, emit=True)
        rows = result_rows(self.plan, self._codec, words[:_WEIGHT], lists)
        return Delta(rows, words[_WEIGHT], words[_VERSION], words[_PAIR])

    def load(self, side: int, delta: Delta) -> None:
        """Apply changes of the input, which is side 0, without asking what changed."""
        assert side == 0
        self._run(lines_of(self.plan, delta.rows), delta.weights, delta.versions, emit=False)

    def scan(self, capacity: int) -> Iterator[tuple[Rows, Words]]:
        """The rows of results, which all have the multiplicity 1, in batches of at most ``capacity`` rows."""
        slot = 0
        output = np.empty((self.plan.width, capacity), np.int64)
        lists = np.empty(capacity if self.plan.lists else 0, np.int64)
        while slot >= 0:
            slot = kernel.scan(self._line, slot, output, lists)
            rows = int(self.arena.words[g.H_OUT])
            if rows:
                results = result_rows(self.plan, self._codec, output[:, :rows].copy(), lists)
                yield results, ones(rows)
            lists = self._enough(lists)

    def rows_of(self, groups: Words) -> Rows:
        """The rows of given groups, references of entries of the directory; O(1) a group and aggregate."""
        output = np.empty((self.plan.width, groups.shape[0]), np.int64)
        lists = np.empty(groups.shape[0] if self.plan.lists else 0, np.int64)
        parts, items = [output[:, :0]], [lists[:0]]
        begin = listed = 0
        while begin < groups.shape[0]:
            begin = group_access.write_groups(self._line, groups, begin, output, lists)
            parts.append(self._shifted(output[:, : self.arena.words[g.H_OUT]].copy(), listed))
            items.append(lists[: self.arena.words[g.H_LISTED]].copy())
            listed += items[-1].shape[0]
            lists = self._enough(lists)
        return result_rows(self.plan, self._codec, np.concatenate(parts, axis=1), np.concatenate(items))

    def count(self) -> int:
        """Number of groups with rows; of a global aggregation 1."""
        return int(self.arena.words[g.H_DIRECTORY + D_COUNT])

    def used_words(self, kind: Kind) -> Words:
        """The words of values of a kind that the state holds, which the codec must keep; in any order.

        Cost: O(state).
        """
        found = [np.empty(0, np.int64)]
        kept = [i for i in range(self.plan.groups) if self.plan.types[i].word_kind == kind]
        output = np.empty((self.plan.width, 1 << 12), np.int64)
        lists, slot = np.empty(0, np.int64), 0
        while slot >= 0 and kept:
            slot = kernel.scan(self._line, slot, output, lists)
            found.append(output[kept, : self.arena.words[g.H_OUT]].ravel())
            lists = self._enough(lists)
        for offset, type_, seconds in self.plan.indexes:
            slot = 0 if type_.word_kind == kind else -1
            out = np.empty(1 << 12, np.int64)
            while slot >= 0:
                slot = kernel.index_words(self._line, slot, offset, seconds, out)
                found.append(out[: self.arena.words[g.H_OUT]].copy())
                out = self._enough(out)
        return np.concatenate(found)

    @property
    def unsound(self) -> Rows | None:
        """Of a signed plan a group, as the row of its results, that the last changes left as that of no rows."""
        group = int(self.arena.words[g.H_UNSOUND])
        return self.rows_of(np.array([group])) if group else None

    def kept(self) -> Kept:
        """The groups as words that stand alone; of sums alone. Cost: O(groups)."""
        p = self.plan.words
        lines = self.plan.groups + 1 + int(p[g.P_KEY]) - g.RECORD
        groups, windows = [np.empty((lines, 0), np.int64)], [np.empty(0, np.int64)]
        output, listed, slot = np.empty((lines, OUTPUT_GROUPS), np.int64), np.empty(OUTPUT_GROUPS, np.int64), 0
        while slot >= 0:
            slot = kept_groups.write_kept(self._line, slot, output, listed)
            groups.append(output[:, : self.arena.words[g.H_OUT]].copy())
            windows.append(listed[: self.arena.words[g.H_LISTED]].copy())
            listed = self._enough(listed)
        types = self.plan.types[: self.plan.groups]
        return Kept(np.concatenate(groups, axis=1), np.concatenate(windows), types)

    def bring(self, kept: Kept) -> None:
        """Take groups that stand alone into a store without groups.

        Raises:
            StateError: The groups are none of this plan, or the numbers of a group are those of no rows.

        Cost: O(groups).
        """
        p, values = self.plan.words, kept.values
        state = self.arena.words
        state[_CURSOR] = state[g.H_LISTED] = 0
        status = kept_groups.UNSOUND
        if values.shape[0] == self.plan.groups + 1 + int(p[g.P_KEY]) - g.RECORD:
            status = NEED_SPACE
        while status == NEED_SPACE:
            status = kept_groups.bring_kept(self._line, values, kept.beside)
            if status == NEED_SPACE:
                self.arena.grow()
        if status != DONE or self.arena.words[g.H_LISTED] != kept.beside.shape[0]:
            msg = "the groups that were kept are not those of rows; they are damaged or from elsewhere"
            raise StateError(msg)
        self.arena.words[_CURSOR] = 0

    def sizes(self) -> tuple[int, int]:
        """Bytes handed out so far, freed ones included, and bytes allocated; O(1)."""
        return self.arena.sizes()

    def free_bytes(self) -> int:
        """Bytes handed out that are free again; O(blocks that are)."""
        return self.arena.free_bytes({g.H_DIRECTORY: int(self.plan.words[g.P_RECORD])})

    def arrays(self) -> dict[str, Words]:
        """The state as flat arrays."""
        return {"arena": self.arena.words}

    def restore(self, arrays: Mapping[str, Words]) -> None:
        """Take over the state of a store with the same plan.

        Raises:
            StateError: The arrays are not those of a store.
        """
        words = arrays.get("arena", np.empty(0, np.int64))
        if words.shape[0] <= self.plan.header_words or not self.plan.header_words < words[H_BUMP] <= words[H_END]:
            msg = "the snapshot of an aggregation has no groups in its arena; it is damaged or of another version"
            raise StateError(msg)
        self.arena.words = words

    def _run(self, values: Words, weights: Words, versions: Words, emit: bool) -> tuple[Words, Words]:
        """Apply rows; the words of the rows of results that went and came, and those of their lists."""
        pairs = min(self._capacity, max(1, versions.shape[0])) if emit else 1
        output = np.empty((self.plan.width + 3, 2 * pairs), np.int64)
        lists = np.empty(pairs if self.plan.lists else 0, np.int64)
        rows: list[Words] = []
        items: list[Words] = []
        texts = self._codec.texts
        if not (weights.flags.c_contiguous and weights.flags.writeable):  # there is one compiled form
            weights = weights.copy()
        if not versions.flags.c_contiguous:
            versions = versions.copy()
        changes = values, weights, versions
        state = self.arena.words
        state[_CURSOR] = state[g.H_UNSOUND] = 0
        status, listed = NEED_SPACE, 0
        while status != DONE:
            state = self.arena.words
            status = kernel.maintain(self._line, changes, texts, emit, output, lists)
            made = int(state[g.H_OUT])
            if status == DONE and output.size <= _SMALL_OUTPUT and not (rows or self.plan.lists):
                return output[:, :made], lists
            if made:
                part = output[:, :made].copy()
                rows.append(self._shifted(part, listed) if self.plan.lists else part)
                items.append(lists[: state[g.H_LISTED]].copy())
                listed += items[-1].shape[0]
            if status == TOO_LARGE:
                raise self._too_large()
            if status == NEED_SPACE:
                self.arena.grow()
            if self.plan.lists:
                lists = self._enough(lists)
        if len(rows) == 1:
            return rows[0], items[0]
        return np.concatenate([output[:, :0], *rows], axis=1), np.concatenate([lists[:0], *items])

    def _too_large(self) -> CapacityError:
        counting = [call.function.upper() for call in self.plan.calls if not call.ignores_copies]
        msg = "a group has more than 9,223,372,036,854,775,807 rows, counted with their multiplicities"
        if counting:
            msg += (
                f", and {', '.join(dict.fromkeys(counting))} would count them all; make two views: one of MIN, MAX, "
                "BOOL_AND, BOOL_OR and DISTINCT aggregates, for which copies do not count, and one of the others"
            )
        return CapacityError(msg)

    def _enough(self, lists: Words) -> Words:
        """A buffer that holds what the next group needs."""
        needed = int(self.arena.words[g.H_NEED])
        self.arena.words[g.H_NEED] = 0
        return lists if lists.shape[0] >= needed else np.empty(2 * needed, np.int64)

    def _shifted(self, output: Words, begin: int) -> Words:
        """Rows whose lists begin after those of the calls before."""
        at = self.plan.groups
        for call in range(len(self.plan.calls)):
            result = int(self.plan.words[g.P_RESULTS]) + call * g.RESULT
            if self.plan.words[result + g.C_KIND] == g.GIVE_LIST:
                output[at + 1] += begin
            at += int(self.plan.words[result + g.C_WIDTH])
        return output

    def _check(self) -> None:
        """Assert all invariants; for tests."""
        check(self.plan, self.arena.words)


def lines_of(plan: AggregatePlan, rows: Rows) -> Words:
    """The lines of words that the kernel reads of some rows; not to be written to."""
    if (whole := rows.whole) is not None:
        if plan.reads_as_given:
            return whole[: plan.line_words]
        values = np.empty((plan.line_words, rows.length), np.int64)
        if arrange(whole, plan.places, values):
            return values
    values = np.empty((plan.line_words, rows.length), np.int64)
    for i in range(plan.groups):
        values[i] = rows.codes(i)
    at = plan.groups
    for line in plan.lines:
        if not line.is_pair:
            values[at] = rows.codes(line.column)
        elif isinstance(held := rows.column(line.column), np.ndarray):
            rows.codec.pairs_of(held, values[at : at + 2])
        else:
            pairs = np.frombuffer(held.buffers()[1], np.int64).reshape(-1, 2)
            values[at : at + 2] = pairs[held.offset : held.offset + rows.length].T
            if held.null_count:
                values[at + 1][held.is_null().to_numpy(zero_copy_only=False)] = NULL_CODE
        at += 1 + line.is_pair
    return values
