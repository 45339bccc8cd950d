"""The query that `livejoin.spark.maintain` gives: a query of Spark whose error begins with the reason."""

from __future__ import annotations

from pyspark.errors import StreamingQueryException
from pyspark.sql.streaming.query import StreamingQuery

from livejoin.database.slow_commits import SlowCommits
from livejoin.errors import LivejoinError
from livejoin.plan import Explanation
from livejoin.spark.batch_function import BatchFunction
from livejoin.spark.failures import QueryFailedError, failure_of, of_others


class MaintainedQuery(StreamingQuery):
    """A `StreamingQuery` that raises `QueryFailedError`, which is a `StreamingQueryException` too.

    Args:
        query: Spark's query.
        batches: The function that commits the batches.
    """

    def __init__(self, query: StreamingQuery, batches: BatchFunction) -> None:
        super().__init__(query._jsq)
        self._batches = batches

    @property
    def failure(self) -> LivejoinError | None:
        """The error that ended the query, as `AbsentRowError`; None if the query runs or ended without an error."""
        error = super().exception()
        return None if error is None else self._batches.failure or failure_of(error)

    def exception(self) -> StreamingQueryException | None:
        """The error that ended the query, if there is one; the first line is the reason."""
        failure = self.failure
        return None if failure is None else QueryFailedError(failure)

    def explain_view(self, view: str, *, analyze: bool = False) -> Explanation:
        """As `livejoin.View.explain`, of a view that the driver maintains; call it from any thread between batches.

        Args:
            view: The view's name.
            analyze: As there.

        Raises:
            SchemaError: There is no such view.
            ReadError: The views are in cells on executors.
        """
        return self._batches.database.views[view].explain(analyze=analyze)

    def slow_commits(self, *, forget: bool = False) -> SlowCommits:
        """As `livejoin.Database.slow_commits`, of the driver's database; a batch is a commit.

        Args:
            forget: As there.

        Raises:
            ReadError: The views are in cells on executors.
        """
        return self._batches.database.slow_commits(forget=forget)

    def awaitTermination(self, timeout: int | None = None) -> bool | None:
        """Wait for the end of the query.

        Raises:
            QueryFailedError: An error ended the query.
        """
        try:
            return super().awaitTermination(timeout)
        except StreamingQueryException as error:
            failed = self._failed(error)
            raise failed from failed.__cause__

    def processAllAvailable(self) -> None:
        """Wait until all present data is processed; raises as `awaitTermination`."""
        try:
            super().processAllAvailable()
        except StreamingQueryException as error:
            failed = self._failed(error)
            raise failed from failed.__cause__

    def _failed(self, error: StreamingQueryException) -> QueryFailedError:
        """The error to raise, without the way of its cause through Spark's bridge and the engine."""
        failure = self._batches.failure or failure_of(error)
        if failure.__cause__ is not None:
            failure.__cause__.with_traceback(of_others(failure.__cause__.__traceback__))
        return QueryFailedError(failure.with_traceback(None))
