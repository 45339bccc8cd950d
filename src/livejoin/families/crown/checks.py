"""Asserts every invariant of a join-tree state by recomputing it from the records; slow, for tests.

Views: a row is in V_s iff every edge to a child is satisfied; an entry's LEN counts its V_s rows (derivation counting);
a row is live iff it is in V_s and at the root or below a live row (CROWN, Lemma 5.5). Structure: blocks and the
positions that rows remember agree, rows outside of the connex subtree are counted alone, live parents stand first,
every key has one entry that probing reaches, and every word of the arena is accounted for: headers, records, hash
slots, entries, blocks and free lists.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from livejoin.families.arena.checks import block_span, check_tiling, directory_spans, record_spans
from livejoin.families.crown.roles import Role, roles
from livejoin.families.layout.annotation import annotation_widths
from livejoin.kernels.crown import layout as u
from livejoin.kernels.join import layout as q
from livejoin.kernels.memory import layout as k
from livejoin.words import Words

if TYPE_CHECKING:
    from livejoin.families.crown.plan import CrownPlan


def check(plan: CrownPlan, arena: Words) -> None:
    """Assert all invariants of an arena; O(state) Python steps."""
    state = State(plan, arena)
    state.collect()
    for index in range(len(plan.nodes)):
        state.check_rows(index)
    state.check_slots()
    for directory in plan.directories:
        state.check_directory(directory)
    if plan.live:
        state.check_live()
    if plan.query.sums:
        state.check_annotations()
    state.check_header()
    state.check_memory()


@dataclass
class State:
    """What is read off an arena: rows by node, and the words that each structure takes."""

    plan: CrownPlan
    m: Words
    rows: dict[int, list[int]] = field(default_factory=dict)
    members: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    registered: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    parents: dict[int, list[tuple[int, int]]] = field(default_factory=lambda: defaultdict(list))
    slot_child: dict[int, int] = field(default_factory=dict)
    live: dict[int, bool] = field(default_factory=dict)

    def node(self, index: int, name: int) -> int:
        """A word of a node's descriptor."""
        return int(self.plan.words[self.plan.node_offsets[index] + name])

    def word(self, at: int) -> int:
        """A word of the arena."""
        return int(self.m[at])

    def pair(self, at: int) -> tuple[int, int]:
        """The two halves of a word."""
        word = self.word(at) & 0xFFFFFFFFFFFFFFFF
        return word >> 32, word & k.MASK32

    def entries(self, directory: int) -> list[int]:
        """All entries of a directory."""
        slots, log = self.word(directory + k.D_SLOTS), self.word(directory + k.D_LOG)
        return [int(w) & k.MASK32 for w in self.m[slots : slots + (1 << log)] if w != 0]

    def directory_of(self, index: int) -> int:
        """The directory whose entries are a derived node's rows."""
        return self.node(index, u.N_ROWS_DIRECTORY)

    def is_member(self, index: int, row: int) -> bool:
        """Whether a row's counter says that it is in V_s."""
        return self.word(row + self.node(index, u.N_STATE)) & u.COUNTER_MASK == self.node(index, u.N_CHILDREN)

    def child_slot(self, index: int, row: int, position: int) -> int:
        """The slot of a child that a row refers to."""
        if position >= self.node(index, u.N_INLINE):
            return self.pair(row + self.node(index, u.N_LINK) + position)[0]
        return row + u.SLOT * position

    def collect(self) -> None:
        """Find all rows of all nodes, and what they say about slots and parents."""
        self.slot_child[u.H_ROOT] = 0
        for index, node in enumerate(self.plan.nodes):
            self.rows[index] = (
                self._atom_rows(index) if node.atom is not None else self.entries(self.directory_of(index))
            )
            for row in self.rows[index]:
                slot, _ = self.pair(row + self.node(index, u.N_UP))
                assert self.slot_child.setdefault(slot, index) == index, "a slot belongs to one child"
                self.registered[slot] += 1
                if self.is_member(index, row):
                    self.members[slot].append(row)
                for position, child in enumerate(node.children):
                    below = self.child_slot(index, row, position)
                    assert self.slot_child.setdefault(below, child) == child, "a slot belongs to one child"
                    if position >= node.inline:
                        self.parents[below].append((row, self.pair(row + self.node(index, u.N_LINK) + position)[1]))

    def _atom_rows(self, index: int) -> list[int]:
        descriptor = int(self.plan.words[q.P_FIRST_TABLE]) + self.node(index, u.N_TABLE) * q.PLAN_TABLE
        header, stride = (int(self.plan.words[descriptor + f]) for f in (q.PT_HEADER, q.PT_STRIDE))
        state = self.node(index, u.N_STATE)
        rows = []
        for chunk in range(self.word(header + q.T_COUNT)):
            at = self.word(self.word(header + q.T_CHUNKS) + chunk)
            records = range(at, at + stride * q.CHUNK_ROWS, stride)
            rows += [r for r in records if self.word(r + state) >> u.COUNTER_BITS > 0]
        return rows

    def check_rows(self, index: int) -> None:
        """Counters and keys of a node's rows."""
        node = self.plan.nodes[index]
        for row in self.rows[index]:
            satisfied = sum(self._is_satisfied(index, row, c) for c in range(len(node.children)))
            counter = self.word(row + self.node(index, u.N_STATE)) & u.COUNTER_MASK
            assert counter == satisfied, "a counter counts the children whose edge is satisfied"
            for position, child in enumerate(node.children):
                if position >= node.inline:
                    entry = self.child_slot(index, row, position)
                    offsets = self._list(child, u.N_PARENT_KEY, u.N_KEY_WIDTH)
                    key = [self.word(entry + u.E_KEY + i) for i in range(len(offsets))]
                    assert key == [self.word(row + o) for o in offsets], "a parent row has its entry's key"
            if node.parent is not None:
                slot, _ = self.pair(row + self.node(index, u.N_UP))
                entry = slot
                if not self.node(index, u.N_LINKED):
                    entry -= u.SLOT * self.node(index, u.N_INDEX)
                    at = entry + self.node(node.parent, u.N_ROWS_KEY)
                else:
                    at = entry + u.E_KEY
                offsets = self._list(index, u.N_KEY, u.N_KEY_WIDTH)
                key = [self.word(at + i) for i in range(len(offsets))]
                assert key == [self.word(row + o) for o in offsets], "a child row has its entry's key"

    def _is_satisfied(self, index: int, row: int, position: int) -> bool:
        """Whether the edge to a child is satisfied: V_p has the key, or has not, or it does not matter."""
        has_key = self.pair(self.child_slot(index, row, position) + u.S_LEN)[0] > 0
        match self.plan.nodes[self.plan.nodes[index].children[position]].edge:
            case "not exists":
                return not has_key
            case "optional":
                return True
            case _:
                return has_key

    def _list(self, index: int, name: int, length: int) -> list[int]:
        at = self.node(index, name)
        return [int(w) for w in self.plan.words[at : at + self.node(index, length)]]

    def check_slots(self) -> None:
        """Blocks agree with what rows remember."""
        for slot, child in self.slot_child.items():
            length, registered = self.pair(slot + u.S_LEN)
            assert registered == self.registered[slot], "registered rows"
            if self.node(child, u.N_CONNEX):
                block = self.word(slot + u.S_BLOCK) & k.REF_MASK
                listed = [self.word(block + i) for i in range(length)]
                assert sorted(listed) == sorted(self.members[slot]), "the block holds the V_s rows"
                for i, row in enumerate(listed):
                    assert self.pair(row + self.node(child, u.N_UP)) == (slot, i), "a V_s row knows its position"
            else:
                assert length == len(self.members[slot]), "the V_s rows are counted"
                assert self.word(slot + u.S_BLOCK) == 0, "what is not enumerated is not listed"
            if self.node(child, u.N_LINKED):
                count, live = self.pair(slot + u.E_PARENTS)
                assert count == len(self.parents[slot]) >= live, "parent rows"
                block = self.word(slot + u.E_PARENT_BLOCK) & k.REF_MASK
                if self.plan.nodes[child].quiet:
                    assert block == live == 0, "parents over a quiet edge are counted alone"
                for row, position in () if self.plan.nodes[child].quiet else self.parents[slot]:
                    assert self.word(block + position) == row, "a parent row knows its position"
                assert count + registered > 0, "an entry that nothing refers to is removed"

    def check_directory(self, directory: int) -> None:
        """Keys are unique and found by probing."""
        slots, log = self.word(directory + k.D_SLOTS), self.word(directory + k.D_LOG)
        words = [int(w) & 0xFFFFFFFFFFFFFFFF for w in self.m[slots : slots + (1 << log)]]
        assert sum(w != 0 for w in words) == self.word(directory + k.D_COUNT), "entries counted"
        at, width, _ = self._entry_layout(directory)
        keys = set()
        for i, word in enumerate(words):
            if word:
                home = (word >> 32) >> (32 - log)
                reach = range(home, i + 1 if i >= home else i + 1 + (1 << log))
                assert all(words[j % (1 << log)] for j in reach), "probing reaches every entry"
                entry = word & k.MASK32
                keys.add(tuple(self.word(entry + at + j) for j in range(width)))
        assert len(keys) == self.word(directory + k.D_COUNT), "one entry a key"

    def _entry_layout(self, directory: int) -> tuple[int, int, int]:
        """Offset and width of the key and size of an entry of a directory."""
        for index, node in enumerate(self.plan.nodes):
            if node.atom is None and self.directory_of(index) == directory:
                fields = (u.N_ROWS_KEY, u.N_ROWS_WIDTH, u.N_ROWS_ENTRY)
            elif node.parent is not None and self.node(index, u.N_DIRECTORY) == directory:
                if not self.node(index, u.N_LINKED):
                    continue
                fields = (u.N_ENTRY_KEY, u.N_KEY_WIDTH, u.N_ENTRY)
            else:
                continue
            first, second, third = (self.node(index, f) for f in fields)
            return first, second, third
        msg = "a directory without a node"
        raise AssertionError(msg)

    def check_live(self) -> None:
        """Live views, top-down."""
        for index, node in enumerate(self.plan.nodes):
            if not node.connex:
                continue
            for row in self.rows[index]:
                slot, _ = self.pair(row + self.node(index, u.N_UP))
                above = node.parent is None or any(self.live[p] for p in self._rows_above(index, slot))
                above = above and not self.plan.is_silent(index)
                self.live[row if node.atom is None else self._key(index, row)] = above and self.is_member(index, row)
                expected = self.live[row if node.atom is None else self._key(index, row)]
                if node.atom is None:
                    flag = self.word(row + self.node(index, u.N_STATE)) >> u.COUNTER_BITS
                    assert flag == expected, "a derived row's live flag"
                for position in range(node.inline, len(node.children)):
                    child = self.plan.nodes[node.children[position]]
                    if not child.connex or child.quiet:
                        continue
                    entry, place = self.pair(row + self.node(index, u.N_LINK) + position)
                    assert (place < self.pair(entry + u.E_PARENTS)[1]) == expected, "live parents stand first"

    def check_annotations(self) -> None:
        """Annotations of the slots outside of the connex subtree (CROWN, formulas 10 and 11)."""
        widths = annotation_widths(self.plan.query)
        what = roles(self.plan.query, self.plan.nodes)
        of_slot: dict[int, list[int]] = {}
        for index in reversed(range(len(self.plan.nodes))):
            node = self.plan.nodes[index]
            if node.connex:
                assert all(self.word(r + t) == 0 for r in self.rows[index] if (t := self.node(index, u.N_TOUCH)) > 0)
            if not what[index].annotated:
                continue
            for row in self.rows[index]:
                totals = self._factors(index, row, widths)
                for position, child in enumerate(node.children):
                    below = self._worth(what[child], child, self.child_slot(index, row, position), of_slot)
                    totals = [a * b for a, b in zip(totals, below, strict=True)]
                slot = self.pair(row + self.node(index, u.N_UP))[0]
                so_far = of_slot.get(slot, [0] * len(widths))
                of_slot[slot] = [a + b for a, b in zip(so_far, totals, strict=True)]
        for slot, child in self.slot_child.items():
            if what[child].has_own:
                own = of_slot.get(slot, [0] * len(widths))
                assert self._vector(slot + self.node(child, u.N_OWN), widths) == own, "the sum of its rows' annotations"
            if what[child].weighs:
                worth = self._worth(what[child], child, slot, of_slot)
                expected = [a - b for a, b in zip(worth, what[child].empty, strict=True)]
                found = self._vector(slot + self.node(child, u.N_WEIGHT), widths)
                assert found == expected, "what a slot is worth to its parents, less what an empty one is"
            if self.node(child, u.N_WAIT) >= 0:
                waiting = self._vector(slot + self.node(child, u.N_WAIT), widths)
                assert not any(waiting), "no difference waits at a slot"

    def _worth(self, role: Role, child: int, slot: int, of_slot: dict[int, list[int]]) -> list[int]:
        """The factor of a slot in the annotations of its parents."""
        has_rows = self.pair(slot + u.S_LEN)[0] > 0
        match self.plan.nodes[child].edge:
            case "exists" | "not exists" as edge:
                return [int(has_rows == (edge == "exists"))] * len(role.empty)
            case "optional" if not has_rows:
                return list(role.empty)
            case _:
                return of_slot.get(slot, [0] * len(role.empty))

    def _vector(self, at: int, widths: list[int]) -> list[int]:
        """An annotation that the arena has."""
        found = []
        for width in widths:
            low = sum((self.word(at + i) % (1 << 64)) << (64 * i) for i in range(width - 1))
            found.append(low + (self.word(at + width - 1) << (64 * (width - 1))))
            at += width
        return found

    def _factors(self, index: int, row: int, widths: list[int]) -> list[int]:
        """Weight of a row in each component, without its children."""
        if not self.node(index, u.N_ATOM):
            return [1] * len(widths)
        totals = [self.word(row + self.node(index, u.N_STATE)) >> u.COUNTER_BITS] * len(widths)
        starts = [sum(widths[:i]) for i in range(len(widths))]
        at = self.node(index, u.N_FACTOR_LIST)
        for _ in range(self.node(index, u.N_FACTORS)):
            start, _, offset = (int(w) for w in self.plan.words[at : at + 3])
            totals[starts.index(start)] *= self.word(row + offset)
            at += 3
        return totals

    def _key(self, index: int, row: int) -> int:
        """A name for an atom's row: one record serves several atoms, told apart by their STATE words."""
        return row + self.node(index, u.N_STATE)

    def _rows_above(self, index: int, slot: int) -> list[int]:
        parent = self.plan.nodes[index].parent
        assert parent is not None
        if not self.node(index, u.N_LINKED):
            return [slot - u.SLOT * self.node(index, u.N_INDEX)]
        atom = self.plan.nodes[parent].atom is not None
        return [self._key(parent, row) if atom else row for row, _ in self.parents[slot]]

    def check_header(self) -> None:
        """Counters of the header."""
        atoms = [(i, row) for i, rows in self.rows.items() if self.node(i, u.N_ATOM) for row in rows]
        mults = [self.word(row + self.node(i, u.N_STATE)) >> u.COUNTER_BITS for i, row in atoms]
        assert self.word(q.H_REGISTERED) == len(atoms), "registered atom rows"
        assert self.word(q.H_DUPLICATES) == sum(mult > 1 for mult in mults), "rows with multiplicity above one"
        for i, rows in self.rows.items():
            work = self.node(i, u.N_WORK)
            there = self.word(work + u.W_ENTERED) - self.word(work + u.W_LEFT)
            assert there == sum(self.is_member(i, row) for row in rows), "rows that entered V_s and have not left it"
        for at, total in ((u.W_STOPPED, q.H_STOPPED), (u.W_TOUCHED, q.H_TOUCHED)):
            found = sum(self.word(self.node(i, u.N_WORK) + at) for i in self.rows)
            assert found == self.word(total), "what is counted at the nodes adds up to what is counted of all"
        assert self.word(q.H_PHASE) == q.FRESH and self.word(u.H_SP) == 0, "no change is half applied"
        assert self.word(u.H_TOUCHED_ROWS) == self.word(u.H_RESTORING) == 0, "no new results are due"
        assert self.word(u.H_WAITING) == self.word(u.H_SETTLED) == 0, "no difference is on its way"
        for i in self.rows:
            assert self.word(self.node(i, u.N_WORK) + u.W_WAITING) == 0, "none waits"

    def check_memory(self) -> None:
        """Every word below the bump pointer belongs to exactly one thing."""
        spans = list(record_spans(self.plan, self.m))
        for directory in self.plan.directories:
            spans += directory_spans(self.m, directory, self.entries(directory), self._entry_layout(directory)[2])
        holders = [slot + u.S_BLOCK for slot in self.slot_child]
        for slot, child in self.slot_child.items():
            if self.node(child, u.N_LINKED):
                holders.append(slot + u.E_PARENT_BLOCK)
        words = [self.word(holder) for holder in holders]
        spans += [block_span(w) for w in words if w]
        check_tiling(self.m, spans)
