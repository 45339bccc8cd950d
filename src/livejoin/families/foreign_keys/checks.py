"""Asserts every invariant of a foreign-key join by recomputing it from the records; slow, for tests.

Laws: no two rows of a child have one key; a row is alive <=> it is alive on all of its children and its assertion keys
agree (AJU, Lemma 4), which is compared with definition 1, by walking all paths; an entry is there <=> a row has its key
or waits for it, and its lists have the rows that wait, each once; the list of live rows has those of the root; and
every word of the arena is accounted for.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from livejoin.families.arena.checks import block_span, check_tiling, directory_spans, record_spans
from livejoin.kernels.foreign_keys import layout as f
from livejoin.kernels.join import layout as q
from livejoin.kernels.memory import layout as k
from livejoin.words import Words

if TYPE_CHECKING:
    from livejoin.families.foreign_keys.graph import Link
    from livejoin.families.foreign_keys.plan import ForeignKeyPlan


def check(plan: ForeignKeyPlan, arena: Words) -> None:
    """Assert all invariants of an arena; O(state) Python steps."""
    state = State(plan, arena)
    for relation in reversed(plan.graph.order):
        state.check_keys(relation)
    for relation in reversed(plan.graph.order):
        state.check_rows(relation)
    for relation in range(len(plan.query.atoms)):
        state.check_lists(relation)
    state.check_live()
    state.check_header()
    state.check_memory()


@dataclass
class State:
    """What is read off an arena: the rows of each relation, its keys' entries, and which rows are alive."""

    plan: ForeignKeyPlan
    m: Words
    rows: dict[int, list[int]] = field(default_factory=dict)
    entries: dict[int, dict[tuple[int, ...], int]] = field(default_factory=dict)
    alive: dict[int, set[int]] = field(default_factory=dict)

    def node(self, relation: int, name: int) -> int:
        """A word of a relation's descriptor."""
        return int(self.plan.words[self.plan.node_offsets[relation] + name])

    def word(self, at: int) -> int:
        """A word of the arena."""
        return int(self.m[at])

    def own(self, relation: int, row: int, name: int) -> int:
        """One of an atom's own words in a record."""
        return self.word(row + self.node(relation, f.N_OWN) + name)

    def listed(self, at: int, count: int) -> list[int]:
        """Words of the plan."""
        return [int(word) for word in self.plan.words[at : at + count]]

    def children(self, relation: int) -> list[tuple[Link, list[int], int, int]]:
        """For each edge downwards, where its key lies in the parent's record, and the places of LINK and HEAD."""
        found = []
        for place, edge in enumerate(self.plan.graph.below[relation]):
            node, key, link, head, _, _ = self.listed(self.node(relation, f.N_CHILD_LIST) + f.CHILD * place, f.CHILD)
            assert node == self.plan.node_offsets[edge.child]
            found.append((edge, self.listed(key, self.node(edge.child, f.N_WIDTH)), link, head))
        return found

    def check_keys(self, relation: int) -> None:
        """Find the rows and the entries of a relation; each row has the entry of its key for itself."""
        self.rows[relation] = self._rows(relation)
        if relation == self.plan.root:
            return
        directory, key = self.node(relation, f.N_DIRECTORY), self.node(relation, f.N_ENTRY_KEY)
        slots, log = self.word(directory + k.D_SLOTS), self.word(directory + k.D_LOG)
        found = [int(word) & k.MASK32 for word in self.m[slots : slots + (1 << log)] if word != 0]
        assert self.word(directory + k.D_COUNT) == len(found) and 8 * len(found) <= 6 << log, "the directory's load"
        width = self.node(relation, f.N_WIDTH)
        keys = {tuple(map(int, self.m[entry + key : entry + key + width])): entry for entry in found}
        assert len(keys) == len(found), "a key has one entry"
        self.entries[relation] = keys
        offsets = self.listed(self.node(relation, f.N_KEY), width)
        held: dict[int, int] = {}
        for row in self.rows[relation]:
            assert self.own(relation, row, f.R_STATE) >> f.COUNTER_BITS == 1, "a row of a child stands there once"
            entry = keys[tuple(self.word(row + offset) for offset in offsets)]
            assert self.own(relation, row, f.R_PLACE) == entry, "a row remembers the entry of its key"
            assert held.setdefault(entry, row) == row, "no two rows of a child have one key"
        for entry in found:
            assert self.word(entry + f.E_HOLDS) & k.MASK32 == held.get(entry, 0), "an entry holds the row of its key"

    def _rows(self, relation: int) -> list[int]:
        descriptor = int(self.plan.words[q.P_FIRST_TABLE]) + self.node(relation, f.N_TABLE) * q.PLAN_TABLE
        header, stride = (int(self.plan.words[descriptor + name]) for name in (q.PT_HEADER, q.PT_STRIDE))
        rows = []
        for chunk in range(self.word(header + q.T_COUNT)):
            at = self.word(self.word(header + q.T_CHUNKS) + chunk)
            records = range(at, at + stride * q.CHUNK_ROWS, stride)
            rows += [row for row in records if self.own(relation, row, f.R_STATE) >> f.COUNTER_BITS > 0]
        return rows

    def below(self, relation: int, row: int) -> dict[int, int] | None:
        """The rows that a row joins in the descendants that it wants (definition 1), by all paths; None if dead."""
        found: dict[int, int] = {}
        for edge, key, _, _ in self.children(relation):
            entry = self.entries[edge.child].get(tuple(self.word(row + offset) for offset in key), 0)
            partner = self.word(entry + f.E_HOLDS) & k.MASK32 if entry else 0
            rest = self.below(edge.child, partner) if partner else None
            if edge.kind == "optional" or (edge.kind == "not exists" and rest is None):
                continue
            if edge.kind == "not exists" or rest is None:
                return None
            for other, one in ((edge.child, partner), *rest.items()):
                if found.setdefault(other, one) != one:
                    return None
        return found

    def check_rows(self, relation: int) -> None:
        """Whether each row is alive, its counter, its links; which entries say that their row is alive."""
        self.alive[relation] = set()
        for row in self.rows[relation]:
            counter = 0
            for edge, key, link, _ in self.children(relation):
                entry = self.entries[edge.child][tuple(self.word(row + offset) for offset in key)]
                assert self.word(row + link + f.L_ENTRY) == entry, "a row links to the entries of its keys"
                is_there = self.word(entry + f.E_HOLDS) & k.MASK32 in self.alive[edge.child]
                counter += edge.kind != "optional" and is_there != (edge.kind == "not exists")
            state = self.own(relation, row, f.R_STATE)
            assert state & f.COUNTER_MASK == counter, "a counter has the edges over which a row has what it wants"
            is_alive = self.below(relation, row) is not None
            assert bool(state & f.ALIVE) == is_alive, "a row is alive as definition 1 says"
            if is_alive:
                self.alive[relation].add(row)
        for entry in self.entries.get(relation, {}).values():
            holds = self.word(entry + f.E_HOLDS)
            assert bool(holds & f.HOLDS_ALIVE) == (holds & k.MASK32 in self.alive[relation]), "an entry knows if alive"

    def check_lists(self, relation: int) -> None:
        """The lists of the parents of each key, which are where someone has the key or waits for it."""
        waiting: set[int] = set()
        for edge in self.plan.graph.above[relation]:
            parent = edge.parent
            _, _, link, head = next(one for one in self.children(parent) if one[0] == edge)
            expected: dict[int, set[int]] = {}
            for row in self.rows[parent]:
                expected.setdefault(self.word(row + link + f.L_ENTRY), set()).add(row)
            for entry in self.entries[relation].values():
                if edge in self.plan.quiet.links:
                    assert self.word(entry + head) == len(expected.get(entry, ())), "parents are counted"
                    continue
                listed, before, row = [], 0, self.word(entry + head)
                while row:
                    around = self.word(row + link + f.L_NEIGHBOURS)
                    assert around & k.MASK32 == before, "a list can be walked backwards"
                    listed.append(row)
                    before, row = row, (around >> 32) & k.MASK32
                assert len(listed) == len(set(listed)), "a list has each row once"
                assert set(listed) == expected.get(entry, set()), "a list has all rows that wait for a key"
            waiting |= set(expected)
        for entry in self.entries.get(relation, {}).values():
            assert self.word(entry + f.E_HOLDS) or entry in waiting, "an entry is there for something"

    def check_live(self) -> None:
        """The list of live rows of the root."""
        live, count = self.word(f.H_LIVE), self.word(f.H_LIVE_COUNT)
        listed = [int(row) for row in self.m[live & k.REF_MASK :][:count]]
        assert len(listed) == count and set(listed) == self.alive[self.plan.root], "the list has the root's live rows"
        for place, row in enumerate(listed):
            assert self.own(self.plan.root, row, f.R_PLACE) == place, "a live row knows its place"
        rows = len(self.rows[self.plan.root])
        assert self.word(f.H_ROOT_ROWS) == rows and (not live or rows <= 1 << (live >> k.CLASS_SHIFT)), "there is room"

    def check_header(self) -> None:
        """What is counted, and that no change is on its way."""
        assert self.word(q.H_REGISTERED) == sum(map(len, self.rows.values())), "registered rows"
        more = [row for row in self.rows[self.plan.root] if self._times(row) > 1]
        assert self.word(q.H_DUPLICATES) == len(more), "rows that stand more than once"
        for relation, alive in self.alive.items():
            at = self.node(relation, f.N_WORK)
            assert self.word(at + f.W_ENTERED) - self.word(at + f.W_LEFT) == len(alive), "rows that came alive and stay"
        for total, parts in ((q.H_TOUCHED, (f.W_TOUCHED,)), (q.H_PROPAGATED, (f.W_ENTERED, f.W_LEFT))):
            counted = sum(self.word(self.node(one, f.N_WORK) + part) for one in self.rows for part in parts)
            assert counted == self.word(total), "what is counted at nodes is counted for all"
        waiting = (f.H_SP, f.H_COPIES, f.H_ENDING, q.H_EVENT, q.H_ATOM, q.H_PHASE)
        assert not any(self.word(at) for at in waiting), "a change has not come to its end"

    def _times(self, row: int) -> int:
        return self.own(self.plan.root, row, f.R_STATE) >> f.COUNTER_BITS

    def check_memory(self) -> None:
        """Every word belongs to one thing."""
        used = list(record_spans(self.plan, self.m))
        for relation, entries in self.entries.items():
            directory = self.node(relation, f.N_DIRECTORY)
            used += directory_spans(self.m, directory, entries.values(), self.node(relation, f.N_ENTRY))
        if self.word(f.H_LIVE):
            used.append(block_span(self.word(f.H_LIVE)))
        check_tiling(self.m, used)
