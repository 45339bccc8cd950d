"""Scalar expressions over columns of words: trees become programs, and programs run."""

from __future__ import annotations

from livejoin.state.evaluate.program import Program, Values

__all__ = ["Program", "Values"]
