from __future__ import annotations

import re
from pathlib import Path

import pytest

from livejoin.errors import PipelineError
from livejoin.pipeline import load
from livejoin.pipeline.model import (
    ConsoleOutput,
    DeltaOutput,
    DeltaTableSource,
    KafkaOutput,
    KafkaTableSource,
    ParquetOutput,
    PostgresOutput,
    PostgresServer,
    RunSettings,
    ServerTable,
    TableSource,
    ViewText,
)

GOOD = """
[tables.G]
schema = "_seq BIGINT, src BIGINT, price DECIMAL(10, 2)"
format = "csv"
path = "in"
options = { header = true, maxFilesPerTrigger = 1 }
window_rows = 10

[views.v]
sql = "SELECT src FROM G"

[sink]
kind = "parquet"
path = "out"

[run]
checkpoint = "checkpoint"
check = true
"""


UPSERTS = """schema = "id INT PRIMARY KEY, op STRING"
feed = "upsert"
apply_as_deletes = "{}"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.csv").write_text("_seq,src,price\n")
    (tmp_path / "v.sql").write_text("SELECT src + 1 AS s FROM G")
    return tmp_path


def read(folder: Path, old: str = "", new: str = "") -> PipelineError | None:
    """The error that loading gives after one change of the good file."""
    assert old in GOOD
    (folder / "p.toml").write_text(GOOD.replace(old, new, 1) if old else GOOD)
    try:
        load(folder / "p.toml")
    except PipelineError as error:
        return error
    return None


def test_a_check_compares_no_nested_columns(folder: Path) -> None:
    """DuckDB has other names for these types, and said so when all batches were done."""
    wrong = (
        GOOD.replace("price DECIMAL(10, 2)", "s STRUCT<a: INT>").replace("csv", "json").replace("header = true, ", "")
    )
    (folder / "p.toml").write_text(wrong)
    with pytest.raises(PipelineError, match=r"run.check does not compare columns of STRUCT<a: INT>, as 's'") as found:
        load(folder / "p.toml")
    assert (found.value.key, found.value.line) == ("tables.G.schema", 3)


def test_a_good_file_is_looked_up(folder: Path) -> None:
    (folder / "p.toml").write_text(GOOD.replace('sql = "SELECT src FROM G"', 'sql_file = "v.sql"'))
    pipeline = load(folder / "p.toml")
    source = pipeline.sources["G"]
    assert [column.name for column in source.table.columns] == ["src", "price"]
    assert source.columns == (("_seq", "BIGINT"), ("src", "BIGINT"), ("price", "DECIMAL(10, 2)"))
    strict = {"mode": "FAILFAST", "enforceSchema": "false"}
    assert source.options == strict | {"header": "true", "maxFilesPerTrigger": "1"}
    assert source.table.window_rows == 10
    assert pipeline.views == {"v": "SELECT src + 1 AS s FROM G"}
    assert (pipeline.output, pipeline.checkpoint) == (folder / "out", folder / "checkpoint")
    assert pipeline.trigger == {"availableNow": True}


def test_types_with_commas_in_brackets_are_looked_up(folder: Path) -> None:
    columns = "_seq BIGINT, m MAP<STRING, ARRAY<INT>> NOT NULL, s STRUCT<x: INT, y: FLOAT>, d DECIMAL(5, 2)"
    text = GOOD.replace("_seq BIGINT, src BIGINT, price DECIMAL(10, 2)", columns).replace("SELECT src", "SELECT m")
    text = text.replace("header = true, ", "")
    (folder / "p.toml").write_text(text.replace('format = "csv"', 'format = "json"').replace("check = true", ""))
    assert load(folder / "p.toml").sources["G"].columns == (
        ("_seq", "BIGINT"),
        ("m", "MAP<STRING, ARRAY<INT>>"),
        ("s", "STRUCT<x: INT, y: FLOAT>"),
        ("d", "DECIMAL(5, 2)"),
    )


def test_a_uuid_is_refused(folder: Path) -> None:
    error = read(folder, "src BIGINT", "src UUID")
    assert error is not None
    assert "column 'src' is UUID, which Spark has no type for and does not check; declare STRING" in str(error)


def test_options_given_are_stronger_than_the_strict_ones(folder: Path) -> None:
    (folder / "p.toml").write_text(GOOD.replace("header = true", 'header = true, MODE = "PERMISSIVE"'))
    assert load(folder / "p.toml").sources["G"].options == {
        "enforceSchema": "false",
        "header": "true",
        "MODE": "PERMISSIVE",
        "maxFilesPerTrigger": "1",
    }


def test_an_interval_is_a_trigger(folder: Path) -> None:
    changed = GOOD.replace("check = true", 'trigger = "10 seconds"')
    (folder / "p.toml").write_text(changed)
    assert load(folder / "p.toml").trigger == {"processingTime": "10 seconds"}


@pytest.mark.parametrize(
    ("said", "limit"), [("", None), ('memory_limit = "4GiB"', 4 << 30), ("memory_limit = 5000", 5000)]
)
def test_a_memory_limit(folder: Path, said: str, limit: int | None) -> None:
    (folder / "p.toml").write_text(f"{GOOD}{said}\n")
    assert load(folder / "p.toml").options.memory_limit == limit


@pytest.mark.parametrize(("said", "over"), [("", None), ('spill_over = "4MB"', 4_000_000), ("spill_over = 5000", 5000)])
def test_a_folder_for_deltas(folder: Path, said: str, over: int | None) -> None:
    (folder / "p.toml").write_text(f'{GOOD}spill = "large"\n{said}\n')
    pipeline = load(folder / "p.toml")
    assert (pipeline.options.spill, pipeline.options.spill_over) == (folder / "large", over)
    (folder / "p.toml").write_text(GOOD)
    assert load(folder / "p.toml").options.spill is None


def test_cells(folder: Path) -> None:
    (folder / "p.toml").write_text(GOOD.replace("check = true", 'mode = "distributed"\ncells = 3'))
    options = load(folder / "p.toml").options
    assert (options.mode, options.cells) == ("distributed", 3)
    (folder / "p.toml").write_text(f'{GOOD}mode = "distributed"\ncells = 3\n')
    with pytest.raises(PipelineError, match="check recomputes from the tables of one process"):
        load(folder / "p.toml")


def test_a_product_with_a_condition_wants_leave(folder: Path) -> None:
    product = GOOD.replace("SELECT src FROM G", "SELECT A.src FROM G A, G B WHERE A.src < B.src")
    (folder / "p.toml").write_text(product)
    with pytest.raises(PipelineError, match="allow_product") as caught:
        load(folder / "p.toml")
    assert (caught.value.key, caught.value.line) == ("views.v.sql", 10)
    (folder / "p.toml").write_text(f"{product}allow_product = true\n")
    assert load(folder / "p.toml").options.allow_product
    (folder / "p.toml").write_text(GOOD)
    assert not load(folder / "p.toml").options.allow_product


def test_a_folder_that_files_are_waited_for_in_is_there(folder: Path) -> None:
    waits = GOOD.replace("check = true", 'trigger = "1 second"')
    (folder / "p.toml").write_text(waits.replace('path = "in"', 'path = "inn"'))
    with pytest.raises(PipelineError, match=r"there is no folder at .*inn; make it") as caught:
        load(folder / "p.toml")
    assert caught.value.key == "tables.G.path"
    for fine in ("in", "in/*.json", "days=*/of"):
        (folder / "p.toml").write_text(waits.replace('path = "in"', f'path = "{fine}"'))
        load(folder / "p.toml")


@pytest.mark.parametrize(
    ("old", "new", "key", "line", "message"),
    [
        ("window_rows", "widow_rows", "tables.G.widow_rows", 7, "allowed are schema, format, path, options, feed"),
        ("window_rows = 10", "window_rows = 0", "tables.G.window_rows", 7, "greater than 0, found 0"),
        ("window_rows = 10", 'window_rows = "10"', "tables.G.window_rows", 7, "valid integer, found '10'"),
        ('"csv"', '"avro"', "tables.G.format", 4, "'csv', 'json', 'orc' or 'parquet', found 'avro'"),
        ('path = "in"', "", "tables.G.path", 2, "is missing"),
        ('path = "in"', 'path = "nowhere"', "tables.G.path", 5, "there is no file at"),
        ("check = true", 'spark = { "spark.sql.session.timeZone" = "Europe/Parus" }', "run.spark", 18, "Paris'?"),
        ("src BIGINT", "src BIGNT", "tables.G.schema", 3, "BIGNT"),
        ("_seq BIGINT", "_seq STRING", "tables.G.schema", 3, "_seq has the type BIGINT, found '_seq STRING'"),
        ("_seq BIGINT", "_change_type STRING", "tables.G.feed", 2, "must be 'change-feed', not 'append'"),
        ("window_rows", 'feed = "change-feed"\nwindow_rows', "tables.G.schema", 3, "needs the column _change_type"),
        ("window_rows", 'feed = "debezium"\nwindow_rows', "tables.G", 2, "is read from json, not from 'csv'"),
        ("src BIGINT", "src BIGINT PRIMARY KEY", "tables.G.window_rows", 7, "no window of a table with a PRIMARY KEY"),
        ("window_rows = 10", 'sequence_by = "src"', "tables.G.schema", 3, "has no PRIMARY KEY"),
        ("src BIGINT", "src BIGINT REFERENCES H(x)", "tables.G.schema", 3, "names a table that is not there"),
        ("src BIGINT", "src BIGINT, FOREIGN KEY (src) REFERENCES H (x)", "tables.G.schema", 3, "not there"),
        ("SELECT src", "SELECT source", "views.v.sql", 10, "source"),
        ('sql = "SELECT src FROM G"', "", "views.v", 9, "needs either sql or sql_file"),
        ('sql = "SELECT src FROM G"', 'sql_file = "w.sql"', "views.v.sql_file", 10, "cannot read it"),
        ("[views.v]\nsql = ", "[views]\nv = ", "views.v", 10, "is a table of its own, [views.v], with sql, sql_f"),
        ('kind = "parquet"', 'kind = "iceberg"', "sink.kind", 13, "found 'iceberg'"),
        ('kind = "parquet"', 'kind = "console"', "sink.path", 14, "is not a key of this table; allowed are kind, rows"),
        ('kind = "parquet"\npath = "out"', 'kind = "console"', "run.check", 17, "adds up the files of sink 'parquet'"),
        ("window_rows = 10", 'feed = "upsert"', "tables.G.schema", 3, "feed 'upsert' goes by a key; add a PRIMARY KEY"),
        ("window_rows = 10", 'apply_as_deletes = "src > 1"', "tables.G", 2, "belongs to feed 'upsert', not to"),
        ("window_rows = 10", 'window_range = "src soon"', "tables.G.window_range", 7, "a column and a range, as in"),
        ("window_rows = 10", 'window_range = "src 5"', "tables.G.window_range", 7, "recomputes no window of times"),
        ("window_rows = 10", 'server = "shop"', "tables.G.schema", 3, "server, name, columns, watermark, late"),
        ("maxFilesPer", "maxFilePer", "tables.G.options", 6, "csv has no option 'maxFilePerTrigger' (did you mean 'ma"),
        ('"checkpoint"', '"out"', "sink.path", 14, "is the folder of run.checkpoint too; give each a folder"),
        ('"checkpoint"', '"./in"', "tables.G.path", 5, "is the folder of run.checkpoint too"),
        ('"checkpoint"', '"out/state"', "sink.path", 14, "which is run.checkpoint, lies in"),
        ('path = "out"', 'path = "checkpoint/out"', "sink.path", 14, "which is run.checkpoint; give each a folder of"),
        ('path = "out"', 'path = "in/out"', "tables.G.path", 5, "which is sink.path, lies in"),
        ('path = "in"', 'path = "*/*.csv"', "tables.G.path", 5, "which is run.checkpoint, lies in"),
        ("header = true", "header = 1", "tables.G.options", 6, "header = '1'; allowed are true and false"),
        ("header = true", 'mode = "PERMISIVE"', "tables.G.options", 6, "allowed are 'PERMISSIVE', 'DROPMALFORMED'"),
        ("header = true", 'encoding = "utf8"', "tables.G.options", 6, "'UTF-32' (did you mean 'UTF-8'?)"),
        ("header = true", 'locale = "de_DE"', "tables.G.options", 6, "(did you mean 'de-DE'?)"),
        ("header = true", 'timeZone = "Europe/Pari"', "tables.G.options", 6, "(did you mean 'Europe/Paris'?)"),
        ("header = true", 'dateFormat = "YYYY-MM-dd"', "tables.G.options", 6, "'YYYY' goes by weeks or by another cal"),
        ("header = true", 'dateFormat = "iso"', "tables.G.options", 6, "'i' is no part of a time; allowed are as in"),
        ("header = true", 'dateFormat = "yyyy-MM-dd\'T"', "tables.G.options", 6, "a quote begins a text"),
        ("PerTrigger = 1 }", "PerTrigger = 0 }", "tables.G.options", 6, "maxFilesPerTrigger = '0'; allowed is a whole"),
        ("PerTrigger = 1 }", 'PerTrigger = "all" }', "tables.G.options", 6, "allowed is a whole number, 1 or more"),
        ("check = true", 'spark = { "sql.ansi.enabled" = "1" }', "run.spark", 18, "begin with 'spark.' (did you"),
        ("check = true", 'trigger = "sometimes"', "run.trigger", 18, "'available-now' and an interval"),
        ('check = true', 'check = true\ntrigger = "5 seconds"', "run.check", 18, "has no end to check at"),
        ("check = true", 'memory_limit = "4 G"', "run.memory_limit", 18, "memory_limit is '4 G'; allowed are"),
        ("check = true", "memory_limit = true", "run.memory_limit", 18, "memory_limit is True; allowed are"),
        ("check = true", 'spill_over = "4 G"', "run.spill_over", 18, "spill_over is '4 G'; allowed are"),
        ("check = true", "spill = 4", "run.spill", 18, "valid string"),
        ("check = true", 'dead_letters = "gs://b"', "run.dead_letters", 18, "'gs://b' names no place in a bucket"),
        ("check = true", 'spill = "gs://b/x"', "run.spill", 18, "'gs://b/x' is not a local folder"),
        ('path = "out"', 'path = "hdfs://b/x"', "sink.path", 14, "not a local folder: give a local or mounted folder"),
        ('path = "out"', 'path = "s3://me:pw@b/x"', "sink.path", 14, "'s3://b/x' has more than a bucket and a prefix"),
    ],
)  # fmt: skip
def test_a_wrong_file_is_refused_with_key_and_line(
    folder: Path, old: str, new: str, key: str, line: int, message: str
) -> None:
    error = read(folder, old, new)
    assert error is not None
    assert (error.key, error.line) == (key, line)
    assert str(error).startswith(f"{folder / 'p.toml'}:{line}: {key}: ")
    assert message in str(error)


@pytest.mark.parametrize(
    ("condition", "says"),
    [
        ("opp = 'D'", "no column 'opp' is in scope here (did you mean 'op'?)"),
        ("op == ", "where a value is expected"),
    ],
)
def test_a_condition_of_deletions_is_read(folder: Path, condition: str, says: str) -> None:
    schema = 'schema = "_seq BIGINT, src BIGINT, price DECIMAL(10, 2)"\n'
    good = GOOD.replace("window_rows = 10\n", "").replace("check = true\n", "").replace("SELECT src", "SELECT id")
    (folder / "p.toml").write_text(good.replace(schema, UPSERTS.format("op = 'D'")))
    load(folder / "p.toml")
    (folder / "p.toml").write_text(good.replace(schema, UPSERTS.format("reflect(op)")))
    load(folder / "p.toml")  # what Spark alone knows is left to Spark
    (folder / "p.toml").write_text(good.replace(schema, UPSERTS.format(condition)))
    with pytest.raises(
        PipelineError, match=r"5: tables.G.apply_as_deletes: is no condition over the columns"
    ) as caught:
        load(folder / "p.toml")
    assert says in str(caught.value)


def test_all_errors_come_at_once_in_the_order_of_the_file(folder: Path) -> None:
    (folder / "p.toml").write_text(
        GOOD.replace('"csv"', '"avro"').replace("window_rows", "widow").replace("check =", "chk =")
    )
    with pytest.raises(PipelineError) as caught:
        load(folder / "p.toml")
    places = [line.split(": ")[0].rpartition(":")[2] for line in str(caught.value).splitlines()]
    assert places == ["4", "7", "18"]


def test_views_may_stand_in_any_order(folder: Path) -> None:
    two = '[views.w]\nsql = "SELECT src, COUNT(*) AS n FROM v GROUP BY src"\n\n[sink]'
    (folder / "p.toml").write_text(GOOD.replace("[sink]", two))
    assert list(load(folder / "p.toml").views) == ["v", "w"]
    before = '[views.u]\nsql = "SELECT src FROM v"\n\n[views.v]'
    assert read(folder, "[views.v]", before) is None
    assert list(load(folder / "p.toml").views) == ["v", "u"]
    error = read(folder, '[views.v]\nsql = "SELECT src FROM G"', before + '\nsql = "SELECT src FROM u"')
    assert error is not None
    assert (error.key, error.line) == ("views.v.sql", 13)
    assert "views read one another in a circle, so that none can be first: v reads u reads v" in str(error)


def test_a_view_that_reads_a_wrong_one_is_not_blamed(folder: Path) -> None:
    error = read(folder, 'sql = "SELECT src FROM G"', 'sql = "SELECT x FROM G"\n[views.w]\nsql = "SELECT x FROM v"')
    assert error is not None
    assert "views.v.sql" in str(error)
    assert "views.w" not in str(error)


@pytest.mark.parametrize(
    ("views", "message"),
    [
        ('[views.g]\nsql = "SELECT src FROM G"', "the name 'g' is taken by a table"),
        ('[views.w]\nsql = "SELECT src FROM w"', "a view cannot read itself"),
    ],
)
def test_names_of_views(folder: Path, views: str, message: str) -> None:
    error = read(folder, "[views.v]", f"{views}\n\n[views.v]")
    assert error is not None
    assert message in str(error)


def test_broken_toml_names_the_line(folder: Path) -> None:
    error = read(folder, '"csv"', '"csv')
    assert error is not None
    assert error.line == 4
    assert "not valid TOML" in str(error)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(PipelineError, match=r"nothing\.toml: cannot read the pipeline file: No such file"):
        load(tmp_path / "nothing.toml")


def test_references_between_tables(folder: Path) -> None:
    second = '[tables.H]\nschema = "id BIGINT, FOREIGN KEY (id) REFERENCES G (src)"\nformat = "csv"\npath = "in"\n\n'
    text = GOOD.replace("[views.v]", f"{second}[views.v]").replace("src BIGINT,", "src BIGINT PRIMARY KEY,")
    text = text.replace("window_rows = 10", "")
    (folder / "p.toml").write_text(text)
    tables = load(folder / "p.toml").declared
    assert [key.table for key in tables["H"].foreign_keys] == ["G"]
    assert list(tables) == ["G", "H"]


def test_assertions_are_bound_when_the_file_is_read(folder: Path) -> None:
    few, none = "(SELECT COUNT(*) FROM G) < 10", "NOT EXISTS (SELECT s FROM v WHERE src < 0)"
    good = f'[assertions]\nfew = "{few}"\nnone = "{none}"\n\n[sink]'
    error = read(folder, "[sink]", good)
    assert error is not None and "assertions.none" in str(error) and "no column 's'" in str(error)
    assert read(folder, "[sink]", good.replace("SELECT s", "SELECT src")) is None
    assert load(folder / "p.toml").assertions["few"] == few


SECTIONS = {
    ("servers", "s"): ("kind = 'postgres'", PostgresServer),
    ("tables", "t"): ("format = 'csv'", TableSource),
    ("tables", "u"): ("server = 's'", ServerTable),
    ("tables", "k"): ("format = 'kafka'", KafkaTableSource),
    ("tables", "d"): ("format = 'delta'", DeltaTableSource),
    ("views", "v"): ("", ViewText),
    ("run",): ("", RunSettings),
    **{
        ("sink", kind): (f"kind = '{kind}'", model)
        for kind, model in (
            ("parquet", ParquetOutput),
            ("postgres", PostgresOutput),
            ("delta", DeltaOutput),
            ("kafka", KafkaOutput),
            ("console", ConsoleOutput),
        )
    },
}


@pytest.mark.parametrize("section", SECTIONS, ids=".".join)
def test_each_misspelled_key_has_the_one_that_is_meant(section: tuple[str, ...], tmp_path: Path) -> None:
    given, model = SECTIONS[section]
    header = "sink" if section[0] == "sink" else ".".join(section)
    names = [one.alias or name for name, one in model.model_fields.items()]
    wrong = {name: (name[1] + name[0] + name[2:], name + "x") for name in names if name not in ("kind", "format")}
    keys = "\n".join(f"{one} = 1" for pair in wrong.values() for one in pair)
    (tmp_path / "p.toml").write_text(f"[{header}]\n{given}\n{keys}\n")
    with pytest.raises(PipelineError) as told:
        load(tmp_path / "p.toml")
    for name, pair in wrong.items():
        for one in pair:
            assert re.search(rf"\.{one}: is not a key of this table \(did you mean '{name}'\?\)", str(told.value)), one


def test_keep_output_is_of_parquet(folder: Path) -> None:
    text = GOOD.replace('kind = "parquet"\npath = "out"', 'kind = "console"').replace("check = true", "keep_output = 3")
    (folder / "p.toml").write_text(text)
    with pytest.raises(PipelineError, match="keep_output: is for sink 'parquet', and this one is 'console'"):
        load(folder / "p.toml")


def test_patterns_of_files_beside_what_is_written(folder: Path) -> None:
    (folder / "a.csv").write_text("1,2,3\n")
    for path in ("*.csv", "a.csv", "in/*"):
        assert read(folder, 'path = "in"', f'path = "{path}"') is None
    (folder / "link").symlink_to(folder / "in", target_is_directory=True)
    error = read(folder, 'path = "out"', 'path = "link/out"')
    assert error is not None
    assert "lies in" in str(error)
    error = read(folder, 'path = "out"', 'path = "."')
    assert error is not None
    assert "which is sink.path; give each a folder of its own, beside the other" in str(error)


@pytest.mark.parametrize(
    ("old", "new", "warning"),
    [
        ("", "", ""),
        ("src BIGINT", "src BIGINT PRIMARY KEY", ""),
        ("_seq BIGINT, src BIGINT", "src BIGINT PRIMARY KEY", ""),
        ("maxFilesPerTrigger = 1", "maxFilesPerTrigger = 2", "table 'G' goes by its key, and several files of a batch"),
        ("maxFilesPerTrigger = 1 }", 'maxFilesPerTrigger = 2 }\nsequence_by = "n"', ""),
    ],
)
def test_files_without_an_order_are_told(folder: Path, old: str, new: str, warning: str) -> None:
    text = GOOD.replace("window_rows = 10\n", "").replace("check = true", 'spark = { "spark.executor.memry" = "1g" }')
    if warning or "sequence_by" in new:
        text = text.replace("_seq BIGINT, src BIGINT", "n BIGINT, src BIGINT PRIMARY KEY")
    (folder / "p.toml").write_text(text.replace(old, new, 1) if old else text)
    *unordered, misspelled = load(folder / "p.toml").warnings
    assert misspelled.endswith("(did you mean 'spark.executor.memory'?)")
    assert [one[: len(warning)] for one in unordered] == [warning] * bool(warning)


@pytest.mark.parametrize("condition", ["op", "id + 1", "lower(op)", "'true'"])
def test_what_deletes_is_a_condition(folder: Path, condition: str) -> None:
    columns = 'schema = "_seq BIGINT, src BIGINT, price DECIMAL(10, 2)"\n'
    text = GOOD.replace(columns, UPSERTS.format(condition)).replace("window_rows = 10\n", "")
    (folder / "p.toml").write_text(text.replace("check = true", "").replace("SELECT src", "SELECT id"))
    with pytest.raises(PipelineError, match=r"apply_as_deletes: is (STRING|INT|BIGINT) and no condition"):
        load(folder / "p.toml")


def test_all_misspelled_options_are_told(folder: Path) -> None:
    options = 'headr = true, maxFilePerTrigger = 1, mode = "PERMISIVE" }'
    settings = '\nspark = { "sql.a" = "1", "executor.memory" = "2g" }'
    text = GOOD.replace("header = true, maxFilesPerTrigger = 1 }", options) + settings
    (folder / "p.toml").write_text(text)
    with pytest.raises(PipelineError) as found:
        load(folder / "p.toml")
    said = str(found.value).splitlines()
    wanted = ("'headr' (did you mean 'header'?)", "'maxFilePerTrigger'", "mode = 'PERMISIVE'", "'sql.a'", "'executor.m")
    assert len(said) == len(wanted)
    assert all(one in line for one, line in zip(wanted, said, strict=True))
