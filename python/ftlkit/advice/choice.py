"""Which stack is best: for the goal, of those that are as good, and beside them.

Advised is the best for the goal of those that were measured on the held-out part.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeVar

from ftlkit._util.stacks import mapping
from ftlkit.advice.measure import Point, front
from ftlkit.advice.query import FINALISTS, RAM_SLACK
from ftlkit.results.columns import COLUMNS
from ftlkit.sweeps.comparison import SAME, UNKNOWN, UNSEEN, change

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ftlkit.advice.measure import Measured
    from ftlkit.advice.query import Query
    from ftlkit.advice.search_result import Rung, SearchResult

_T = TypeVar("_T")

MARGIN = 1.25
"""A stack that costs more than so many times the best is not near to it."""
LITTLE = 1.01
"""RAM that lowers a cost by less than this factor is on no front that is held out."""
NOTHING = 1.005
"""RAM that lowers a cost by less than this factor buys nothing that three printed digits tell."""
NEAR = 0.05
"""A stack with less RAM is named beside the best one if it is at most so much worse."""


def leaders(query: Query, points: Sequence[Point]) -> list[str]:
    """The best stack of each mapping that is near to the best of all, the best first."""
    order, metric = ranked(points, query), query.metric
    near: dict[str, str] = {}
    for point in order:
        if point.costs[metric] <= MARGIN * order[0].costs[metric] and point.is_behind <= order[0].is_behind:
            near.setdefault(mapping(point.stack), point.stack)
    return list(near.values())


def finalists(query: Query, points: Sequence[Point]) -> list[str]:
    """The stacks that are worth a run on the held-out part, the best for the goal first.

    They are the best of each mapping that is near, and the fronts of RAM against each metric. Of
    these the mappings take turns, since forms of one do alike.
    """
    near = leaders(query, points)
    on_fronts = {point.stack for metric in query.metrics for point in front(points, metric, LITTLE)}
    turns: dict[str, int] = {}
    turn: dict[str, int] = {}
    for point in ranked(points, query):
        if point.stack in on_fronts:
            turn[point.stack] = turns[mapping(point.stack)] = turns.get(mapping(point.stack), 0) + 1
    rest = [*sorted(turn, key=lambda stack: turn[stack]), *sorted(on_fronts - turn.keys())]
    return list(dict.fromkeys([*near, *rest]))[:FINALISTS]


def ranked(points: Sequence[Point], query: Query) -> list[Point]:
    """The stacks with a figure for the goal, best first; of those as good that with less RAM first.

    Of those that take as much RAM, too, the quickest comes first, and of these the simplest.

    Those that do not keep up with the arrivals come last, whatever their figures. As good as the
    best are those that cost at most `NOTHING` times as much, and for the goal `ram` those within
    its slack. Of lives that are as long the one with the best response comes
    first.
    """
    rankable = [point for point in points if query.metric in point.costs]
    slack = 1 + RAM_SLACK if query.goal == "ram" else NOTHING
    order: list[Point] = []
    for behind in (False, True):
        some = [point for point in rankable if point.is_behind is behind]
        limit = slack * min((point.costs[query.metric] for point in some), default=0.0)
        level = [point for point in some if point.costs[query.metric] <= limit]
        rest = [point for point in some if point not in level]
        level.sort(
            key=lambda point: (
                point.ram,
                point.costs.get(query.response, math.inf),
                point.costs[query.metric],
                len(point.stack),
            )
        )
        if query.goal == "life":
            level = by_response(query, level, lambda point: point)
        order += simplest_first(level, (query.metric, query.response), lambda point: point)
        order += sorted(rest, key=lambda point: (point.costs[query.metric], point.ram, len(point.stack)))
    return order


def ranking(query: Query, result: SearchResult, rung: Rung) -> list[str]:
    """The stacks of a prefix that may be advised, the best for the goal first."""
    return [point.stack for point in ranked(result.points(rung, query.metrics), query)]


def leading(metric: str, stacks: Sequence[Measured]) -> Measured | None:
    """The best for a metric of those that have it; one that falls behind only if all of them do."""
    costs = {each.stack: cost for each in stacks if (cost := each.point([metric]).costs.get(metric)) is not None}
    there = [each for each in stacks if each.stack in costs]
    return min(
        there,
        key=lambda each: (
            each.is_behind,
            costs[each.stack],
            each.mean("ram_bytes") or 0.0,
            each.mean("response_mean_ns") or 0.0,
            each.stack,
        ),
        default=None,
    )


def is_within_noise(metric: str, one: Measured, other: Measured) -> bool:
    """Whether which of two is better is a matter of noise, or of little that nobody would see."""
    if one.mean(metric) is None or other.mean(metric) is None:
        return False
    pairs = [(float(was), float(now)) for was, now in other.beside(one, metric)]
    verdict = change(COLUMNS[metric], pairs).verdict
    costs = sorted(measured.point([metric]).costs[metric] for measured in (one, other))
    little = 1 + NEAR if verdict == UNKNOWN else NOTHING
    return verdict in (UNSEEN, SAME) or costs[1] <= little * costs[0]


def simplest_first(order: Sequence[_T], metrics: Sequence[str], point: Callable[[_T], Point]) -> list[_T]:
    """Stacks in their order, but first the simplest of those that are equal to the first.

    Equal are those that take as much RAM and cost as much by the metrics, within `NOTHING`. The
    simplest names the fewest parts and settings: what is as it is by default is not named.
    """

    def is_equal(stack: _T) -> bool:
        first, other = point(order[0]), point(stack)
        pairs = [
            (first.costs[metric], other.costs.get(metric, float("inf"))) for metric in metrics if metric in first.costs
        ]
        return all(its <= NOTHING * mine for mine, its in ((first.ram, other.ram), *pairs))

    if not order:
        return []
    equals = [stack for stack in order if is_equal(stack)]
    simplest = min(equals, key=lambda stack: named_settings(point(stack).stack))
    return [simplest, *(stack for stack in order if stack is not simplest)]


def named_settings(stack: str) -> int:
    """How many parts and settings a stack names."""
    return stack.count("+") + stack.count(":")


def by_response(query: Query, level: Sequence[_T], point: Callable[[_T], Point]) -> list[_T]:
    """Stacks as good for the goal, in order of response; of equal ones that with less RAM first."""

    def response(stack: _T) -> float:
        return point(stack).costs.get(query.response, float("inf"))

    limit = NOTHING * min(map(response, level), default=0.0)
    return sorted(
        level,
        key=lambda stack: (
            (0.0, point(stack).ram, response(stack))
            if response(stack) <= limit
            else (response(stack), point(stack).ram, 0.0)
        ),
    )


def frugal(points: Sequence[Point], best: Point, metric: str) -> Point | None:
    """The stack of least RAM at most `NEAR` worse than the best; None if it takes no less."""
    near = [point for point in front(points, metric) if point.costs[metric] <= (1 + NEAR) * best.costs[metric]]
    return near[0] if near and near[0].ram < best.ram else None
