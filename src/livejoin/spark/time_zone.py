"""The session's time zone: views are computed in UTC; a view whose result depends on another zone is refused."""

from __future__ import annotations

from pyspark.sql import SparkSession

from livejoin.catalog import catalog_of
from livejoin.checkpoint.job import Job
from livejoin.errors import UnsupportedQueryError
from livejoin.query.bound_query import Query
from livejoin.sql import bind_views
from livejoin.sql.zone_dependence import zone_dependence

SETTING = "spark.sql.session.timeZone"
_UTC = {"utc", "z", "gmt", "ut", "uct", "zulu", "universal", "greenwich", "gmt0", "+00:00", "-00:00", "+00", "+0"}


def is_utc(zone: str) -> bool:
    """Whether a time zone of Spark's is always equal to UTC.

    >>> is_utc("Etc/UTC"), is_utc("UTC+00:00"), is_utc("Europe/London")
    (True, True, False)
    """
    name = zone.lower().removeprefix("etc/")
    return name in _UTC or any(name.removeprefix(start) in _UTC for start in ("utc", "gmt", "ut"))


def check_zone(spark: SparkSession, job: Job) -> None:
    """Refuse views that depend on the session's time zone, if that is not UTC.

    Raises:
        UnsupportedQueryError: A view depends on the zone; the message says which part of it.
    """
    zone = str(spark.conf.get(SETTING))
    if is_utc(zone):
        return
    catalog = catalog_of(job.offered.values())
    for name, query in bind_views(job.views, catalog, job.allow_product).items():
        sql = next(text for view, text in job.views.items() if view.lower() == name)
        if (found := depends_on_zone(query, sql, zone)) is not None:
            msg = f"view {name!r}: {found}, or let Spark compute it before: add a column to the frame"
            raise UnsupportedQueryError(msg, clause="TIMESTAMP")


def depends_on_zone(query: Query, sql: str, zone: str) -> str | None:
    """The part of a query that a time zone other than UTC would give another meaning, and what to do; None without one.

    Args:
        query: The query.
        sql: The text of the query.
        zone: The time zone of the session.
    """
    found = None if is_utc(zone) else zone_dependence(query, sql)
    if found is None:
        return None
    return (
        f"{found} depends on the time zone of the session, which is {zone!r}, and views are computed in UTC. "
        f"Set {SETTING} to 'UTC'"
    )
