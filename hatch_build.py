"""The hook of the build: the manual goes into the wheel, and kernels compiled for x86-64, for one Python on Linux.

Where they cannot be compiled (another machine, no Numba, ``LIVEJOIN_PURE_WHEEL=1``) the wheel is for every machine, and
kernels are compiled where they are first used. An editable installation compiles nothing, and builds no manual.
``LIVEJOIN_NO_MANUAL=1`` leaves the manual out.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

_SYSTEM = "manylinux_2_27_x86_64"  # as Numba's own wheels
_LONGEST = 1800.0  # seconds
_RELATIVE = re.compile(r"(!?\[)([^\]]*)\]\((?![a-z]+:|#)([^)]+)\)")
_MANUAL = ("furo", "griffelib", "myst-parser", "sphinx")


class ReadmeHook(MetadataHookInterface):
    """The README for a package index, where a file beside it cannot be seen."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Give the README to the package."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": for_index(text, self.config.get("files", ""))}


def for_index(text: str, files: str) -> str:
    """A README without relative links: they lead below ``files``; without it, text stays, pictures go."""
    if files:
        return _RELATIVE.sub(lambda match: f"{match[1]}{match[2]}]({files}/{match[3]})", text)
    return _RELATIVE.sub(lambda match: "" if match[1].startswith("!") else match[2], text)


class WheelHook(BuildHookInterface):
    """Makes two folders: ``livejoin/kernels/compiled`` and ``livejoin/pages``."""

    def dependencies(self) -> list[str]:
        """What the build takes beside hatchling, where it has an environment of its own."""
        known = [*self.metadata.core.dependencies, *self.metadata.core.optional_dependencies["docs"]]
        wanted = (("numba", "numpy") if _fits() else ()) + (_MANUAL if _has_manual() else ())
        return [one for one in known if wanted and one.startswith(wanted)]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the manual and compile, unless this is an editable installation."""
        self._folder: Path | None = None
        if version == "editable":
            return
        self._folder = Path(tempfile.mkdtemp(prefix="livejoin-wheel-"))
        if _has_manual():
            self._build_manual(build_data)
        if not _fits():
            self._say_pure("kernels are compiled into wheels by CPython on Linux and x86-64 alone")
            return
        compiled = self._folder / "compiled"
        why = self._run(str(compiled)) or self._run("check", str(compiled))  # in a process that compiled nothing
        if why:
            self._say_pure(why)
            return
        python = f"cp{sys.version_info[0]}{sys.version_info[1]}"
        build_data["pure_python"] = False
        build_data["tag"] = f"{python}-{python}-{_SYSTEM}"
        build_data["force_include"][str(compiled)] = "livejoin/kernels/compiled"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the folder; the wheel has its files."""
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _build_manual(self, build_data: dict[str, Any]) -> None:
        """Build the manual; a wheel without one is made only where that is said."""
        assert self._folder is not None
        pages = self._folder / "pages"
        command = ["sh", "tools/manual/build.sh", sys.executable, str(pages)]
        done = subprocess.run(
            command, cwd=self.root, capture_output=True, text=True, timeout=_LONGEST, check=False, env=_plain()
        )
        if done.returncode:
            why = (done.stderr.strip().splitlines() or ["no reason is told"])[-1]
            msg = (
                f"the manual cannot be built: {why}. It needs {', '.join(_MANUAL)}, of the extra docs; "
                "LIVEJOIN_NO_MANUAL=1 leaves the manual out"
            )
            raise RuntimeError(msg)
        build_data["force_include"][str(pages)] = "livejoin/pages"

    def _run(self, *words: str) -> str:
        """Run ``livejoin.kernels.ship``. Give what went wrong, or nothing."""
        assert self._folder is not None
        paths = (str(Path(self.root) / "src"), os.environ.get("PYTHONPATH", ""))
        environment = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
        environment |= {
            "PYTHONPATH": os.pathsep.join(path for path in paths if path),
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONHASHSEED": "0",  # the order of sets, so that a second build gives the same bytes
            "NUMBA_CPU_NAME": "generic",
            "NUMBA_CPU_FEATURES": "",
            "NUMBA_DISABLE_INTEL_SVML": "1",  # not in every process
            "NUMBA_CACHE_DIR": str(self._folder / "cache"),
        }
        command = [sys.executable, "-m", "livejoin.kernels.ship", *words]
        try:
            done = subprocess.run(
                command, env=environment, capture_output=True, text=True, timeout=_LONGEST, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return str(error)
        last = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        return "" if done.returncode == 0 else last

    def _say_pure(self, why: str) -> None:
        self.app.display_warning(f"the wheel is without compiled kernels, which first use compiles: {why}")


def _plain() -> dict[str, str]:
    return dict(os.environ) | {"PYTHONDONTWRITEBYTECODE": "1"}


def _has_manual() -> bool:
    return not os.environ.get("LIVEJOIN_NO_MANUAL")


def _fits() -> bool:
    here = (sys.implementation.name, sys.platform, platform.machine())
    return here == ("cpython", "linux", "x86_64") and not os.environ.get("LIVEJOIN_PURE_WHEEL")
