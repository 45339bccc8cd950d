"""Runs Spark's own SQL tests: what of them is right, refused by which reason, and wrong.

    python tools/spark_corpus.py FOLDER                            # sql/core/src/test/resources/sql-tests of Spark
    python tools/spark_corpus.py FOLDER --files 'group-by*' --show wrong

The tests do not lie in this project; FOLDER is where you have them, with its folders `inputs` and `results`. Each query
becomes a view, first over full tables, then over empty ones, which random commits fill; some of them delete rows that
others bring back. What the view has in the end is compared with the answer that Spark recorded, row by row and type by
type, and the sum of its deltas with the view. Where Spark has an error, any error of livejoin is a `right error`, and
an answer is `more`. `not comparable` is what a rule of `spark_tests/otherwise.py` says, or a setting that gives
the query another meaning. The exit status is 1 if an answer is wrong or an error is none of livejoin's own.
"""

from __future__ import annotations

import argparse
import fnmatch
import sys
from collections import Counter
from pathlib import Path
from typing import get_args

from spark_tests.judge import Kind, Verdict, judge
from spark_tests.recorded import Recorded, read, settings
from spark_tests.session import Session, is_query

_BAD = ("wrong", "crashed")


def main() -> int:
    """Run the tests; the exit code is 1 if something was wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--files", default="*", help="only the files with such a name, as 'group-by*' (*)")
    parser.add_argument("--seed", default="0", help="of the random commits (0)")
    parser.add_argument("--show", choices=get_args(Kind), action="append", default=[], help="print these queries")
    options = parser.parse_args()
    found: Counter[tuple[str, str]] = Counter()
    results = options.folder / "results"
    for file in sorted(results.rglob("*.sql.out")):
        name = str(file.relative_to(results)).removesuffix(".sql.out")
        if not fnmatch.fnmatch(name, options.files):
            continue
        session = Session(settings(options.folder / "inputs", f"{name}.sql") | by_folder(name))
        for recorded in read(file):
            if not is_query(recorded.sql):
                if recorded.error is None:
                    session.run(recorded.sql)
                continue
            verdict = judge(recorded, session, f"{options.seed} {name} {recorded.number}")
            found[verdict.kind, verdict.reason] += 1
            if verdict.kind in options.show:
                print(shown(name, recorded, verdict), flush=True)
    report(found)
    return int(any(found_kind in _BAD for found_kind, _ in found))


def by_folder(name: str) -> dict[str, str]:
    """What Spark's tests set for all files of a folder."""
    return {
        "nonansi": {"spark.sql.ansi.enabled": "false"},
        "postgreSQL": {"spark.sql.legacy.interval.enabled": "true"},
        "timestampNTZ": {"spark.sql.timestampType": "TIMESTAMP_NTZ"},
    }.get(name.partition("/")[0], {})


def shown(name: str, recorded: Recorded, verdict: Verdict) -> str:
    """A query and what became of it, for those who look at it."""
    text = " ".join(recorded.sql.split())
    return f"{verdict.kind.upper()} {name} {recorded.number}: {verdict.reason}\n    {text[:700]}\n    {verdict.found}"


def report(found: Counter[tuple[str, str]]) -> None:
    """Print how many queries came to which end, and why."""
    for kind in get_args(Kind):
        reasons = Counter({reason: times for (of, reason), times in found.items() if of == kind})
        print(f"{kind}: {reasons.total()}")
        for reason, times in reasons.most_common():
            print(f"  {times:5}  {reason}")


if __name__ == "__main__":
    sys.exit(main())
