"""Arithmetic beyond 64 bits: rings of annotations, big integers."""
