#!/bin/sh
# Run tests with the oldest versions of what livejoin needs (requirements-oldest.lock), in an environment of its own that
# is made anew. Called by make: make test-oldest TESTS='tests/plan tests/state'. Tests of what the environment lacks,
# as the server's tools for models, are skipped.
set -eu
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
venv=build/venv-oldest

"$python" -m venv --clear "$venv"
"$venv/bin/python" -m pip install --quiet --no-input --disable-pip-version-check -r requirements-oldest.lock
"$venv/bin/python" -m pip install --quiet --no-input --disable-pip-version-check --no-deps --no-build-isolation --editable .
exec "$venv/bin/python" -m pytest --numprocesses 1 --dist loadgroup "$@"
