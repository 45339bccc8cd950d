"""Add to the list of signatures that a wheel has kernels for what the tests have compiled into the cache.

make test && .venv/bin/python tools/kernel_signatures.py [FOLDER OF COMPILED KERNELS]
"""

from __future__ import annotations

import pickle
import sys
from pathlib import Path

from livejoin.kernels.compiling import signatures
from livejoin.kernels.jit import cache_folder


def lines(folder: Path) -> set[str]:
    """A line for each kernel of the package and each of its signatures in a folder of Numba's."""
    root = Path(signatures.__file__).parents[1]
    found = set()
    for index in folder.rglob("*.nbi"):
        package = index.parent.name.rpartition("_")[0]
        module, _, function = index.name.partition("-")[0].partition(".")
        inside = "" if package == "kernels" else f"{package}."
        if not (root / (inside.replace(".", "/") + f"{module}.py")).exists():
            continue  # of a test
        with index.open("rb") as file:
            pickle.load(file)
            _, kept = pickle.loads(file.read())
        found |= {f"{inside}{module}.{function}({', '.join(map(str, key[0]))})" for key in kept}
    return found


if __name__ == "__main__":
    target = Path(signatures.__file__).with_name("signatures.txt")
    found_now = lines(Path(sys.argv[1]) if len(sys.argv) > 1 else cache_folder())
    written = sorted(found_now.union(target.read_text(encoding="utf-8").splitlines()))
    target.write_text("".join(f"{line}\n" for line in written), encoding="utf-8")
    print(f"{len(written)} signatures in {target}")
