"""Kernels let go of Python's lock while they run, unless the thread that calls them has asked to keep it.

A small commit is some ten kernels of a microsecond. Where other threads wait for Python's lock, a kernel that lets go
of it may lose it: to whom waits first, and for long if the system has taken that thread off its core. So a small commit
keeps it. Whoever runs long lets go, so that other threads go on meanwhile.

Numba decides this when a kernel is compiled. Here each kernel is called through a few instructions that ask: they
compare a variable, which names the thread that keeps the lock, with the thread that they run in.
"""

from __future__ import annotations

from threading import get_ident
from typing import Any

import numpy as np
from llvmlite import binding, ir
from numba.core.callwrapper import PyCallWrapper
from numba.core.lowering import Lower

_KEEPER = "livejoin_thread_that_keeps_the_lock"
_keeper = np.zeros(1, np.uint64)
_POINTER = ir.IntType(8).as_pointer()
_IDENT = ir.IntType(64)

binding.add_symbol(_KEEPER, _keeper.ctypes.data)  # before any kernel is loaded: LLVM ends a process at a missing symbol


def keep() -> None:
    """Let kernels that this thread calls keep Python's lock, until `give_back`, or another thread asks for the same.

    Cost: 0.1 microseconds. What is kept too long or too short costs time and nothing else.
    """
    _keeper[0] = get_ident()


def give_back() -> None:
    """Let kernels let go of Python's lock again, in all threads."""
    _keeper[0] = 0


class KernelLower(Lower):
    """Numba's step from its own code to LLVM's, for a kernel that Python calls."""

    def create_cpython_wrapper(self, release_gil: bool = False) -> None:
        """Make what Python calls: it unpacks the arguments, and calls the kernel with or without Python's lock."""
        context: Any = self.context
        module = context.create_module("wrapper")
        kind = context.call_conv.get_function_type(self.fndesc.restype, self.fndesc.argtypes)
        called = ir.Function(module, kind, self.fndesc.llvm_func_name)
        if release_gil:
            called = _asking(module, called)
        make: Any = PyCallWrapper
        make(context, module, called, self.fndesc, self.env, call_helper=self.call_helper, release_gil=False).build()
        self.library.add_ir_module(module)


def _asking(module: ir.Module, kernel: ir.Function) -> ir.Function:
    """A function that calls a kernel, and lets go of Python's lock around it unless this thread keeps it."""
    asking = ir.Function(module, kernel.function_type, f"{kernel.name}.asking")
    asking.linkage = "internal"
    ident = ir.Function(module, ir.FunctionType(_IDENT, []), "pthread_self")
    save = ir.Function(module, ir.FunctionType(_POINTER, []), "PyEval_SaveThread")
    restore = ir.Function(module, ir.FunctionType(ir.VoidType(), [_POINTER]), "PyEval_RestoreThread")
    keeper = ir.GlobalVariable(module, _IDENT, _KEEPER)
    builder = ir.IRBuilder(asking.append_basic_block("entry"))
    nobody = ir.Constant(_POINTER, None)
    lets_go = builder.icmp_unsigned("!=", builder.load(keeper), builder.call(ident, []))
    entry = builder.block
    with builder.if_then(lets_go):
        saved, letting_go = builder.call(save, []), builder.block
    state = builder.phi(_POINTER)
    state.add_incoming(nobody, entry)
    state.add_incoming(saved, letting_go)
    found = builder.call(kernel, asking.args, attrs=("noinline",))  # the kernel's code stays where it is
    with builder.if_then(builder.icmp_unsigned("!=", state, nobody)):
        builder.call(restore, [state])
    builder.ret(found)
    return asking
