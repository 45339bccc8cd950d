"""Bit operations on integers, and hashes, with Spark's types."""

from __future__ import annotations

from collections.abc import Callable

from livejoin.query.scalar import Constant, Function, Scalar
from livejoin.sql.scalars.coercion import accepted, common_type
from livejoin.sql.scalars.operands import (
    BIGINT,
    BOOLEAN,
    INT,
    Mismatch,
    Operand,
    Void,
    as_value,
    call,
    cast,
    is_kind,
    type_of,
)


def combined(function: Function) -> Callable[[Operand, Operand], Scalar]:
    """``&``, ``|`` and ``^`` of two integers, in the wider type; a string takes the type of the other operand."""

    def bound(left: Operand, right: Operand) -> Scalar:
        one, other = type_of(left), type_of(right)
        kind = INT if one == other == "VOID" else common_type(one, other)
        if not is_kind(kind or "VOID", "integer") or (is_kind(one, "string") and is_kind(other, "string")):
            msg = f"integers are wanted, and {one} and {other} are found"
            raise Mismatch(msg)
        return call(function, kind, cast(left, kind), cast(right, kind))  # type: ignore[arg-type]

    return bound


def inverted(value: Operand) -> Scalar:
    """``~`` of an integer."""
    kind = INT if type_of(value) == "VOID" else type_of(value)
    if not is_kind(kind, "integer"):
        msg = f"an integer is wanted, and {kind} is found"
        raise Mismatch(msg)
    return call("bit_not", kind, cast(value, kind))  # type: ignore[arg-type]


def shifted(function: Function) -> Callable[[Operand, Operand], Scalar]:
    """A shift of a BIGINT; other numbers are shifted as INT."""

    def bound(value: Operand, by: Operand) -> Scalar:
        kind = BIGINT if type_of(value) == BIGINT else INT
        return call(function, kind, accepted(value, kind), accepted(by, INT))

    return bound


def bit_count(value: Operand) -> Scalar:
    """BIT_COUNT: the number of bits that are set, of 64, in an integer or a BOOLEAN."""
    kind = INT if type_of(value) == "VOID" else type_of(value)
    if not is_kind(kind, "integer", "boolean"):
        msg = f"an integer or a BOOLEAN is wanted, and {kind} is found"
        raise Mismatch(msg)
    return call("bit_count", INT, cast(value, kind))  # type: ignore[arg-type]


def hashed(function: Function) -> Callable[..., Scalar]:
    """HASH and XXHASH64, of values of any types."""

    def bound(*values: Operand) -> Scalar:
        found = [as_value(value) for value in values]
        kind = INT if function == "murmur_hash" else BIGINT
        return call(function, kind, *(Constant(None, BOOLEAN) if isinstance(v, Void) else v for v in found))

    return bound
