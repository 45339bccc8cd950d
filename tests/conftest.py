"""Fixtures that all tests share."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis.internal.conjecture import providers

from livejoin.kernels import ahead

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kafka_cluster import Cluster
    from postgres_server import PostgresServer


QUICK_SPARK = {
    "spark.driver.memory": "1g",
    # Plans that run once over a few rows are not compiled: a fifth of the JVM's processor time.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    # The compiler's first tier alone: a JVM that lives for a minute takes two thirds of the processor time so.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}


def pytest_configure() -> None:
    """Take SIGINT again where it is ignored, as it is in what a script starts beside itself: so would all children.

    Hypothesis draws a few values from the constants of all source files that are imported so far: it parses 1,300 files
    in each process, and draws other cases where other tests ran before. `make fuzz` alone lets it.

    With LIVEJOIN_FEW_KERNELS no process beside compiles what the tests do not need.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if "LIVEJOIN_FUZZ" not in os.environ:
        providers._get_local_constants = providers.Constants
    if "LIVEJOIN_FEW_KERNELS" in os.environ:
        ahead.begin = lambda: False


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Let Python's collector rest while tests are collected, and leave what is there then to no collection again.

    Modules and 13,000 tests stay to the end. Each process of a run has all of them, and looked through them at each
    full collection.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep together what shares something costly, where the run is split over processes.

    All tests of Spark have one session. Those of a module share what a fixture of the module makes, those of kernels
    what is compiled of a module for Python alone, and is in no cache, those of conformance the corpus.

    What is marked ``torture`` runs where LIVEJOIN_TORTURE is set.
    """
    for item in items:
        if item.get_closest_marker("spark"):
            item.add_marker(pytest.mark.xdist_group("spark"))
        elif "conformance" in item.path.parts:
            item.add_marker(pytest.mark.xdist_group("conformance"))
        elif "kernels" in item.path.parts or _shares_a_fixture(item):
            item.add_marker(pytest.mark.xdist_group(item.nodeid.partition("::")[0]))
        if item.get_closest_marker("torture") and "LIVEJOIN_TORTURE" not in os.environ:
            item.add_marker(pytest.mark.skip(reason="for make torture"))


def _shares_a_fixture(item: pytest.Item) -> bool:
    """Whether a fixture makes something once for all tests of the module."""
    if not isinstance(item, pytest.Function):
        return False
    return any(made[-1].scope == "module" for made in item._fixtureinfo.name2fixturedefs.values())


@pytest.fixture(autouse=True)
def wrapping(request: pytest.FixtureRequest) -> Iterator[None]:
    """Tests of kernels call helpers alone, and uncompiled ones warn of wraps where no kernel is around them."""
    with np.errstate(over="ignore" if "kernels" in request.path.parts else None):
        yield


@pytest.fixture(autouse=True)
def cells_from_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """Joins of databases with several threads are in cells, however small the commits of tests are."""
    monkeypatch.setattr("livejoin.dataflow.moving.spreading.WHOLE_AT_FIRST", False)


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """One Spark session for the whole run; mark the tests that use it with ``pytest.mark.spark``."""
    from livejoin.spark import local_session  # noqa: PLC0415

    folder: Path = tmp_path_factory.mktemp("spark")
    session = local_session(cores=2, log_file=folder / "spark.log", settings=QUICK_SPARK)
    yield session
    session.stop()


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """One PostgreSQL server for the whole run, where it is installed; tests make databases of their own."""
    from postgres_server import running  # noqa: PLC0415

    with running() as server:
        yield server


@pytest.fixture(scope="session")
def cluster() -> Cluster:
    """One mock cluster of Kafka for the whole run; tests take topics of their own."""
    from kafka_cluster import Cluster  # noqa: PLC0415

    return Cluster()
