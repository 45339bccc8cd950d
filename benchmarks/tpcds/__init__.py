"""TPC-DS: its 99 queries as views over random rows, compared with DuckDB after every commit.

The texts are not in this project; `tools/tpcds.py` writes them to a folder, with the schema and, on request, the data.
"""
