"""Which columns can be joined directly, by their types.

Equal values of two columns have equal codes if both are integers of any width, decimals of one scale, or of one other
type (`SqlType.join_class`). Payload is not joined. SQL compares other types after a conversion, which is a computed
column (see `equalities`).
"""

from __future__ import annotations

from livejoin.sql.resolved.part import Equality
from livejoin.sql.resolved.query import Scope


def can_join(equality: Equality, scope: Scope) -> bool:
    """Whether the types of two columns have equal codes for equal values."""
    left, right = (scope.declared(ref).type for ref in (equality.left, equality.right))
    return left.join_class == right.join_class and not left.is_payload
