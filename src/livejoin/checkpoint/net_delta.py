"""The delta of a view over several pieces of one batch.

Law: it is the delta that one commit of the whole batch would have: no row both comes and goes, for each key at most one
row goes and one comes, and where the view makes updates of such two, they are an ``update_preimage`` and an
``update_postimage``. What goes stands first, then updates, then what comes.

Cost: rows that pieces bring and take again are found when they are as many as the rest, so that memory is for about
twice the delta, and each row is looked at O(log(pieces)) times.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from livejoin.database import View
from livejoin.database.row_words import groups, row_words
from livejoin.database.versions.pairs import paired
from livejoin.database.versions.rolling import comes
from livejoin.dataflow.deltas.cancellation import net_rows
from livejoin.schema import CHANGE_TYPE
from livejoin.state.codec import Codec

_FEW = 1 << 16  # rows that wait at least before they are netted


def can_be_netted(view: View) -> bool:
    """Whether it is known which rows of the view are updates of each other: by columns that it shows."""
    return all(column < len(view.schema) for column in view._node.plan.replaced_by or ())


class NetDelta:
    """The delta of a view, which grows piece by piece; mutable.

    Args:
        view: The view, which `can_be_netted`.
    """

    def __init__(self, view: View) -> None:
        self._view = view
        self._parts: list[pa.Table] = []
        self._waiting = 0
        self._net = 0

    @property
    def nbytes(self) -> int:
        """Bytes of the rows so far."""
        return sum(part.nbytes for part in self._parts)

    def add(self, delta: pa.Table) -> None:
        """Bring the delta of the next piece."""
        if not delta.num_rows:
            return
        self._parts.append(delta)
        self._waiting += delta.num_rows
        if self._waiting > max(_FEW, self._net):
            self._cancel()

    def table(self) -> pa.Table:
        """The delta, in order."""
        whole = self._cancel()
        there = comes(whole).to_numpy(zero_copy_only=False)
        if there.all():
            return self._as(whole, "insert")
        if not there.any():
            return self._as(whole, "delete")
        whole = self._with_kinds(whole, pc.if_else(pa.array(there), "insert", "delete"))
        replaced = self._view._node.plan.replaced_by
        if replaced is None:
            return whole.take(pa.array(np.argsort(there, kind="stable")))
        key = list(replaced)
        types = [self._view.types[column] for column in key]
        whole = paired(whole, key, types)
        kinds = whole[CHANGE_TYPE]
        is_image = pc.is_in(kinds, pa.array(["update_preimage", "update_postimage"], kinds.type))
        rank = np.where(is_image.to_numpy(zero_copy_only=False), 1, np.where(there, 2, 0))
        order, begins = groups(row_words(whole.select(key), types, Codec()))
        group = np.empty(order.shape[0], np.int64)
        group[order] = np.repeat(np.arange(begins.shape[0]), np.diff(np.append(begins, order.shape[0])))
        return whole.take(pa.array(np.lexsort((there, group, rank))))

    def _cancel(self) -> pa.Table:
        """All rows so far as one table, without those that cancel."""
        whole = pa.concat_tables(self._parts) if self._parts else self._view.delta_schema.empty_table()
        there = comes(whole).to_numpy(zero_copy_only=False)
        if self._waiting and there.any() and not there.all():
            types = self._view.types
            words = [*row_words(whole.select(range(len(types))), types, Codec())]
            whole = whole.filter(pa.array(net_rows(words, np.where(there, 1, -1), np.zeros_like(there, np.int64))))
        self._parts, self._waiting, self._net = [whole], 0, whole.num_rows
        return whole

    def _as(self, rows: pa.Table, kind: str) -> pa.Table:
        """Rows that are all of one kind; those of a delta that are are left as they are."""
        if pc.all(pc.equal(rows[CHANGE_TYPE], kind)).as_py() in (True, None):
            return rows
        return self._with_kinds(rows, pa.repeat(pa.scalar(kind), rows.num_rows))

    def _with_kinds(self, rows: pa.Table, kinds: pa.Array | pa.ChunkedArray) -> pa.Table:
        place = rows.schema.get_field_index(CHANGE_TYPE)
        return rows.set_column(place, rows.schema.field(place), kinds.cast(rows.schema.field(place).type))
