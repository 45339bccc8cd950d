"""The function that Spark calls with each micro-batch. An error that ends the query says where the query stands."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

from pyspark.sql import DataFrame

from livejoin.checkpoint.recovery import Recovery
from livejoin.database import Database
from livejoin.errors import LivejoinError, MemoryLimitError
from livejoin.spark.failures import OF_SPARK, failure_of, in_one_line

_AGAIN = "start the query again with a larger memory_limit, and it continues with this batch"


class BatchFunction(ABC):
    """A function of ``foreachBatch``.

    Attributes:
        failure: The error that ended the query; None if there was none.
        on_stage: The function that is told in words what happens to a batch, before it is done.
    """

    def __init__(self) -> None:
        self.failure: LivejoinError | None = None
        self.on_stage: Callable[[str], object] = _nobody

    def __call__(self, frame: DataFrame, batch_id: int) -> None:
        """Commit a micro-batch.

        Raises:
            LivejoinError: A change cannot be applied, the memory limit would be passed, the checkpoint is damaged, the
                disk refuses, or a function of the user raises SystemExit or the like. The error is also kept in
                ``failure``.
        """
        try:
            self.on_stage(f"batch {batch_id}: Spark reads its rows")
            self._take(frame, batch_id)
        except LivejoinError as error:
            self.failure = error
            error.add_note(self._where(batch_id))
            if isinstance(error, MemoryLimitError):
                error.add_note(_AGAIN)
            raise
        except Exception as error:  # of Spark, of a function of the user's, or of a sink
            self.failure = failure_of(error)
            if not isinstance(error, OF_SPARK):
                self.failure.__cause__ = error  # which says where in the user's function it was
            self.failure.add_note(self._where(batch_id))
            raise
        except BaseException as error:
            # Spark's bridge answers for an Exception only, and after any other one its other half waits for ever.
            self.failure = LivejoinError(in_one_line(f"{type(error).__name__} ended the query: {error}".rstrip(": ")))
            self.failure.add_note(self._where(batch_id))
            raise self.failure from error

    @property
    @abstractmethod
    def recovery(self) -> Recovery | None:
        """The report of the recovery at the start; None if there was no state, or if each batch recovers by itself."""

    @property
    @abstractmethod
    def database(self) -> Database:
        """The database of this process that maintains the views.

        Raises:
            ReadError: The views are maintained by others.
        """

    @abstractmethod
    def _take(self, frame: DataFrame, batch_id: int) -> None:
        """Commit a micro-batch; skip one that is done."""

    @abstractmethod
    def _where(self, batch_id: int) -> str:
        """The state of a batch that an error ended, as a sentence for people."""


def _nobody(_: str) -> None:
    """Nobody listens."""
