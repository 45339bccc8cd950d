"""Ask a real Spark which of its keywords are names where, and write the answer: `spark_keywords.json`.

    PYTHONPATH=src:tests:tests/support .venv/bin/python tests/sql/record_keywords.py

The file has all keywords, those that ANSI reserves, and for each text of `FORMS` those that Spark does not take for a
column, a table or an alias there.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from livejoin.spark.session import local_session

PATH = Path(__file__).with_name("spark_keywords.json")
FORMS = {
    "column": ("SELECT {w} FROM kt", "{w}:int"),
    "in a list": ("SELECT a, {w} FROM kt", "a:int,{w}:int"),
    "qualified": ("SELECT kt.{w} FROM kt", "{w}:int"),
    "condition": ("SELECT a FROM kt WHERE {w} = 1 AND a > 1 + {w}", "a:int"),
    "operand": ("SELECT {w} + 1 AS r FROM kt", "r:int"),
    "argument": ("SELECT abs({w}) AS r FROM kt", "r:int"),
    "group": ("SELECT {w}, COUNT(*) AS n FROM kt GROUP BY {w}", "{w}:int,n:bigint"),
    "branch": ("SELECT CASE WHEN {w} > 1 THEN {w} ELSE {w} END AS r FROM kt", "r:int"),
    "alias": ("SELECT a AS {w} FROM kt", "{w}:int"),
    "alias without AS": ("SELECT a {w} FROM kt", "{w}:int"),
    "table": ("SELECT a FROM {w}", "a:int"),
    "alias of a table": ("SELECT {w}.a FROM kt AS {w}", "a:int"),
    "alias of a table without AS": ("SELECT {w}.a FROM kt {w}", "a:int"),
    "alias of a query": ("SELECT {w}.a FROM (SELECT a FROM kt) AS {w}", "a:int"),
    "common column": ("SELECT x.a FROM kt x JOIN kt y USING ({w})", "a:int"),
    "definition": ("WITH {w} AS (SELECT a FROM kt) SELECT a FROM {w}", "a:int"),
    "columns of a query": ("SELECT {w} FROM (SELECT a FROM kt) q({w})", "{w}:int"),
}


def record() -> dict[str, Any]:
    """What Spark says."""
    spark = local_session(cores=1)
    words = [row[0].lower() for row in spark.sql("SELECT keyword FROM sql_keywords()").collect()]
    no_names: dict[str, list[str]] = {form: [] for form in FORMS}
    for word in words:
        spark.createDataFrame([], f"`{word}` INT, a INT").createOrReplaceTempView("kt")
        spark.createDataFrame([], "a INT").createOrReplaceTempView(word)
        for form, (sql, types) in FORMS.items():
            try:
                found = spark.sql(sql.format(w=word)).schema.simpleString().lower()
            except Exception:
                found = ""
            if found != f"struct<{types.format(w=word)}>":
                no_names[form].append(word)
        spark.catalog.dropTempView(word)
    spark.conf.set("spark.sql.ansi.enforceReservedKeywords", "true")
    reserved = spark.sql("SELECT keyword FROM sql_keywords() WHERE reserved").collect()
    return {"words": words, "reserved": [row[0].lower() for row in reserved], "no_names": no_names}


if __name__ == "__main__":
    PATH.write_text(json.dumps(record(), indent=1) + "\n")
