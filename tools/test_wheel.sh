#!/bin/sh
# Run tests with the wheel that is installed in a fresh environment, and not with src: a file that the wheel lacks is
# found so, and a Python that is not the one of `make setup` is tried: make test-wheel PYTHON=python3.13 TESTS=tests/sql.
# The wheel of the version of that Python in dist/ is taken; without one it is built, which takes minutes.
set -eu
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
tag=$("$python" -c 'import sys; print(f"cp{sys.version_info[0]}{sys.version_info[1]}")')
place=build/wheel-$tag

rm -rf "$place"
mkdir -p "$place/tree"
"$python" -m venv "$place/venv"
ls dist/livejoin-*-"$tag"-*.whl >/dev/null 2>&1 || "$place/venv/bin/python" -m pip wheel --quiet --no-deps --wheel-dir dist .
"$place/venv/bin/python" -m pip install --quiet --no-input --disable-pip-version-check --constraint requirements.lock \
    dist/livejoin-*-"$tag"-*.whl pytest pytest-timeout pytest-xdist hypothesis networkx pandas polars pyarrow-hotfix
cp -r tests docs examples pyproject.toml README.md "$place/tree"
cd "$place/tree"
exec ../venv/bin/python -m pytest -p no:cacheprovider --numprocesses 1 --dist loadgroup "${@:-tests/sql}"
