"""A call of a kernel applies some thousand rows, so that Python looks for signals in the middle of a large commit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import livejoin
from livejoin.dataflow.stores import aggregate, set_operation, top_k
from livejoin.families.arena import join as arena_join
from livejoin.families.bags import bag_join
from livejoin.families.crown import join as crown
from livejoin.families.dyn import join as dyn
from livejoin.kernels.memory.layout import AT_ONCE
from livejoin.kernels.relation import derived_rows
from livejoin.search.algorithm import Algorithm
from livejoin.state import dictionary
from oracle import assert_same_rows, connect

ROWS = 5 * AT_ONCE
TWO = "SELECT A.k AS k, A.v AS v, B.v AS w FROM A JOIN B ON A.k = B.k"
CASES: dict[str, tuple[ModuleType, str, str, Algorithm]] = {
    "groups": (aggregate.kernel, "maintain", "SELECT v, COUNT(*) AS n, MAX(k) AS k FROM A GROUP BY v", "auto"),
    "first": (top_k.kernel, "maintain", "SELECT k, v FROM A ORDER BY v, k LIMIT 9", "auto"),
    "except": (set_operation.kernel, "apply", "SELECT k FROM A EXCEPT SELECT k FROM B", "auto"),
    "stored": (
        derived_rows,
        "apply",
        "SELECT D.k AS k, B.v AS w FROM (SELECT DISTINCT k, v FROM A) D JOIN B ON D.k = B.k",
        "auto",
    ),
    "crown": (crown.kernel, "maintain", TWO, "crown"),
    "dyn": (dyn.dyn, "maintain", TWO, "dyn"),
    "bag": (
        bag_join.kernel,
        "maintain",
        "SELECT A.k AS a, A.v AS b, C.v AS c FROM A JOIN A C ON A.v = C.k JOIN A D ON C.v = D.k AND D.v = A.k",
        "auto",
    ),
}


class Counted:
    """Counts the calls of a kernel."""

    def __init__(self, kernel: Callable[..., Any]) -> None:
        self._kernel = kernel
        self.calls = 0

    def __call__(self, *arguments: Any) -> Any:
        self.calls += 1
        return self._kernel(*arguments)


def large(chance: np.random.Generator) -> pa.Table:
    return pa.table({"k": np.arange(ROWS), "v": chance.integers(0, ROWS, ROWS)})


def count_calls(name: str, patch: pytest.MonkeyPatch) -> Counted:
    module, function, _, _ = CASES[name]
    if name == "dyn":
        counted = Counted(dyn._KERNELS.maintain)
        patch.setattr(dyn, "_KERNELS", replace(dyn._KERNELS, maintain=counted))
    else:
        counted = Counted(getattr(module, function))
        patch.setattr(module, function, counted)
    return counted


@pytest.mark.parametrize("name", CASES)
def test_a_large_version_is_applied_in_several_calls(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    *_, sql, algorithm = CASES[name]
    counted = count_calls(name, monkeypatch)
    rows, few = large(np.random.default_rng(1)), large(np.random.default_rng(2)).slice(0, 1000)
    db = livejoin.Database()
    for one in ("A", "B"):
        db.create_table(one, "k BIGINT, v BIGINT")
    view = db.create_view("v", sql, algorithm=algorithm)
    db.apply("B", few)
    before = counted.calls
    delta = db.apply("A", rows)["v"]
    assert counted.calls - before >= ROWS // AT_ONCE
    with connect() as duck:
        duck.register("A", rows)
        duck.register("B", few)
        expected = duck.execute(sql).to_arrow_table()
    assert_same_rows(view.to_arrow(), expected)
    assert_same_rows(delta.select(expected.column_names), expected)


def test_many_rows_are_brought_into_a_join_in_several_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    counted = Counted(arena_join.records.load)
    monkeypatch.setattr(arena_join.records, "load", counted)
    db = livejoin.Database()
    for one in ("A", "B"):
        db.create_table(one, "k BIGINT, v BIGINT")
    view = db.create_view("v", TWO, deltas=False)
    db.apply("A", large(np.random.default_rng(1)))
    assert counted.calls >= 2
    db.apply("B", [(ROWS - 1, 7), (0, 8)])
    assert sorted(row["w"] for row in view.to_arrow().to_pylist()) == [7, 8]


def test_many_strings_are_looked_up_in_several_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    counted = Counted(dictionary.encode_strings)
    monkeypatch.setattr(dictionary, "encode_strings", counted)
    strings = pa.array([str(i % 100_000) for i in range(200_000)])
    offsets = np.frombuffer(strings.buffers()[1], np.int32).astype(np.int64)
    data = np.frombuffer(strings.buffers()[2], np.uint8)
    codes = dictionary.ByteDictionary().encode(data, offsets)
    assert counted.calls >= 200_000 >> 16
    assert (codes[:100_000] == codes[100_000:]).all()
    assert np.unique(codes).shape[0] == 100_000


def test_an_aggregate_over_constant_rows_takes_the_kernel_of_all_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numba compiles one more, for some 15 seconds, where one array of several cannot be written to."""
    kernel, given = aggregate.kernel.maintain, list[bool]()

    def seen(*arguments: Any) -> Any:
        given.extend(one.flags.writeable for one in arguments[1])
        return kernel(*arguments)

    monkeypatch.setattr(aggregate.kernel, "maintain", seen)
    view = livejoin.Database().create_view("v", "SELECT COUNT(*) AS n")
    assert view.to_arrow().to_pylist() == [{"n": 1}]
    assert len(given) >= 3
    assert all(given)
