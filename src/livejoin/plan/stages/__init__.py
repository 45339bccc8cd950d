"""Queries over tables that are spread over cells: what runs in each cell, and what goes from one to another."""

from livejoin.plan.stages.homes import owner, with_homes
from livejoin.plan.stages.outline import SpreadOutline, outline
from livejoin.plan.stages.place import stages
from livejoin.plan.stages.staged import ByColumns, Cube, Everywhere, Exchange, Home, Route, Shown, Stage, Staged

__all__ = [
    "ByColumns",
    "Cube",
    "Everywhere",
    "Exchange",
    "Home",
    "Route",
    "Shown",
    "SpreadOutline",
    "Stage",
    "Staged",
    "outline",
    "owner",
    "stages",
    "with_homes",
]
