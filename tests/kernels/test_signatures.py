"""The list of signatures that a wheel has kernels for, against the kernels."""

from __future__ import annotations

import pkgutil
from importlib import import_module
from pathlib import Path

import pytest

from livejoin import kernels
from livejoin.kernels.compiling import signatures
from livejoin.kernels.compiling.linking import Kernel

LINES = Path(signatures.__file__).with_name("signatures.txt").read_text(encoding="utf-8").splitlines()


def test_each_line_is_read_back_as_it_is_written() -> None:
    assert [signatures.described(kernel.py_func, types) for kernel, types in signatures.declared()] == LINES


def test_no_kernel_is_forgotten() -> None:
    """A kernel without a signature would be compiled in the process of each user. `make test` and the tool add it."""
    names = [found.name for found in pkgutil.walk_packages(kernels.__path__, kernels.__name__ + ".")]
    functions = {
        f"{value.__module__}.{value.__name__}".removeprefix("livejoin.kernels.")
        for name in names
        for value in vars(import_module(name)).values()
        if isinstance(value, Kernel) and value.__module__.startswith("livejoin.kernels.")
    }
    assert functions == {line.partition("(")[0] for line in LINES}


def test_arguments_must_be_as_many_as_the_kernel_takes() -> None:
    for kernel, types in signatures.declared():
        assert len(types) == kernel.py_func.__code__.co_argcount


@pytest.mark.parametrize("text", ["array(int64, 1d)", "Unknown(int64)", "int65"])
def test_another_text_is_refused(text: str) -> None:
    with pytest.raises(AttributeError):
        signatures.parsed(text, "livejoin.kernels.transitions")
