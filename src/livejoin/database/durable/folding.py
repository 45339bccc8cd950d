"""A new snapshot of the snapshot and the log, made by a process of its own, while the database goes on.

Law: the segments that are complete, applied to the snapshot of before, are the tables as they were when the segment
that is written now began. So nothing of the database has to stand still for it, nor is anything of it copied: the
process reads what is on the disk, and writes a snapshot, whose last step, `CURRENT`, is one rename. Afterwards the
segments are not needed any more.

A snapshot of before that is being read is not removed: a folder is opened only when no process makes one.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import livejoin
from livejoin.database.durable.places import Place
from livejoin.errors import LivejoinError
from livejoin.handlers import raised_by_handler
from livejoin.seldom import Seldom

if TYPE_CHECKING:
    from livejoin.database.durable.log import Log

logger = logging.getLogger("livejoin")

LEAST_BYTES = 64 << 20
_OVERDUE = 3  # times the size at which a snapshot is due
_LONGEST_WAIT = 60.0  # seconds
_BYTES_OF_A_RECORD = 2000  # of a snapshot, that take about as long to make as a record to apply
_MODULE = "livejoin.database.durable.fold_process"


class Folding:
    """When snapshots are made, and the process that makes one; mutable.

    Args:
        place: The place of the database.
        log: The log of the database.

    Attributes:
        least_bytes: Complete segments of less are not folded, unless they have many records.
        most_records: The number of records from which on they are.
    """

    def __init__(self, place: Place, log: Log) -> None:
        self._place = place
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None
        self._turn = threading.Lock()
        self._upto = 0
        self._has_ended = False
        self._is_overdue = False  # of the snapshot that is being made
        self._warnings = Seldom()
        self.least_bytes = LEAST_BYTES
        self.most_records = log.segment_records

    def begin_if_due(self) -> None:
        """Make a snapshot of the complete segments if they are worth it, and none is being made."""
        with self._turn:
            account = self._log.account
            if not account.bytes or (account.bytes < self.least_bytes and account.records < self.most_records):
                return
            try:
                there = self._place.snapshot_bytes()
            except OSError as error:
                if raised_by_handler(error):
                    raise
                self._warn(f"as those there cannot be listed: {error}")
                return
            least = max(self.least_bytes, there)
            large = account.bytes >= least
            many = account.records >= self.most_records + there // _BYTES_OF_A_RECORD
            if not self._has_ended and (large or many) and self._look(0):
                self._is_overdue = account.bytes >= _OVERDUE * least
                self._begin()

    def _begin(self) -> None:
        """Make a snapshot of the complete segments."""
        self._upto = self._log.segment
        source = str(Path(livejoin.__file__).parent.parent)
        paths = [source, *filter(None, [os.environ.get("PYTHONPATH")])]
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-m", _MODULE, str(self._place.name), str(self._upto), str(os.getpid())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
                start_new_session=True,  # Ctrl-C is for the process that has the database
            )
        except OSError as error:
            if raised_by_handler(error):
                raise
            self._warn(f"as no process could be started: {error}")
            return
        self._log.account.bytes = self._log.account.records = 0

    def _warn(self, why: str) -> None:
        """Warn that there is no snapshot, of the same reason at most once a minute."""
        if self._warnings.is_due(why):
            logger.warning("%s: no snapshot was made, %s", self._place.name, why)

    def look(self, wait: float = 0) -> bool:
        """As `_look`, for who is not in the middle of it."""
        with self._turn:
            return self._look(wait)

    def _look(self, wait: float) -> bool:
        """Notice that the process has ended, and remove the segments that its snapshot has taken over.

        Args:
            wait: Seconds to wait for its end.

        Returns:
            Whether none runs now.
        """
        process = self._process
        if process is None:
            return True
        if not wait and process.poll() is None:
            return False
        try:
            _, said = process.communicate(timeout=wait or None)  # with 0 it would never notice the end
        except subprocess.TimeoutExpired:
            return False
        self._process = None
        if process.returncode:
            text = said.decode(errors="replace").strip().splitlines()
            self._warn(f"as the process that makes it ended: {text[-1] if text else process.returncode}")
            return True
        self._take_over(self._upto)
        return True

    def _take_over(self, segment: int) -> None:
        """Remove the segments before one, which the snapshot that is there has taken over."""
        with suppress(LivejoinError):  # else the database has its segments open as long as it needs them
            self._log.folded = self._place.histories()
        with suppress(OSError, LivejoinError):  # else who opens it next removes them
            self._place.remove_before(segment)

    def stop(self) -> None:
        """End the process, which leaves the snapshot of before.

        Where the log has grown to several times the size at which a snapshot is due, those who had it closed it too
        soon each time: then it is waited for, up to `_LONGEST_WAIT` seconds.
        """
        with self._turn:
            self._has_ended = True
            try:
                if self._process is not None and self._is_overdue:
                    self._look(_LONGEST_WAIT)
            finally:
                process, self._process = self._process, None
                if process is not None:
                    process.kill()
                    process.communicate()
