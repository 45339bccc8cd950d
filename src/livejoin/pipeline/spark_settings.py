"""Settings of Spark in ``run.spark``: Spark takes any name without a word, so that a misspelled one has no effect.

A name that does not begin with ``spark.`` is refused, since Spark takes no notice of it. A name that Spark does not
know may be one of a catalog or a connector. So it is taken, and if it is nearly one of Spark's own, `warnings` says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from functools import cache
from pathlib import Path

from livejoin.shown import meant

NAMES = Path(__file__).with_name("spark_settings.txt")
"""Spark's own settings, as ``tools/spark_settings.py`` writes them."""
_OPEN = (
    "spark.executorEnv.", "spark.hadoop.", "spark.kubernetes.", "spark.sql.catalog.", "spark.sql.defaultCatalog",
    "spark.yarn.", "spark.databricks.", "spark.emr.", "spark.dataproc.", "spark.rapids.", "spark.metrics.conf.",
)  # fmt: skip
_NEARLY = 0.9


def unknown_settings(names: Iterable[str]) -> Iterator[str]:
    """What is wrong with the names of settings.

    >>> list(unknown_settings(["ui.port", "spark.sql.shuffle.partitions", "spark.mine"]))
    ["'ui.port' is no setting of Spark, whose names begin with 'spark.' (did you mean 'spark.ui.port'?)"]
    """
    for name in names:
        if not name.startswith("spark."):
            hint = meant(f"spark.{name}", _known()) or meant(name, _known())
            yield f"{name!r} is no setting of Spark, whose names begin with 'spark.'{hint}"


def warnings(names: Iterable[str]) -> Iterator[str]:
    """A sentence for each name that is nearly one of Spark's own.

    >>> list(warnings(["spark.executor.memry", "spark.sql.catalog.shop"]))
    ["run.spark has 'spark.executor.memry', which Spark does not know (did you mean 'spark.executor.memory'?)"]
    """
    known = _known()
    spelled = {name.lower(): name for name in known}
    for name in names:
        if name in known or name.startswith(_OPEN):
            continue
        if close := get_close_matches(name.lower(), list(spelled), 1, _NEARLY):
            hint = f"(did you mean {spelled[close[0]]!r}?)"
            yield f"run.spark has {name!r}, which Spark does not know {hint}"


@cache
def _known() -> frozenset[str]:
    return frozenset(NAMES.read_text(encoding="ascii").split())
