"""SVG and HTML of explanations: well-formed, complete, and nothing of a query is read as markup."""

from __future__ import annotations

import json
import stat
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from explanations import DIAGRAM, EFFECTS, EXAMPLE, PATH, SNOWFLAKE

from livejoin.plan.draw import graphviz
from livejoin.plan.draw.drawing import Box, Drawing, Line, Link
from livejoin.plan.draw.theme import theme
from livejoin.plan.explain.diagram.diagram import Diagram, DiagramNode
from livejoin.plan.explain.explanation import Explanation
from livejoin.plan.explain.forms.picture import drawing_of, picture

pytestmark = pytest.mark.nojit

SVG = "{http://www.w3.org/2000/svg}"
EVIL = "</text></style><script>alert('&\"]]>\x00\x1b\ufffe</script>"


def evil() -> Explanation:
    """Every text of the explanation that comes from a query or a schema is markup."""
    node = replace(PATH.nodes[0], label=EVIL, variables=(EVIL,), predicate=EVIL, indexes=(EVIL,), views=(EVIL,))
    return replace(
        EXAMPLE,
        sql=f"SELECT {EVIL}",
        plan=replace(PATH, nodes=(node, *PATH.nodes[1:])),
        executable=False,
        obstacle=EVIL,
        suggestions=(replace(EXAMPLE.suggestions[0], text=EVIL, sql=EVIL),),
        tables=(replace(EXAMPLE.tables[0], name=EVIL, columns=(EVIL,)),),
        effects=(replace(EFFECTS[0], table=EVIL, conditions=(EVIL,)),),
        diagram=Diagram(
            (DiagramNode("table", EVIL, (EVIL,), None, (), EVIL), DiagramNode("step", EVIL, (), 0, (EVIL,)))
        ),
    )


def texts(svg: str) -> list[str]:
    return [str(element.text) for element in ET.fromstring(svg).iter(f"{SVG}text")]


class Tags(HTMLParser):
    """Tags that are open in turn, and all that there are."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.all: set[str] = set()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.all.add(tag)
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: object) -> None:
        self.all.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_picture_says_what_the_plan_is() -> None:
    said = texts(EXAMPLE.svg())
    for text in ("[b]", "G A(a, b)", "V_s V_p V_l", "(b)", "(c)", "by (b), for [b]", "50% of the changes"):
        assert text in said
    assert said[0] == "free-connex conjunctive query; 3 atoms"
    assert "Blue: the connex subtree, over which results are enumerated." in said
    root = ET.fromstring(EXAMPLE.svg())
    classes = [str(group.get("class")) for group in root.iter(f"{SVG}g") if group.get("class")]
    assert classes == ["generalized marked", "atom marked", "atom marked", "atom"]


def test_the_picture_of_a_query_has_its_boxes_and_lines_and_is_described() -> None:
    told = replace(EXAMPLE, effects=EFFECTS, diagram=DIAGRAM)
    said = texts(told.svg())
    for text in ("result", "G A", "a change here meets about 8", "A.dst = B.src", "each A meets 8 B on average"):
        assert text in said
    assert not any("V_s" in text for text in said)
    root = ET.fromstring(told.svg())
    assert root.get("role") == "img"
    assert str(root.findtext(f"{SVG}title")).startswith("Query of SELECT A.src FROM G A")
    assert "G: meets about 8 rows (500 at most)" in str(root.findtext(f"{SVG}desc"))
    assert [str(group.get("class")) for group in root.iter(f"{SVG}g") if group.get("class")] == [
        *("result", "table fair", "table", "nested", "reference"),
    ]
    assert "V_s V_p V_l" in texts(told.svg(terms=True))


def test_colours_are_those_of_the_theme_or_of_the_page_around() -> None:
    for mode in ("light", "dark"):
        ink = theme(mode)["ink"]
        assert f"fill:{ink};fill:var(--lj-ink,{ink})" in EXAMPLE.svg()
    assert theme("light").keys() == theme("dark").keys()


def test_where_all_is_connex_nothing_is_marked() -> None:
    full = replace(PATH, nodes=tuple(replace(node, connex=True) for node in PATH.nodes))
    svg = picture(replace(EXAMPLE, plan=full))
    assert 'class="atom marked"' not in svg
    assert not any(text.startswith("Blue") for text in texts(svg))


def test_a_refused_query_and_a_bag() -> None:
    bag = replace(PATH.nodes[1], label="bag 1", atoms=("A", "B"))
    plan = replace(PATH, nodes=(PATH.nodes[0], bag), edges=PATH.edges[:1])
    svg = picture(replace(EXAMPLE, plan=plan, executable=False, obstacle="cyclic"))
    assert "not maintained: cyclic" in texts(svg)
    assert "Thick: a bag, the join of several atoms." in texts(svg)
    assert 'class="bag"' in svg


def test_long_texts_are_cut_in_the_picture_and_whole_in_its_tooltip() -> None:
    predicate = " AND ".join(f'"column_{i}" > {i}' for i in range(30))
    node = replace(PATH.nodes[0], predicate=predicate)
    root = ET.fromstring(picture(replace(EXAMPLE, plan=replace(PATH, nodes=(node,), edges=()))))
    (box,) = (group for group in root.iter(f"{SVG}g") if group.get("class") == "generalized")
    assert str(box.findtext(f"{SVG}title")).endswith(predicate)
    assert max(len(str(text.text)) for text in box.iter(f"{SVG}text")) < 40


def test_nothing_of_a_query_is_markup() -> None:
    for svg in (evil().svg(), evil().svg(terms=True)):
        root = ET.fromstring(svg)  # control characters and broken markup would not parse
        assert {element.tag.removeprefix(SVG) for element in root.iter()} <= {
            "svg", "title", "desc", "style", "rect", "g", "path", "text",
        }  # fmt: skip
    for page in (evil().html(), evil()._repr_html_()):
        assert "<script" not in page
        tags = Tags()
        tags.feed(page)
        assert tags.open == []
        assert "script" not in tags.all
    json.loads(evil().json())


def test_a_page_says_it_all() -> None:
    page = EXAMPLE._repr_html_()
    for text in (
        "O(1) a change while rows leave in the order in which they came",
        "no: q-hierarchical. b and c: A has only b, C has only c, B has both",
        "lambda_T = 1.25 on average, 4 at most",
        "Declare a primary key of G. PRIMARY KEY (src) Then, beside the rows that it meets, a change takes constant",
        "G (src, dst) for A, B, C: 112 bytes a base row (72 in its record, 40 in indexes); 1,500 rows",
        "&#x27;&lt;script&gt;&#x27;",
    ):
        assert text in page
    assert EXAMPLE.html().startswith("<!DOCTYPE html>")
    assert page in EXAMPLE.html()


def test_styles_reach_nothing_else_on_a_page() -> None:
    """Every selector begins with a class of ours."""
    for style in ET.fromstring(EXAMPLE.svg()).iter(f"{SVG}style"):
        rules = str(style.text).replace("@media (prefers-color-scheme:dark){", "").replace("}}", "}")
        for rule in rules.split("}")[:-1]:
            assert all(part.strip().startswith(".livejoin-plan ") for part in rule.partition("{")[0].split(","))


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A ``dot`` on the path that answers with what stands in a file."""
    file = tmp_path / "dot"
    file.write_text(
        f"#!{sys.executable}\nimport sys\nsys.stdin.read()\nprint(open({str(tmp_path / 'answer')!r}).read())\n"
    )
    file.chmod(file.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path / "answer"


TWO = Drawing((Box((Line("a"),)), Box((Line("b"),), 0, "k")), (Link(0, 1, "m"),))
# As Graphviz 2.43 answers, without what is not read.
ANSWER = {
    "bb": "0,0,120,140",
    "objects": [{"name": "0", "pos": "60,122"}, {"name": "1", "pos": "50,18"}],
    "edges": [
        {"id": "0", "pos": "60,105 60,90 50,50 50,36", "lp": "40,70"},
        {"id": "1", "pos": "70,105 70,90 60,50 60,36 60,35 60,34 60,33", "lp": "80,70"},
    ],
}


def test_places_by_graphviz(program: Path) -> None:
    program.write_text(json.dumps(ANSWER))
    layout = graphviz.placed(TWO)
    assert layout is not None
    assert (layout.width, layout.height) == (120.0, 140.0)
    assert [(place.centre, place.y + place.height / 2) for place in layout.boxes] == [(60.0, 18.0), (50.0, 122.0)]
    assert [route.label for route in layout.routes] == ["k", "m"]
    assert layout.routes[0].path == "M60.0 35.0C60.0 50.0 50.0 90.0 50.0 104.0"


@pytest.mark.parametrize(
    "answer", ["", "{}", "no json", json.dumps(ANSWER | {"edges": []}), json.dumps(ANSWER | {"bb": "0,0,x,1"})]
)
def test_an_answer_that_makes_no_sense_is_none(program: Path, answer: str) -> None:
    program.write_text(answer)
    assert graphviz.placed(TWO) is None


def test_without_graphviz_or_when_it_fails_the_picture_is_ours(
    program: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    snowflake = replace(EXAMPLE, plan=SNOWFLAKE)
    failed = picture(snowflake)  # there is no answer to read
    (tmp_path / "dot").unlink()
    assert picture(snowflake) == failed
    assert "→ town" in texts(failed)


def test_the_question_for_graphviz_has_all_boxes_and_edges_and_none_of_their_text() -> None:
    drawing = drawing_of(SNOWFLAKE)
    asked = graphviz.dot(drawing)
    assert asked.count(" -> ") == 4
    assert "2 -> " not in asked
    assert "1 -> 2 [" in asked
    assert "3 -> 2 [" in asked
    assert "town" not in asked
