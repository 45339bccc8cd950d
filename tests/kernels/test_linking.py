"""A helper is part of the kernels that call it, and of nothing else."""

from __future__ import annotations

import gc
from typing import Any
from unittest.mock import patch

import numba
import numpy as np
import pytest
from numba.core.codegen import CPUCodeLibrary

from livejoin.kernels.compiling.linking import KernelCompiler
from livejoin.kernels.jit import helper, inlined


def kernel(function: Any) -> Any:
    """A kernel that no cache has."""
    return numba.njit(pipeline_class=KernelCompiler, boundscheck=False, nogil=True)(function)


def tower() -> tuple[Any, Any]:
    """A kernel over four helpers, each of which calls the next."""

    @helper
    def lowest(array: Any, by: int) -> int:
        return array.sum() + by

    @inlined
    def low(array: Any, by: int) -> int:
        return lowest(array, by) * 2

    @helper
    def high(array: Any, by: int) -> int:
        return low(array, by) - 1

    @helper
    def highest(array: Any, by: int) -> int:
        return high(array, by) if by < 3 else high(array, 0) + lowest(array, -1)

    @kernel
    def top(array: Any, by: int) -> int:
        return highest(array, by) + highest(array, 7)

    return top, lowest


def test_machine_code_is_made_once() -> None:
    top, lowest = tower()
    made = []
    finalize = CPUCodeLibrary._finalize_final_module

    def counted(library: Any) -> None:
        made.append(library.name)
        finalize(library)

    tower()[0](np.arange(3), 1)  # what Numba makes for itself is made now
    with patch.object(CPUCodeLibrary, "_finalize_final_module", counted):
        assert top(np.arange(3), 1) == (2 * (3 + 1) - 1) + (2 * 3 - 1 + 3 - 1)
    assert [name.rpartition(".")[2] for name in made] == ["top"]
    assert len(lowest._for_kernels.overloads) == 1  # also where it is given a constant


def test_python_may_call_a_helper() -> None:
    _, lowest = tower()
    assert lowest(np.arange(4), 1) == 7
    assert lowest(np.arange(4.0), 0.5) == 6.5


def test_what_a_helper_raises_arrives_in_python() -> None:
    @helper
    def root(value: int) -> int:
        if value < 0:
            raise ValueError("less than nothing", value)
        if value == 0:
            raise ZeroDivisionError
        return int(np.sqrt(value))

    @kernel
    def roots(value: int) -> int:
        return root(value) + root(value + 1)

    assert roots(15) == 7
    with pytest.raises(ValueError, match="less than nothing") as raised:
        roots(-2)
    assert raised.value.args[1] == -2
    with pytest.raises(ZeroDivisionError):
        roots(-1 + 1)


def test_a_helper_may_print(capfd: pytest.CaptureFixture[str]) -> None:
    """Which takes Python objects, and so its environment."""

    @helper
    def told(value: int) -> int:
        print("told", value)
        return value

    @kernel
    def tell(value: int) -> int:
        return told(value) + 1

    assert tell(4) == 5
    assert "told 4" in capfd.readouterr().out


@pytest.mark.parametrize("before", [True, False])
def test_the_collector_is_left_as_it_was(before: bool) -> None:
    seen = []

    @helper
    def shifted(value: Any) -> Any:
        return value + 1

    @kernel
    def twice(value: Any) -> Any:
        return shifted(shifted(value))

    collects = gc.isenabled()
    try:
        (gc.enable if before else gc.disable)()
        assert twice(1) == 3
        seen.append(gc.isenabled())
        with pytest.raises(numba.TypingError):
            twice("a")
        seen.append(gc.isenabled())
    finally:
        (gc.enable if collects else gc.disable)()
    assert seen == [before, before]
