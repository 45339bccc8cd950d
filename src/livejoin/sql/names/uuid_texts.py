"""Constants that UUID columns are compared with, in the form that the columns have.

Law: ``k = 'F81D...'`` holds for the row whose UUID this is, in whichever case it is written, with or without hyphens. A
text that is no UUID stays as it is, and equals none.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from livejoin.schema.uuids import uuid_text
from livejoin.sql.scalars.labels import STANDS_FOR

_PAIRS = (exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.NullSafeNEQ)


def fit_uuids(node: exp.Expr, is_uuid: Callable[[exp.Expr], bool]) -> None:
    """Rewrite the constants of ``=``, ``<>``, ``<=>`` and IN beside UUID columns in a resolved expression.

    Args:
        node: The expression, which is changed.
        is_uuid: Whether a node is a UUID column.
    """
    for part in list(node.find_all(*_PAIRS, exp.In)):
        if isinstance(part, exp.In):
            if is_uuid(part.this.unnest()):
                part.set("expressions", [_fitted(item) for item in part.expressions])
            continue
        for column, other in (("this", "expression"), ("expression", "this")):
            if is_uuid(part.args[column].unnest()):
                part.set(other, _fitted(part.args[other]))


def _fitted(node: exp.Expr) -> exp.Expr:
    found = uuid_text(node.name) if isinstance(node, exp.Literal) and node.is_string else None
    if found is None or found == node.name:
        return node
    fitted = exp.Literal.string(found)
    fitted.meta.update(node.meta)
    fitted.meta.setdefault(STANDS_FOR, node.sql("spark"))
    return fitted
