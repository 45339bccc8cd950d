"""The benchmarks run, check their answers, and refuse to show a speed for a wrong one."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from benchmarks import engine, graph, queries, recompute
from benchmarks.__main__ import main
from benchmarks.figures import Aim, Figure, WrongAnswerError, verify
from benchmarks.floors import probe_rate
from benchmarks.graph_queries import QUERIES, GraphQuery
from benchmarks.maintained import Maintained, Numbered
from benchmarks.stream import EdgeStream, load_edges
from livejoin.search.algorithm import Algorithm

EDGES = np.random.default_rng(3).integers(0, 12, size=(200, 2))


def test_small_benchmark_prints_every_figure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graph, "REPEATS", 1)  # further ones are for the clock
    written = tmp_path / "figures.json"
    assert main(["graph", "--small", "--json", str(written)]) == 0
    result = json.loads(written.read_text())
    assert result["edges"] == 2000
    assert len(result["figures"]) == 15
    for figure in result["figures"]:
        assert figure["value"] > 0
        assert figure["check"]
        assert (figure["floor"] is None) == (figure["ratio"] is None)
    assert "changes/s" in capsys.readouterr().out


@pytest.mark.torture
def test_threads_are_compared_for_each_query(tmp_path: Path) -> None:
    written = tmp_path / "figures.json"
    options = ["--small", "--limit", "400", "--threads", "2", "--commit", "200", "--json", str(written)]
    assert main(["queries", *options]) == 0
    figures = json.loads(written.read_text())["figures"]
    assert len(figures) == 4 * len(QUERIES)
    assert all("DuckDB" in figure["check"] for figure in figures)


def test_threads_are_compared_with_one(tmp_path: Path) -> None:
    written = tmp_path / "figures.json"
    assert main(["graph", "--small", "--limit", "600", "--threads", "2", "--json", str(written)]) == 0
    result = json.loads(written.read_text())
    assert result["threads"] == 2
    assert [figure["value"] > 0 for figure in result["figures"]] == [True] * 5
    assert all("DuckDB" in figure["check"] for figure in result["figures"])


def test_queries_small_prints_every_figure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queries, "REPEATS", 1)  # further ones are for the clock
    written = tmp_path / "figures.json"
    assert main(["queries", "--small", "--limit", "300", "--json", str(written)]) == 0
    figures = json.loads(written.read_text())["figures"]
    assert {figure["name"].split(":")[0] for figure in figures} == {query.name for query in QUERIES}
    assert {figure["unit"] for figure in figures} >= {"changes/s", "rows/s", "bytes/atom row", "times"}
    assert all(figure["value"] >= 0 and "DuckDB" in figure["check"] for figure in figures)
    assert "standard" in capsys.readouterr().out


@pytest.mark.parametrize("algorithm", ["auto", "change-propagation"])
@pytest.mark.parametrize("query", QUERIES, ids=lambda query: query.name)
def test_operators_driven_by_numbered_rows_are_right_where_edges_repeat(
    query: GraphQuery, algorithm: Algorithm
) -> None:
    stream = EdgeStream(EDGES, window=40, modulus=3)
    numbered = Numbered.of(stream, 7)
    right = recompute.recomputed(stream, f"SELECT COLUMNS(*)::BIGINT FROM ({query.text(3)})")
    assert recompute.recomputed(stream, query.recomputed_as(3)) == right
    kept = Maintained(query.text(3), numbered, deltas=True, algorithm=algorithm)
    assert kept.arrow_deltas().total == right == kept.result()


def test_wrong_query_has_no_speed() -> None:
    wrong = replace(QUERIES[0], sql=QUERIES[0].sql.replace("G3.src AS c", "G2.src AS c"), plain=QUERIES[0].sql)
    with pytest.raises(WrongAnswerError, match="3-Hop: DuckDB's own text"):
        queries.measure(EdgeStream(EDGES, window=40, modulus=3), print, [wrong])


def test_rows_are_numbered_by_what_lives() -> None:
    numbered = Numbered.of(EdgeStream(np.array([[1, 2], [1, 2], [3, 4], [5, 6], [1, 2], [3, 4]]), 2, 1), 1)
    first, again, *_ = ids = numbered.ids.tolist()
    assert first == again
    assert all(ids[i] != ids[i + 1] for i in range(1, 5)), "rows that live at a time have different numbers"
    assert max(ids) < 3


def test_wrong_answer_has_no_speed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    right = recompute.recomputed

    def one_row_more(stream: EdgeStream) -> recompute.Fingerprint:
        return right(stream) + recompute.Fingerprint(1, 0)

    monkeypatch.setattr(recompute, "recomputed", one_row_more)
    assert main(["graph", "--small"]) == 1
    assert main(["graph", "--small", "--limit", "600", "--threads", "2"]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "wrong answer" in captured.err


def test_verify() -> None:
    assert verify("rows", 1234, 1234) == "rows: 1,234"
    with pytest.raises(WrongAnswerError, match="rows: found 3, expected 4"):
        verify("rows", 3, 4)


def test_aims() -> None:
    def met(value: float, aim: Aim | None, floor: float | None = None) -> bool | None:
        return Figure("x", value, "rows/s", "checked", floor, "", aim).met

    assert met(2, Aim(2)) is True
    assert met(1.9, Aim(2)) is False
    assert met(111, Aim(110, most=True)) is False
    assert met(34, Aim(0.35, "ratio"), 100) is False
    assert met(36, Aim(0.35, "ratio"), 100) is True
    assert met(36, None) is None


def test_streams_of_the_operator_and_of_arrow_are_the_same() -> None:
    stream = EdgeStream(EDGES, window=40, modulus=3)
    operator = engine.three_hop(stream, 7, live=True)
    deltas = engine.summed_deltas(operator)
    result = recompute.of_result(engine.as_batches(operator, 16))
    assert result == recompute.recomputed(stream)
    assert deltas.total() == operator.join.count() == result.rows > 0
    assert operator.join.registered == stream.atom_rows()
    logs = pa.concat_tables(stream.batches(64))
    assert logs["_seq"].to_pylist() == list(range(200))
    assert np.array_equal(np.stack([logs["src"], logs["dst"]], axis=1), EDGES)
    assert stream.changes == 200 + 160


def test_fingerprint_sees_what_a_count_does_not() -> None:
    def of(*rows: tuple[int, int, int, int]) -> recompute.Fingerprint:
        columns = zip(*rows, strict=True)
        return recompute.of_result([pa.record_batch(dict(zip("abcd", map(list, columns), strict=True)))])

    assert of((1, 2, 3, 4), (5, 6, 7, 8)) == of((5, 6, 7, 8), (1, 2, 3, 4))
    assert of((1, 2, 3, 4), (5, 6, 7, 8)) != of((1, 2, 3, 8), (5, 6, 7, 4))
    assert of((1, 2, 3, 4), (1, 2, 3, 4)) != of((1, 2, 3, 4), (5, 6, 7, 8))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("edges.txt", "# a comment\n# FromNodeId\tToNodeId\n0\t4\n2\t5\n"),
        ("edges.txt.gz", "0 4 1082040961\n2 5 1082155839\n"),
        ("edges.csv", "_seq,dst,src\n0,4,0\n1,5,2\n"),
    ],
)
def test_load_edges(tmp_path: Path, name: str, text: str) -> None:
    opener = gzip.open if name.endswith(".gz") else open
    with opener(tmp_path / name, "wt") as file:
        file.write(text)
    assert load_edges(tmp_path / name).tolist() == [[0, 4], [2, 5]]
    assert load_edges(tmp_path, limit=1).tolist() == [[0, 4]]


def test_load_edges_needs_edges(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no edges"):
        load_edges(tmp_path)


def test_floor_looks_up_every_key() -> None:
    assert probe_rate(entries=100, probes=1_000) > 0


def test_dictionaries_and_operator_agree() -> None:
    stream = EdgeStream(EDGES, window=40, modulus=3)
    count = recompute.recomputed(stream).rows
    assert [figure.check.split(";")[0] for figure in graph.dictionaries(stream)] == [f"counts equal: {count:,}"] * 2
