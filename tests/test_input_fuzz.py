"""A share of the input fuzz (`torture.inputs`); ``LIVEJOIN_TORTURE=100000`` runs so many cases instead, newly drawn."""

from __future__ import annotations

import os
import time

from torture.inputs import run

_SHARE = 400


def test_input_fuzz() -> None:
    asked = os.environ.get("LIVEJOIN_TORTURE")
    kinds = run(int(asked), seed=time.time_ns()) if asked else run(_SHARE, seed=1)
    assert set(kinds) == {"well-formed", "broken", "hostile", "odd, taken", "odd, refused"}
