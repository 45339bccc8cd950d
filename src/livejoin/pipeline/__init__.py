"""Pipelines that are written down in a TOML file: read it, run it on Spark, check the result."""

from livejoin.pipeline.check import NotYetError, ViewCheck, check
from livejoin.pipeline.load import Pipeline, load
from livejoin.pipeline.run import clear, expected_batches, is_begun, run

__all__ = ["NotYetError", "Pipeline", "ViewCheck", "check", "clear", "expected_batches", "is_begun", "load", "run"]
