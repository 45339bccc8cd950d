"""How helpers become part of kernels: they are compiled to code that is linked, and only kernels to machine code.

Numba makes machine code of every function, together with all that it calls: what lies six calls below a kernel is
optimised seven times, and six of the results are thrown away. Here a helper ends as code that is not optimised yet, and
the kernel is optimised once, with all its helpers. That took half of the time away (`livejoin.kernels.warm`: 32 seconds
became 16), and kernels are as fast as before.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, update_wrapper
from typing import Any, cast

from numba import _dynfunc  # type: ignore[attr-defined]
from numba.core import types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, DefaultPassBuilder
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.environment import lookup_environment
from numba.core.registry import CPUDispatcher
from numba.core.typed_passes import NativeLowering

from livejoin.aside import aside, no_collections
from livejoin.kernels.compiling.python_lock import KernelLower
from livejoin.kernels.compiling.shipped import KernelCache


class _HelperLibrary(JITCodeLibrary):
    """The code of a helper and of all that it calls, to be linked."""

    def finalize(self) -> None:
        """Link what it calls, and nothing else: nothing is optimised, nothing becomes machine code."""
        self._raise_if_finalized()
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class _HelperLowering(NativeLowering):
    """Numba's last step for a helper. What it is known by as a callee has no address, as nobody calls it there."""

    _name = "livejoin_helper_lowering"

    def run_pass(self, state: Any) -> bool:
        state.library = _HelperLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        super().run_pass(state)
        lowered = state["cr"]
        module, name = lowered.fndesc.lookup_module(), lowered.fndesc.qualname
        callee = _dynfunc.make_function(module, name, "", 0, lowered.env, (state.library,))
        state.targetctx.insert_user_function(callee, lowered.fndesc, [state.library])
        state["cr"] = lowered._replace(cfunc=callee)
        return True


@register_pass(mutates_CFG=True, analysis_only=False)
class _KernelLowering(NativeLowering):
    """Numba's last step for a kernel, and the environments of its helpers, which have no machine code to find them."""

    _name = "livejoin_kernel_lowering"

    @property
    def lowering_class(self) -> type:
        """What makes its code."""
        return KernelLower

    def run_pass(self, state: Any) -> bool:
        super().run_pass(state)
        for variable in state.library._final_module.global_variables:
            environment = lookup_environment(variable.name)
            if environment is not None:
                state.library.codegen.set_env(variable.name, environment)
        return True


def _with_lowering(lowering: type, state: Any) -> list[PassManager]:
    """Numba's steps, the last of them replaced."""
    steps = DefaultPassBuilder.define_nopython_pipeline(state)
    steps.passes = [(lowering if step is NativeLowering else step, text) for step, text in steps.passes]
    steps.finalize()
    return [steps]


class _HelperCompiler(Compiler):
    """Compiles a helper to code that is linked."""

    def define_pipelines(self) -> list[PassManager]:
        return _with_lowering(_HelperLowering, self.state)


class KernelCompiler(Compiler):
    """Compiles a kernel with all its helpers."""

    def define_pipelines(self) -> list[PassManager]:
        return _with_lowering(_KernelLowering, self.state)

    def compile_extra(self, func: Callable[..., Any]) -> Any:
        """Compile without looking for garbage, which took a seventh of the time and found little."""
        with no_collections():
            return super().compile_extra(func)


class Kernel(CPUDispatcher):
    """A function that Python calls. It is compiled, or loaded from the cache, where no signal arrives.

    An interrupt inside of that leaves Numba unusable for the rest of the process: generators read its registries, and
    one that was cut off ends every later compilation with `StopIteration`.
    """

    def compile(self, sig: Any) -> Any:
        """Compile it for a signature, or load it; also called where another kernel calls this one."""
        return aside(self._compile_in_turn, sig)

    def _compile_in_turn(self, sig: Any) -> Any:
        """As `compile`; where the cache lacks it, no other process compiles it meanwhile."""
        try:
            return super().compile(sig)
        finally:
            cache: Any = self._cache  # type: ignore[attr-defined]  # Numba is not typed
            if isinstance(cache, KernelCache):
                cache.give_back()

    def _compile_for_args(self, *args: Any, **named: Any) -> Any:
        """What Numba calls where it has no code for the arguments of a call."""
        return aside(super()._compile_for_args, *args, **named)  # type: ignore[misc]  # Numba is not typed


class Helper:
    """A function that kernels call. Numba hears of it when it compiles the first of them.

    There are five times as many helpers as kernels, Numba takes 0.2 ms for each, and a process that loads its kernels
    needs none. Where Python calls a helper, as tests and checks do, it is compiled for that alone.

    Args:
        function: The function as it is written.
        options: Options of `numba.njit`.

    Attributes:
        py_func: The function, under the name that Numba has for it.
    """

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        self.py_func = function
        self._options = options
        update_wrapper(self, function)

    def __call__(self, *args: Any, **named: Any) -> Any:
        return self._for_python(*args, **named)

    @cached_property
    def _for_python(self) -> Any:
        return Kernel(self.py_func, targetoptions={"nopython": True, "boundscheck": False})

    @cached_property
    def _for_kernels(self) -> Any:
        """Held here, as its type holds it by a weak reference alone."""
        return _HelperDispatcher(self.py_func, targetoptions=self._options, pipeline_class=_HelperCompiler)

    @property
    def _numba_type_(self) -> Any:
        """What Numba asks any object for that stands in a kernel."""
        return types.Dispatcher(self._for_kernels)


class _HelperDispatcher(CPUDispatcher):
    """A helper as Numba compiles it."""

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """How a call in a kernel is compiled: one code for all values, also where an argument is a constant."""
        return super().get_call_template(tuple(types.unliteral(one) for one in args), kws)


def as_kernel(function: Callable[..., Any], cache: Any, **options: Any) -> Kernel:
    """A kernel that is looked for and kept in a cache; the options are those of `numba.njit`."""
    made: Any = Kernel(function, targetoptions={"nopython": True, **options}, pipeline_class=KernelCompiler)
    made._cache = cache
    return cast(Kernel, made)


def as_helper(function: Callable[..., Any], **options: Any) -> Helper:
    """A helper; the options are those of `numba.njit`."""
    return Helper(function, {"nopython": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True, **options})
