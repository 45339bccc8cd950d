"""From a join tree to a physical plan: where everything lies, as one array of 64-bit words for the kernels.

The plan is derived from the query and the tree alone, so it is never stored with the state: the same query gives the
same plan again.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

from livejoin.kernels import layout as k
from livejoin.query import ConjunctiveQuery
from livejoin.theory.join_tree import JoinTree


@dataclass(frozen=True)
class TableUse:
    """How a view uses a base table.

    Args:
        name: The table.
        columns: Positions of the base columns that the view's records hold, in record order.
        atoms: Positions of the query's atoms over the table.
        stride: Words a record.
    """

    name: str
    columns: tuple[int, ...]
    atoms: tuple[int, ...]
    stride: int


@dataclass(frozen=True, eq=False)
class PhysicalPlan:
    """A query, its tree and the words that the kernels read.

    Args:
        query: The query.
        tree: A generalized join tree of it.
        live: Whether live views are kept, which delta enumeration needs.
        words: The plan, int64; see `livejoin.kernels.layout`.
        tables: The base tables in the order of the plan's table descriptors.
        header_words: Words of the arena's header, directories and tables included.
        directories: References of the directory headers in the arena.
        node_offsets: Offset of each tree node's descriptor in ``words``.
    """

    query: ConjunctiveQuery
    tree: JoinTree
    live: bool
    words: np.ndarray
    tables: tuple[TableUse, ...]
    header_words: int
    directories: tuple[int, ...]
    node_offsets: tuple[int, ...]

    @property
    def digest(self) -> str:
        """A fingerprint of the layout: states of plans with equal digests are interchangeable."""
        return hashlib.sha256(self.words.tobytes() + bytes([k.STATE_FORMAT])).hexdigest()[:16]

    @property
    def cursor_words(self) -> int:
        """Words of an enumeration's cursor."""
        return k.CURSOR_HEADER + (len(self.tree.nodes) + 1) * k.LEVEL


class _Words:
    """A growing list of words in which lists are placed and referred to by offset."""

    def __init__(self, size: int) -> None:
        self.words = [0] * size

    def put(self, values: list[int]) -> int:
        at = len(self.words)
        self.words.extend(values)
        return at


@dataclass
class _Layout:
    """Offsets of one node's words in its rows, filled while the plan is laid out."""

    state: int = 0
    up: int = 0
    link: int = 0


def compile_plan(query: ConjunctiveQuery, tree: JoinTree, live: bool) -> PhysicalPlan:
    """Lay out a plan. Cost: O(nodes squared) words.

    Args:
        query: The query.
        tree: A generalized join tree over the query's atoms.
        live: Whether the view keeps live views.
    """
    out = _Words(k.PLAN_HEADER)
    nodes = tree.nodes
    node_at = [out.put([0] * k.PLAN_NODE) for _ in nodes]
    layouts = [_Layout() for _ in nodes]
    node_of_atom = {node.atom: i for i, node in enumerate(nodes) if node.atom is not None}
    tables = _lay_out_records(query, tree, layouts, node_of_atom)
    table_of_atom = {atom: t for t, use in enumerate(tables) for atom in use.atoms}

    def offset(node: int, variable: str) -> int:
        """Where a node's rows hold the value of a variable."""
        atom = nodes[node].atom
        if atom is None:
            return k.SLOT * len(nodes[node].children) + 2 + nodes[node].variables.index(variable)
        return tables[table_of_atom[atom]].columns.index(query.atoms[atom].column_of(variable))

    arena = k.H_STACK + k.FRAME * (len(nodes) + 1)
    table_headers = [arena + t * k.TABLE for t in range(len(tables))]
    arena += k.TABLE * len(tables)
    directory_of: dict[int, int] = {}
    for i, node in enumerate(nodes):
        if node.atom is None:
            layouts[i] = _Layout(state=k.SLOT * len(node.children), up=k.SLOT * len(node.children) + 1)
        for child in node.children:
            if node.atom is None and child != node.children[0]:
                directory_of[child] = directory_of[node.children[0]]
            else:
                directory_of[child] = arena
                arena += k.DIRECTORY

    def descriptor(i: int) -> list[int]:
        node = nodes[i]
        words = [0] * k.PLAN_NODE
        words[k.N_ATOM] = int(node.atom is not None)
        words[k.N_PARENT] = -1 if node.parent is None else node_at[node.parent]
        words[k.N_CHILDREN] = len(node.children)
        words[k.N_CHILD_LIST] = out.put([node_at[c] for c in node.children])
        words[k.N_STATE], words[k.N_UP], words[k.N_LINK] = layouts[i].state, layouts[i].up, layouts[i].link
        if node.atom is None:
            words[k.N_ROWS_DIRECTORY] = directory_of[node.children[0]]
            words[k.N_ROWS_KEY] = k.SLOT * len(node.children) + 2
            words[k.N_ROWS_WIDTH] = len(node.variables)
            words[k.N_ROWS_ENTRY] = words[k.N_ROWS_KEY] + len(node.variables)
        else:
            words[k.N_TABLE] = table_of_atom[node.atom]
            words[k.N_BIT] = node.atom
        if node.parent is not None:
            parent = nodes[node.parent]
            words[k.N_INDEX] = parent.children.index(i)
            words[k.N_DIRECTORY] = directory_of[i]
            words[k.N_KEY_WIDTH] = len(node.key)
            words[k.N_KEY] = out.put([offset(i, v) for v in node.key])
            if parent.atom is not None:
                words[k.N_ENTRY_KEY] = k.E_KEY
                words[k.N_ENTRY] = k.E_KEY + len(node.key)
                words[k.N_PARENT_KEY] = out.put([offset(node.parent, v) for v in node.key])
            elif node.atom is not None:
                chain = [a for a in _ancestors(tree, i) if nodes[a].atom is None][::-1]
                pairs = [(node_at[a], out.put([offset(i, v) for v in nodes[a].variables])) for a in chain]
                words[k.N_CHAIN] = len(chain)
                words[k.N_CHAIN_LIST] = out.put([w for pair in pairs for w in pair])
        words[k.N_PROGRAM] = program(i)
        return words

    def program(begin: int | None) -> int:
        """The enumeration program from a node, or of the full enumeration for None."""
        order, steps = _steps(query, tree, begin)
        depth_of = {node: depth for depth, node in enumerate(order) if node is not None}
        words: list[int] = []
        for kind, node, source in steps:
            from_node = order[source]
            where, shift = 0, 0
            if kind in (k.STEP_UP_ATOM, k.STEP_UP_GENERALIZED):
                assert from_node is not None
                where = layouts[from_node].up
                shift = k.SLOT * nodes[node].children.index(from_node)
            elif kind == k.STEP_DOWN_ATOM:
                assert from_node is not None
                where = layouts[from_node].link + nodes[from_node].children.index(node)
            elif kind == k.STEP_DOWN_GENERALIZED:
                assert from_node is not None
                where = k.SLOT * nodes[from_node].children.index(node)
            state = -1 if nodes[node].atom is None else layouts[node].state
            words += [kind, source, where, state, shift]
        outer: list[int] = []
        inner: list[int] = []
        for column, ref in enumerate(query.head):
            depth = depth_of[node_of_atom[ref.atom]]
            where = tables[table_of_atom[ref.atom]].columns.index(ref.column)
            if depth == len(order) - 1 and depth > 0:
                inner += [column, where]
            else:
                outer += [column, depth, where]
        at = out.put([0] * k.PROGRAM)
        out.words[at + k.G_DEPTHS] = len(order)
        out.words[at + k.G_STEPS] = out.put(words)
        out.words[at + k.G_OUTER] = len(outer) // 3
        out.words[at + k.G_OUTER_LIST] = out.put(outer)
        out.words[at + k.G_INNER] = len(inner) // 2
        out.words[at + k.G_INNER_LIST] = out.put(inner)
        return at

    for i in range(len(nodes)):
        out.words[node_at[i] : node_at[i] + k.PLAN_NODE] = descriptor(i)
    table_words: list[int] = []
    for use, header in zip(tables, table_headers, strict=True):
        atoms = out.put([node_at[node_of_atom[a]] for a in use.atoms])
        values = out.put(list(use.columns))
        table_words += [header, use.stride, len(use.atoms), atoms, len(use.columns), values]
    out.words[k.P_NODES] = len(nodes)
    out.words[k.P_FIRST_NODE] = node_at[0]
    out.words[k.P_TABLES] = len(tables)
    out.words[k.P_FIRST_TABLE] = out.put(table_words)
    out.words[k.P_HEAD] = len(query.head)
    out.words[k.P_LIVE] = int(live)
    out.words[k.P_FULL] = program(None)
    out.words[k.P_POSTORDER] = out.put(node_at[::-1])
    return PhysicalPlan(
        query=query,
        tree=tree,
        live=live,
        words=np.array(out.words, dtype=np.int64),
        tables=tables,
        header_words=arena,
        directories=tuple(dict.fromkeys(directory_of.values())),
        node_offsets=tuple(node_at),
    )


def _lay_out_records(
    query: ConjunctiveQuery, tree: JoinTree, layouts: list[_Layout], node_of_atom: dict[int, int]
) -> tuple[TableUse, ...]:
    """One record a base row: the values that any atom over the table uses, then each atom's own words."""
    atoms_of: dict[str, list[int]] = {}
    for i, atom in enumerate(query.atoms):
        atoms_of.setdefault(atom.table.name, []).append(i)
    uses = []
    for name, atoms in atoms_of.items():
        columns = sorted({c for a in atoms for c in query.atoms[a].columns})
        stride = len(columns)
        for a in atoms:
            node = node_of_atom[a]
            layouts[node] = _Layout(state=stride, up=stride + 1, link=stride + 2)
            stride += 2 + len(tree.nodes[node].children)
        uses.append(TableUse(name, tuple(columns), tuple(atoms), stride))
    return tuple(uses)


def _ancestors(tree: JoinTree, node: int) -> list[int]:
    """The nodes above a node, from its parent to the root."""
    above = []
    parent = tree.nodes[node].parent
    while parent is not None:
        above.append(parent)
        parent = tree.nodes[parent].parent
    return above


def _steps(
    query: ConjunctiveQuery, tree: JoinTree, begin: int | None
) -> tuple[list[int | None], list[tuple[int, int, int]]]:
    """Order of the nodes by depth, and the steps (kind, node, depth of the source) that open depths 1, 2, ..."""
    nodes = tree.nodes
    order: list[int | None] = [begin]
    steps: list[tuple[int, int, int]] = []
    if begin is None:
        order.append(0)
        steps.append((k.STEP_ROOT, 0, 0))
    else:
        for above in _ancestors(tree, begin):
            kind = k.STEP_UP_GENERALIZED if nodes[above].atom is None else k.STEP_UP_ATOM
            steps.append((kind, above, len(order) - 1))
            order.append(above)
    visited = set(order)

    def descend(node: int, depth: int) -> None:
        kind = k.STEP_DOWN_GENERALIZED if nodes[node].atom is None else k.STEP_DOWN_ATOM
        for child in sorted(nodes[node].children, key=lambda c: _inwardness(query, tree, c)):
            if child not in visited:
                visited.add(child)
                steps.append((kind, child, depth))
                order.append(child)
                descend(child, len(order) - 1)

    for depth, node in enumerate(list(order)):
        if node is not None:
            descend(node, depth)
    return order, steps


def _inwardness(query: ConjunctiveQuery, tree: JoinTree, child: int) -> tuple[bool, int]:
    """Sorts siblings for an enumeration: the innermost block should be long, so unfiltered leaves come last."""
    below = [child]
    for node in below:
        below.extend(tree.nodes[node].children)
    atoms = [a for node in below if (a := tree.nodes[node].atom) is not None]
    return all(query.atoms[a].predicate is None for a in atoms), -len(atoms)
