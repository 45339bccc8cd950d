"""The page of the pipeline file has the keys that there are, and an example that is one."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from livejoin.pipeline import load
from livejoin.pipeline.model import _KINDS, PipelineFile
from livejoin.pipeline.reference import _SECTIONS, BEGIN, markdown

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "pipeline-file.md"


def test_the_page_ends_with_the_keys_of_the_models() -> None:
    text = PAGE.read_text()
    assert text[text.index(BEGIN) :] == markdown()


def test_its_example_is_the_file_that_it_names() -> None:
    (example,) = re.findall(r"```toml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    file = ROOT / "examples" / "static" / "pipeline.toml"
    assert example == file.read_text()
    assert load(file).views.keys() == tomllib.loads(example)["views"].keys()


def test_the_page_has_every_table_of_a_file() -> None:
    begin = PAGE.read_text().partition("## A file that works")[0]
    assert {*re.findall(r"^\| `\[?(\w+)", begin, re.MULTILINE)} == PipelineFile.model_fields.keys()


def test_the_page_has_every_kind_of_table_and_sink() -> None:
    there = {model for _, _, model in _SECTIONS}
    assert {kind for kinds in _KINDS.values() for kind in kinds.values()} <= there
