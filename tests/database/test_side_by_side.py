"""Blocks that do not read each other are brought up to date by several threads."""

from __future__ import annotations

import threading
from collections import Counter
from typing import Any

import numpy as np
import pytest

import livejoin
from livejoin.dataflow import graph as module
from livejoin.dataflow.node import Node
from livejoin.errors import ExpressionError
from livejoin.state.dictionary import ByteDictionary

VIEWS = {
    "joined": "SELECT upper(A.name) AS a, concat(B.name, '-', A.name) AS b FROM T A JOIN T B ON A.v = B.k",
    "counted": "SELECT concat('<', name, '>') AS name, count(*) AS n, max(v) AS m FROM T "
    "GROUP BY concat('<', name, '>')",
    "first": "SELECT lower(name) AS name, v FROM T ORDER BY v, name LIMIT 5",
    "summed": "SELECT A.k, sum(B.v) AS s, count(*) AS n FROM T A JOIN T B ON A.k = B.v GROUP BY A.k",
    "above": "SELECT n, count(*) AS groups FROM counted GROUP BY n",
    "both": "SELECT c.name, s.s FROM counted c JOIN summed s ON c.n = s.n",
    "either": "SELECT name AS x FROM T UNION SELECT substring(name, 2) FROM T",
}


@pytest.fixture(autouse=True)
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LEAST_SECONDS", 0.0)


def database(threads: int) -> livejoin.Database:
    made = livejoin.Database(threads=threads)
    made.create_table("T", "k BIGINT, v BIGINT, name STRING", window_rows=90)
    for name, sql in VIEWS.items():
        made.create_view(name, sql)
    return made


def changes(seed: int, number: int = 40) -> list[tuple[int, int, str]]:
    random = np.random.default_rng(seed)
    return [(int(k), int(v), f"Name{n}") for k, v, n in random.integers(0, 15, (number, 3)) * [1, 1, 1 + seed]]


def rows(table: Any) -> Counter[tuple[object, ...]]:
    return Counter(zip(*(column.to_pylist() for column in table.columns), strict=True))


def names_of_threads(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The threads in which blocks are applied from now on."""
    found: set[str] = set()
    apply = Node.apply

    def noted(node: Node, *given: Any) -> Any:
        found.add(threading.current_thread().name)
        return apply(node, *given)

    monkeypatch.setattr(Node, "apply", noted)
    return found


@pytest.mark.parametrize("threads", [2, 4])
def test_deltas_and_results_are_those_of_one_thread(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    found = names_of_threads(monkeypatch)
    several, one = database(threads), database(1)
    for seed in range(12):
        if seed % 4 == 3:
            data = [{"k": k, "v": v, "name": n, "_seq": i} for i, (k, v, n) in enumerate(changes(seed, 15))]
            commits = [made.replay({"T": data}) for made in (several, one)]
        else:
            commits = [made.apply("T", changes(seed)) for made in (several, one)]
        for name in VIEWS:
            assert rows(commits[0][name]) == rows(commits[1][name]), (seed, name)
            assert rows(several.views[name].to_arrow()) == rows(one.views[name].to_arrow())
        several._check()
    assert len(found) > 1


def test_a_block_that_fails_leaves_nothing_behind_in_the_others() -> None:
    made = database(4)
    made.create_view("fails", "SELECT concat(A.name, B.name) AS x, 10 div A.v AS q FROM T A JOIN T B ON A.k = B.k")
    good = [(k, v + 1, name) for k, v, name in changes(1)]
    made.apply("T", good)
    before = {name: rows(made.views[name].to_arrow()) for name in (*VIEWS, "fails")}
    with pytest.raises(ExpressionError, match="view 'fails'"):
        made.apply("T", [(1, 0, "zero"), *changes(2)])
    made._check()
    assert {name: rows(made.views[name].to_arrow()) for name in (*VIEWS, "fails")} == before
    made.apply("T", [(k, v + 1, name) for k, v, name in changes(3)])
    made._check()


def test_small_commits_do_not_wake_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LEAST_SECONDS", 1.0)
    found = names_of_threads(monkeypatch)
    made = database(4)
    for seed in range(3):
        made.apply("T", changes(seed))
    assert found == {threading.current_thread().name}


def test_a_dictionary_that_several_threads_encode_into() -> None:
    """Each string has one code, whoever brings it first, and is read back meanwhile."""
    letters = ByteDictionary()
    begin = threading.Barrier(4)
    found: list[dict[str, int]] = [{} for _ in range(4)]
    errors: list[BaseException] = []

    def bring(number: int) -> None:
        try:
            begin.wait(30)
            for piece in range(60):
                words = [f"{'w' * (i % 7)}{(piece * 37 + i * (1 + number)) % 3000}" for i in range(50)]
                data = "".join(words).encode()
                offsets = np.cumsum([0, *map(len, words)])
                codes = letters.encode(np.frombuffer(data, np.uint8), offsets)
                back, bounds = letters.decode(codes)
                assert back.tobytes() == data
                assert bounds.tolist() == offsets.tolist()
                found[number].update(zip(words, codes.tolist(), strict=True))
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=bring, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not errors
    together: dict[str, int] = {}
    for codes in found:
        for word, code in codes.items():
            assert together.setdefault(word, code) == code
    assert len(set(together.values())) == len(together) == len(letters)
    letters._check()
