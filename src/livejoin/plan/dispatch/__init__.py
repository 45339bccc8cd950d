"""Which cells the rows of a join's tables go to: chosen from statistics, stored, shown, and done to changes."""

from livejoin.plan.dispatch.choose import choose
from livejoin.plan.dispatch.dispatch import Dispatch, Estimate
from livejoin.plan.dispatch.hashing import cells_of
from livejoin.plan.dispatch.router import Router, Sent
from livejoin.plan.dispatch.sample import TableSample, sampled

__all__ = ["Dispatch", "Estimate", "Router", "Sent", "TableSample", "cells_of", "choose", "sampled"]
