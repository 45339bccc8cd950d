"""Which settings of Spark change what a query means."""

from __future__ import annotations

from collections.abc import Mapping

_OF_PLANS = (
    "spark.sql.adaptive.",
    "spark.sql.autoBroadcastJoinThreshold",
    "spark.sql.cbo.",
    "spark.sql.codegen.",
    "spark.sql.crossJoin.enabled",
    "spark.sql.leafNodeDefaultParallelism",
    "spark.sql.maxMetadataStringLength",
    "spark.sql.optimizer.",
    "spark.sql.cteRecursion",
)
"""Settings of how Spark plans, which change no result but for bugs that they bring back."""
_LEGACY_OF_OPTIMIZER = "legacy"
_ON = (
    "spark.sql.ansi.enabled",
    "spark.sql.groupByAliases",
    "spark.sql.groupByOrdinal",
    "spark.sql.orderByOrdinal",
    "spark.sql.decimalOperations.allowPrecisionLoss",
)


def other_meaning(settings: Mapping[str, str]) -> str | None:
    """The first setting by which a query means another thing than by Spark's defaults, as ``name = value``."""
    for name, value in settings.items():
        plans = name.startswith(_OF_PLANS) and _LEGACY_OF_OPTIMIZER not in name.lower()
        default = "true" if name in _ON or plans else "false"
        if not plans and value.strip("'\"").lower() not in (default, "corrected"):
            return f"{name} = {value}"
    return None
