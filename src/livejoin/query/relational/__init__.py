"""Queries as relational operators over conjunctive queries.

A relation is a multiset of rows. The law of every operator is SQL's; NULLs group together and sort as the keys say.
Columns are named by position; an expression over the columns of a relation calls them ``c0``, ``c1``, ... .

Every relation says about itself what `DerivedRelation` lists. What is left to switches over their kinds, each complete:
the keys (`livejoin.query.keys`), the operators that maintain them (`livejoin.plan.lower`), and where their rows are in
cells of processes (`livejoin.plan.stages.place`).
"""

from __future__ import annotations

from typing import TypeAlias

from livejoin.query.relational.groups import Aggregate, Distinct, SetKind, SetOperation
from livejoin.query.relational.joins import Input, Join
from livejoin.query.relational.ordered import AsOf, AsOfComparison, AsOfCondition, Ranked, Running, TopK
from livejoin.query.relational.relation import ComparedColumn, DerivedRelation
from livejoin.query.relational.rows import Numbers, Project, Repeated

__all__ = [
    "Aggregate",
    "AsOf",
    "AsOfComparison",
    "AsOfCondition",
    "ComparedColumn",
    "DerivedRelation",
    "Distinct",
    "Input",
    "Join",
    "Numbers",
    "Project",
    "Ranked",
    "Relation",
    "Repeated",
    "Running",
    "SetKind",
    "SetOperation",
    "TopK",
]

Relation: TypeAlias = (
    Join | Project | Distinct | Aggregate | SetOperation | TopK | Ranked | Running | AsOf | Repeated | Numbers
)
