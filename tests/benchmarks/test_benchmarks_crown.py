"""CROWN's experiments: all texts of a query mean the same, streams keep their laws, wrong answers have no time."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
import tarfile
import time
from collections import Counter
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from rich.console import Console

import livejoin
from benchmarks import recompute
from benchmarks.__main__ import main
from benchmarks.crown import command, experiments, measure, plots, process, report
from benchmarks.crown.content import Answers, recomputed
from benchmarks.crown.enclosing import PATH, enclosing_stream
from benchmarks.crown.experiments import EXPERIMENTS
from benchmarks.crown.job import SEQUENCE, SIGN, Job, spread
from benchmarks.crown.measure import Measurement, Point, System, answer_of
from benchmarks.crown.queries import GRAPH_QUERIES, SNB_QUERIES, CrownQuery
from benchmarks.crown.registry import CALL, systems
from benchmarks.crown.selection import select
from benchmarks.crown.snb import DAY, lift, load_network, snb_stream
from benchmarks.crown.streams import ChangeStream, graph_stream, load_temporal
from benchmarks.crown.systems.livejoin import Run, has_threads, labelled
from benchmarks.figures import WrongAnswerError

EDGES = np.random.default_rng(4).integers(0, 16, (150, 2)) * 5
NETWORK = command.little_network()
QUERIES = [*GRAPH_QUERIES, *SNB_QUERIES, PATH]
OWN = systems().main
HOP3, STAR, Q1, Q3 = (q for q in QUERIES if q.name in ("3-Hop", "star count", "SNB Q1", "SNB Q3"))


def stream_of(query: CrownQuery) -> ChangeStream:
    if query in SNB_QUERIES:
        return snb_stream(lift(NETWORK, 2), 30).only(query.tables)
    if query is PATH:
        made = enclosing_stream(200, 5)
        return made.stream.until(made.busy)
    return graph_stream("edges", EDGES, 40).only(query.tables)


def job_of(query: CrownQuery, stream: ChangeStream, mode: str, commit: int = 0, algorithm: str = "auto") -> Job:
    points, options = stream.points((0.3, 0.6, 1.0)), {"algorithm": algorithm, "call": 40}
    texts = (query.own_sql, query.shape, query.tables, query.outputs)
    return Job(query.name, *texts, stream.events, points, mode, commit, options)


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: query.name)
def test_all_texts_of_a_query_mean_the_same(query: CrownQuery) -> None:
    stream = stream_of(query)
    for point in stream.points((0.3, 0.6, 1.0)):
        right = recomputed(query.sql, query, stream, point)
        assert recomputed(query.own_sql, query, stream, point) == right
        assert recomputed(query.plain or query.sql, query, stream, point) == right


MODES = (("delta", 0, "auto"), ("full", 50, "dyn"), ("quiet", 7, "change-propagation"), ("delta", 20, "crown"))


@pytest.mark.parametrize(("number", "query"), list(enumerate(QUERIES)), ids=[query.name for query in QUERIES])
def test_livejoin_is_right_in_every_mode(number: int, query: CrownQuery) -> None:
    mode, commit, algorithm = MODES[number % len(MODES)]
    stream = stream_of(query)
    changes = {name: labelled(table) for name, table in stream.tables.items()}
    job = job_of(query, stream, mode, commit, algorithm)
    told: list[dict[str, object]] = []
    with recompute.connect() as connection:
        Run(job, changes, connection).all(lambda **facts: told.append(facts))
    assert [line["point"] for line in told] == list(job.points)
    for line in told:
        right = recomputed(query.sql, query, stream, int(str(line["point"])))
        assert (line["rows"], line["hashes"]) == (right.rows, str(right.hashes))
    assert any(line["rows"] for line in told), "a result without rows shows nothing"


@pytest.mark.parametrize(("call", "calls"), [(40, 7), (10_000, 3)])
def test_a_call_has_as_many_changes_as_asked_and_ends_at_a_point(
    call: int, calls: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = stream_of(STAR)
    job = replace(job_of(STAR, stream, "delta"), options={"algorithm": "auto", "call": call})
    sizes = []
    replay = livejoin.Database.replay

    def counted(database: livejoin.Database, changes: dict[str, pa.Table], **more: Any) -> livejoin.Commit:
        sizes.append(sum(table.num_rows for table in changes.values()))
        return replay(database, changes, **more)

    monkeypatch.setattr(livejoin.Database, "replay", counted)
    with recompute.connect() as connection:
        changes = {name: labelled(table) for name, table in stream.tables.items()}
        Run(job, changes, connection).all(lambda **_: None)
    assert max(sizes) <= call
    assert len(sizes) == calls
    assert set(job.points) <= set(np.cumsum(sizes).tolist())


def test_latency_times_each_change() -> None:
    stream = stream_of(HOP3)
    told: list[dict[str, object]] = []
    with recompute.connect() as connection:
        changes = {name: labelled(table) for name, table in stream.tables.items()}
        Run(job_of(HOP3, stream, "latency"), changes, connection).all(lambda **facts: told.append(facts))
    assert ["latency" in line for line in told] == [False, True, True]
    assert told[2]["rows"] == recomputed(HOP3.sql, HOP3, stream, stream.events).rows
    assert spread([5.0] * 99 + [7.0]) == {"p50": 5.0, "p99": 5.0, "max": 7.0}


@pytest.mark.parametrize("name", ["G", "V1"])
def test_graph_stream_is_first_in_first_out(name: str) -> None:
    stream = graph_stream("edges", EDGES, 40)
    assert sum(table.num_rows for table in stream.tables.values()) == stream.events
    places = np.sort(np.concatenate([table[SEQUENCE].to_numpy() for table in stream.tables.values()]))
    assert np.array_equal(places, np.arange(stream.events))
    changes = stream.tables[name]
    came = [row for row in changes.to_pylist() if row[SIGN] > 0]
    left = [row for row in changes.to_pylist() if row[SIGN] < 0]
    assert len(came) - len(left) == (40 if name == "G" else len(came))
    columns = [c for c in changes.column_names if not c.startswith("_")]
    for old, gone in zip(came, left, strict=False):
        assert [old[c] for c in columns] == [gone[c] for c in columns]
        assert old[SEQUENCE] < gone[SEQUENCE]
    living = np.cumsum(changes[SIGN].to_numpy())
    assert living.min() > 0
    assert living.max() <= (40 if name == "G" else len(came))


def test_parts_of_a_stream() -> None:
    stream = graph_stream("edges", EDGES, 40)
    edges = stream.only(["G"])
    assert edges.tables["G"][SEQUENCE].to_pylist() == list(range(edges.events))
    first = stream.until(100)
    assert first.events == sum(table.num_rows for table in first.tables.values()) == 100
    assert stream.points((0.5, 0.5, 1.0)) == (round(stream.events / 2), stream.events)


def test_rows_of_the_network_live_for_so_many_days() -> None:
    stream = snb_stream(NETWORK, 30)
    messages = stream.tables["message"]
    times = dict(zip(NETWORK.messages[0].tolist(), NETWORK.messages[3].tolist(), strict=True))
    last = max(times.values())
    gone = {row["m_messageid"] for row in messages.to_pylist() if row[SIGN] < 0}
    assert gone == {m for m, time in times.items() if time + 30 * DAY <= last}
    assert all(row[SIGN] > 0 for row in stream.tables["tag"].to_pylist())
    assert {row["k_person1id"] for row in stream.tables["knows"].to_pylist()} >= set(NETWORK.knows[1].tolist())


@pytest.mark.parametrize("copies", [1, 2, 5])
def test_lift_keeps_distributions(copies: int) -> None:
    lifted = lift(NETWORK, copies)

    def spectrum(ids: object) -> Counter[int]:
        return Counter(Counter(np.asarray(ids).tolist()).values())

    def times_copies(counts: Counter[int]) -> Counter[int]:
        return Counter({degree: copies * times for degree, times in counts.items()})

    for one, many in (
        (NETWORK.knows[0], lifted.knows[0]),
        (NETWORK.knows[1], lifted.knows[1]),
        (NETWORK.messages[1], lifted.messages[1]),
        (NETWORK.tagged[0], lifted.tagged[0]),
    ):
        assert spectrum(many) == times_copies(spectrum(one))
    popular, now = Counter(NETWORK.tagged[1].tolist()), Counter(lifted.tagged[1].tolist())
    assert now == Counter({tag: copies * times for tag, times in popular.items()})
    assert len(set(lifted.persons[0].tolist())) == copies * NETWORK.persons.shape[1]
    assert (lifted.messages[2] == -1).sum() == copies * (NETWORK.messages[2] == -1).sum()
    assert set(lifted.knows[:2].ravel().tolist()) <= set(lifted.persons[0].tolist())
    pairs = set(zip(*lifted.knows[:2].tolist(), strict=True))
    assert len(pairs) == lifted.knows.shape[1]
    assert np.array_equal(np.sort(lifted.messages[3] // DAY)[:1], np.sort(NETWORK.messages[3] // DAY)[:1])


SNB_FILES = {
    "dynamic/person_0_0.csv": "id|firstName|lastName|gender|birthday|time|ip\n7|Jo|A|f|x|2010-01-02T00:00:00.001+0000|",
    "dynamic/post_0_0.csv": "id|i|creationDate|l|b|g|c|n|creator|f|p\n10||2010-01-03T00:00:00.000+0000||||hi|2|7|1|1",
    "dynamic/comment_0_0.csv": "id|time|l|b|c|n|creator|p|post|comment\n11|2010-01-03T00:00:01.000+0000|||x|1|7|1|10|",
    "dynamic/person_knows_person_0_0.csv": "Person.id|Person.id|creationDate\n7|8|2010-01-04T00:00:00.000+0000",
    "dynamic/post_hasTag_tag_0_0.csv": "Post.id|Tag.id\n10|3",
    "dynamic/comment_hasTag_tag_0_0.csv": "Comment.id|Tag.id\n11|4",
    "static/tag_0_0.csv": "id|name|url|hasType\n3|Rumi|u|1\n4|Tea|u|1",
    "update_streams/updateStream_0_0_person.csv": "1262563200000|0|1|8|Ann|B|female|0|1262563200000|ip",
    "update_streams/updateStream_0_0_forum.csv": (
        "5|0|6|12||5|ip|b|l|c|2|8|1|1|3;4\n6|0|7|13|6|ip|b|c|2|7|1|-1|11|4\n7|0|8|7|9|7\n8|0|5|1|1|1"
    ),
}


def snb_folder(path: Path) -> Path:
    for name, text in SNB_FILES.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text(text)
    return path


@pytest.mark.parametrize("form", ["archive", "folder"])
def test_load_network(tmp_path: Path, form: str) -> None:
    path = tmp_path / "data.tar.gz"
    if form == "archive":
        with tarfile.open(path, "w:gz") as archive:
            for name, text in SNB_FILES.items():
                member = tarfile.TarInfo(f"test-data/{name}")
                member.size = len(text)
                archive.addfile(member, BytesIO(text.encode()))
    else:
        path = snb_folder(tmp_path / "data")
    network = load_network(path)
    assert network.persons[0].tolist() == [7, 8]
    assert network.persons[1].tolist() == [1262390400001, 1262563200000]
    assert network.names == (("Jo", "Ann"), ("A", "B"))
    assert network.messages[:3].T.tolist() == [[10, 7, -1], [12, 8, -1], [11, 7, 10], [13, 7, 11]]
    assert network.tagged[:2].T.tolist() == [[10, 3], [11, 4], [12, 3], [12, 4], [13, 4]]
    assert network.knows.T.tolist() == [[7, 8, 1262563200000], [7, 9, 7]]
    assert network.tag_names == ("Rumi", "Tea")


def test_load_network_names_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"no person_0_0\.csv"):
        load_network(tmp_path)


def test_temporal_edges_come_in_the_order_of_their_times(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "t.txt.gz", "wt") as file:
        file.write("1 2 30\n3 4 10\n5 6 20\n")
    assert load_temporal(tmp_path / "t.txt.gz").tolist() == [[3, 4], [5, 6], [1, 2]]


def test_enclosing_stream_has_the_work_that_its_lambda_says() -> None:
    made = enclosing_stream(400, 20)
    changes = {name: labelled(table) for name, table in made.stream.tables.items()}
    job = replace(job_of(PATH, made.stream, "quiet"), points=(made.busy, made.stream.events))
    told: list[dict[str, object]] = []
    with recompute.connect() as connection:
        Run(job, changes, connection).all(lambda **facts: told.append(facts))
    assert made.found == pytest.approx(20)
    assert told[0]["rows"]
    assert made.found <= float(str(told[1]["lambda_observed"])) < 2 * made.found


@pytest.mark.parametrize("form", ["csv", "json"])
def test_deltas_of_peers_add_up(tmp_path: Path, form: str) -> None:
    rows = [('Ann, "B"', 1, 1), ("Jo", 2, 1), ("Jo", 2, -1), ("Jo", 2, 1), ("Jo", 2, 1)]
    query = replace(Q1, shape=replace(Q1.shape, output=("F", "M")))
    if form == "csv":
        text = "".join(f'"{f.replace(chr(34), chr(34) * 2)}","{m}","0","{d}"\n' for f, m, d in rows)
        (tmp_path / "out.csv").write_text('"F","M","time","diff"\n' + text)
        line = {"csv": str(tmp_path / "out.csv")}
    else:
        (tmp_path / "out").mkdir()
        lines = [
            {"before": None, "after": {"F": f, "M": m}, "op": "c"} if d > 0 else {"before": {"F": f, "M": m}, "op": "d"}
            for f, m, d in rows
        ]
        (tmp_path / "out" / "part-0").write_text("\n".join(map(json.dumps, lines)))
        (tmp_path / "out" / "empty").write_text("")
        line = {"json": str(tmp_path / "out")}
    with recompute.connect() as connection:
        connection.register("t", pa.table({"F": ['Ann, "B"', "Jo", "Jo"], "M": [1, 2, 2]}))
        assert answer_of(line, query) == recompute.fingerprint(connection, "t")


class Wrong(Answers):
    def at(self, query: CrownQuery, stream: ChangeStream, events: int) -> recompute.Fingerprint:
        return super().at(query, stream, events) + recompute.Fingerprint(1, 0)


def test_wrong_answers_have_no_time() -> None:
    stream = stream_of(STAR)
    with pytest.raises(WrongAnswerError, match="livejoin, star count over edges, delta: after 260 changes"):
        measure.measure(OWN, STAR, stream, "delta", (stream.events,), 60, Wrong())
    peer = System("DuckDB", "duckdb", peer=True)
    found = measure.measure(peer, STAR, stream, "full", (stream.events,), 60, Wrong())
    assert (found.status, found.points, found.seconds) == ("WRONG", (), None)


@pytest.mark.parametrize(
    ("system", "limit", "status", "reason"),
    [
        (
            System("Pathway", "pathway", True, sys.executable, "no_such_package"),
            60,
            "skipped",
            "no_such_package is not",
        ),
        (System("DuckDB", "duckdb", True), 0, "over the limit", "0 s a step"),
        (System("nothing", "nothing", True), 60, "failed", "No module named benchmarks.crown.systems.nothing"),
    ],
)
def test_what_does_not_run_is_named(system: System, limit: float, status: str, reason: str) -> None:
    stream = stream_of(HOP3)
    found = measure.measure(system, HOP3, stream, "full", (stream.events,), limit, Answers())
    assert found.status == status
    assert reason in found.reason
    assert not found.points


def results() -> dict[str, list[Measurement]]:
    def one(system: str, **more: object) -> Measurement:
        span = {"p50": 1e-5, "p99": 2e-5, "max": 3e-5}
        points = (Point(10, 1.0, 5, 2_000_000, {}), Point(100, 2.0, 50, 3_000_000, {"latency": span}))
        facts = {"lambda": 10.0, "selectivity": 0.1, "scale": 0.3, "threads": 2}
        whole = Measurement(system, "3-Hop", "edges", "delta", 100, "right", points, idle=1_000_000, facts=facts)
        return replace(whole, **more)

    peer = one("Flink", status="over the limit", reason="60 s", points=one("").points[:1])
    wrong = one("Pathway", status="WRONG", points=(), reason="other rows")
    named = {name: [one("livejoin", commit=10 if name == "batches" else 0), peer, wrong] for name in report.TITLES}
    return {name: found for name, found in named.items() if name != "memory"}


def test_tables_tell_what_ended_early_and_what_is_wrong() -> None:
    screen = Console(record=True, width=200)
    report.show(results(), screen)
    text = screen.export_text()
    assert "1 s x1 at 10%, then over the limit: 60 s" in text
    assert "WRONG" in text
    assert "10 20 30" in text
    assert "2" in text
    assert "other rows" not in text
    assert "a call of livejoin has" not in text, "nothing is known of it"
    written = json.loads(json.dumps(report.as_json(results(), benchmark="crown")))
    assert written["experiments"]["lambda"][1]["reached"] == 0.1
    assert written["experiments"]["lambda"][2]["points"] == []


def test_tables_tell_the_size_of_a_call() -> None:
    screen = Console(record=True, width=200)
    found = [
        Measurement(name, "3-Hop", "edges", mode, 100, "right", commit=commit, call=call)
        for name, mode, commit, call in (
            ("livejoin", "delta", 0, 10_000),
            ("DYN", "delta", 0, 500),
            ("Pathway", "delta", 1_000, 0),
            ("DYN", "quiet", 0, 7),
        )
    ]
    report.show({"runtime": found}, screen)
    text = " ".join(screen.export_text().split())
    assert "Where each change has a delta of its own, a call of livejoin has 500 or 10,000 changes." in text


def test_results_are_read_and_shown_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "crown.json"
    file.write_text(json.dumps(report.as_json(results())))
    assert report.read([file]) == results()
    assert len(report.read([file, file])["lambda"]) == 2 * len(results()["lambda"])
    assert main(["crown", "--results", str(file)]) == 0
    assert "then over the limit: 60 s" in capsys.readouterr().out


def test_written_results_are_the_old_ones_or_the_new_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "crown.json"
    report.write({}, file, benchmark="crown")
    report.write(results(), file, benchmark="crown")
    assert report.read([file]) == results()
    assert json.loads(file.read_text()) == json.loads(json.dumps(report.as_json(results(), benchmark="crown")))

    def interrupted(part: Path, text: str) -> None:
        with part.open("w") as out:
            out.write(text[: len(text) // 2])
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "write_text", interrupted)
    with pytest.raises(KeyboardInterrupt):
        report.write({}, file)
    assert report.read([file]) == results()
    assert list(tmp_path.iterdir()) == [file]


STUCK = """#!/bin/sh
sleep 600 &
echo $$ $! > {pids}.part && mv {pids}.part {pids}
wait
"""
ENDED = """
import runpy, sys
from benchmarks.crown import experiments, measure
from tests_of_crown import STAR, results, stream_of
stuck = measure.System("stuck", "stuck", True, sys.argv.pop())
def experiment(setting):
    yield results()["threads"][0]
    stream = stream_of(STAR)
    yield setting.run(stuck, STAR, stream, "delta")
experiments.EXPERIMENTS["threads"] = experiments.Experiment(experiment, experiments.CHAINS)
runpy.run_module("benchmarks", run_name="__main__", alter_sys=True)
"""


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.torture
def test_a_run_that_is_ended_ends_what_it_started_and_keeps_what_it_measured(
    tmp_path: Path, sent: signal.Signals, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    file, pids, stuck = tmp_path / "crown.json", tmp_path / "pids", tmp_path / "python"
    stuck.write_text(STUCK.format(pids=pids))
    stuck.chmod(0o755)
    program = ENDED.replace("tests_of_crown", Path(__file__).stem)
    options = ["crown", "--small", "--only", "threads", "--json", str(file), str(stuck)]
    path = os.pathsep.join(map(str, filter(None, sys.path)))
    with subprocess.Popen(
        [sys.executable, "-c", program, *options],
        env={**os.environ, "PYTHONPATH": path, "TMPDIR": str(tmp_path)},
        stderr=subprocess.PIPE,
        text=True,
    ) as run:
        until = time.monotonic() + 60
        while not pids.exists() and run.poll() is None and time.monotonic() < until:
            time.sleep(0.02)
        run.send_signal(sent)
        said = run.communicate(timeout=60)[1]
    assert run.returncode == code, said
    assert "--results" in said and "Traceback" not in said
    left, until = pids.read_text().split(), time.monotonic() + 10
    while any(map(running, left)) and time.monotonic() < until:
        time.sleep(0.02)
    assert not any(map(running, left))
    assert not list(tmp_path.glob("crown-*")), "the folder of the measurement is gone"
    assert report.read([file]) == {"threads": results()["threads"][:1]}
    assert main(["crown", "--results", str(file)]) == 0
    assert "number of threads" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_that_comes_while_a_process_starts_ends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sent: signal.Signals
) -> None:
    started = []

    class Signalled(subprocess.Popen[str]):
        def __init__(self, *arguments: Any, **more: Any) -> None:
            super().__init__(*arguments, **more)
            started.append(self)
            signal.raise_signal(sent)  # nobody has this object yet, to end the process by

    def end(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(subprocess, "Popen", Signalled)
    before = signal.signal(sent, end)
    try:
        with pytest.raises(KeyboardInterrupt):
            list(process.lines_of(["sleep", "600"], tmp_path, 60))
        assert signal.getsignal(sent) is end
    finally:
        signal.signal(sent, before)
    assert [one.returncode for one in started] == [-signal.SIGKILL]


def running(number: str) -> bool:
    """Whether a process runs; one that has ended may stand there until its parent asks for it."""
    listed = subprocess.run(["ps", "-o", "stat=", "-p", number], check=False, capture_output=True, text=True)
    return bool(listed.stdout.strip()) and not listed.stdout.strip().startswith("Z")


def test_pictures(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    files = plots.draw(results(), tmp_path)
    assert {file.suffix for file in files} == {".png", ".svg"}
    assert {file.stem for file in files} >= {"runtime-edges-delta", "memory", "lambda", "counting"}
    assert all(file.stat().st_size > 1_000 for file in files)


def test_pictures_need_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(plots.MissingPackageError, match="install the extra 'bench'"):
        plots.draw(results(), tmp_path)


def test_counting_is_timed_alone() -> None:
    stream = stream_of(HOP3)
    told: list[dict[str, object]] = []
    with recompute.connect() as connection:
        changes = {name: labelled(table) for name, table in stream.tables.items()}
        Run(job_of(HOP3, stream, "count"), changes, connection).all(lambda **facts: told.append(facts))
    assert [line["rows"] for line in told] == [
        Answers().count(HOP3, stream, point).rows for point in stream.points((0.3, 0.6, 1.0))
    ]
    assert "hashes" not in told[0]


@pytest.mark.torture
def test_command_runs_an_experiment(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written = tmp_path / "crown.json"
    options = ["--only", "threads", "--queries", "3-Hop", "--edges", "100"]
    assert main(["crown", "--small", *options, "--json", str(written)]) == 0
    found = json.loads(written.read_text())["experiments"]["threads"]
    assert json.loads(written.read_text())["call"] == CALL == 10_000
    assert {m["call"] for m in found} == {0}, "these come in commits"
    assert {m["facts"]["threads"] for m in found} == {1, 2, 4}
    assert {m["status"] for m in found} == {"right" if has_threads() else "skipped"}
    assert "number of threads" in " ".join(capsys.readouterr().out.split()), "however the title is wrapped"


LACKING = [
    ([], "give --graph or --temporal FILE, --snb PATH"),
    (["--small", "--only", "nothing"], "unknown experiment 'nothing'; there are runtime"),
    (["--small", "--queries", "5-Hop"], "unknown query '5-Hop'; there are 3-Hop"),
    (
        ["--small", "--only", "lambda", "--queries", "3-Hop"],
        "'lambda' has none of the queries 3-Hop; it has 3-Hop over",
    ),
    (["--small", "--only", "threads", "--queries", "3-Hop,SNB Q1"], "'SNB Q1' is in none of the experiments threads"),
    (["--only", "threads", "--snb", "S"], "'threads' needs --graph or --temporal FILE for 3-Hop, 4-Hop projected"),
    (["--only", "latency", "--queries", "SNB Q2", "--graph", "G"], "'latency' needs --snb PATH for SNB Q2"),
    (["--queries", "SNB Q2,2-Comb", "--snb", "S"], "'runtime' needs --graph or --temporal FILE for 2-Comb"),
    (["--only", "scale", "--queries", "SNB Q1,3-Hop"], "FILE for 3-Hop and --snb PATH for SNB Q1"),
    (["--only", "scale"], "FILE for 3-Hop, 4-Hop projected, star count, or --snb PATH for SNB Q1"),
]


@pytest.mark.parametrize("number", ["0", "-1", "some"])
def test_a_call_has_a_change(number: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["crown", "--small", "--call", number])
    assert "--call" in capsys.readouterr().err


@pytest.mark.parametrize(("options", "message"), LACKING)
def test_command_names_what_it_lacks(
    options: list[str], message: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["crown", *options, "--json", str(tmp_path / "crown.json")]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert message in said
    assert not list(tmp_path.iterdir())


EVERY = tuple(EXPERIMENTS)


@pytest.mark.parametrize(
    ("only", "queries", "graph", "snb", "chosen", "left_out"),
    [
        ((), (), True, True, EVERY, ()),
        ((), (), True, False, EVERY, ("runtime", "latency", "scale")),
        (
            (),
            (),
            False,
            True,
            ("runtime", "latency", "lambda", "scale"),
            tuple(name for name in EVERY if name != "lambda"),
        ),
        ((), ("SNB Q1",), False, True, ("runtime", "latency", "scale"), ()),
        ((), ("3-Hop",), True, False, tuple(name for name in EVERY if name != "lambda"), ()),
        (("scale", "runtime"), (), False, True, ("scale", "runtime"), ("scale", "runtime")),
        (("latency",), ("SNB Q1", "2-Comb"), True, True, ("latency",), ()),
        (("lambda",), (), False, False, ("lambda",), ()),
    ],
)
def test_what_is_not_named_and_has_no_data_is_left_out(
    only: tuple[str, ...],
    queries: tuple[str, ...],
    graph: bool,
    snb: bool,
    chosen: tuple[str, ...],
    left_out: tuple[str, ...],
) -> None:
    selection = select(only, queries, graph=graph, snb=snb)
    assert selection.experiments == chosen
    assert [line.split("'")[1] for line in selection.left_out] == list(left_out)
    lacking = "--graph or --temporal FILE for 3-Hop" if snb else "--snb PATH for SNB Q1"
    assert all(line.startswith("left out: ") and lacking in line for line in selection.left_out)


@pytest.mark.parametrize("source", ["graph", "snb"])
def test_experiments_run_with_one_of_the_sources(
    source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    measured: dict[str, None] = {}
    calls: set[object] = set()

    def right(system: System, query: CrownQuery, stream: ChangeStream, mode: str, *_: object, **more: object) -> object:
        measured[query.name] = None
        calls.add((system.peer, system.options.get("call")))
        facts = {key: more[key] for key in ("commit", "facts") if key in more}
        point = Point(stream.events, 1.0, 1, 1, {"latency": {"p50": 1e-5, "p99": 2e-5, "max": 3e-5}})
        return Measurement(system.name, query.name, stream.name, mode, stream.events, "right", (point,), **facts)

    monkeypatch.setattr(experiments, "measure", right)
    if source == "graph":
        path = tmp_path / "edges.txt"
        path.write_text("".join(f"{src} {dst}\n" for src, dst in EDGES.tolist()))
    else:
        path = snb_folder(tmp_path / "data")
    options = ["--snb-scale", "2", "--edges", "150", "--call", "30"]
    assert main(["crown", f"--{source}", str(path), *options]) == 0
    assert calls == {(False, 30), (True, None)}
    own = GRAPH_QUERIES if source == "graph" else SNB_QUERIES
    assert set(measured) == {query.name for query in (*own, PATH)}
    captured = capsys.readouterr()
    lacking = "--snb PATH" if source == "graph" else "--graph or --temporal FILE"
    assert f"left out: experiment 'scale' needs {lacking}" in " ".join(captured.err.split())


def test_command_ends_with_a_wrong_answer(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(Answers, "count", lambda *_: recompute.Fingerprint(-1, 0))
    assert main(["crown", "--small", "--only", "counting"]) == 1
    captured = capsys.readouterr()
    assert "wrong answer" in captured.err
    assert "Milliseconds" not in captured.out


def test_the_reason_of_a_failure_is_its_message() -> None:
    said = "Traceback ...\nTypeError: no operator mod\n  where\nfile.py:3: UserWarning: unused\n  warnings.warn(\n"
    assert process.reason(said) == "TypeError: no operator mod"
    assert process.reason("killed\n") == "killed"
    assert process.reason("") == "no message"


def test_flink_with_its_own_join_operator_is_a_system_of_its_own() -> None:
    plain, other = systems(None, "python-of-flink", multi_join=True).peers[1:]
    assert (plain.name, other.name) == ("Flink", "Flink MultiJoin")
    assert plain.python == other.python == "python-of-flink"
    assert plain.options == {}
    assert other.options["set"] == {"table.optimizer.multi-join.enabled": "true"}
    assert len(systems().peers) == 2
