#!/bin/sh
# Build dist/ (PYTHON) and check it as a package index does. Dates are those of the last commit, so that a second build
# gives the same bytes.
set -eu
cd "$(dirname "$0")/.."
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH
rm -rf dist
"$1" -m hatchling build
[ -x build/release/bin/twine ] || { "$1" -m venv build/release && build/release/bin/pip install --quiet twine; }
build/release/bin/twine check --strict dist/*
