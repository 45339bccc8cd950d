"""Pointers: what arrays are inside compiled code, where they are handed from function to function.

A pointer has no reference count and no wraparound, which made passing thirty separate arrays 2.6 to 4.7 times slower.
With ``NUMBA_BOUNDSCHECK=1`` it knows its length, and an access outside of it, also before its begin, is an IndexError;
without, it is unchecked. Without the JIT there are no pointers.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numba
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import intrinsic, lower_builtin, models, register_model

from livejoin.kernels.compiling.rules import FIRST

_CHECKED = bool(numba.config.BOUNDSCHECK)  # type: ignore[attr-defined]


class PointerType(types.Type):
    """Numba's type of a pointer to values of a type."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype
        super().__init__(name=f"Pointer({dtype})")


_WORDS = PointerType(types.int64)


if _CHECKED:

    @register_model(PointerType)
    class _CheckedModel(models.StructModel):
        def __init__(self, dmm: Any, fe_type: Any) -> None:
            members = [("data", types.CPointer(fe_type.dtype)), ("size", types.intp)]
            super().__init__(dmm, fe_type, members)

else:

    @register_model(PointerType)
    class _Model(models.PrimitiveModel):
        def __init__(self, dmm: Any, fe_type: Any) -> None:
            bits = ir.IntType(fe_type.dtype.bitwidth)
            super().__init__(dmm, fe_type, bits.as_pointer())


def _make(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    native = context.make_array(signature.args[0])(context, builder, args[0])
    made = signature.return_type
    data = builder.bitcast(native.data, ir.IntType(made.dtype.bitwidth).as_pointer())
    if not _CHECKED:
        return data
    pair = cgutils.create_struct_proxy(made)(context, builder)
    pair.data, pair.size = data, native.nitems
    return pair._getvalue()


def _place(context: Any, builder: Any, kind: PointerType, pointer: Any, index: Any) -> Any:
    """The address of a value."""
    if not _CHECKED:
        return cgutils.gep(builder, pointer, index)
    pair = cgutils.create_struct_proxy(kind)(context, builder, value=pointer)
    cgutils.do_boundscheck(context, builder, index, pair.size)
    return cgutils.gep(builder, pair.data, index)


def _read(context: Any, builder: Any, line: Any, place: int) -> Any:
    """The pointer whose address stands at a place of a line, and its length behind it."""

    def place_of(at: int) -> Any:
        return _place(context, builder, _WORDS, line, context.get_constant(types.int64, at))

    data = builder.load(builder.bitcast(place_of(place), ir.IntType(_WORDS.dtype.bitwidth).as_pointer().as_pointer()))
    if not _CHECKED:
        return data
    pair = cgutils.create_struct_proxy(_WORDS)(context, builder)
    pair.data, pair.size = data, builder.load(place_of(place + 1))
    return pair._getvalue()


def _pointer_of(typingctx: Any, array: Any) -> Any:
    return PointerType(array.dtype)(array), _make


def _words_of(typingctx: Any, array: Any) -> Any:
    return _WORDS(array), _make


pointer: Any = intrinsic(_pointer_of)
"""A pointer to the values of a contiguous array; for compiled code."""

word_pointer: Any = intrinsic(_words_of)
"""The same to 64-bit words, signed ones."""


def fields_of(kind: type, numbers: Sequence[bool]) -> Any:
    """What makes a NamedTuple of pointers to words, and of numbers, of a line; for compiled code.

    Args:
        kind: The NamedTuple.
        numbers: Which of its fields are numbers. Each field has two words in the line, see
            `livejoin.kernels.memory.addresses`.
    """

    def made_of(typingctx: Any, line: Any) -> Any:
        made = types.BaseTuple.from_types([types.int64 if number else _WORDS for number in numbers], kind)

        def read(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            words = _make(context, builder, _WORDS(line), args)
            fields = []
            for at, number in enumerate(numbers):
                place = context.get_constant(types.int64, 2 * at)
                fields.append(
                    builder.load(_place(context, builder, _WORDS, words, place))
                    if number
                    else _read(context, builder, words, 2 * at)
                )
            return context.make_tuple(builder, made, fields)

        return made(line), read

    return intrinsic(made_of)


@infer_global(operator.getitem)
class _Item(AbstractTemplate):
    """The type of ``pointer[index]``, asked before what Numba knows of other types."""

    metadata: Any = FIRST

    def generic(self, args: Any, kws: Any) -> Any:
        pointer, index = args
        if isinstance(pointer, PointerType) and isinstance(index, types.Integer):
            return signature(pointer.dtype, pointer, types.int64)
        return None


@infer_global(operator.setitem)
class _Change(AbstractTemplate):
    """The typing of ``pointer[index] = value``."""

    metadata: Any = FIRST

    def generic(self, args: Any, kws: Any) -> Any:
        pointer, index, _ = args
        if isinstance(pointer, PointerType) and isinstance(index, types.Integer):
            return signature(types.void, pointer, types.int64, pointer.dtype)
        return None


@lower_builtin(operator.getitem, PointerType, types.Integer)
def _load(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    return builder.load(_place(context, builder, signature.args[0], *args))


@lower_builtin(operator.setitem, PointerType, types.Integer, types.Any)
def _store(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    builder.store(args[2], _place(context, builder, signature.args[0], *args[:2]))
    return context.get_dummy_value()
