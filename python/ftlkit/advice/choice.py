"""Which stack is advised: the best for the goal of those measured on the whole searched part."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ftlkit.advice.halving import NOTHING, front
from ftlkit.advice.query import RAM_SLACK

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ftlkit.advice.halving import Point
    from ftlkit.advice.measure import Measured
    from ftlkit.advice.query import Query
    from ftlkit.advice.search_result import SearchResult

NEAR = 0.05
"""A stack with less RAM is named beside the best one if it is at most so much worse."""


def ranked(points: Sequence[Point], query: Query) -> list[Point]:
    """The stacks with a figure for the goal, best first; of those as good that with less RAM first.

    Those that do not keep up with the arrivals come last, whatever their figures. As good as the
    best are those that cost at most `NOTHING` times as much, and for the goal `ram` those within
    its slack.
    """
    there = [point for point in points if query.metric in point.costs]
    slack = 1 + RAM_SLACK if query.goal == "ram" else NOTHING
    order: list[Point] = []
    for behind in (False, True):
        some = [point for point in there if point.is_behind is behind]
        limit = slack * min((point.costs[query.metric] for point in some), default=0.0)
        level = [point for point in some if point.costs[query.metric] <= limit]
        rest = [point for point in some if point not in level]
        order += sorted(level, key=lambda point: (point.ram, point.costs[query.metric], len(point.stack)))
        order += sorted(rest, key=lambda point: (point.costs[query.metric], point.ram, len(point.stack)))
    return order


def is_decided_on_held_out_part(query: Query, result: SearchResult) -> bool:
    """Whether held-out figures, not those of the search, decide among the stacks measured there.

    They do for the goal `ram`, whose promise they make, and where the search was cut: a short
    prefix can be far from the whole.
    """
    return query.goal == "ram" or result.was_cut


def refuting(metric: str, chosen: Measured, better: Sequence[Measured]) -> Measured | None:
    """The stack by which the held-out part refutes the choice of the search, or None.

    `better` are those that were better there beyond the noise of the seeds, the best first. One
    refutes it that is more than `NEAR` better. One that keeps up with the arrivals where the chosen
    one does not refutes it by any lead, and so does one that takes no more RAM.
    """
    most = chosen.mean("ram_bytes") or 0.0
    costs = chosen.point([metric]).costs
    for other in better:
        if other.is_behind and not chosen.is_behind:
            continue
        is_relief = chosen.is_behind and not other.is_behind
        takes_no_more = (other.mean("ram_bytes") or 0.0) <= most
        if is_relief or takes_no_more or other.point([metric]).costs[metric] * (1 + NEAR) < costs[metric]:
            return other
    return None


def thrifty(metric: str, best: Measured, others: Sequence[Measured]) -> Measured:
    """The stack with the least RAM of those about as good as the best: more RAM buys nothing.

    About as good are those that cost less than `NOTHING` times as much. One that does not keep up
    with the arrivals is none of them, unless the best does not either.
    """
    limit = NOTHING * best.point([metric]).costs[metric]
    level = [
        other
        for other in others
        if other.point([metric]).costs.get(metric, limit) < limit and other.is_behind <= best.is_behind
    ]
    return min((best, *level), key=lambda measured: measured.mean("ram_bytes") or 0.0)


def frugal(points: Sequence[Point], best: Point, metric: str) -> Point | None:
    """The stack of least RAM at most `NEAR` worse than the best; None if it takes no less."""
    near = [point for point in front(points, metric) if point.costs[metric] <= (1 + NEAR) * best.costs[metric]]
    return near[0] if near and near[0].ram < best.ram else None
