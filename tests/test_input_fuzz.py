"""A share of the input fuzz (`torture.inputs`); ``LIVEJOIN_TORTURE=100000`` runs so many cases instead, newly drawn."""

from __future__ import annotations

import os
import time

import pytest

from torture.inputs import run

_ASKED = os.environ.get("LIVEJOIN_TORTURE")
_SHARE = 400


@pytest.mark.timeout(0 if _ASKED else 600)
def test_input_fuzz() -> None:
    kinds = run(int(_ASKED), seed=time.time_ns()) if _ASKED else run(_SHARE, seed=1)
    assert set(kinds) == {"well-formed", "broken", "hostile", "odd, taken", "odd, refused"}
