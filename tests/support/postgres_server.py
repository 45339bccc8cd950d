"""A PostgreSQL server of its own for the tests, on the loopback, in a temporary folder."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

NEEDED = "LIVEJOIN_NEEDS_POSTGRES"  # set by CI, where the tests of PostgreSQL are not to be skipped
_SETTINGS = {
    "wal_level": "logical",
    "listen_addresses": "127.0.0.1",
    "fsync": "off",
    "max_connections": "60",
    "wal_writer_delay": "10ms",
    "max_replication_slots": "60",
    "max_wal_senders": "20",
}


class PostgresServer:
    """A running server; mutable."""

    def __init__(self, programs: Path, folder: Path, user: str | None) -> None:
        self._programs = programs
        self._folder = folder
        self._user = user
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self._run("initdb", "--auth=trust", "--username=livejoin", "--encoding=UTF8", "--no-locale", "--no-sync")
        settings = [f"{name} = '{value}'" for name, value in _SETTINGS.items()]
        settings += [f"port = {self.port}", f"unix_socket_directories = '{folder}'"]
        with (folder / "data" / "postgresql.conf").open("a") as file:
            file.write("\n".join(settings))
        self.start()

    def start(self) -> None:
        self._run("pg_ctl", "start", "--wait", "--log", str(self._folder / "log"))

    def stop(self, mode: str = "immediate") -> None:
        """Stop the server; ``immediate`` is a crash, of which it recovers at its next start."""
        self._run("pg_ctl", "stop", "--wait", "--mode", mode)

    def database(self, name: str) -> str:
        """Where an empty database of this name is."""
        with psycopg.connect(self.at("postgres"), autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{name}"')
        return self.at(name)

    def at(self, database: str) -> str:
        return f"postgresql://livejoin@127.0.0.1:{self.port}/{database}"

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self._programs / program), "--pgdata", str(self._folder / "data"), *arguments]
        with (self._folder / "programs.log").open("ab") as log:
            done = subprocess.run(command, stdout=log, stderr=log, user=self._user, cwd=self._folder, check=False)
        assert done.returncode == 0, (self._folder / "programs.log").read_text()


def programs() -> Path | None:
    """Where the server's programs are."""
    found = shutil.which("initdb")
    if found is not None:
        return Path(found).resolve().parent
    packaged = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[4]))
    return packaged[-1].parent if packaged else None


def missing() -> str | None:
    """What is not there that a server needs; None if all is."""
    return None if programs() else "PostgreSQL's server is not installed (apt-get install postgresql)"


@contextmanager
def running() -> Iterator[PostgresServer]:
    """A server for the duration; the test is skipped where PostgreSQL is not installed, but not in CI."""
    folder = programs()
    if folder is None:
        message = str(missing())
        if os.environ.get(NEEDED):
            pytest.fail(message)
        pytest.skip(message)
    user = None
    if os.getuid() == 0:  # the server does not run as root
        user = next(name for name in ("postgres", "nobody") if _is_there(name))
    place = Path(tempfile.mkdtemp(prefix="livejoin-postgres-"))
    if user is not None:
        shutil.chown(place, user)
    server = PostgresServer(folder, place, user)
    try:
        yield server
    finally:
        if (place / "data" / "postmaster.pid").exists():
            server.stop()
        shutil.rmtree(place, ignore_errors=True)


def _is_there(user: str) -> bool:
    try:
        pwd.getpwnam(user)
    except KeyError:
        return False
    return True
