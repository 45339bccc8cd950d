"""What is made of the code: pages of the SQL reference, ``docs/cli.md``, ``docs/refused.md`` of the tests of refusals,
completion for shells, and the JSON schema of pipeline files.

This program writes them anew; `tests/test_manual.py` says where they are not what it would write.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / name) for name in ("src", "tools", "tests/support", "tests", "tests/sql")]

import shtab  # noqa: E402
import test_query_refusals  # noqa: E402  # after the path
import test_refusals  # noqa: E402

from livejoin.cli.check import SCHEMA  # noqa: E402
from livejoin.cli.main import SHELLS, parser  # noqa: E402
from livejoin.errors import SqlError, UnsupportedQueryError  # noqa: E402
from livejoin.pipeline.model import PipelineFile  # noqa: E402
from livejoin.sql import bind_query  # noqa: E402
from manual import sql_reference  # noqa: E402

_CLI = """# The command line

`livejoin COMMAND --help` says the same. Made of the parser of arguments.
"""
_REFUSED = """# What is refused, and why

Each query of this page is in the tests, and each message is what livejoin says. A message names what was found, why it
is refused, and what to write instead. [The SQL that is kept live](sql.md) has what works. The queries read:

```sql
{tables}
```
"""
_IS_PLACE = re.compile(r"FILE|FOLDER|\.toml$|\.sql$")  # what stands for a file or a folder in the help
_LONGEST = 150  # characters of a query that is shown


def cli() -> str:
    """The text of ``docs/cli.md``."""
    lines = [_CLI]
    for name, command in _commands(parser()):
        usage = re.sub(r"\s+", " ", command.format_usage()).removeprefix("usage: ").strip()
        lines += [f"## livejoin {name}", "", command.description or "", "", f"```sh\n{usage}\n```", ""]
        rows = [_argument(one) for one in command._actions if one.dest != "help" and one.help is not argparse.SUPPRESS]
        if rows:
            lines += ["| | |", "|---|---|", *rows, ""]
        if command.epilog:
            lines += [command.epilog[0].upper() + command.epilog[1:] + ".", ""]
    return "\n".join(lines).rstrip() + "\n"


def _commands(found: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    for action in found._actions:
        if isinstance(action, argparse._SubParsersAction):
            yield from sorted(action.choices.items())


def _argument(one: argparse.Action) -> str:
    shown = str(one.metavar or one.dest)
    if not one.option_strings:
        return f"| `{shown}` | {one.help} |".replace("FOLDER|FILE", "FOLDER\\|FILE")
    if one.nargs == 0:
        return f"| {', '.join(f'`{name}`' for name in one.option_strings)} | {one.help} |"
    value = shown if one.metavar else "{" + ",".join(map(str, one.choices)) + "}" if one.choices else shown.upper()
    return f"| {', '.join(f'`{name} {value}`' for name in one.option_strings)} | {one.help} |"


def refused() -> str:
    """The text of ``docs/refused.md``."""
    found: dict[str, dict[str, str]] = {}
    for sql in _queries():
        try:
            bind_query(sql, test_refusals.CATALOG)
        except UnsupportedQueryError as error:
            shown = " ".join(sql.split())
            if len(shown) <= _LONGEST and "`" not in shown + error.message:
                found.setdefault(error.clause, {}).setdefault(error.message, shown)
        except SqlError:
            continue
    tables = "\n".join(_declared())
    lines = [_REFUSED.format(tables=tables)]
    for clause in sorted(found, key=lambda name: (not name[:1].isalpha(), name.lower())):
        lines += [f"## {_plain(clause)}", ""]
        for message, sql in found[clause].items():
            lines += [f"```sql\n{sql}\n```", "", f"> {_plain(message)}", ""]
    return "\n".join(lines).rstrip() + "\n"


def _queries() -> Iterator[str]:
    for module in (test_refusals, test_query_refusals):
        for name, cases in vars(module).items():
            if name.isupper() and isinstance(cases, list):
                yield from (case[0].replace("^", "") for case in cases if isinstance(case[0], str))


def _declared() -> Iterable[str]:
    for table in test_refusals.CATALOG:
        if table.name == "Odd":  # its columns have odd names, for tests of quotes
            continue
        columns = ", ".join(f"{column.name} {str(column.type).upper()}" for column in table.columns)
        yield f"CREATE TABLE {table.name} ({columns});"


def _plain(text: str) -> str:
    """Text in which Markdown finds nothing."""
    return re.sub(r"([\\*_<>|#\[\]{}$])", r"\\\1", " ".join(text.split()))


def completion(shell: str) -> str:
    """The script that completes commands and options in a shell."""
    found = parser()
    for _, command in _commands(found):
        for one in command._actions:
            if _IS_PLACE.search(str(one.metavar)):
                one.complete = shtab.FILE  # type: ignore[attr-defined]
    return str(shtab.complete(found, shell))


def json_schema() -> str:
    """The JSON schema of pipeline files, which editors read and ``livejoin check --schema`` prints without Spark."""
    found = {"$schema": "https://json-schema.org/draft/2020-12/schema", **PipelineFile.model_json_schema()}
    return json.dumps(found, indent=2, ensure_ascii=False) + "\n"


PAGES = {"cli": cli, "refused": refused, **sql_reference.PAGES}
COMPLETION = ROOT / "src" / "livejoin" / "cli" / "completion"

if __name__ == "__main__":
    for page, text in PAGES.items():
        (ROOT / "docs" / f"{page}.md").write_text(text(), encoding="utf-8")
    for shell in SHELLS:
        (COMPLETION / f"livejoin.{shell}").write_text(completion(shell), encoding="utf-8")
    SCHEMA.write_text(json_schema(), encoding="utf-8")
