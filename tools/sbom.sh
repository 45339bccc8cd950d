#!/bin/sh
# Write build/sbom.cdx.json (PYTHON): livejoin with its servers, in the locked versions, in an environment of its own.
set -eu
cd "$(dirname "$0")/.."
rm -rf build/sbom && "$1" -m venv --without-pip build/sbom
"$1" -m pip --python build/sbom/bin/python install --quiet --constraint requirements.lock --editable '.[serve]'
[ -x build/release/bin/cyclonedx-py ] || { "$1" -m venv build/release && build/release/bin/pip install --quiet cyclonedx-bom; }
build/release/bin/cyclonedx-py environment --pyproject pyproject.toml --output-reproducible --of JSON \
    --output-file build/sbom.cdx.json build/sbom/bin/python
