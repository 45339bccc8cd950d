"""What the documents and docstrings name is there: files, folders, modules, what modules have, links, decisions."""

from __future__ import annotations

import ast
import importlib
import re
import runpy
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from livejoin.cli.main import main

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
DECISIONS = DOCS / "decisions"
PACKAGES = sorted(path.name for path in (ROOT / "src" / "livejoin").iterdir() if (path / "__init__.py").exists())

DOCUMENTS = sorted(path for folder in (ROOT, DOCS, DECISIONS) for path in folder.glob("*.md"))
DOCUMENTS += sorted(path for name in ("start", "concepts", "guides", "api") for path in (DOCS / name).glob("*.md"))
SOURCES = sorted((ROOT / "src").rglob("*.py"))

# Files that a how-to makes; table properties, keys of metadata and others.
TO_BE_MADE = {"src/livejoin/dataflow/blocks/frequent.py", "src/livejoin/families/NAME/"}
NO_MODULES = {
    *("livejoin.window_range", "livejoin.static", "livejoin.window_rows", "livejoin.keys"),
    *("livejoin.sequence_by", "livejoin.tombstones", "livejoin.retain", "livejoin.append_only"),
    *("livejoin.watermark", "livejoin.late", "livejoin.keep", "livejoin.keep_final", "livejoin.deletes"),
    "livejoin.bearer.TOKEN",  # a subprotocol of WebSockets
}

_PATH = re.compile(r"(?<![\w/.-])(?:[\w-]+/)+(?:[\w-]+\.(?:py|md|svg|toml))?(?![\w/*{<])|(?<![\w/.-])[a-z_]+\.py\b")
_MODULE = re.compile(r"(?<![\w./])livejoin(?:\.[A-Za-z_]\w*)+")
_SHORT = re.compile(rf"(?<![\w./])(?:{'|'.join(PACKAGES)})(?:\.[A-Za-z_]\w*)+")  # decisions leave livejoin out
_LINK = re.compile(r"\]\(([^)#:]+)(?:#[\w-]+)?\)")
_CODE = re.compile(r"`+([^`]+)`+")


def overtaken() -> set[str]:
    """Files of decisions that no longer hold, as the index says."""
    lines = (DECISIONS / "README.md").read_text().splitlines()
    return {re.findall(r"\((\S+\.md)\)", line)[0] for line in lines if re.search(r"\| overtaken[^|]*\|$", line)}


def is_there(name: str) -> bool:
    """Whether a file or folder exists, named from the root, from the package or from where its neighbours are."""
    if name in TO_BE_MADE:
        return True
    if "/" not in name:
        return bool(by_name().get(name))
    places = (ROOT, ROOT / "src", ROOT / "src" / "livejoin", DOCS)
    return any((place / name).exists() for place in places)


@cache
def by_name() -> dict[str, Path]:
    return {path.name: path for folder in ("src", "tests", "benchmarks") for path in (ROOT / folder).rglob("*.py")}


@cache
def resolves(name: str) -> bool:
    """Whether a dotted name is a module, or something that one has."""
    parts = name.removeprefix("livejoin.").split(".")
    found, rest = importlib.import_module("livejoin"), list(parts)
    try:
        while rest:
            try:
                found = importlib.import_module(f"{found.__name__}.{rest[0]}")
            except ModuleNotFoundError as error:
                if not (error.name or "").startswith("livejoin"):
                    return True  # it needs a package that is not installed here, as PySpark
                break
            rest.pop(0)
        value: object = found
        for part in rest:
            if not hasattr(value, part):
                return part in getattr(value, "__annotations__", {})
            value = getattr(value, part)
    except ImportError as error:
        if type(error).__name__ != "OldSparkError":
            raise
    return True


def docstrings(path: Path) -> Iterator[str]:
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
            yield ast.get_docstring(node) or ""
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.value.value


def missing(text: str, *modules: re.Pattern[str]) -> list[str]:
    """Names within code in a text that nothing has."""
    found: list[str] = []
    for code in _CODE.findall(text):
        found += [name for name in _PATH.findall(code) if not is_there(name)]
        for pattern in (_MODULE, *modules):
            names = (name for name in pattern.findall(code) if name not in NO_MODULES and not name.endswith(".py"))
            found += [name for name in names if not resolves(name)]
    return found


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_documents_name_what_is_there(path: Path) -> None:
    text = path.read_text()
    plain = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    if path.name not in overtaken():
        assert missing(plain, *([_SHORT] if path.parent == DECISIONS else [])) == []
    assert [link for link in _LINK.findall(plain) if not (path.parent / link).exists()] == []


@pytest.mark.parametrize("package", PACKAGES)
def test_docstrings_name_what_is_there(package: str) -> None:
    found = {}
    for path in SOURCES:
        if path.is_relative_to(ROOT / "src" / "livejoin" / package):
            names = [name for text in docstrings(path) for name in missing(text)]
            if names:
                found[str(path.relative_to(ROOT))] = names
    assert not found


def test_messages_name_pages_of_the_manual_that_there_are() -> None:
    named = {name for path in SOURCES for name in re.findall(r"livejoin docs ([a-z-]+(?:/[a-z-]+)*)", path.read_text())}
    assert "refused" in named
    assert [name for name in sorted(named) if not (DOCS / f"{name}.md").exists()] == []


def test_the_check_finds_what_is_not_there() -> None:
    assert missing("see `kernels/crown/nothing.py` and `families/crown/`") == ["kernels/crown/nothing.py"]
    assert missing("`livejoin.plan.nothing`, `livejoin.plan.query_plan.plan_query`") == ["livejoin.plan.nothing"]
    assert missing("`plan.nothing`, `plan.query_plan.plan_query`", _SHORT) == ["plan.nothing"]
    assert missing("`livejoin.Database.nothing`") == ["livejoin.Database.nothing"]
    assert missing("`nowhere.py`") == ["nowhere.py"]


def test_the_index_has_all_decisions() -> None:
    index = (DECISIONS / "README.md").read_text()
    linked = re.findall(r"\((\d{4}[\w-]+\.md)\)", index)
    assert sorted(linked) == sorted(path.name for path in DECISIONS.glob("0*.md"))
    for name in linked:
        number, title = re.fullmatch(r"# (\d+)\. (.+)", (DECISIONS / name).read_text().splitlines()[0]).groups()  # type: ignore[union-attr]
        assert int(number) == int(name[:4])
        assert re.search(rf"^\| {number} \| \[[^\]]+\]\({name}\) \| (stands|overtaken)", index, re.MULTILINE), title


def test_layers_in_the_picture_are_those_that_are_checked() -> None:
    picture = (DOCS / "layers.svg").read_text()
    settings = (ROOT / "pyproject.toml").read_text()
    listed = re.search(r"layers = \[(.*?)\]", settings, re.DOTALL)
    assert listed is not None
    wanted = [name for line in re.findall(r'"([^"]+)"', listed[1]) for name in line.split(" | ")]
    assert list(re.findall(r'font-weight="600">(\w+)<', picture)) == wanted


def snippets(language: str, document: str = "README.md") -> list[str]:
    """The code of a document in a language, in order."""
    fenced = re.findall(r"^```(\w*)\n(.*?)^```$", (ROOT / document).read_text(), re.MULTILINE | re.DOTALL)
    return [code for written, code in fenced if written == language]


WHOLE = [
    "docs/index.md",
    "docs/sizing.md",
    *(str(path.relative_to(ROOT)) for name in ("concepts", "guides") for path in sorted((DOCS / name).glob("*.md"))),
]
"""Pages of which each block of Python runs by itself, and says what it prints."""


@pytest.mark.parametrize(
    "code",
    [
        *(code for code in snippets("python") if "spark" not in code),
        *snippets("python", "docs/sql.md"),
        *snippets("python", "docs/tables.md"),
        *snippets("python", "docs/testing.md"),
        next(code for code in snippets("python", "docs/reading.md") if "as_of" in code),
        *snippets("python", "docs/static-tables.md"),
        snippets("python", "docs/durable.md")[0],
        *snippets("python", "docs/writing.md"),
        *(code for page in WHOLE for code in snippets("python", page)),
    ],
    ids=[
        *(
            "first",
            "views over views",
            "defaults of a table",
            "by key",
            "no rows",
            "now",
            "watermarks",
            "an example",
            "any history",
            "as it was",
            "static tables",
            "transitions",
            "a folder again",
        ),
        *("values", "defaults", "partial upserts", "checks", "generated columns", "classes", "one bad row"),
        "debezium",
        *(f"{page} {at}" for page in WHOLE for at, _ in enumerate(snippets("python", page))),
    ],
)
def test_the_code_in_the_documents_prints_what_it_says(
    code: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "a document", "exec", dont_inherit=True), {"__name__": "__main__"})
    printed = capsys.readouterr().out
    promised = re.findall(r"# (?=[\[(]|O\()(.+?)(?:, \.\.\.|:|$)", code, re.MULTILINE)
    assert promised, "some line says what it prints"
    for text in promised:
        assert text.removesuffix("}]") in printed


def test_the_sample_of_explain_is_what_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its lines stand in the output in this order; "..." stands for lines, or for the rest of one."""
    (tmp_path / "hop3.sql").write_text(
        "SELECT A.src AS a, B.src AS b, C.src AS c, C.dst AS d FROM G A JOIN G B ON A.dst = B.src "
        "JOIN G C ON B.dst = C.src"
    )
    (tmp_path / "schema.sql").write_text("CREATE TABLE G (src BIGINT, dst BIGINT)")
    (tmp_path / "changes.csv").write_text(
        "src,dst\n" + "".join(f"{i % 10},{i % 10 * 3 % 10 + i // 10}\n" for i in range(40))
    )
    sample = next(code for code in snippets("", "docs/explain.md") if "livejoin explain" in code)
    command, *lines = sample.splitlines()
    arguments = command.removeprefix("$ livejoin ").split()
    code = main([str(tmp_path / part) if "." in part else part for part in arguments])
    assert code == 0
    rest = iter(capsys.readouterr().out.splitlines())
    for line in lines:
        wanted = line.removesuffix("...").rstrip()
        if wanted:
            assert any(printed.startswith(wanted) for printed in rest), wanted


def test_the_picture_of_explain_is_what_its_example_draws() -> None:
    drawn = runpy.run_path(str(ROOT / "examples" / "explain_shop.py"))["picture"]()
    assert drawn == (DOCS / "explain.svg").read_text()


@pytest.mark.parametrize("name", ["linear", "polynomial", "exponential"])
def test_the_pictures_of_static_tables_are_what_explain_draws(name: str, tmp_path: Path) -> None:
    folder, made = DOCS / "static", tmp_path / "made.svg"
    schema = ["--schema", str(folder / "schema.sql"), "--format", "svg", "--terms", "--out", str(made)]
    assert main(["explain", str(folder / f"{name}.sql"), *schema]) == 0
    assert made.read_text() == (folder / f"{name}.svg").read_text()
