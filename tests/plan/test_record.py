"""The JSON form: its keys, and that all of them are documented."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from explanations import ALWAYS, DIAGRAM, EFFECTS, EXAMPLE, SNOWFLAKE, STATIC

from livejoin.families.outline import MergedOutline, StatesOutline
from livejoin.plan.explain.effects.amount import Amount
from livejoin.plan.explain.effects.stored import StoredStep
from livejoin.plan.explain.memory.outline import Memory, MemoryPart

pytestmark = pytest.mark.nojit

DOCUMENT = Path(__file__).parents[2] / "docs" / "explain.md"


def keys(value: Any, path: str = "") -> set[str]:
    """The dotted keys of JSON values; ``[]`` for the items of a list."""
    if isinstance(value, dict):
        return {path + key for key in value} | {k for key in value for k in keys(value[key], f"{path}{key}.")}
    if isinstance(value, list):
        return {k for item in value for k in keys(item, f"{path.removesuffix('.')}[].")}
    return set()


def test_every_key_is_documented_and_every_documented_key_is_there() -> None:
    documented = set(re.findall(r"^\| `([\w.\[\]]+)` \|", DOCUMENT.read_text(encoding="utf-8"), re.MULTILINE))
    states = StatesOutline(10.0, {"A": 3.0, "B": None}, ("a",), 1 << 20)
    merged = (MergedOutline("static bag {B, C}", ("B", "C"), 20.0, 10.0),)
    memory = Memory((MemoryPart("groups", "groups", 10.0, False, 500.0),))
    plan = replace(EXAMPLE.plan, static=STATIC, states=states, merged=merged)
    effects = (replace(EFFECTS[0], stored=(StoredStep("its group", Amount(1.0, 1.0)),)), *EFFECTS[1:])
    whole = replace(EXAMPLE, plan=plan, effects=effects, diagram=DIAGRAM, alone=ALWAYS, memory=memory)
    found = {key for key in keys(whole.to_dict()) if "].guarantee" not in key and not key.startswith("alone.")}
    assert found == documented


def test_guarantees_have_the_same_keys_everywhere() -> None:
    value = EXAMPLE.to_dict()
    assert value["alone"] is None
    value = replace(EXAMPLE, alone=ALWAYS).to_dict()
    same = {
        tuple(g)
        for g in (
            value["guarantee"],
            value["alone"],
            *(s["guarantee"] for s in value["suggestions"] + value["alternatives"]),
        )
    }
    assert len(same) == 1


def test_values() -> None:
    value = json.loads(EXAMPLE.json())
    assert value == EXAMPLE.to_dict()
    assert value["livejoin_explanation"] == 1
    assert value["sql"] == EXAMPLE.sql
    assert (value["maintained"], value["refusal"], value["digest"]) == (True, None, "abc")
    assert value["guarantee"]["bound"] == "FIFO"
    assert value["suggestions"][0]["guarantee"]["bound"] == "O1"
    assert [suggestion["sql"] for suggestion in value["suggestions"]] == ["PRIMARY KEY (src)", None]
    assert value["plan"]["nodes"][3]["connex"] is False
    assert value["plan"]["edges"][2] == {"parent": 2, "child": 3, "key": ["c"], "unique": False, "kind": "inner"}
    assert value["log"] == {
        "changes": 1000,
        "lifespans": 600,
        "pattern": "mixed",
        "lambda": 2.5,
        "lambda_largest": 9,
        "lambda_tree": 1.25,
        "lambda_tree_largest": 4,
        "lambda_crossing": None,
        "lambda_crossing_largest": None,
    }


def test_what_there_is_not() -> None:
    refused = replace(EXAMPLE, plan=SNOWFLAKE, executable=False, obstacle="not yet", digest="", log=None)
    value = refused.to_dict()
    assert (value["maintained"], value["refusal"], value["digest"], value["log"]) == (False, "not yet", None, None)


def test_json_has_no_infinities() -> None:
    costly = replace(EXAMPLE.alternatives[0], cost=float("inf"), guarantee=ALWAYS)
    value = json.loads(replace(EXAMPLE, alternatives=(costly,)).json())
    assert value["alternatives"][0]["cost"] is None
