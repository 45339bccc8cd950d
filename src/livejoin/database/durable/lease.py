"""Who has a database in an object store: a lease that whoever has it renews.

``000000000007`` of ``lease`` is of the seventh opening. It says by whom, and counts the beats of a thread that writes
it anew every few seconds. Who opens the database creates the next one, if that one was given back or does not beat any
more. No clocks of two machines are compared: who waits for a beat counts on its own.

The lease is a courtesy, so that the second one to open is told. That nothing is lost where it fails, as where a
process slept for a minute and goes on, is the law of the chain (`livejoin.database.durable.chain`).
"""

from __future__ import annotations

import contextlib
import gc
import json
import logging
import os
import socket
import threading
import time
import uuid
from pathlib import Path
from typing import Any

from livejoin.errors import StateError
from livejoin.state.objects import Objects, again, create_once

logger = logging.getLogger("livejoin")

BEAT_SECONDS = 5.0
GONE_SECONDS = 15.0
"""A lease that was not renewed for so long is nobody's."""

_UNDER = "lease/"
_DIGITS = 12


class Lease:
    """The lease of an opening; mutable.

    Args:
        objects: The store.
        epoch: The number of the opening.
        log: The identity of the log that is known to be there; empty where there was none.
    """

    def __init__(self, objects: Objects, epoch: int, log: str) -> None:
        self.epoch = epoch
        self.log = log
        self._objects = objects
        self._attempt = uuid.uuid4().hex
        self._beats = 0
        self._is_open = True
        self._ends = threading.Event()
        self._turn = threading.Lock()

    @property
    def text(self) -> bytes:
        """What it says; it begins with what no other lease says."""
        plain = {
            "attempt": self._attempt,
            "beats": self._beats,
            "is_open": self._is_open,
            "by": f"process {os.getpid()} on {socket.gethostname()}",
            "at": _where(os.getpid()),
            "log": self.log,
        }
        return json.dumps(plain).encode()

    def begin(self) -> None:
        """Let it beat."""
        threading.Thread(target=self._run, name="livejoin-lease", daemon=True).start()

    def _run(self) -> None:
        while not self._ends.wait(BEAT_SECONDS):
            self.say(self.log)

    def say(self, log: str) -> None:
        """Renew it, and say which log there is; a store that does not answer is asked at the next beat."""
        with self._turn, contextlib.suppress(OSError):
            if self._is_open:
                self.log = log
                self._beats += 1
                self._objects.put(_key(self.epoch), self.text)

    def release(self) -> None:
        """Give it back; once more changes nothing."""
        self._ends.set()
        with self._turn, contextlib.suppress(OSError):  # else the next one waits for a beat
            if self._is_open:
                self._is_open = False
                self._objects.put(_key(self.epoch), self.text)


_CLOSE_IT = "One database at a time opens a place in a store; close that one, or read through it"


def take(objects: Objects, advice: str = _CLOSE_IT) -> Lease:
    """The lease of a new opening.

    Args:
        objects: The store.
        advice: A sentence for who is told that another process has it.

    Raises:
        StateError: Another process has the database.
        OSError: The store refuses.
    """
    epoch, said = _newest(objects)
    if said.get("is_open", True) and said.get("at") == _where(os.getpid()):
        gc.collect()  # a database that was forgotten gives its place back
        epoch, said = _newest(objects)
    if epoch and said.get("is_open", True) and not _is_dead(said.get("at")):
        epoch, said = _watched(objects, epoch, said, advice)
    lease = Lease(objects, epoch + 1, str(said.get("log", "")))
    if not create_once(objects, _key(lease.epoch), lease.text):
        _, other = _newest(objects)
        raise StateError(_held(objects, other, advice))
    with contextlib.suppress(OSError):  # they say nothing any more
        objects.remove([one.key for one in objects.listed(_UNDER) if one.key < _key(lease.epoch)])
    lease.begin()
    return lease


def _watched(objects: Objects, epoch: int, said: dict[str, Any], advice: str) -> tuple[int, dict[str, Any]]:
    """The newest lease when it is nobody's any more.

    Raises:
        StateError: The lease beats.
    """
    logger.info("%s: waiting for %g s whether %s still has it", objects.name, GONE_SECONDS, said.get("by"))
    until = time.monotonic() + GONE_SECONDS
    while time.monotonic() < until:
        time.sleep(min(1.0, GONE_SECONDS / 10))
        newest, now = _newest(objects)
        if newest == epoch and not now.get("is_open", True):
            return newest, now
        if newest != epoch or now.get("beats") != said.get("beats"):
            raise StateError(_held(objects, now, advice))
    logger.warning("%s: taken over from %s, which gave no sign for %g s", objects.name, said.get("by"), GONE_SECONDS)
    return epoch, said


def _held(objects: Objects, said: dict[str, Any], advice: str) -> str:
    return f"{objects.name!r} is open: {said.get('by', 'another process')} has it. {advice}"


def _newest(objects: Objects) -> tuple[int, dict[str, Any]]:
    """The number of the newest lease, and what it says; 0 if there is none."""
    for _ in range(10):
        keys = [one.key for one in again(lambda: objects.listed(_UNDER))]
        numbers = [int(name) for key in keys if (name := key[len(_UNDER) :]).isdigit()]
        if not numbers:
            return 0, {}
        try:
            said = json.loads(again(lambda: objects.read(_key(max(numbers)))))  # noqa: B023
        except FileNotFoundError:  # a newer one is there
            continue
        except ValueError:
            said = {}
        return max(numbers), said if isinstance(said, dict) else {}
    msg = "its leases come and go"
    raise OSError(msg)


def _key(epoch: int) -> str:
    return f"{_UNDER}{epoch:0{_DIGITS}d}"


def _where(process: int) -> list[str] | None:
    """What names a process for those on the same machine; None where the system does not say."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        space = str(Path("/proc/self/ns/pid").stat().st_ino)
        state = Path(f"/proc/{process}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    return None if state[0] in ("Z", "X") else [boot, space, str(process), state[19]]


def _is_dead(at: object) -> bool:
    """Whether a process was of this machine, and is not there any more."""
    here = _where(os.getpid())
    if here is None or not isinstance(at, list) or len(at) != len(here) or at[:2] != here[:2]:
        return False
    process = str(at[2])
    return process.isdigit() and _where(int(process)) != at
