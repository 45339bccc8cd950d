"""Which columns can be joined as they are, by their types.

Equal values of them have equal codes: both are integers of any width, both decimals of one scale, or both of one other
type (`SqlType.join_class`). SQL compares others after a conversion, which is a computed column (see `equalities`).
"""

from __future__ import annotations

from livejoin.sql.names.from_clause import Equality
from livejoin.sql.names.scope import Scope


def can_join(equality: Equality, scope: Scope) -> bool:
    """Whether the types of two columns have equal codes for equal values."""
    return scope.declared(equality.left).type.join_class == scope.declared(equality.right).type.join_class
