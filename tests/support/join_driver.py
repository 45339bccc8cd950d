"""Drives the kernels' multiway join over any join tree, and reads its views off the arena."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from livejoin.families.crown.checks import State
from livejoin.families.crown.compile import compile_plan
from livejoin.families.crown.join import CrownJoin
from livejoin.families.events import table_events, view_events
from livejoin.kernels.crown import layout as u
from livejoin.query import Atom, ColumnRef, ConjunctiveQuery, Output, Product
from livejoin.schema import Column, SqlType, Table
from livejoin.state.table import BaseTable
from livejoin.theory.trees.join_tree import JoinTree

Row = tuple[Any, ...]


class JoinDriver:
    """A multiway join with one table an atom, driven row by row.

    Args:
        variables: The variables of each atom, in the order of its rows' values.
        tree: A generalized join tree of the query.
        output: The output's variables; the sorted variables of the query if None.
        capacity: Rows and segments of an output buffer.
        free: Output variables of a query with distinct results; they must be the output.
        sums: The annotation of its results.
    """

    def __init__(
        self,
        variables: Sequence[Sequence[str]],
        tree: JoinTree,
        output: Sequence[str] | None = None,
        capacity: int | None = None,
        live: bool = True,
        free: frozenset[str] | None = None,
        sums: Sequence[Product] = (),
    ) -> None:
        bigint = SqlType.integer(64)
        tables = [
            Table(f"R{i}", tuple(Column(v, bigint) for v in vs)) if vs else _marker(i) for i, vs in enumerate(variables)
        ]
        atoms = [Atom(t.name, t, tuple(range(len(vs))), tuple(vs)) for t, vs in zip(tables, variables, strict=True)]
        self.output = tuple(sorted({v for vs in variables for v in vs}) if output is None else output)
        head = [next(ColumnRef(i, list(vs).index(v)) for i, vs in enumerate(variables) if v in vs) for v in self.output]
        outputs = [Output(v, pa.int64(), i) for i, v in enumerate(self.output)]
        self.query = ConjunctiveQuery("", tuple(atoms), tuple(head), tuple(outputs), free, tuple(sums))
        self.join = CrownJoin(compile_plan(self.query, tree, live))
        self.bases = [BaseTable(t) for t in tables]
        self.variables = variables
        self.tree = tree
        self.capacity = capacity
        self.position = {use.name: i for i, use in enumerate(self.join.plan.tables)}

    def insert(self, atom: int, row: Row, weight: int = 1) -> Counter[Row]:
        """Add copies of a row; its delta."""
        return self.change(atom, row, weight)

    def delete(self, atom: int, row: Row, weight: int = 1) -> Counter[Row]:
        """Take copies of a row away; its delta."""
        return self.change(atom, row, -weight)

    def change(self, atom: int, row: Row, weight: int) -> Counter[Row]:
        """Change the multiplicity of a row at once."""
        base = self.bases[atom]
        values = np.array([row or (0,)] * abs(weight), np.int64).T.copy()
        staged = base.stage_commit(values, np.full(abs(weight), np.sign(weight), np.int64), False)
        masks = np.full(staged.rows.shape, 1 << atom, np.int64)
        position = self.position[base.table.name]
        factors = self.factors(atom, base.values_of(staged.rows))
        self.join.load(position, staged.rows, base.words, base.stride, base.value_offset(0), factors)
        part = table_events(base.table.name, staged.rows, staged.weights, masks, np.zeros_like(masks))
        delta: Counter[Row] = Counter()
        for chunk in self.join.maintain(
            view_events([(position, part)]), emit=self.join.plan.live, capacity=self.capacity
        ):
            assert self.capacity is None or chunk.rows <= self.capacity
            for result, sign in zip(
                chunk.words.T.tolist(), np.repeat(chunk.signs, chunk.lengths()).tolist(), strict=True
            ):
                delta[tuple(result)] += sign
        base.commit()
        return delta

    def factors(self, atom: int, values: np.ndarray) -> np.ndarray:
        """The factors of rows; here each is the name of a column, or a number."""
        names = list(self.variables[atom])
        uses = self.join.plan.tables[self.position[self.bases[atom].table.name]].factors
        wanted = [factor.text for factor in uses]
        lines = [values[names.index(f)] if f in names else np.full(values.shape[1], int(f)) for f in wanted]
        return np.array(lines, np.int64).reshape(len(wanted), values.shape[1])

    def result(self) -> Counter[Row]:
        """Full enumeration."""
        rows: Counter[Row] = Counter()
        for words in self.join.scan(self.capacity or 1000):
            rows.update(map(tuple, words.T.tolist()))
        return rows

    def check(self) -> None:
        """Every invariant of the join and its tables."""
        self.join._check()
        for base in self.bases:
            base._check()

    def _state(self) -> State:
        state = State(self.join.plan, self.join.arena.words)
        state.collect()
        state.check_live()
        return state

    def _values(self, state: State, index: int, row: int) -> Row:
        node = self.tree.nodes[index]
        if node.atom is None:
            at = row + state.node(index, u.N_ROWS_KEY)
            return tuple(state.word(at + i) for i in range(len(node.variables)))
        return tuple(state.word(row + i) for i in range(len(self.variables[node.atom])))

    def counters(self, index: int) -> dict[Row, int]:
        """Each row of a node and how many children have its key in their V_p."""
        state = self._state()
        at = state.node(index, u.N_STATE)
        return {self._values(state, index, row): state.word(row + at) & u.COUNTER_MASK for row in state.rows[index]}

    def semijoin_view(self, index: int) -> set[Row]:
        """V_s of a node."""
        state = self._state()
        return {self._values(state, index, r) for r in state.rows[index] if state.is_member(index, r)}

    def projection_view(self, index: int) -> dict[Row, int]:
        """V_p of a node with derivation counts."""
        state = self._state()
        node = self.tree.nodes[index]
        order = node.variables if node.atom is None else tuple(self.variables[node.atom])
        places = [order.index(v) for v in node.key]
        counts: dict[Row, int] = {}
        for slot, child in state.slot_child.items():
            length = state.pair(slot + u.S_LEN)[0]
            if child == index and length and node.parent is not None:
                values = self._values(state, index, state.members[slot][0])
                counts[tuple(values[p] for p in places)] = length
        return counts

    def live_view(self, index: int) -> set[Row]:
        """V_l of a node."""
        state = self._state()
        name = (lambda r: r) if self.tree.nodes[index].atom is None else (lambda r: state._key(index, r))
        return {self._values(state, index, r) for r in state.rows[index] if state.live[name(r)]}


def _marker(i: int) -> Table:
    """A table for an atom without variables: it has a column, which the query does not use."""
    return Table(f"R{i}", (Column("unused", SqlType.integer(64)),))
