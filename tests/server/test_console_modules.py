"""The console's modules that need no page, in Node: files as pieces, places of boxes, values as texts."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

NODE = shutil.which("node")
SOURCES = Path(__file__).parents[2] / "web" / "src"

pytestmark = [pytest.mark.skipif(NODE is None, reason="there is no node"), pytest.mark.timeout(60)]


def run(script: str) -> Any:
    """What a script says of the modules."""
    assert NODE is not None
    head = "".join(
        f"import * as {name} from {json.dumps((SOURCES / f'{name}.js').as_uri())};"
        for name in ("files", "layout", "format")
    )
    command = [NODE, "--experimental-default-type=module", "--input-type=module", "--eval"]
    told = f"{head}\nconst say = (value) => console.log(JSON.stringify(value));\n{script}"
    done = subprocess.run([*command, told], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


FILE = "const file = (name, text) => Object.assign(new Blob([text]), { name });"
PIECES = f"""{FILE}
const all = async (name, text) => {{
  const found = [];
  try {{ for await (const piece of files.piecesOf(file(name, text))) found.push([piece.body, piece.rows]); }}
  catch (error) {{ found.push(error.message); }}
  return found;
}};
"""


def test_lines_of_csv() -> None:
    cases = {
        "a,b\n1,2\n": [["a", "b"], ["1", "2"]],
        "\ufeffa;b\r\n1,5;\r\n": [["a", "b"], ["1,5", None]],
        'a\tb\n"x\ty"\t""\n': [["a", "b"], ["x\ty", ""]],
        'a,b\n"line\none","say ""hi"""': [["a", "b"], ["line\none", 'say "hi"']],
        "a\n\n1\n\n": [["a"], ["1"]],
        'a\n""\n': [["a"], [""]],
        "a,b\n,\n": [["a", "b"], [None, None]],
        'a,b\n5" wide,x\n': [["a", "b"], ['5" wide', "x"]],
    }
    assert run(f"say({json.dumps(list(cases))}.map((text) => [...files.csvLines(text)]));") == list(cases.values())


def test_a_file_is_cut_into_pieces() -> None:
    found = run(f"""{PIECES}
    const many = "n\\n" + Array.from({{ length: 45001 }}, (_, i) => i).join("\\n");
    say([await all("a.csv", "a,b\\n1,\\n"), (await all("m.csv", many)).map(([, rows]) => rows),
      await all("a.csv", "a,b\\n1\\n"), await all("e.csv", ""), await all("h.csv", "a,,b\\n1,2,3\\n"),
      await all("a.json", ' [ {{"a": 1.10}},\\n {{"b": "],\\\\"["}} ] '),
      await all("l.json", '{{"a": 1}}\\n{{"a": 2}}\\n'), await all("x.json", "[1, 2"),
      await all("x.parquet", "PAR1xxxxPAR1"), await all("d.arrow", "ARROW1aaaaaaaaaaaaaaaaaaaa")]);
    """)
    assert found[0] == [['{"a":"1","b":null}', 1]]
    assert found[1] == [20000, 20000, 5001]
    assert found[2] == ["a.csv: line 2 has 1 values, and the first line names 2 columns."]
    assert found[3] == ["e.csv is empty."]
    assert "empty name" in found[4][0]
    assert found[5] == [['{"a": 1.10}\n{"b": "],\\"["}', 2]]
    assert found[6] == [['{"a": 1}\n{"a": 2}', 2]]
    assert found[7] == ["the JSON array does not end"]
    assert "Parquet" in found[8][0]
    assert "no whole Arrow file" in found[9][0]


def test_columns_that_a_file_could_have() -> None:
    text = "id,zip,share,day,at,is,big,none,word\n1,01234,1.5,2024-01-02,2024-01-02 03:04:05,true,9007199254740993,,x\n"
    found = run(f"{FILE} say(await files.columnsOf(file('a.csv', {json.dumps(text)})));")
    assert {one["name"]: one["type"] for one in found} == {
        "id": "BIGINT",
        "zip": "STRING",
        "share": "DOUBLE",
        "day": "DATE",
        "at": "TIMESTAMP",
        "is": "BOOLEAN",
        "big": "BIGINT",
        "none": "STRING",
        "word": "STRING",
    }


def test_places_do_not_overlap_and_edges_run_forward() -> None:
    """Random graphs: each box behind what it reads, no two of a layer nearer than the gap.

    Where a layer has two boxes at most, nothing stands further out than the widest layer.
    """
    found = run("""
    let seed = 1;
    const draw = (n) => (seed = (seed * 48271) % 2147483647) % n;
    let wrong = 0, boxes = 0;
    for (let turn = 0; turn < 200; turn++) {
      const ids = Array.from({ length: 1 + draw(30) }, (_, i) => String(i)), edges = [];
      for (let i = 1; i < ids.length; i++) for (let k = draw(4); k > 0; k--) {
        const from = String(draw(i));
        if (!edges.some((one) => one.from === from && one.to === ids[i])) edges.push({ from, to: ids[i] });
      }
      const most = turn % 2 ? 2 : undefined; // as on a phone
      const { places, layers, breadth, ways } = layout.layout(ids, edges, { size: 60, gap: 10, thin: 6, most });
      if (most) {
        const count = (layer) => [...places.values()].filter((one) => one.layer === layer).length;
        const isOver = ({ from, to }, layer) => places.get(from).layer < layer && layer < places.get(to).layer;
        const lanes = (layer) => new Set(edges.filter((one) => isOver(one, layer)).map((one) => one.from)).size;
        const all = Array.from({ length: layers }, (_, layer) => layer);
        if (all.some((layer) => count(layer) > most)) wrong++;
        if (breadth > Math.max(...all.map((layer) => count(layer) * 70 + lanes(layer) * 16 - 10)) + 1e-6) wrong++;
      }
      for (const { from, to } of edges) if (places.get(from).layer >= places.get(to).layer) wrong++;
      const steps = ({ from, to }) => places.get(to).layer - places.get(from).layer;
      for (const edge of edges) if (ways.get(edge).length !== steps(edge) - 1) wrong++;
      const all = [...places.values()];
      boxes += all.length;
      for (const a of all) {
        if (!(a.across >= 29.99 && a.across + 29.99 <= breadth && a.layer < layers)) wrong++;
        for (const b of all) if (a !== b && a.layer === b.layer && Math.abs(a.across - b.across) < 69.99) wrong++;
      }
    }
    say([wrong, boxes > 1000]);
    """)
    assert found == [0, True]


def test_values_and_figures_as_texts() -> None:
    found = run("""
    const text = (...given) => { const { text, kind } = format.shown(...given); return [text, kind]; };
    const numbers = ["BIGINT", "DECIMAL(10, 2)", "decimal128(10, 2)", "DOUBLE", "int64"];
    const others = ["STRING", "INTERVAL DAY TO SECOND", "ARRAY<INT>"];
    say([text(null), text("NULL"), text(""), text(12345n * 10n ** 15n), text(0.1 + 0.2), text(1e300), text(-0),
      text(1234567.5), text("-1234567.50", true), text("0.10", true), text("NaN", true), text(1234567, true, true),
      text({ a: [1n, null] }), text(true), format.count(1234567), format.bytes(1536), format.bytes(999),
      format.seconds(0.0000125), format.seconds(0.0125), format.many(1, "row"),
      [...numbers, ...others].map(format.isNumeric)]);
    """)
    assert found == [
        ["NULL", "null"],
        ["NULL", "text"],
        ["", "text"],
        ["12,345,000,000,000,000,000", "number"],
        ["0.30000000000000004", "number"],
        ["1e+300", "number"],
        ["-0", "number"],
        ["1,234,567.5", "number"],
        ["-1,234,567.50", "number"],
        ["0.10", "number"],
        ["NaN", "number"],
        ["1234567", "number"],
        ['{"a":["1",null]}', "nested"],
        ["true", "flag"],
        "1,234,567",
        "1.54 kB",
        "999 B",
        "12.5 \u00b5s",
        "12.5 ms",
        "1 row",
        [True, True, True, True, True, False, False, False],
    ]


def test_a_graph_has_no_blank_band() -> None:
    """The first box, or the first edge, stands at the edge, whatever hangs together with what."""
    found = run("""
    let seed = 7;
    const below = (most) => (seed = (seed * 1103515245 + 12345) % 2147483648) % most;
    const bands = [];
    for (let graph = 0; graph < 200; graph++) {
      const ids = ["t0", "t1"], edges = [];
      for (let at = 0; at < 5 + below(25); at++) {
        const from = new Set([ids[below(ids.length)], ids[below(ids.length)]]);
        edges.push(...[...from].map((one) => ({ from: one, to: `b${at}` })));
        ids.push(`b${at}`);
      }
      const { places, ways } = layout.layout(ids, edges, { size: 64, gap: 18, thin: 10 });
      const boxes = [...places.values()].map((one) => one.across - 32);
      bands.push(Math.min(...boxes, ...[...ways.values()].flat().map((one) => one - 5)));
    }
    say(bands.filter((one) => Math.abs(one) > 1e-6));
    """)
    assert found == []
