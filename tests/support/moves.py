"""Moves of views to other join trees, whatever they would choose."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import currently_in_test_context, note

from livejoin.database.view import View
from livejoin.families import join_trees
from livejoin.plan.explain.analyzed.predicted_work import tree_lines
from livejoin.plan.operators import AnyJoin
from livejoin.plan.query_plan import plan_join
from livejoin.search.choose import Choice, measure
from livejoin.search.problem import Problem
from livejoin.search.statistics import Statistics
from livejoin.theory.trees.all_trees import all_trees


def move_anywhere(view: View, random: Random) -> None:
    """Move a view to any of the trees of its joins."""

    def choose(problem: Problem) -> Choice:
        tree = random.choice(list(all_trees(problem.edges, problem.free, 60)))
        return Choice(measure(tree, problem), (), 1, 0, False, False, "It is any one.")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(join_trees, "choose", choose)
        for node in view._below:
            if isinstance(node.plan, AnyJoin):
                plan = plan_join(node.plan, Statistics(), node.plan.physical.live, view.algorithm, 1)
                if currently_in_test_context():
                    note(f"{view.name} moves to {tree_lines(plan)}")
                node.move(plan, Statistics())
                assert node.plan is plan
