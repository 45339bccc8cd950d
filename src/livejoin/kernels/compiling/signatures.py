"""The signatures for which kernels are called, as `signatures.txt` beside this file lists them.

A line is a kernel and the types of its arguments: ``values.nulls.count_nulls(array(int64, 1d, C))``. The list is what
the tests have compiled; ``tools/kernel_signatures.py`` adds to it. A signature that is missing is compiled when it
is first called for; nothing else depends on the list. The classes of named tuples are in the `layout` beside a kernel.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from numba.core import types

_ARRAY = re.compile(r"(readonly )?array\((\w+), (\d)d, ([CFA])\)")
_SAME = re.compile(r"UniTuple\((.*) x (\d+)\)")
_TUPLE = re.compile(r"(\w+)\((.*)\)")
_PACKAGE = __name__.rpartition(".")[0].rpartition(".")[0]


def described(function: Any, arguments: Sequence[Any]) -> str:
    """The line of a kernel, which is a plain function, and of the types of its arguments."""
    name = f"{function.__module__}.{function.__qualname__}".removeprefix(f"{_PACKAGE}.")
    return f"{name}({', '.join(map(str, arguments))})"


def declared() -> Iterator[tuple[Any, tuple[Any, ...]]]:
    """Each kernel with each of its signatures; the modules of kernels are imported."""
    for line in Path(__file__).with_name("signatures.txt").read_text(encoding="utf-8").splitlines():
        name, _, arguments = line.removesuffix(")").partition("(")
        module, _, function = f"{_PACKAGE}.{name}".rpartition(".")
        yield getattr(import_module(module), function), parsed(arguments, module)


def parsed(arguments: str, module: str = "") -> tuple[Any, ...]:
    """Types of the text of a line. The kernel's module, or its package's layout, has the classes of named tuples.

    >>> parsed("readonly array(int32, 1d, C), Tuple(int64, bool), UniTuple(int64 x 3)")
    (Array(int32, 1, 'C', True, aligned=True), Tuple((int64, bool)), UniTuple(int64, 3))
    """
    return tuple(_type_of(one, module) for one in _apart(arguments))


def _apart(text: str) -> Iterator[str]:
    """Cut at the commas that are in no brackets."""
    begin = depth = 0
    for at, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            yield text[begin:at].strip()
            begin = at + 1
    if text[begin:]:
        yield text[begin:].strip()


def _type_of(text: str, module: str) -> Any:
    if array := _ARRAY.fullmatch(text):
        fixed, kind, dimensions, layout = array.groups()
        order: Any = layout
        return types.Array(_scalar(kind), int(dimensions), order, readonly=bool(fixed))
    if same := _SAME.fullmatch(text):
        return types.UniTuple(_type_of(same[1], module), int(same[2]))
    if found := _TUPLE.fullmatch(text):
        name, members = found[1], parsed(found[2], module)
        if name == "Tuple":
            return types.Tuple(members)
        return types.NamedTuple(members, _class_of(name, module))
    return _scalar(text)


def _class_of(name: str, module: str) -> Any:
    """The class of a named tuple that a kernel of a module takes."""
    layout = f"{module.rpartition('.')[0]}.layout"
    places = [one for one in (module, layout) if one and find_spec(one) is not None]
    found = next((getattr(import_module(one), name) for one in places if hasattr(import_module(one), name)), None)
    if found is None:
        msg = f"no named tuple {name} is declared in {module} or {layout}"
        raise AttributeError(msg)
    return found


def _scalar(name: str) -> Any:
    return types.boolean if name == "bool" else getattr(types, name)
