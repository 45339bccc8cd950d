"""Functions of text and bytes with own code for their arguments."""

from __future__ import annotations

from collections.abc import Callable

from livejoin.query.scalar import Constant, Function, Scalar
from livejoin.sql.scalars.arithmetic import binary
from livejoin.sql.scalars.coercion import accepted
from livejoin.sql.scalars.operands import (
    BIGINT,
    BINARY,
    INT,
    STRING,
    Operand,
    Unsayable,
    call,
    cast,
    is_number,
    type_of,
)


def concatenated(*values: Operand) -> Operand:
    """CONCAT: text, unless all arguments are bytes."""
    if not values:
        return Constant("", STRING)
    kind = BINARY if all(type_of(value) == BINARY for value in values) else STRING
    texts = [accepted(value, kind) for value in values]
    return texts[0] if len(texts) == 1 else call("concatenate", kind, *texts)


def joined(separator: Operand, *values: Operand) -> Scalar:
    """CONCAT_WS: the values that are not NULL, with the separator between them."""
    between, empty = accepted(separator, STRING), Constant("", STRING)
    texts = [accepted(value, STRING) for value in values]
    parts = [call("coalesce", STRING, call("concatenate", STRING, between, text), empty) for text in texts]
    begin: Scalar = call("add", INT, call("length", INT, between), Constant(1, INT))
    if isinstance(between, Constant) and isinstance(between.value, str):
        begin = Constant(len(between.value) + 1, INT)
    return call("substring", STRING, call("concatenate", STRING, empty, *parts), begin)


def _as_run(value: Operand) -> Scalar:
    """An argument as text or bytes: other types become STRING."""
    return accepted(value, BINARY if type_of(value) == BINARY else STRING)


def length(value: Operand) -> Operand:
    run = _as_run(value)
    return call("byte_length" if run.type == BINARY else "length", INT, run)


def byte_length(value: Operand) -> Scalar:
    return call("byte_length", INT, _as_run(value))


def part_of(function: Function) -> Callable[..., Operand]:
    """A function that takes a part of a text or of bytes, by numbers."""

    def part(value: Operand, *places: Operand) -> Scalar:
        run = _as_run(value)
        return call(function, run.type, run, *(accepted(place, INT) for place in places))

    return part


def padded(function: Function) -> Callable[..., Operand]:
    def padded(value: Operand, length: Operand, *pad: Operand) -> Scalar:
        if type_of(value) == BINARY:
            raise Unsayable("LPAD" if function == "pad_left" else "RPAD", "it fills strings; cast to STRING")
        return call(
            function, STRING, accepted(value, STRING), accepted(length, INT), *(accepted(p, STRING) for p in pad)
        )

    return padded


def hexadecimal(value: Operand) -> Scalar:
    """HEX of bytes, of a text's UTF-8, or of a number's 64 bits."""
    if is_number(type_of(value)):
        return call("hexadecimal", STRING, accepted(value, BIGINT))
    return call("hexadecimal", STRING, cast(_as_run(value), BINARY))


def located(substring: Operand, text: Operand, *start: Operand) -> Operand:
    """LOCATE and POSITION: the text is the second argument."""
    values = [accepted(text, STRING), accepted(substring, STRING), *(accepted(value, INT) for value in start)]
    return call("position", INT, *values)


def bit_length(value: Operand) -> Operand:
    return binary("multiply", byte_length(value), Constant(8, INT))


def replaced_matches(text: Operand, pattern: Operand, by: Operand, *start: Operand) -> Scalar:
    if start and not (isinstance(start[0], Constant) and start[0].value == 1):
        raise Unsayable("REGEXP_REPLACE", "it begins with the first character; put substring before it")
    return call("replace_matches", STRING, *(accepted(value, STRING) for value in (text, pattern, by)))


def item_of_split(text: Operand, pattern: Operand, number: Operand) -> Scalar:
    """``split(text, pattern)[number]``."""
    return call("split_item", STRING, accepted(text, STRING), accepted(pattern, STRING), accepted(number, INT))
