"""sqlglot's compiled form is refused where livejoin is imported: no parser can be derived from it."""

from __future__ import annotations

import pytest
from sqlglot.parsers import spark

from livejoin.sql.parse.plain_sqlglot import refuse_compiled


def test_compiled_sqlglot_is_refused_with_what_to_do() -> None:
    refuse_compiled(spark.__file__)
    with pytest.raises(ImportError, match="pip uninstall sqlglotc"):
        refuse_compiled(str(spark.__file__).replace(".py", ".cpython-311-x86_64-linux-gnu.so"))
