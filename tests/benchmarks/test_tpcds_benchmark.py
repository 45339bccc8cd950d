"""``python -m benchmarks tpcds``: queries of TPC-DS's kinds over random lives; the checker finds what is wrong."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from benchmarks.__main__ import main
from benchmarks.dyn.queries import TPCDS, TPCH
from benchmarks.tpcds.check import check
from benchmarks.tpcds.data import catalog, used_tables
from benchmarks.tpcds.oracle import in_duckdb
from benchmarks.tpcds.rows import Pools
from known_queries import CATALOG
from strategies import EXAMPLES
from tpcds_texts import SCHEMA, TEXTS

QUERIES = {**TEXTS, **{f"{name} of DYN": sql for name, sql in TPCDS.items()}}


@pytest.mark.parametrize("name", QUERIES)
def test_equal_to_duckdb_after_every_commit(name: str) -> None:
    life = list(QUERIES).index(name) % 4  # with keys and without, with days of the calendar and with others
    found = check(name, QUERIES[name], SCHEMA, life, 5)
    assert (found.refused, found.wrong) == ("", "")
    assert found.commits >= 3 and found.filled


@pytest.mark.parametrize("name", TPCH if EXAMPLES > 100 else ["FQ1", "FQ2", "FQ3", "FQ4", "Q13", "Q16", "Q18"])
def test_queries_of_dyn_over_tpch(name: str) -> None:
    """Without keys: rows stand several times, and most keys have several rows."""
    schema = "\n".join(
        f"CREATE TABLE {table.name} ({', '.join(f'{one.name} {one.type}' for one in table.columns)});"
        for table in CATALOG
    )
    found = check(name, TPCH[name], schema, 1, 4)
    assert (found.refused, found.wrong, found.commits) == ("", "", 4)
    assert found.filled


def test_a_wrong_answer_is_found() -> None:
    sql = "SELECT s_state, COUNT(*) AS n FROM store GROUP BY s_state"
    other = "SELECT s_state, COUNT(DISTINCT s_store_sk) AS n FROM store GROUP BY s_state"
    assert check("q", sql, SCHEMA, 0, 6).wrong == ""
    assert "it has" in check("q", sql, SCHEMA, 0, 6, asked=other).wrong


def test_what_is_refused() -> None:
    sql = "SELECT COUNT(DISTINCT ss_item_sk) OVER (ORDER BY ss_ticket_number) AS s FROM store_sales"
    assert "OVER" in check("q", sql, SCHEMA, 0, 1).refused


def test_a_query_needs_its_tables_in_order_of_their_references() -> None:
    used = used_tables(SCHEMA, [TPCDS["Q19"]])
    assert used.index("customer_address") < used.index("customer") < used.index("store_sales")
    found = catalog(SCHEMA, used, keyed=True)["store_sales"]
    assert [found.columns[i].name for i in found.primary_key] == ["ss_item_sk", "ss_ticket_number"]
    assert {key.table for key in found.foreign_keys} == set(used) - {"customer_address", "store_sales"}


def test_values_are_those_that_a_query_compares_with() -> None:
    sql = (
        "SELECT * FROM (SELECT d_year AS y FROM date_dim WHERE d_date BETWEEN '2000-01-30' AND DATE '2000-02-01') t, "
        "item WHERE y = 1999 + 1 AND i_brand LIKE 'br%'"
    )
    values = Pools.of(sql, catalog(SCHEMA, used_tables(SCHEMA, [sql]), keyed=False)).values
    assert {1999, 2000, 2001} <= set(values["d_year"])
    assert {date(2000, 1, 30), date(2000, 2, 1)} <= set(values["d_date"])
    assert "br" in values["i_brand"]


def test_the_oracle_has_sparks_decimals() -> None:
    sql = "SELECT CONCAT('a', b) AS x, AVG(c) / 2 AS y FROM R WHERE d < 2.0 / 3.0 GROUP BY b ORDER BY x LIMIT 3"
    assert in_duckdb(sql, 2) == (
        "SELECT ('a' || b) AS x, ROUND(ROUND(AVG(c), 6) / 2, 12) AS y FROM R WHERE d < ROUND(2.0 / 3.0, 6) GROUP BY b "
        "ORDER BY x, 1 ASC NULLS FIRST, 2 ASC NULLS FIRST LIMIT 3"
    )


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tpcds", str(tmp_path)]) == 2
    (tmp_path / "queries").mkdir()
    (tmp_path / "schema.sql").write_text(SCHEMA)
    (tmp_path / "queries" / "q01.sql").write_text("SELECT s_state, COUNT(*) AS n FROM store GROUP BY s_state;")
    (tmp_path / "queries" / "q36.sql").write_text(
        "SELECT s_state, 1 AS lochierarchy, RANK() OVER (ORDER BY s_state) AS rank_within_parent FROM store\n"
        "ORDER BY lochierarchy DESC, s_state, rank_within_parent LIMIT 5;"
    )
    (tmp_path / "queries" / "q99.sql").write_text("SELECT s_state FROM store LIMIT 3")
    assert main(["tpcds", str(tmp_path), "--lives", "0", "--commits", "3"]) == 0
    shown = capsys.readouterr().out
    assert "3 queries: 2 taken, 1 refused" in shown
