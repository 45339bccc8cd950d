"""PostgreSQL as a sink of deltas and as a source of changes; needs psycopg (``pip install 'livejoin[postgres]'``)."""

from livejoin.errors import PipelineError

try:
    import psycopg as _psycopg  # noqa: F401
except ImportError as missing:
    msg = "PostgreSQL needs psycopg, which is not here: pip install 'livejoin[postgres]'"
    raise PipelineError(msg) from missing

from livejoin.spark.postgres.sink import PostgresSink

__all__ = ["PostgresSink"]
