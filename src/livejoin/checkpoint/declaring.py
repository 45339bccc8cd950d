"""The views and the assertions of a job, created over the tables of a database."""

from __future__ import annotations

from livejoin.checkpoint.job import Job
from livejoin.database import Database
from livejoin.database.statements.asserting import enforce
from livejoin.database.transactions.assertions import VIOLATIONS


def declare(database: Database, job: Job) -> None:
    """Create the views and the assertions of a job over its tables.

    Raises:
        LivejoinError: A view does not stand.
    """
    for name, sql in job.views.items():
        database.create_view(name, sql, allow_product=job.allow_product)
    for name, condition in job.assertions.items():
        database.create_assertion(name, condition, allow_product=job.allow_product)
    for table in job.tables.values():
        enforce(database._contents, table)
    if VIOLATIONS in database.views:  # nothing of a job only warns
        database.drop_view(VIOLATIONS)
