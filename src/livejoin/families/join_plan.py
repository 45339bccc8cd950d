"""The plan of a join, of any family."""

from __future__ import annotations

from typing import TypeAlias

from livejoin.families.bags.plan import BaggedPlan
from livejoin.families.chain.plan import ChainPlan
from livejoin.families.crown.plan import PhysicalPlan
from livejoin.families.dyn.plan import DynPlan

JoinPlan: TypeAlias = PhysicalPlan | BaggedPlan | DynPlan | ChainPlan
