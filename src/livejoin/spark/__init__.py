"""Views over Spark's DataFrames of changes; needs PySpark (``pip install 'livejoin[spark]'``) and Java 17 or newer."""

from livejoin.spark.micro_batch import BatchReport
from livejoin.spark.session import local_session
from livejoin.spark.streaming import maintain

__all__ = ["BatchReport", "local_session", "maintain"]
