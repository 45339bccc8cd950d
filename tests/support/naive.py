"""The naive twin: change propagation without joins over plain Python dictionaries.

The same algorithm as the kernels, written to be read: semi-join views, projection views and counters (CROWN, section 4,
algorithms 2-4), full enumeration (algorithm 5), live views and delta enumeration from witnesses (section 5.2,
algorithm 6), for full queries over any generalized join tree. Rows carry multiplicities: views are kept on the support
(multiplicity 0 <-> positive) and a result's multiplicity is the product of those of its rows. The law that it keeps:

    delta(update) = Q(D + update) - Q(D)    as multisets, over all outputs

The tests compare every other implementation with it, and the benchmarks take its speed as that of plain dictionaries.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from livejoin.theory.trees.join_tree import JoinTree

Row = tuple[Any, ...]
Key = tuple[Any, ...]
Weighted = list[tuple[Row, int]]
Groups = dict[Key, dict[Row, None]]  # rows by key; a dictionary stands for an ordered set
KeyOf = Callable[[Row], Key]


@dataclass(frozen=True)
class Step:
    """One step of an enumeration: the rows of ``node`` in ``groups`` under the key of the row chosen for ``source``."""

    node: int
    groups: Groups
    key: KeyOf
    source: int
    weights: dict[Row, int] | None


class NaiveJoin:
    """Semi-join and projection views of a full query over a generalized join tree, and its full enumeration.

    Args:
        variables: The variables of each atom, in the order of its rows' values.
        tree: A generalized join tree of the query.
        output: The output's variables; the sorted variables of the query if None.

    State of a node ``e`` with parent ``p``:

    - ``weights[e]``: the rows of ``R_e`` with their multiplicities, None for a generalized relation;
    - ``counters[e]``: each row of ``R_e`` and how many children have its key in their ``V_p``;
    - ``semijoin[e]``: the rows of ``V_s(R_e)`` by ``key(e)``. A group's size is the derivation count of its key, so the
      keys are ``V_p(R_e)``;
    - ``parents[e]``: the rows of ``R_p`` by ``key(e)``, unused below a generalized relation, whose rows are the keys.
    """

    def __init__(self, variables: Sequence[Sequence[str]], tree: JoinTree, output: Sequence[str] | None = None) -> None:
        nodes = tree.nodes
        self.tree = tree
        self.layouts = [tuple(node.variables if node.atom is None else variables[node.atom]) for node in nodes]
        self.node_of = {node.atom: position for position, node in enumerate(nodes) if node.atom is not None}
        self.output = tuple(sorted({v for atom in variables for v in atom}) if output is None else output)
        self.weights: list[dict[Row, int] | None] = [None if node.atom is None else {} for node in nodes]
        self.counters: list[dict[Row, int]] = [{} for _ in nodes]
        self.semijoin: list[Groups] = [{} for _ in nodes]
        self.parents: list[Groups] = [{} for _ in nodes]
        self.key_of = [projector(self.layouts[i], node.key) for i, node in enumerate(nodes)]
        self.parent_key_of = [
            projector(() if node.parent is None else self.layouts[node.parent], node.key) for node in nodes
        ]
        self._columns = [self._column(variable) for variable in self.output]
        self._full = self._steps(0, ())

    def insert(self, atom: int, row: Row, weight: int = 1) -> None:
        """Add ``weight`` copies of a row to an atom."""
        node, weights = self._atom(atom)
        present = weights.get(row, 0)
        weights[row] = present + weight
        if not present:
            self.appear(node, row)

    def delete(self, atom: int, row: Row, weight: int = 1) -> None:
        """Remove ``weight`` copies of a row from an atom; a KeyError if there are not as many."""
        node, weights = self._atom(atom)
        present = self._checked(atom, row, weight)
        if present > weight:
            weights[row] = present - weight
        else:
            self.withdraw(node, row, self.vanishing(node, row))

    def result(self) -> Weighted:
        """The result's rows with their multiplicities; a row may come several times if ``output`` is a projection."""
        out: Weighted = []
        for row in self.semijoin[0].get((), ()):
            self._enumerate(0, row, self._full, out)
        return out

    def count(self) -> int:
        """The number of rows of the result, multiplicities counted."""
        return sum(weight for _, weight in self.result())

    def semijoin_view(self, node: int) -> set[Row]:
        """``V_s(R_e)``."""
        return {row for group in self.semijoin[node].values() for row in group}

    def projection_view(self, node: int) -> dict[Key, int]:
        """``V_p(R_e)`` with its derivation counts."""
        return {key: len(group) for key, group in self.semijoin[node].items()}

    def appear(self, node: int, row: Row) -> list[tuple[int, Row]]:
        """Propagate a row that enters ``R_e`` (R-UPDATE, then S- and P-UPDATEs up the path to the root).

        Returns:
            What entered semi-join views: pairs of node and row.
        """
        entered: list[tuple[int, Row]] = []
        rows = self._r_update(node, row)
        position: int | None = node
        while rows and position is not None:
            entered += [(position, row) for row in rows]
            keys = self._s_update(position, rows)
            rows = [parent for key in keys for parent in self._p_update(position, key)]
            position = self.tree.nodes[position].parent
        return entered

    def vanishing(self, node: int, row: Row) -> list[tuple[int, list[Row], list[Key]]]:
        """What the removal of a row from ``R_e`` will take out of the views; changes nothing.

        Returns:
            For each node on the path to the root, as far as the change goes: the node, the rows that leave its
            ``V_s`` and the keys that leave its ``V_p``.
        """
        leaving: list[tuple[int, list[Row], list[Key]]] = []
        rows = [row] if self.counters[node][row] == len(self.tree.nodes[node].children) else []
        position: int | None = node
        while rows and position is not None:
            groups, parent = self.semijoin[position], self.tree.nodes[position].parent
            lost = Counter(map(self.key_of[position], rows))
            keys = [key for key, number in lost.items() if number == len(groups[key])]
            leaving.append((position, rows, keys))
            if parent is not None:
                counters, full = self.counters[parent], len(self.tree.nodes[parent].children)
                rows = [r for key in keys for r in self._parent_rows(position, key) if counters[r] == full]
            position = parent
        return leaving

    def withdraw(self, node: int, row: Row, leaving: Iterable[tuple[int, list[Row], list[Key]]]) -> None:
        """Take a row out of ``R_e`` and out of the views what `vanishing` found."""
        for position, rows, keys in leaving:
            groups, key_of = self.semijoin[position], self.key_of[position]
            for gone in rows:
                discard(groups, key_of(gone), gone)
            for key in keys:
                self._lose_child_key(position, key)
        for child in self.tree.nodes[node].children:
            discard(self.parents[child], self.parent_key_of[child](row), row)
        del self.counters[node][row]
        weights = self.weights[node]
        assert weights is not None
        del weights[row]

    def _r_update(self, node: int, row: Row) -> list[Row]:
        counter = 0
        children = self.tree.nodes[node].children
        for child in children:
            key = self.parent_key_of[child](row)
            self.parents[child].setdefault(key, {})[row] = None
            counter += key in self.semijoin[child]
        self.counters[node][row] = counter
        return [row] if counter == len(children) else []

    def _s_update(self, node: int, rows: list[Row]) -> list[Key]:
        groups, key_of = self.semijoin[node], self.key_of[node]
        new = []
        for row in rows:
            key = key_of(row)
            group = groups.get(key)
            if group is None:
                groups[key] = {row: None}
                new.append(key)
            else:
                group[row] = None
        return new

    def _p_update(self, child: int, key: Key) -> Iterator[Row]:
        parent = self.tree.nodes[child].parent
        if parent is None:
            return
        counters, full = self.counters[parent], len(self.tree.nodes[parent].children)
        if self.weights[parent] is None:
            counters.setdefault(key, 0)
        for row in self._parent_rows(child, key):
            counters[row] += 1
            if counters[row] == full:
                yield row

    def _lose_child_key(self, child: int, key: Key) -> None:
        parent = self.tree.nodes[child].parent
        if parent is None:
            return
        counters = self.counters[parent]
        for row in self._parent_rows(child, key):
            counters[row] -= 1
        if self.weights[parent] is None and not counters[key]:
            del counters[key]

    def _parent_rows(self, child: int, key: Key) -> Iterable[Row]:
        parent = self.tree.nodes[child].parent
        assert parent is not None
        if self.weights[parent] is None:
            return (key,)
        return self.parents[child].get(key, ())

    def _atom(self, atom: int) -> tuple[int, dict[Row, int]]:
        node = self.node_of[atom]
        weights = self.weights[node]
        assert weights is not None
        return node, weights

    def _checked(self, atom: int, row: Row, weight: int) -> int:
        present = self._atom(atom)[1].get(row, 0)
        if present < weight:
            msg = f"atom {atom} has {row} {present} times, not {weight}"
            raise KeyError(msg)
        return present

    def _column(self, variable: str) -> tuple[int, int]:
        node = next(i for i, layout in enumerate(self.layouts) if variable in layout)
        return node, self.layouts[node].index(variable)

    def _steps(self, start: int, upward: Sequence[Groups]) -> list[Step]:
        """From a row of ``start`` up to the root through the groups given, then down to all nodes not met yet."""
        nodes = self.tree.nodes
        steps, chosen = [], {start}
        position = start
        for groups in upward:
            parent = nodes[position].parent
            assert parent is not None
            steps.append(Step(parent, groups, self.key_of[position], position, self.weights[parent]))
            chosen.add(parent)
            position = parent
        for i, node in enumerate(nodes):
            if i not in chosen and node.parent is not None:
                steps.append(Step(i, self.semijoin[i], self.parent_key_of[i], node.parent, self.weights[i]))
        return steps

    def _enumerate(self, start: int, row: Row, steps: Sequence[Step], out: Weighted) -> None:
        """Append the results that the steps make of a row of ``start``."""
        rows: list[Row] = [()] * len(self.tree.nodes)
        rows[start] = row
        weights = self.weights[start]
        weight = 1 if weights is None else weights[row]
        if steps:
            self._extend(steps, 0, rows, weight, out)
        else:
            out.append((tuple(rows[n][p] for n, p in self._columns), weight))

    def _extend(self, steps: Sequence[Step], depth: int, rows: list[Row], weight: int, out: Weighted) -> None:
        step = steps[depth]
        node, weights, columns, last = step.node, step.weights, self._columns, depth + 1 == len(steps)
        for row in step.groups[step.key(rows[step.source])]:
            rows[node] = row
            product = weight if weights is None else weight * weights[row]
            if last:
                out.append((tuple([rows[n][p] for n, p in columns]), product))
            else:
                self._extend(steps, depth + 1, rows, product, out)


class NaiveView(NaiveJoin):
    """`NaiveJoin` with live views and delta enumeration.

    ``live_parents[e]`` has the live rows of the parent by ``key(e)``. A row of ``V_s(R_e)`` is live if and only if its
    key is in there (lemma 5.5), so that the rows of a group are live together and need no mark of their own.
    """

    def __init__(self, variables: Sequence[Sequence[str]], tree: JoinTree, output: Sequence[str] | None = None) -> None:
        super().__init__(variables, tree, output)
        self.live_parents: list[Groups] = [{} for _ in tree.nodes]
        self._delta = [self._steps(node, self._upward(node)) for node in range(len(tree.nodes))]

    def insert(self, atom: int, row: Row, weight: int = 1) -> Weighted:  # type: ignore[override]
        """Add ``weight`` copies of a row to an atom; returns the delta, whose weights are positive."""
        node, weights = self._atom(atom)
        present = weights.get(row, 0)
        if present:
            delta = self._reweighted(node, row, weight)
            weights[row] = present + weight
            return delta
        weights[row] = weight
        delta = []
        witnesses = [(n, r) for n, r in self.appear(node, row) if self._is_live(n, r)]
        for witness in witnesses:
            self._enumerate(*witness, self._delta[witness[0]], delta)
        for witness in witnesses:
            self._set_live(*witness)
        return delta

    def delete(self, atom: int, row: Row, weight: int = 1) -> Weighted:  # type: ignore[override]
        """Remove ``weight`` copies of a row from an atom; returns the delta, whose weights are negative.

        A KeyError if there are not as many copies.
        """
        node, weights = self._atom(atom)
        present = self._checked(atom, row, weight)
        if present > weight:
            delta = self._reweighted(node, row, weight)
            weights[row] = present - weight
        else:
            leaving = self.vanishing(node, row)
            witnesses = [(n, r) for n, rows, keys in leaving for r in self._stopped(n, rows, keys)]
            delta = []
            for witness in witnesses:
                self._enumerate(*witness, self._delta[witness[0]], delta)
            for witness in witnesses:
                self._clear_live(*witness)
            self.withdraw(node, row, leaving)
        return [(result, -times) for result, times in delta]

    def live_view(self, node: int) -> set[Row]:
        """``V_l(R_e)``."""
        return {row for row in self.semijoin_view(node) if self._is_live(node, row)}

    def _upward(self, node: int) -> list[Groups]:
        path = []
        while self.tree.nodes[node].parent is not None:
            path.append(self.live_parents[node])
            node = self.tree.nodes[node].parent or 0
        return path

    def _is_live(self, node: int, row: Row) -> bool:
        return node == 0 or self.key_of[node](row) in self.live_parents[node]

    def _stopped(self, node: int, rows: list[Row], keys: list[Key]) -> Iterator[Row]:
        """The witnesses among the rows that leave ``V_s``: at the root, or live with a key that stays in ``V_p``."""
        gone = set(keys)
        for row in rows:
            if node == 0 or (self.key_of[node](row) not in gone and self._is_live(node, row)):
                yield row

    def _reweighted(self, node: int, row: Row, weight: int) -> Weighted:
        """The results of a row as if its multiplicity were ``weight``; the row is left with that multiplicity."""
        delta: Weighted = []
        weights = self.weights[node]
        assert weights is not None
        weights[row] = weight
        if self.counters[node][row] == len(self.tree.nodes[node].children) and self._is_live(node, row):
            self._enumerate(node, row, self._delta[node], delta)
        return delta

    def _set_live(self, node: int, row: Row) -> None:
        """Make a row of ``V_s`` live, and below it all groups that had no live parent."""
        todo = [(node, row)]
        while todo:
            node, row = todo.pop()
            for child in self.tree.nodes[node].children:
                key = self.parent_key_of[child](row)
                live = self.live_parents[child].setdefault(key, {})
                if not live and self.tree.nodes[child].children:
                    todo += [(child, below) for below in self.semijoin[child][key]]
                live[row] = None

    def _clear_live(self, node: int, row: Row) -> None:
        """The reverse of `_set_live`, before the rows leave ``V_s``."""
        todo = [(node, row)]
        while todo:
            node, row = todo.pop()
            for child in self.tree.nodes[node].children:
                key = self.parent_key_of[child](row)
                discard(self.live_parents[child], key, row)
                if key not in self.live_parents[child] and self.tree.nodes[child].children:
                    todo += [(child, below) for below in self.semijoin[child][key]]


def projector(layout: Sequence[str], key: Sequence[str]) -> KeyOf:
    """The function that takes a row's values of ``key``, as a tuple.

    >>> projector(("a", "b", "c"), ("c", "a"))((1, 2, 3))
    (3, 1)
    """
    positions = [layout.index(variable) for variable in key]
    if len(positions) > 1:
        return itemgetter(*positions)
    if not positions:
        return lambda row: ()
    only = positions[0]
    return lambda row: (row[only],)


def discard(groups: Groups, key: Key, row: Row) -> None:
    """Remove a row from its group, and the group if nothing is left."""
    group = groups[key]
    del group[row]
    if not group:
        del groups[key]
