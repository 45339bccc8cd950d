"""PostgreSQL as a sink of deltas and as a source of changes; needs psycopg (``pip install 'livejoin[postgres]'``)."""

from typing import TYPE_CHECKING, Any

from livejoin.aside import imported
from livejoin.errors import PipelineError

try:
    import psycopg as _psycopg  # noqa: F401
except ImportError as missing:
    msg = "PostgreSQL needs psycopg, which is not here: pip install 'livejoin[postgres]'"
    raise PipelineError(msg) from missing

if TYPE_CHECKING:
    from livejoin.spark.postgres.sink import PostgresSink
    from livejoin.spark.postgres.source import drop_slot, published_tables, read_postgres, table_sizes

# Spark's workers import the source alone.
_HOMES = {
    "PostgresSink": "livejoin.spark.postgres.sink",
    **dict.fromkeys(
        ("drop_slot", "published_tables", "read_postgres", "table_sizes"), "livejoin.spark.postgres.source"
    ),
}

__all__ = ["PostgresSink", "drop_slot", "published_tables", "read_postgres", "table_sizes"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        text = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(text)
    return getattr(imported(_HOMES[name]), name)
