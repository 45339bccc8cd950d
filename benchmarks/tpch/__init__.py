"""The 22 queries of TPC-H under updates, as AJU measures them (Wang, Yi, SIGMOD 2020, section 6).

Each query alone and all together as views of one database, over streams of all tables (`benchmarks.tpch.streams`), in
commits of some sizes. At every tenth of a stream all answers are compared with DuckDB over the rows that are there.
"""
