"""Which stack is advised: of those that were measured on the whole searched part, the best for the goal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ftlkit.advice.asked import RAM_SLACK
from ftlkit.advice.halving import front

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ftlkit.advice.asked import Asked
    from ftlkit.advice.found import Found
    from ftlkit.advice.halving import Point

NEAR = 0.05
"""A stack with less RAM is named beside the best one if it is at most so much worse."""


def ranked(points: Sequence[Point], asked: Asked) -> list[Point]:
    """The stacks that have what decides, the best for the goal first; of equals that with less RAM, or the simpler."""
    there = [point for point in points if asked.metric in point.costs]
    if asked.goal != "ram":
        return sorted(there, key=lambda point: (point.costs[asked.metric], point.ram, len(point.stack)))
    limit = (1 + RAM_SLACK) * min((point.costs[asked.metric] for point in there), default=0.0)
    within = [point for point in there if point.costs[asked.metric] <= limit]
    rest = sorted((point for point in there if point not in within), key=lambda point: point.costs[asked.metric])
    return [*sorted(within, key=lambda point: (point.ram, point.costs[asked.metric], len(point.stack))), *rest]


def is_by_what_is_told(asked: Asked, found: Found) -> bool:
    """Whether the held-out figures decide among the stacks that are measured there, not those of the search.

    They do for the goal `ram`, of which they make the promise, and where the search was cut: a short prefix can be far
    from the whole.
    """
    return asked.goal == "ram" or found.was_cut


def frugal(points: Sequence[Point], best: Point, metric: str) -> Point | None:
    """The stack with the least RAM that is at most `NEAR` worse than the best; None if that is no other."""
    near = [each for each in front(points, metric) if each.costs[metric] <= (1 + NEAR) * best.costs[metric]]
    return near[0] if near and near[0].ram < best.ram else None
