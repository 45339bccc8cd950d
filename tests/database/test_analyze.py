"""``view.explain(analyze=True)`` against counting by hand, and how long its counts last."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from html import escape, unescape
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import livejoin
from livejoin import Database, View
from livejoin.errors import ExpressionError, ReadError
from livejoin.plan.explain.analyzed.actual import BetterPlan
from livejoin.plan.explain.analyzed.analyzed_explanation import sections
from livejoin.theory.logs.enclosureness import enclosureness
from livejoin.theory.logs.lifespans import AFTER, BEFORE, Lifespans
from strategies import seeds

HOPS = "SELECT A.src AS a, A.dst AS b, B.dst AS c FROM G A JOIN G B ON A.dst = B.src"
SCHEMA = "CREATE TABLE G (src BIGINT, dst BIGINT); CREATE TABLE H (src BIGINT, w BIGINT)"
Row = tuple[int | None, int]


def actual(view: View) -> dict[str, Any]:
    """What a view really cost, as JSON has it."""
    found: dict[str, Any] = json.loads(view.explain(analyze=True).json())["actual"]
    return found


def without_bytes(found: dict[str, Any]) -> dict[str, Any]:
    """The figures without bytes, as what a commit took may be kept when it is undone."""
    return {
        **found,
        "blocks": [
            {**block, "state_bytes": 0, "nodes": [{**node, "state_bytes": 0} for node in block["nodes"]]}
            for block in found["blocks"]
        ],
    }


class Stream:
    """Random commits to G and H, with what they do counted by hand."""

    def __init__(self, database: Database, seed: int) -> None:
        self.database = database
        self.random = np.random.default_rng(seed)
        self.rows: dict[str, Counter[Row]] = {"G": Counter(), "H": Counter()}
        self.since: dict[str, dict[Row, int]] = {"G": {}, "H": {}}
        self.over: list[tuple[int, int, int]] = []
        self.net: Counter[str] = Counter()
        self.keys: Counter[int | None] = Counter()

    def begin(self) -> None:
        """The rows that are there are those of the initial database from here on."""
        self.since = {name: dict.fromkeys(+rows, BEFORE) for name, rows in self.rows.items()}
        self.over, self.net = [], Counter()

    def commit(self) -> livejoin.Commit:
        """Insertions and deletions, of rows that are there several times too, and of NULL."""
        changes: dict[str, list[dict[str, Any]]] = {}
        net: dict[str, Counter[Row]] = {}
        for name, column in (("G", "dst"), ("H", "w")):
            there = list(self.rows[name].elements())
            gone = int(self.random.integers(0, min(4, len(there)) + 1))
            leave = [there[i] for i in self.random.choice(len(there), gone, replace=False)] if gone else []
            drawn = self.random.integers(0, 5, (int(self.random.integers(0, 4)), 2)).tolist()
            come: list[Row] = [(None if a == 4 else a, b) for a, b in drawn]
            net[name] = Counter(come)
            net[name].subtract(leave)
            changes[name] = [{"src": a, column: b, "_change_type": "insert"} for a, b in come]
            changes[name] += [{"src": a, column: b, "_change_type": "delete"} for a, b in leave]
        commit = self.database.apply(changes)
        for number, name in enumerate(("G", "H")):
            for row, weight in net[name].items():
                if weight:
                    self.net[name] += 1
                    self._live(number, name, row, weight, commit.version)
                    if name == "G":
                        self.keys[row[0]] += 1
        return commit

    def _live(self, number: int, name: str, row: Row, weight: int, version: int) -> None:
        before = self.rows[name][row]
        self.rows[name][row] += weight
        if not before:
            self.since[name][row] = version
        elif not before + weight:
            self.over.append((number, self.since[name].pop(row), version))

    def spans(self, names: Sequence[str]) -> Lifespans:
        """All lifespans of rows of some tables."""
        now = [(("G", "H").index(name), begin, AFTER) for name in names for begin in self.since[name].values()]
        over = [one for one in self.over if ("G", "H")[one[0]] in names]
        found = np.array([*over, *now], np.int64).reshape(-1, 3)
        return Lifespans(found[:, 0], found[:, 1], found[:, 2])


@pytest.mark.parametrize("seed", seeds(1, 3))
def test_figures_are_those_of_a_naive_recount(seed: int) -> None:
    database = Database()
    database.execute(SCHEMA)
    stream = Stream(database, seed)
    for _ in range(5):
        stream.commit()
    hops = database.create_view("hops", HOPS)
    groups = database.create_view("groups", "SELECT src, COUNT(*) AS n, MAX(dst) AS m FROM G GROUP BY src")
    both = database.create_view("both", "SELECT G.dst AS d, H.w AS w FROM G JOIN H ON G.src = H.src WHERE G.dst > 0")
    reads = {"hops": ["G"], "groups": ["G"], "both": ["G", "H"]}
    for view in (hops, groups, both):
        assert actual(view)["began_now"]
    stream.begin()
    stream.keys = Counter()
    delta_rows: Counter[str] = Counter()
    ended: Counter[str] = Counter()
    for _ in range(40):
        before = +stream.net
        commit = stream.commit()
        for view in (hops, both):
            delta_rows[view.name] += commit.rows(view.name)
            reached = any(stream.net[name] > before[name] for name in reads[view.name])
            ended[view.name] += reached and not commit.rows(view.name)
    for view in (hops, groups, both):
        found = actual(view)
        assert not found["began_now"]
        assert (found["made"], found["analyzed"], found["version"]) == (5, 5, 45)
        assert {table["name"]: table["changes"] for table in found["tables"]} == {
            name: stream.net[name] for name in reads[view.name]
        }
        if found["expected_delta_rows"] is not None:
            expected = sum(table["changes"] * (table["expected_delta"] or 0) for table in found["tables"])
            assert found["expected_delta_rows"] == pytest.approx(expected)
        if view is not groups:
            assert found["delta_rows"] == delta_rows[view.name]
        exact = enclosureness(stream.spans(reads[view.name]))
        assert found["stream"]["lower"] <= exact.average <= found["stream"]["upper"]
        assert found["stream"]["largest"] - 1 <= exact.largest <= found["stream"]["largest"]
        for table in found["tables"]:
            assert table["rows"] == stream.rows[table["name"]].total()
            number = ("G", "H").index(table["name"])
            assert table["ended"] == sum(one[0] == number for one in stream.over)
            assert table["began"] == table["ended"] + len(stream.since[table["name"]])
        last = found["blocks"][-1]
        assert last["received"] == last["watched"] if view is not groups else last["watched"] is None
        if view is not groups:
            cancelled = last["passed_on"] - delta_rows[view.name]  # rows that come and go in a version
            assert 0 <= cancelled <= last["passed_on"] // 4
            assert ended[view.name] - cancelled <= last["stopped"] <= ended[view.name]
    per_group = [key for key in actual(groups)["keys"] if key["relation"] == "group"]
    assert {key["key"]["src"]: key["cost"] for key in per_group} == dict(stream.keys)
    assert [key["most"] for key in per_group] == [key["cost"] for key in per_group]
    database._check()


def test_what_is_undone_changes_no_figure() -> None:
    database = Database()
    database.execute("CREATE TABLE T (k STRING, v BIGINT); CREATE TABLE S (k STRING, w BIGINT)")
    view = database.create_view("joined", "SELECT T.v AS v, S.w AS w FROM T JOIN S ON T.k = S.k")
    database.create_view("shares", "SELECT 100 / v AS share FROM T")
    view.analyze()
    database.apply({"T": [("a", 1), ("b", 2)], "S": [("a", 3)]})
    before = without_bytes(actual(view))
    with pytest.raises(ExpressionError):
        database.apply("T", [("a", 0)])
    database.preview("T", [("a", 7)])
    database.preview({"T": [("c", 7)], "S": [("c", 7)]})
    assert without_bytes(actual(view)) == before
    database.apply("T", [("a", 9)])
    after = actual(view)
    assert after["blocks"][-1]["received"] == before["blocks"][-1]["received"] + 1
    assert [one["began"] for one in after["tables"]] == [1, 3]


ALGORITHMS = ("crown", "dyn", "change-propagation")


@pytest.mark.parametrize(("algorithm", "threads"), [(one, 1) for one in ALGORITHMS] + [("crown", 2)])
def test_the_hot_key_is_found_by_every_algorithm(algorithm: Any, threads: int) -> None:
    random = np.random.default_rng(1)
    database = Database(threads=threads)
    database.execute("CREATE TABLE O (id BIGINT, cid BIGINT); CREATE TABLE C (cid BIGINT, name STRING)")
    view = database.create_view("v", "SELECT id, name FROM O JOIN C ON O.cid = C.cid", algorithm=algorithm)
    view.analyze()
    database.apply("C", [(cid, f"n{cid}") for cid in range(50) for _ in range(1 + 20 * (cid == 7))])
    for place in range(60):
        cids = [7, *random.integers(0, 50, 3).tolist()]
        database.apply("O", [(10 * place + at, cid) for at, cid in enumerate(cids)])
    keys = actual(view)["keys"]
    assert (keys[0]["relation"], keys[0]["key"]) in (("O", {"cid": 7}), ("C", {"cid": 7}))
    others = [key["cost"] for key in keys if key["key"] != {"cid": 7}]
    if algorithm == "crown" and threads == 1:
        assert keys[0]["cost"] > 10 * max(others), "the work of each change is known"
    slow = database.slow_commits()
    assert slow[0].key is not None
    database._check()


def test_it_costs_what_it_would_if_nobody_asked() -> None:
    """The deltas and rows are the same with and without."""
    found = []
    for analyze in (False, True):
        database = Database()
        database.execute(SCHEMA)
        views = [
            database.create_view("hops", HOPS),
            database.create_view("n", "SELECT a, COUNT(*) AS n FROM hops GROUP BY a"),
        ]
        for view in views if analyze else ():
            view.analyze()
        stream = Stream(database, 5)
        deltas = [
            [sorted(map(str, commit[view.name].to_pylist())) for view in views]
            for commit in (stream.commit() for _ in range(30))
        ]
        found.append(deltas)
        database._check()
    assert found[0] == found[1]


def test_ids_that_are_given_anew_are_followed() -> None:
    database = Database()
    database.execute("CREATE TABLE G (src BIGINT, dst BIGINT)")
    view = database.create_view("hops", HOPS)
    rows = [(k, k + 100_000) for k in range(5_000)]
    database.apply("G", rows)
    view.analyze()
    keep = rows[::50]
    gone = [{"src": a, "dst": b, "_change_type": "delete"} for a, b in rows if (a, b) not in set(keep)]
    for begin in range(0, len(gone), 500):
        database.apply("G", gone[begin : begin + 500])
    for place in range(300):
        database.apply("G", [(10**6 + place, 0)])
        database.apply("G", [{"src": 10**6 + place, "dst": 0, "_change_type": "delete"}])
    base = database._contents.tables["g"]
    assert base.renumbered is not None, "else the test says nothing"
    for a, b in keep:
        database.apply("G", [{"src": a, "dst": b, "_change_type": "delete"}])
    found = actual(view)
    (table,) = found["tables"]
    assert (table["began"], table["ended"]) == (5_300, 5_300)
    spans = [(BEFORE, 2 + at // 500) for at in range(len(gone))]
    first = 2 + len(range(0, len(gone), 500))
    spans += [(first + 2 * place, first + 2 * place + 1) for place in range(300)]
    spans += [(BEFORE, first + 600 + place) for place in range(len(keep))]
    starts, ends = np.array(spans).T
    exact = enclosureness(Lifespans(np.zeros(len(spans), np.int64), starts, ends))
    assert found["stream"]["lower"] <= exact.average <= found["stream"]["upper"]


def test_a_move_to_another_plan_keeps_the_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("livejoin.dataflow.moving.adaptive.PERIOD", 200)
    database = Database()
    database.execute("CREATE TABLE R (a BIGINT, b BIGINT); CREATE TABLE S (b BIGINT, c BIGINT)")
    database.execute("CREATE TABLE T (c BIGINT, d BIGINT); CREATE TABLE U (d BIGINT, e BIGINT)")
    database.execute("CREATE TABLE W (e BIGINT, f BIGINT)")
    sql = "SELECT a, f FROM R JOIN S ON R.b = S.b JOIN T ON S.c = T.c JOIN U ON T.d = U.d JOIN W ON U.e = W.e"
    given = {"R": {"changes": 1000}, "S": {"changes": 1}, "T": {"changes": 1}, "U": {"changes": 1}, "W": {"changes": 1}}
    view = database.create_view("path", sql, adaptive=True, statistics=given)
    view.analyze()
    random = np.random.default_rng(2)
    for name in "RSTU":
        database.apply(name, [tuple(row) for row in random.integers(0, 8, (20, 2)).tolist()])
    received = 80
    for _ in range(120):
        rows = [tuple(row) for row in random.integers(0, 8, (20, 2)).tolist()]
        database.apply("W", rows)
        database.apply("W", [{"e": a, "f": b, "_change_type": "delete"} for a, b in rows])
    received = sum(table["changes"] for table in actual(view)["tables"])
    assert view.stats()["moves"] > 0, "else the test says nothing"
    (block,) = actual(view)["blocks"]
    assert (block["received"], block["watched"]) == (received, received)
    assert block["commits"] == 244
    assert block["touched"] >= 0


def test_a_plan_that_would_have_been_better_is_told_with_a_factor_that_holds() -> None:
    sql = (
        "SELECT R.a AS a, S.b AS b, S.c AS c, T.d AS d, U.e AS e, W.f AS f FROM R JOIN S ON R.b = S.b "
        "JOIN T ON S.c = T.c JOIN U ON T.d = U.d JOIN W ON U.e = W.e"
    )
    statistics: dict[str, Any] = {name: {"changes": 1000 if name in "RS" else 1, "rows": 400} for name in "RSTUW"}
    work: list[float] = []
    factor = 0.0
    for turn in range(2):
        database = Database()
        for table, columns in (("R", "ab"), ("S", "bc"), ("T", "cd"), ("U", "de"), ("W", "ef")):
            database.create_table(table, f"{columns[0]} INT, {columns[1]} INT")
        view = database.create_view("path", sql, statistics=statistics, deltas=False)
        random = np.random.default_rng(4)
        for name in "RSTU":
            database.apply(name, [tuple(row) for row in random.integers(0, 200, (400, 2)).tolist()])
        view.analyze()
        for _ in range(100):
            rows = [tuple(row) for row in random.integers(0, 200, (20, 2)).tolist()]
            database.apply("W", rows)
            database.apply("W", [{"e": a, "f": b, "_change_type": "delete"} for a, b in rows])
        found = actual(view)
        work.append(1 + found["blocks"][-1]["touched"])
        if turn == 0:
            better = found["better"][0]
            assert better["is_first"]
            assert better["line"] == found["blocks"][-1]["line"]
            assert "is expected to have visited" in view.explain(analyze=True).text(10_000)
            statistics, factor = better["statistics"], better["factor"]
        else:
            assert found["blocks"][-1]["line"] == better["better"]
            assert not [one for one in found["better"] if one["is_first"]]
    assert factor > 2
    assert factor / 2 < work[0] / work[1] < factor * 4


@pytest.mark.parametrize("kind", ["queue", "stack"])
def test_a_better_plan_for_rows_that_leave_as_from_a_queue_or_a_stack(kind: str) -> None:
    """The factor is that by which the plan really visited more rows, whichever of the rows leaves next."""
    sql = "SELECT a.v, b.x, c.w FROM a JOIN b ON a.x = b.x JOIN c ON b.y = c.y"
    visited: list[float] = []
    statistics: dict[str, Any] = {}
    factor = 0.0
    for turn in range(2):
        database, random = Database(), np.random.default_rng(4)
        database.execute("CREATE TABLE a (x INT, v INT); CREATE TABLE b (x INT, y INT); CREATE TABLE c (y INT, w INT)")
        database.apply({"a": [(i % 50, i) for i in range(500)], "b": [(i % 50, i * i % 397) for i in range(2000)]})
        view = database.create_view("v", sql, algorithm="crown", deltas=False, statistics=statistics)
        view.analyze()
        there: list[tuple[int, int]] = []
        for place in range(300):
            row = (int(random.integers(0, 400)), place)
            there.append(row)
            database.apply("c", [row])
            if len(there) > 20:
                y, w = there.pop(0 if kind == "queue" else -1)
                database.apply("c", [{"y": y, "w": w, "_change_type": "delete"}])
        found = actual(view)
        visited.append(sum(node["reached"] for node in found["blocks"][0]["nodes"]))
        if turn == 0:
            better = found["better"][0]
            assert better["is_first"]
            statistics, factor = better["statistics"], better["factor"]
        else:
            assert found["blocks"][0]["line"] == better["better"]
    assert factor > 2
    assert visited[0] / visited[1] == pytest.approx(factor, rel=0.5)
    stream = found["stream"]
    assert (stream["largest"] > 200) == (kind == "stack")


def test_it_says_which_table_is_no_queue() -> None:
    database = Database()
    database.execute("CREATE TABLE Orders (id BIGINT, day BIGINT); CREATE TABLE Lines (id BIGINT, item BIGINT)")
    view = database.create_view("v", "SELECT Orders.day AS d, item FROM Orders JOIN Lines ON Orders.id = Lines.id")
    view.analyze()
    database.apply("Orders", [(k, k) for k in range(20)])
    for place in range(400):
        database.apply("Lines", [(place % 20, place)])
        if place >= 10:
            old = place - 10
            database.apply("Lines", [{"id": old % 20, "item": old, "_change_type": "delete"}])
        if place % 40 == 39:
            database.apply("Orders", [{"id": place // 40, "day": place // 40, "_change_type": "delete"}])
    told = view.explain(analyze=True)
    text = " ".join(told.text().split())
    (said,) = re.findall(r"Orders is no queue beside Lines: its rows live about (\d+) times as long", text)
    assert 10 < int(said) < 100
    assert "Lines by id: about " in text  # each costs as much as any other one
    page = unescape(re.sub("<[^>]*>", " ", told.html()))
    for heading, lines in sections(told.actual):  # type: ignore[attr-defined]
        for line in (heading, *lines):
            assert " ".join(line.split()) in text
            assert " ".join(line.split()) in " ".join(page.split())
    assert told._repr_html_().count("livejoin-actual") == 1
    assert told.html().endswith("</body></html>\n")


def test_hostile_values_stay_text() -> None:
    database = Database()
    database.execute("CREATE TABLE T (`<i>` STRING, v BIGINT)")
    view = database.create_view("v", "SELECT `<i>`, SUM(v) AS s FROM T GROUP BY `<i>`")
    view.analyze()
    for hostile, said in (("<img src=x onerror=1>\x1b[2J", "<i> = '<img"), (None, "<i> = NULL")):
        database.apply("T", [(hostile, 1)] * 9)
        told = view.explain(analyze=True)
        assert "<img" not in told.html()
        assert escape(said, quote=True) in told.html()
        assert "\x1b" not in told.text()
        assert said in told.text()
        view.analyze(False)
        view.analyze()


def test_it_begins_and_ends_as_asked() -> None:
    database = Database()
    database.execute(SCHEMA)
    one, two = database.create_view("one", HOPS), database.create_view("two", HOPS)
    nodes = database._contents.graph.nodes
    assert one.explain().to_dict().keys() & {"actual"} == set()
    assert all(node.watch is None for node in nodes)
    one.analyze()
    two.analyze()
    one.analyze()
    one.analyze(False)
    assert all(node.watch is not None for node in nodes), "the other view has the same block"
    two.analyze(False)
    two.analyze(False)
    assert all(node.watch is None for node in nodes)
    assert not database._contents.tally.analyses
    database.apply("G", [(1, 2)])
    assert actual(one)["began_now"]
    assert actual(one)["blocks"][0]["received"] == 1, "what is always counted is from when the view was made"
    with pytest.raises(livejoin.SchemaError, match="analyze"):
        one.explain(analyze="yes")  # type: ignore[arg-type]
    database.drop_view("one")
    with pytest.raises(ReadError, match="dropped"):
        one.explain(analyze=True)
    assert not database._contents.tally.analyses


def test_another_query_or_declaration_begins_anew() -> None:
    database = Database()
    database.execute(SCHEMA)
    view = database.create_view("v", HOPS)
    view.analyze()
    database.apply("G", [(1, 2), (2, 3)])
    database.create_view("v", "SELECT G.src AS a, G.dst AS b, H.w AS c FROM G JOIN H ON G.src = H.src", replace=True)
    found = actual(database.views["v"])
    assert found["began_now"]
    assert {table["name"] for table in found["tables"]} == {"G", "H"}
    database.execute("ALTER TABLE H ADD COLUMN note STRING")
    database.apply("H", [(1, 5, None)])
    database.apply("G", [(7, 8)])
    found = actual(database.views["v"])
    assert {table["name"]: table["began"] for table in found["tables"]} == {"G": 3, "H": 1}
    assert found["analyzed"] == database.version - 1
    database._check()


def test_a_folder_and_a_snapshot_begin_anew(tmp_path: Path) -> None:
    with livejoin.open(tmp_path / "home") as database:
        database.execute(SCHEMA)
        view = database.create_view("v", HOPS)
        view.analyze()
        database.apply("G", [(1, 2), (2, 3)])
        database.save(tmp_path / "saved")
    for opened in (livejoin.open(tmp_path / "home"), Database.load(tmp_path / "saved")):
        found = actual(opened.views["v"])
        assert (found["made"], found["began_now"]) == (1, True)
        assert [block["received"] for block in found["blocks"]] == [0]
        opened.apply("G", [(3, 4)])
        assert [block["received"] for block in actual(opened.views["v"])["blocks"]] == [1]
        opened.close()


def test_every_key_is_documented_and_every_documented_key_is_there() -> None:
    page = (Path(__file__).parents[2] / "docs" / "analyze.md").read_text(encoding="utf-8")
    documented = set(re.findall(r"^\| `(actual[\w.\[\]]*)` \|", page, re.MULTILINE))
    database = Database()
    database.execute(SCHEMA)
    view = database.create_view("v", HOPS, statistics={"G": {"changes": 1, "rows": 10, "distinct": {"src": 5}}})
    view.analyze()
    database.apply("G", [(1, 2), (2, 3)])
    found = view.explain(analyze=True).to_dict()["actual"]

    def keys(value: Any, path: str) -> set[str]:
        if isinstance(value, dict) and not path.endswith((".key", ".statistics")):
            return {f"{path}.{key}" for key in value} | {k for key in value for k in keys(value[key], f"{path}.{key}")}
        if isinstance(value, list):
            return {k for item in value for k in keys(item, f"{path}[]")}
        return set()

    of_better = {one for one in documented if one.startswith("actual.better[].")}
    assert {"actual"} | keys(found, "actual") | of_better == documented
    assert of_better == {f"actual.better[].{name}" for name in BetterPlan.__dataclass_fields__}


def test_nodes_of_a_tree_are_those_of_a_naive_recount() -> None:
    """What a change meets, counted row by row, beside what the verdict expects for it."""
    database = Database()
    database.execute(
        "CREATE TABLE customers (cid BIGINT PRIMARY KEY, region BIGINT); CREATE TABLE orders (oid BIGINT PRIMARY KEY,"
        " cid BIGINT); CREATE TABLE lines (oid BIGINT, item BIGINT)"
    )
    random = np.random.default_rng(5)
    orders = {i: int(random.integers(0, 10)) for i in range(60)}
    lines = [(int(random.integers(0, 60)), i) for i in range(240)]
    database.apply("customers", [(i, i % 3) for i in range(10)])
    database.apply("orders", list(orders.items()))
    database.apply("lines", lines)
    view = database.create_view(
        "sold",
        "SELECT c.region, o.oid, l.item FROM customers c JOIN orders o ON o.cid = c.cid JOIN lines l ON l.oid = o.oid",
    )
    view.analyze()
    met = 0
    for number in range(30):
        row = (int(random.integers(0, 60)), 1000 + number)
        database.apply("lines", [row])
        lines.append(row)
        met += 2  # its order, and the customer of that
    for oid in random.choice(60, 20, replace=False).tolist():
        database.apply("orders", [{"oid": oid, "cid": orders[oid], "_change_type": "delete"}])
        met += 2 * sum(line[0] == oid for line in lines)  # its lines, and for each of them the customer
        del orders[oid]
    (block,) = actual(view)["blocks"]
    nodes = {node["label"]: node for node in block["nodes"]}
    assert block["met"] == pytest.approx(met / 50)
    assert sum(nodes[name]["met"] for name in "col") == pytest.approx(block["met"])
    assert nodes["l"]["rows"] == len(lines)
    assert nodes["o"]["rows"] == len({*orders} & {line[0] for line in lines})
    assert nodes["l"]["reached"] == 30
    assert (nodes["o"]["expected_rows"], nodes["l"]["expected_rows"]) == (40, 270)
    assert 0.5 < block["met"] / block["expected_met"] < 2
    text = str(view.explain(analyze=True))
    assert "node by node" in text
    assert "rows of it (about" in text


def test_what_was_met_and_what_was_expected_are_of_the_same_changes() -> None:
    """Of those since it is counted: a view that was loaded first expected the rows of the load."""
    db = livejoin.Database()
    db.execute("CREATE TABLE a (p INT, v INT); CREATE TABLE p (id INT PRIMARY KEY, name STRING)")
    view = db.create_view("v", "SELECT a.v, p.name FROM a JOIN p ON p.id = a.p", algorithm="crown")
    db.apply({"a": [(i % 10, i) for i in range(2_000)], "p": [(i, str(i)) for i in range(10)]})
    view.analyze()
    for i in range(10):
        db.execute(f"DELETE FROM p WHERE id = {i}")
        db.apply("p", [(i, str(i))])
    (block,) = view.explain(analyze=True).to_dict()["actual"]["blocks"]
    assert block["watched"] == 20
    assert block["met"] == pytest.approx(200, rel=0.1)
    assert block["expected_met"] == pytest.approx(block["met"], rel=0.1)
    (rows,) = [one for one in block["nodes"] if one["label"].startswith("p")]
    assert rows["expected_reached"] == pytest.approx(rows["reached"], rel=0.1)


def test_rows_met_in_a_projection_of_a_table_are_met_of_the_table() -> None:
    db, dice = Database(), Random(1)
    db.execute("CREATE TABLE lines (id BIGINT PRIMARY KEY, oid BIGINT, pid BIGINT)")
    db.apply("lines", [(i, dice.randrange(200), dice.randrange(30)) for i in range(400)])
    sql = "SELECT a.pid, b.pid AS other, COUNT(*) AS n FROM lines a JOIN lines b ON a.oid = b.oid AND a.pid <> b.pid"
    view = db.create_view("pairs", f"{sql} GROUP BY a.pid, b.pid")
    view.analyze()
    for i in range(60):
        db.apply("lines", [(1000 + i, dice.randrange(200), dice.randrange(30))])
    (join,) = (one for one in view.explain(analyze=True).to_dict()["actual"]["blocks"] if one["nodes"])
    assert any(node["label"].startswith("[") for node in join["nodes"])
    assert join["expected_met"] / 2 <= join["met"] <= join["expected_met"] * 2


def test_what_a_nested_query_below_a_join_makes_is_expected_to_meet_rows() -> None:
    """Changes of a table that no join reads itself: each changes a group, whose old and new row meet others."""
    db = Database()
    db.execute("CREATE TABLE orders (id BIGINT PRIMARY KEY, c BIGINT NOT NULL); CREATE TABLE visit (c BIGINT, day INT)")
    db.apply({"orders": [(i, i % 50) for i in range(500)], "visit": [(i % 50, i) for i in range(1000)]})
    groups = "(SELECT c, COUNT(*) AS n FROM orders GROUP BY c)"
    view = db.create_view("v", f"SELECT s.c, v.day, s.n FROM {groups} s JOIN visit v ON v.c = s.c")
    view.analyze()
    for i in range(20):
        db.apply("orders", [(1000 + i, i)])
    (join,) = (one for one in actual(view)["blocks"] if one["kind"] == "join")
    (visits,) = (one for one in join["nodes"] if one["label"] == "v")
    assert visits["met"] == 20
    assert visits["expected_met"] == pytest.approx(20)


def test_a_view_that_took_the_name_of_another_is_analyzed_by_its_own_blocks() -> None:
    db = Database()
    db.execute(SCHEMA)
    db.execute("CREATE VIEW v AS SELECT src, COUNT(*) AS n FROM G GROUP BY src")
    actual(db.views["v"])
    db.execute("CREATE OR REPLACE VIEW v AS SELECT H.w, COUNT(*) AS n FROM G JOIN H ON G.src = H.src GROUP BY H.w")
    db.apply({"G": [(1, 2)], "H": [(1, 5)]})
    assert actual(db.views["v"])["blocks"]
    db.apply("H", [(1, 6)])
    assert sum(block["commits"] for block in actual(db.views["v"])["blocks"]) >= 1
