"""What a change meets where a plan links rows by their keys, as along foreign keys.

A row that comes or goes looks up the rows of the keys that it has, each by itself. What refers to it is found by its
links. The rows further down are read for results alone, from the row of the root on, once for each of them.
"""

from __future__ import annotations

from dataclasses import replace

from livejoin.families.nodes import LinkedRows, LinksRows
from livejoin.plan.explain.effects.amount import NOTHING, ONE, Amount, total
from livejoin.plan.explain.effects.reach import Reach
from livejoin.plan.operators import AnyJoin


def linked_rows(plan: AnyJoin) -> LinkedRows | None:
    """The rows that the plan of a join reads, if it links rows by their keys."""
    program = plan.physical
    if not isinstance(program, LinksRows) or program.query.atoms != plan.query.atoms:
        return None
    return program.linked_rows()


def by_links(found: Reach, start: int, linked: LinkedRows) -> Reach:
    """How far a change goes in such a plan.

    Args:
        found: How far it goes whatever the plan is.
        start: The atom that it comes to.
        linked: The rows that the plan reads.
    """
    fits = ONE if not found.condition else ONE.bounded() if found.fits is None else Amount(found.fits, 1.0)
    hops = []
    for hop in found.hops:
        atom = hop.position
        if linked.leads(atom, start):
            met = hop.met
        elif atom in linked.children[start]:
            met = fits.times(hop.found)
            met = met if start == linked.root or atom not in linked.read else met.plus(found.results)
        elif atom not in linked.read:
            met = NOTHING
        else:
            met = hop.met if start == linked.root else found.results
        hops.append(replace(hop, met=met))
    return replace(found, hops=tuple(hops), met=total(hop.met for hop in hops))
