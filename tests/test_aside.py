"""Calls that no signal cuts off: they come to their end, and forks and the end of the process wait for them."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import livejoin
from livejoin.aside import aside, no_collections

SOURCE = str(Path(livejoin.__file__).parent.parent)


def in_a_process(script: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": SOURCE}
    return subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False, timeout=60
    )


def test_what_it_gives_and_raises() -> None:
    assert aside(lambda a, b=2: (a, b), 1, b=3) == (1, 3)
    with pytest.raises(ZeroDivisionError):
        aside(lambda: 1 // 0)
    with pytest.raises(SystemExit):
        aside(sys.exit, 3)


def test_the_main_thread_is_not_the_one_that_calls() -> None:
    assert aside(threading.get_ident) != threading.get_ident()
    assert aside(lambda: aside(threading.get_ident) == threading.get_ident())  # a call out of such a call


def test_an_interrupted_caller_leaves_the_call_running() -> None:
    seen, ended = threading.Event(), threading.Event()

    def slow() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        seen.wait(30)
        ended.set()

    with pytest.raises(KeyboardInterrupt):
        aside(slow)
    assert not ended.is_set()
    seen.set()
    assert aside(ended.is_set), "the next call waits for it"


INTERRUPTED = """
import os, signal, sys, time
from livejoin.aside import aside, no_collections
def slow():
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(0.3)
    print("ended", flush=True)
try:
    aside(slow)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""
FORKED = """
child = os.fork()
print("child" if child == 0 else "parent", aside(lambda: "calls"), flush=True)
if child:
    os.waitpid(child, 0)
else:
    os._exit(0)
"""


def test_the_end_of_the_process_waits() -> None:
    done = in_a_process(INTERRUPTED)
    assert (done.returncode, done.stdout.split(), done.stderr) == (0, ["interrupted", "ended"], "")


def test_a_fork_waits_and_the_child_may_call() -> None:
    done = in_a_process(INTERRUPTED + FORKED)
    assert done.stdout.splitlines()[:2] == ["interrupted", "ended"]
    assert sorted(done.stdout.splitlines()[2:]) == ["child calls", "parent calls"]
    assert (done.returncode, done.stderr) == (0, "")


def test_a_kernel_is_loaded_where_no_signal_arrives() -> None:
    """Also where Python calls a helper: Numba, LLVM and what they let go see no other thread."""
    done = in_a_process(
        """
import threading
from numba.core import compiler, caching
from llvmlite.binding import ffi
in_main = []
call = ffi._lib_fn_wrapper.__call__
def seen(self, *arguments):
    in_main.append(threading.current_thread() is threading.main_thread())
    return call(self, *arguments)
import livejoin
livejoin.Database
ffi._lib_fn_wrapper.__call__ = seen
from livejoin.kernels.evaluate.civil import weekday
import numpy as np
db = livejoin.Database()
db.create_table("T", "a BIGINT, b BIGINT")
db.create_view("v", "SELECT a, MAX(b) AS m FROM T GROUP BY a")
db.apply("T", [(1, 2), (1, 3)])
assert weekday(0) == 3
print(len(in_main) > 0, any(in_main))
"""
    )
    assert done.stdout.split() == ["True", "False"], done.stderr


def test_what_is_made_while_the_collector_rests_is_old_afterwards() -> None:
    script = """
import gc
from livejoin.aside import no_collections
with no_collections():
    during = gc.isenabled()
    made = [[] for _ in range(10)]
print(during, gc.isenabled(), any(one is made for one in gc.get_objects(generation=2)), gc.get_freeze_count())
"""
    assert in_a_process(script).stdout.split() == ["False", "True", "True", "0"]
    gc.disable()
    try:
        with no_collections():
            pass
        assert not gc.isenabled(), "who has disabled it finds it so"
    finally:
        gc.enable()


def test_what_somebody_has_frozen_stays_so() -> None:
    gc.freeze()
    try:
        before = gc.get_freeze_count()
        with no_collections():
            pass
        assert gc.get_freeze_count() > before // 2  # some of them go meanwhile
    finally:
        gc.unfreeze()


def test_a_module_is_imported_when_it_is_asked() -> None:
    script = """
import sys
from livejoin.aside import Later
later = Later("fractions")
print("fractions" in sys.modules, later.Fraction(1, 2), "fractions" in sys.modules)
try:
    Later("no_such_module_here").name
except ModuleNotFoundError as error:
    print(error)
"""
    assert in_a_process(script).stdout.splitlines() == ["False 1/2 True", "No module named 'no_such_module_here'"]
