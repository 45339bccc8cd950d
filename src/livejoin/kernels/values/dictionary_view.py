"""The dictionaries of strings and wide decimals as kernels see them: five arrays to read from.

They are the heap, starts and lengths of the strings, then the heap and starts of the wide decimals, see
`livejoin.kernels.values.strings`. Inside compiled code they are bare pointers, without reference counts and bounds
checks, like an arena (`livejoin.kernels.memory.arena`): as arrays, handed from function to function, they made an
ordered index half as fast. Without the JIT they stay arrays.
"""

from __future__ import annotations

import operator
from typing import Any

import numba
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic, models, overload, register_model

from livejoin.kernels.jit import inlined


class PointerType(types.Type):
    """Numba's type of a pointer to values of a type."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype
        super().__init__(name=f"Pointer({dtype})")


@register_model(PointerType)
class _PointerModel(models.PrimitiveModel):
    def __init__(self, dmm: Any, fe_type: Any) -> None:
        super().__init__(dmm, fe_type, ir.IntType(fe_type.dtype.bitwidth).as_pointer())  # type: ignore[no-untyped-call]


def _pointer_of(typingctx: Any, array: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return context.make_array(signature.args[0])(context, builder, args[0]).data

    return PointerType(array.dtype)(array), codegen


_pointer: Any = intrinsic(_pointer_of)


def _load_of(typingctx: Any, pointer: Any, index: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load(cgutils.gep(builder, args[0], args[1]))  # type: ignore[no-untyped-call]

    return pointer.dtype(pointer, types.int64), codegen


_load: Any = intrinsic(_load_of)


@overload(operator.getitem, strict=False)
def _getitem(pointer: Any, index: Any) -> Any:
    if isinstance(pointer, PointerType) and isinstance(index, types.Integer):
        return lambda pointer, index: _load(pointer, index)
    return None


if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]

    def pointers(texts: Any) -> Any:
        """Pointers to the arrays of the dictionaries."""
        return texts

else:

    @inlined
    def pointers(texts: Any) -> Any:
        """Pointers to the arrays of the dictionaries."""
        return (_pointer(texts[0]), _pointer(texts[1]), _pointer(texts[2]), _pointer(texts[3]), _pointer(texts[4]))
