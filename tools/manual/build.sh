#!/bin/sh
# Build the manual: PYTHON FOLDER. A warning of Sphinx, as of a broken link, is an error. Nothing is fetched.
set -eu
cd "$(dirname "$0")/../.."
rm -rf "$2"
mkdir -p "$2"
between=$(mktemp -d)
trap 'rm -rf "$between"' EXIT
"$1" -m sphinx --quiet --fail-on-warning --keep-going --jobs auto --fresh-env --builder html \
    --doctree-dir "$between" docs "$2"
rm -rf "$2/_sources"
