"""Scalar expressions over columns of words: one precompiled machine that runs programs."""
