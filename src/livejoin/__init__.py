"""livejoin keeps the result of a SQL query over changing tables up to date and says exactly what changed.

>>> import livejoin
>>> db = livejoin.Database()
>>> db.execute("CREATE TABLE G (src BIGINT, dst BIGINT)")
>>> view = db.create_view("pairs", "SELECT A.src, B.dst FROM G A JOIN G B ON A.dst = B.src")
>>> db.apply("G", [(1, 2), (2, 3)])["pairs"].to_pylist()
[{'src': 1, 'dst': 3, '_change_type': 'insert', '_commit_version': 1}]
"""

from importlib import metadata

from livejoin import errors
from livejoin.changes import from_debezium, from_delta
from livejoin.database import Commit, Database, Replay, View
from livejoin.errors import (
    AbsentRowError,
    CapacityError,
    ChangeError,
    ChangeFormatError,
    ChangeValueError,
    DuplicateKeyError,
    ExpressionError,
    LivejoinError,
    MemoryLimitError,
    PipelineError,
    ReadError,
    SchemaError,
    SqlError,
    SqlSyntaxError,
    SqlTypeError,
    StateError,
    StorageError,
    UnknownNameError,
    UnsupportedQueryError,
    WeakGuaranteeError,
)

try:
    __version__ = metadata.version("livejoin")
except metadata.PackageNotFoundError:  # a source tree that is not installed
    __version__ = "0+unknown"

__all__ = [
    "AbsentRowError",
    "CapacityError",
    "ChangeError",
    "ChangeFormatError",
    "ChangeValueError",
    "Commit",
    "Database",
    "DuplicateKeyError",
    "ExpressionError",
    "LivejoinError",
    "MemoryLimitError",
    "PipelineError",
    "ReadError",
    "Replay",
    "SchemaError",
    "SqlError",
    "SqlSyntaxError",
    "SqlTypeError",
    "StateError",
    "StorageError",
    "UnknownNameError",
    "UnsupportedQueryError",
    "View",
    "WeakGuaranteeError",
    "__version__",
    "errors",
    "from_debezium",
    "from_delta",
]
