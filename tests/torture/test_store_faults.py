"""A database in an object store, while answers are lost and processes end."""

from __future__ import annotations

import os

import pytest

from faulty_proxy import FAULTS
from proxied_objects import behind_proxies
from torture.store_faults import storm

SEED = int(os.environ.get("LIVEJOIN_SEED", "0"))
CASES = int(os.environ.get("LIVEJOIN_TORTURE", "300"))


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.torture)])
def test_a_store_with_some_faults(seed: int) -> None:
    happened = storm(SEED + seed, 30)
    assert sum(happened.values()) >= 30


@pytest.mark.torture
def test_a_store_with_many_faults() -> None:
    happened = storm(SEED + 100, 2 * CASES)
    assert sum(happened.values()) - happened["folds"] - happened["zombies"] >= CASES
    for kind in ("refused", "lost", "twice", "late", "cut before", "cut behind", "folds", "zombies"):
        assert happened[kind], f"{kind} did not happen: {happened}"


@pytest.mark.parametrize("scheme", ["s3", pytest.param("gs", marks=pytest.mark.torture)])  # CI: test_in_a_store
def test_the_way_to_a_store_with_some_faults(scheme: str) -> None:
    pytest.importorskip("obstore", reason="pip install 'livejoin[cloud]'")
    with behind_proxies(scheme) as sight:
        happened = storm(SEED + 7, 8, sight)
    assert sum(happened.values()) >= 8


@pytest.mark.torture
def test_the_way_to_a_store_with_many_faults() -> None:
    """Through obstore; ``LIVEJOIN_S3`` may have the address of a server on this machine."""
    pytest.importorskip("obstore", reason="pip install 'livejoin[cloud]'")
    with behind_proxies() as sight:
        happened = storm(SEED + 200, 2 * CASES, sight)
    print(dict(happened))
    assert sum(happened.values()) - happened["folds"] - happened["zombies"] >= CASES
    for kind in (*FAULTS, "folds", "zombies"):
        assert happened[kind] or CASES < 300, f"{kind} did not happen: {happened}"
