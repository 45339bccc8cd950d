"""Compiles the kernels that a commit and its deltas take, or what undoes it, or loads them; once a process.

What only some views take, as groups or bags, and what reads or replays is compiled when it is first used. Both are
announced.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numba
from numba.core import types
from numba.core.event import Event, Listener, register

from livejoin.aside import aside, is_ending, no_collections
from livejoin.kernels import ahead, route
from livejoin.kernels.compiling.shipped import shipped
from livejoin.kernels.compiling.signatures import declared, described
from livejoin.kernels.compiling.telling import say
from livejoin.kernels.crown import maintain
from livejoin.kernels.join import events, masks, records
from livejoin.kernels.relation import rows, settling, stage_commit, stage_few
from livejoin.kernels.values import arrow_message, change_types, nulls, strings

_INT = types.int64
_BOOL = types.boolean
_LINE = types.Array(_INT, 1, "C")
_MATRIX = types.Array(_INT, 2, "C")
_SHORT = types.Array(types.int32, 1, "C")
_BYTES = types.Array(types.uint8, 1, "C")
_READ_SHORT = types.Array(types.int32, 1, "C", readonly=True)
_READ_BYTES = types.Array(types.uint8, 1, "C", readonly=True)
_SLOTS = types.Array(types.uint64, 1, "C")
_PAIRS = types.Array(types.int16, 1, "C")
_STAGING = (_LINE, _MATRIX, _LINE, _BOOL, _MATRIX, _LINE)  # the table, values, weights, ignore, touched, progress

_KERNELS: tuple[tuple[Any, tuple[Any, ...]], ...] = (
    (strings.fill_slots, (_LINE, _BYTES, _LINE, _SHORT, _SLOTS)),
    (strings.move_slots, (_SLOTS, _SHORT, _SLOTS)),
    (nulls.count_nulls, (_LINE,)),
    (change_types.write_signs, (_LINE, _LINE, _INT, _PAIRS, _PAIRS)),
    (change_types.write_versions, (_LINE, _LINE, _LINE)),
    (change_types.read_kinds, (_READ_SHORT, _READ_BYTES, _BYTES, _LINE, _LINE, _LINE)),
    (change_types.write_kinds, (types.Array(types.int8, 1, "C"), _BYTES, _LINE, _SHORT, _BYTES)),
    (arrow_message.write_message, (_MATRIX, _BYTES, _LINE, _LINE, _LINE, _LINE, _BYTES, _LINE, _LINE, _LINE)),
    (rows.rehash, (_LINE, _LINE, _INT, _INT)),
    (settling.net_events, (_LINE, _MATRIX, _INT, _MATRIX, _LINE)),
    (settling.finish_commit, (_LINE, _MATRIX, _INT)),
    (settling.undo, (_LINE, _MATRIX, _INT, _INT, _INT)),
    (stage_commit.stage_commit, _STAGING),
    (stage_few.stage_few, (*_STAGING, _MATRIX)),
    (masks.mask_rows, (_MATRIX, _LINE, _LINE, _LINE, _INT, _MATRIX, _LINE, _LINE)),
    (events.gather, (_LINE, _LINE, _LINE, _LINE, _LINE, _INT, _MATRIX)),
    (events.ascend, (_MATRIX,)),
    (events.deletions_first, (_MATRIX, _MATRIX)),
    (records.load, (_LINE, _LINE, _INT, _LINE, _LINE, _LINE, _INT)),
    (records.load_factors, (_LINE, _LINE, _INT, _LINE, _MATRIX)),
)

# It takes nearly as long as the others together.
_LARGEST: tuple[tuple[Any, tuple[Any, ...]], ...] = (
    (maintain.maintain, (_LINE, _LINE, _MATRIX, _LINE, _BOOL, _MATRIX, _MATRIX)),
)

_OF_CELLS: tuple[tuple[Any, tuple[Any, ...]], ...] = (
    (route.place, (_LINE, _SHORT, _LINE, _LINE, _LINE)),
    (route.gather, (_MATRIX, _LINE, _LINE, _MATRIX)),
    (route.route, (_MATRIX, _INT, _LINE, _LINE, _INT, _INT, _INT, _LINE, _INT, _SHORT, _SHORT, _LINE, _LINE)),
)


class _Announcer(Listener):
    """Says, once a group of kernels, that they are being compiled, and how long it took; mutable.

    Attributes:
        compiled: How many kernels were compiled.
    """

    def __init__(self) -> None:
        self.compiled = 0
        self.started = False
        self._told: set[str] = set()
        self._depth = 0
        self._begin = 0.0

    def on_start(self, event: Event) -> None:
        """A function begins to be compiled; a kernel's helpers are inside it."""
        module = _own_module(event)
        if not module:
            return
        if self._depth == 0:
            self.compiled += 1
            self._begin = time.perf_counter()
            if self.started and module not in self._told:
                self._told.add(module)
                say(f"compiling the kernels of {module.replace('_', ' ')}, once ...")
        self._depth += 1

    def on_end(self, event: Event) -> None:
        """A kernel was compiled."""
        module = _own_module(event)
        self._depth -= bool(module)
        seconds = time.perf_counter() - self._begin
        if module and self.started and self._depth == 0 and seconds >= _LONG:
            say(f"... {module.replace('_', ' ')} took {seconds:.1f} s")


_NOTICED = 1.0  # seconds after which it is said that kernels were loaded
_LONG = 2.0  # seconds after which it is said how far it is
_PACKAGE = __name__.rpartition(".")[0] + "."


def _own_module(event: Event) -> str:
    """The last part of the module's name if the function that is compiled is one of these kernels, else nothing."""
    module = str(event.data["dispatcher"].py_func.__module__)
    return module.removeprefix(_PACKAGE) if module.startswith(_PACKAGE) else ""


def ready(cells: bool = False) -> float:
    """Make the kernels ready to run and say on standard error what happened; later calls do nothing.

    What other views take is compiled meanwhile, and afterwards, by a process beside (`livejoin.kernels.ahead`).

    ``logging.getLogger("livejoin").setLevel(logging.WARNING)`` silences the lines.

    Args:
        cells: Also those that split joins into cells.

    Returns:
        Seconds it took: about 7 when the kernels are compiled, 12 on one core, under 1 when they come from the cache
            or came compiled with the package.
    """
    if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
        return 0.0
    return aside(_ready) + (aside(_cells_ready) if cells else 0.0)


@cache
def _ready() -> float:
    announcer = _Announcer()
    register("numba:compile", announcer)  # type: ignore[no-untyped-call]
    begin = time.perf_counter()
    if not _came() and not ahead.is_complete():
        others = " and all others in a process beside" if ahead.begin() else ""
        say(f"compiling kernels for this machine, once: {len(_KERNELS) + len(_LARGEST)} now{others} ...")
    _compile((*_KERNELS, *_LARGEST), begin)
    seconds = time.perf_counter() - begin
    announcer.started = True
    if announcer.compiled or seconds >= _NOTICED:
        source = "compiled" if announcer.compiled else "loaded" if _came() else "loaded from the cache"
        say(f"kernels {source} in {seconds:.1f} s")
    return seconds


@cache
def _cells_ready() -> float:
    begin = time.perf_counter()
    _compile(_OF_CELLS, begin)
    return time.perf_counter() - begin


def _compile(kernels: tuple[tuple[Any, tuple[Any, ...]], ...], begin: float) -> None:
    """Compile, or load, each kernel for its signature, unless nobody will call it any more."""
    told = begin
    with no_collections():
        for number, (kernel, signature) in enumerate(kernels):
            if is_ending():
                return
            kernel.compile(signature)
            now = time.perf_counter()
            if now - told >= _LONG and number + 1 < len(kernels):
                told = now
                say(f"... {number + 1} of {len(kernels)} kernels after {now - begin:.0f} s")


def _came() -> bool:
    """Whether the kernel that takes longest came compiled with the package."""
    own = shipped()
    return own is not None and all(own.find(described(one.py_func, types)) for one, types in _LARGEST)


@dataclass(frozen=True)
class Warmed:
    """What `everything` did.

    Attributes:
        kernels: Kernels that are ready, one for each signature.
        compiled: Kernels that were compiled now, as they neither came with the package nor were in the cache.
        seconds: How long it took.
    """

    kernels: int
    compiled: int
    seconds: float


def everything(progress: Callable[[int, int, str], None]) -> Warmed:
    """Compile into the cache each known kernel that is not there and did not come with the package.

    Args:
        progress: Called before each kernel with its number from 1, how many there are, and its name.

    Cost: one to two minutes on one core when all are compiled, 2 s when all are there.

    Raises:
        KeyboardInterrupt: Ctrl-C; what was compiled stays in the cache.
    """
    begin = time.perf_counter()
    compiled = 0
    if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
        return Warmed(0, 0, 0.0)
    known = aside(lambda: list(declared()))
    for number, (kernel, signature) in enumerate(known, start=1):
        progress(number, len(known), described(kernel.py_func, signature).partition("(")[0])
        before = sum(kernel.stats.cache_misses.values())
        kernel.compile(signature)
        compiled += sum(kernel.stats.cache_misses.values()) - before
    ahead.note_complete()
    return Warmed(len(known), compiled, time.perf_counter() - begin)
