"""From a query and a join tree to a physical plan: where everything lies, as one array of words for the kernels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from livejoin.families.crown.enumeration import enumeration_steps
from livejoin.families.crown.null_rows import NullRows
from livejoin.families.crown.plan import CrownPlan
from livejoin.families.crown.roles import roles
from livejoin.families.crown.structure import PlanNode, plan_nodes, with_quiet_edges
from livejoin.families.layout.annotation import annotation_widths, result_mode
from livejoin.families.layout.plan_words import PlanWords, place_directories
from livejoin.families.layout.record_layout import factor_triples, lay_out_records
from livejoin.kernels.crown import layout as u
from livejoin.kernels.join import layout as q
from livejoin.query import ColumnRef, ConjunctiveQuery
from livejoin.theory.trees.join_tree import JoinTree

_EDGES = {
    "inner": u.EDGE_INNER,
    "exists": u.EDGE_EXISTS,
    "not exists": u.EDGE_NOT_EXISTS,
    "optional": u.EDGE_OPTIONAL,
}


@dataclass(frozen=True)
class _Layout:
    """Offsets of one node's words in its rows."""

    state: int
    up: int
    link: int
    touch: int
    key: int = 0


def compile_plan(query: ConjunctiveQuery, tree: JoinTree, live: bool, rests: bool = True) -> CrownPlan:
    """Lay out a plan. Cost: O(nodes squared) words.

    Args:
        query: The query.
        tree: A generalized join tree over the query's atoms, free-connex for the query's output variables.
        live: Whether the view keeps live views.
        rests: Whether static tables do not change: then nothing is kept that only a change of them would need.
    """
    nodes = plan_nodes(tree, query.free, [query.is_distinct(a) for a in range(len(query.atoms))])
    form = partial(compile_plan, query, tree, live)
    return _Compiler(query, tree, live, with_quiet_edges(nodes, query) if rests else nodes).compile(form)


class _Compiler:
    """Lays out one plan; the parts of the arena's header are handed out as it goes."""

    def __init__(self, query: ConjunctiveQuery, tree: JoinTree, live: bool, nodes: tuple[PlanNode, ...]) -> None:
        self.query, self.tree, self.live, self.nodes = query, tree, live, nodes
        self.widths = annotation_widths(query)
        self.annotation = sum(self.widths)
        self.frame = u.FRAME + self.annotation
        self.out = PlanWords(u.CROWN_HEADER)
        self.roles = roles(query, nodes)
        self.node_at = [self.out.put([0] * u.PLAN_NODE) for _ in nodes]
        self.node_of_atom = {node.atom: i for i, node in enumerate(nodes) if node.atom is not None}
        self.records = lay_out_records(query, [self._own(self.node_of_atom[a]) for a in range(len(query.atoms))])
        self.tables, self.table_of_atom = self.records.tables, self.records.table_of
        self.layouts = [
            self._lay_out_derived(i) if node.atom is None else self._lay_out_atom(i, self.records.own[node.atom])
            for i, node in enumerate(nodes)
        ]
        arena = u.H_STACK + self.frame * (2 * len(nodes) + 1)  # of a row that comes or leaves, and of what waits
        self.table_headers = [arena + t * q.TABLE for t in range(len(self.tables))]
        arena += q.TABLE * len(self.tables)
        self.directory_of, end = place_directories([(n.children, n.inline) for n in nodes], arena)
        self.nulls = NullRows(nodes, [self._row_words(i) for i in range(len(nodes))], end)
        self.work_at = self.nulls.end  # what is counted at each node
        self.header_words = self.work_at + u.WORK * len(nodes)

    def compile(self, form: Callable[[bool], CrownPlan]) -> CrownPlan:
        """The finished plan.

        Args:
            form: As `CrownPlan.form`.
        """
        out, nodes = self.out, self.nodes
        for i in range(len(nodes)):
            out.words[self.node_at[i] : self.node_at[i] + u.PLAN_NODE] = self._descriptor(i)
        table_words: list[int] = []
        for use, header in zip(self.tables, self.table_headers, strict=True):
            atoms = out.put([self.node_at[self.node_of_atom[a]] for a in use.atoms])
            values = out.put(list(use.columns))
            table_words += [header, use.stride, len(use.atoms), atoms, len(use.columns), values]
        connex = [self.node_at[i] for i in range(len(nodes)) if nodes[i].connex]
        out.words[q.P_NODES] = len(nodes)
        out.words[q.P_FIRST_NODE] = self.node_at[0]
        out.words[q.P_TABLES] = len(self.tables)
        out.words[q.P_FIRST_TABLE] = out.put(table_words)
        out.words[q.P_HEAD] = len(self.query.head)
        out.words[u.P_LIVE] = int(self.live)
        out.words[q.P_FULL] = self._program(None)
        out.words[u.P_CONNEX] = len(connex)
        out.words[q.P_POSTORDER] = out.put(connex[::-1])
        out.words[q.P_MODE] = result_mode(self.query)
        out.words[q.P_WORDS] = self.annotation
        out.words[q.P_COMPONENTS] = len(self.widths)
        out.words[q.P_WIDTHS] = out.put(self.widths)
        out.words[u.P_FRAME] = self.frame
        out.words[u.P_LEVEL] = u.LEVEL - 1 + max(1, self.annotation)
        return CrownPlan(
            query=self.query,
            tree=self.tree,
            live=self.live,
            words=np.array(out.words, dtype=np.int64),
            nodes=nodes,
            tables=self.tables,
            header_words=self.header_words,
            directories=tuple(dict.fromkeys(self.directory_of.values())),
            node_offsets=tuple(self.node_at),
            work_at=self.work_at,
            null_words=self.nulls.words([(layout.state, layout.up, layout.link) for layout in self.layouts]),
            form=form,
        )

    def _own(self, i: int) -> int:
        """Words of an atom in the records of its table: state, way up, links to its children, and touch."""
        return 2 + len(self.nodes[i].children) + self._has_touch(i)

    def _lay_out_atom(self, i: int, own: int) -> _Layout:
        return _Layout(own, own + 1, own + 2, own + 2 + len(self.nodes[i].children))

    def _has_touch(self, i: int) -> bool:
        """Whether the annotation of a node's rows can change while they have results."""
        node = self.nodes[i]
        outside = any(self.roles[c].weighs for c in node.children)
        return bool(self.query.sums) and self.live and node.connex and (outside or node.atom is not None)

    def _lay_out_derived(self, i: int) -> _Layout:
        node = self.nodes[i]
        state = u.SLOT * node.inline
        links = state + 2
        touch = links + len(node.children) - node.inline
        return _Layout(state, state + 1, links - node.inline, touch, touch + self._has_touch(i))

    def _key_of(self, i: int) -> int:
        """Offset of the variables in the rows of a derived node."""
        return self.layouts[i].key

    def _row_words(self, i: int) -> int:
        """Words of a node's rows; of an atom's those of the record."""
        node = self.nodes[i]
        if node.atom is not None:
            return self.tables[self.table_of_atom[node.atom]].stride
        weighing = sum(self.roles[c].weighs for c in node.children[: node.inline])
        extra = weighing * self.annotation if self.annotation > 1 else 0
        return self._key_of(i) + len(node.variables) + extra

    def _offset(self, node: int, variable: str) -> int:
        """Where a node's rows hold the value of a variable."""
        atom = self.nodes[node].atom
        if atom is None:
            return self._key_of(node) + self.nodes[node].variables.index(variable)
        return self.tables[self.table_of_atom[atom]].columns.index(self.query.atoms[atom].column_of(variable))

    def _weights(self, i: int) -> int:
        """From a node's slot to its annotation, if that is a factor of its parents'."""
        node = self.nodes[i]
        if self.annotation <= 1 or not self.roles[i].weighs or node.parent is None:
            return u.S_WEIGHT
        parent = self.nodes[node.parent]
        index = parent.children.index(i)
        if index >= parent.inline:
            return u.E_KEY + len(node.key)
        behind = self._key_of(node.parent) + len(parent.variables)
        outside = sum(self.roles[c].weighs for c in parent.children[:index])
        return behind + outside * self.annotation - u.SLOT * index

    def _descriptor(self, i: int) -> list[int]:
        node, layout, out = self.nodes[i], self.layouts[i], self.out
        words = [0] * u.PLAN_NODE
        words[u.N_ATOM] = int(node.atom is not None)
        words[u.N_PARENT] = -1 if node.parent is None else self.node_at[node.parent]
        words[u.N_CHILDREN] = len(node.children)
        words[u.N_CHILD_LIST] = out.put([self.node_at[c] for c in node.children])
        words[u.N_STATE], words[u.N_UP], words[u.N_LINK] = layout.state, layout.up, layout.link
        words[u.N_INLINE] = node.inline
        words[u.N_QUIET] = int(node.quiet)
        words[u.N_WORK] = self.work_at + u.WORK * i
        words[u.N_BEHIND] = self.node_at[i] + u.PLAN_NODE * self._below(i)
        words[u.N_CONNEX] = int(node.connex)
        words[u.N_TOUCH] = layout.touch if self._has_touch(i) else -1
        words[u.N_WEIGHT] = self._weights(i)
        words[u.N_WAIT] = -1
        role = self.roles[i]
        words[u.N_ANNOTATED], words[u.N_WEIGHS] = int(role.annotated), int(role.weighs)
        words[u.N_FLIPS] = int(role.weighs and node.edge != "inner")
        words[u.N_EMPTY] = out.put(role.empty) if any(role.empty) else -1
        words[u.N_EDGE] = _EDGES[node.edge]
        words[u.N_NULL], words[u.N_NULL_SLOT] = self.nulls.row_and_slot(i)
        if node.atom is None:
            words[u.N_ROWS_DIRECTORY] = self.directory_of[node.children[0]]
            words[u.N_ROWS_KEY] = self._key_of(i)
            words[u.N_ROWS_WIDTH] = len(node.variables)
            words[u.N_ROWS_ENTRY] = self._row_words(i)
        else:
            words[u.N_TABLE] = self.table_of_atom[node.atom]
            words[u.N_BIT] = node.atom
            triples = factor_triples(self.query, self.records, node.atom)
            words[u.N_FACTORS] = len(triples)
            words[u.N_FACTOR_LIST] = out.put([word for triple in triples for word in triple])
            chain = self._chain(i)
            pairs = [(self.node_at[a], out.put([self._offset(i, v) for v in self.nodes[a].variables])) for a in chain]
            words[u.N_CHAIN] = len(chain)
            words[u.N_CHAIN_LIST] = out.put([w for pair in pairs for w in pair])
        if node.parent is not None:
            parent = self.nodes[node.parent]
            words[u.N_INDEX] = parent.children.index(i)
            words[u.N_DIRECTORY] = self.directory_of[i]
            words[u.N_KEY_WIDTH] = len(node.key)
            words[u.N_KEY] = out.put([self._offset(i, v) for v in node.key])
            if words[u.N_INDEX] >= parent.inline:
                words[u.N_LINKED] = 1
                weight, own, waits = role.entry_words(node, self.annotation)
                words[u.N_ENTRY_KEY] = u.E_KEY
                words[u.N_OWN] = u.E_KEY + len(node.key) + weight
                words[u.N_WAIT] = words[u.N_OWN] + own if waits else -1
                words[u.N_ENTRY] = words[u.N_OWN] + own + waits
                words[u.N_PARENT_KEY] = out.put([self._offset(node.parent, v) for v in node.parent_key])
        words[u.N_PROGRAM] = self._program(i) if node.connex else 0
        return words

    def _below(self, i: int) -> int:
        """The number of nodes at and below a node."""
        return 1 + sum(self._below(child) for child in self.nodes[i].children)

    def _chain(self, i: int) -> list[int]:
        """The derived nodes above an atom over inline edges, from the top."""
        chain: list[int] = []
        parent = self.nodes[i].parent
        while parent is not None and self.nodes[parent].children.index(i) < self.nodes[parent].inline:
            chain.append(parent)
            i, parent = parent, self.nodes[parent].parent
        return chain[::-1]

    def _program(self, begin: int | None) -> int:
        """The enumeration program from a node, or of the full enumeration for None."""
        order, steps = enumeration_steps(self.query, self.nodes, begin)
        depth_of = {node: depth for depth, node in enumerate(order) if node is not None}
        words: list[int] = []
        for kind, node, source in steps:
            from_node = order[source]
            where, shift = 0, 0
            if kind in (u.STEP_UP_LINKED, u.STEP_UP_INLINE):
                assert from_node is not None
                where = self.layouts[from_node].up
                shift = u.SLOT * self.nodes[node].children.index(from_node)
            elif kind == u.STEP_DOWN_LINKED:
                assert from_node is not None
                where = self.layouts[from_node].link + self.nodes[from_node].children.index(node)
            elif kind == u.STEP_DOWN_INLINE:
                assert from_node is not None
                where = u.SLOT * self.nodes[from_node].children.index(node)
            counts = self.query.free is None and self.nodes[node].atom is not None
            state = self.layouts[node].state if counts else -1
            instead = 0
            if kind == u.STEP_DOWN_LINKED and self.nodes[node].edge == "optional":
                instead = self.nulls.row_and_slot(node)[1]
            words += [kind, source, where, state, shift, self.node_at[node], instead]
        outer: list[int] = []
        inner: list[int] = []
        for column, ref in enumerate(self.query.head):
            depth, where = self._source(ref, depth_of)
            if depth == len(order) - 1 and depth > 0:
                inner += [column, where]
            else:
                outer += [column, depth, where]
        out = self.out
        at = out.put([0] * u.PROGRAM)
        out.words[at + u.G_DEPTHS] = len(order)
        out.words[at + u.G_STEPS] = out.put(words)
        out.words[at + u.G_OUTER] = len(outer) // 3
        out.words[at + u.G_OUTER_LIST] = out.put(outer)
        out.words[at + u.G_INNER] = len(inner) // 2
        out.words[at + u.G_INNER_LIST] = out.put(inner)
        return at

    def _source(self, ref: ColumnRef, depth_of: dict[int, int]) -> tuple[int, int]:
        """Depth of the node that gives a head column, and the offset in its rows."""
        node = self.node_of_atom[ref.atom]
        if self.nodes[node].connex:
            return depth_of[node], self.tables[self.table_of_atom[ref.atom]].columns.index(ref.column)
        variable = self.query.variable(ref)
        node = min((n for n in depth_of if variable in self.nodes[n].variables), key=lambda n: depth_of[n])
        return depth_of[node], self._offset(node, variable)
