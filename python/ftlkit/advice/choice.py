"""Which of the stacks that were tried on a prefix go on to a longer one, and which is advised.

Advised is the best for the goal of those measured on the whole searched part.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from ftlkit.advice.measure import Measured, Point, distance, front, ratio
from ftlkit.advice.phrasing import overlaps
from ftlkit.advice.query import RAM_SLACK, Query
from ftlkit.advice.search_result import SHARE, Halved, Rung, SearchResult
from ftlkit.report.cautions import FEW_FOR_P99
from ftlkit.results.columns import COLUMNS
from ftlkit.sweeps.comparison import SAME, UNKNOWN, UNSEEN, change

_T = TypeVar("_T")

MARGIN = 1.25
"""A stack that is farther than this from all fronts goes on in no case."""
LITTLE = 1.01
"""A stack on a front whose place another fills with less than this loss does not go on."""
NOTHING = 1.005
"""RAM that lowers a cost by less than this factor buys nothing that three printed digits tell."""
LEAST = 6
"""As many may go on, however few were tried."""
NEAR = 0.05
"""A stack with less RAM is named beside the best one if it is at most so much worse."""


def halve(points: Sequence[Point], metrics: Sequence[str], most: int | None = None) -> Halved:
    """Choose those that go on: at most one in `SHARE`, or `most`.

    Of equals the simplest stays: what costs and takes no less than one that names fewer settings.
    """
    if most is None:
        most = max(LEAST, -(-len(points) // SHARE))
    points, doubled = _without_equals(points, metrics)
    fronts = {metric: front(points, metric) for metric in metrics}
    best = {point.stack: point for points_of_front in fronts.values() for point in points_of_front}
    thinned = _thinned(fronts, most)
    near = {
        point.stack: min(distance(point, points, metric) for metric in metrics)
        for point in points
        if point.stack not in best
    }
    rest = sorted((other for other in points if other.stack in near), key=lambda point: near[point.stack])
    going = [point for point in rest if near[point.stack] <= MARGIN][: max(0, most - len(thinned))]
    gone = {point.stack for point in (*thinned, *going)}
    beaten = dict.fromkeys(doubled, 1.0) | {stack: far for stack, far in near.items() if stack not in gone}
    return Halved([*thinned, *going], beaten, [stack for stack in best if stack not in gone])


def _without_equals(points: Sequence[Point], metrics: Sequence[str]) -> tuple[list[Point], list[str]]:
    """The points without those that are equal to a simpler one; and the stacks that are left out.

    Equal is what takes as much RAM and costs as much, within `NOTHING`; of as simple ones only what
    is the same. The simplest names the fewest settings, and of these has the shortest text.
    """
    by_ram: dict[int, list[Point]] = {}
    left_out: set[str] = set()
    for point in sorted(points, key=lambda point: (named_settings(point.stack), len(point.stack))):
        # Whatever is equal lies at most one place away.
        place = round(math.log(max(point.ram, 1.0)) / math.log(NOTHING))
        near = [simpler for other in (place - 1, place, place + 1) for simpler in by_ram.get(other, ())]
        if any(_is_no_better(point, simpler, metrics) for simpler in near):
            left_out.add(point.stack)
        else:
            by_ram.setdefault(place, []).append(point)
    return [point for point in points if point.stack not in left_out], sorted(left_out)


def _is_no_better(point: Point, simpler: Point, metrics: Sequence[str]) -> bool:
    """Whether a point is equal to a simpler one, or to one as simple in each digit."""
    slack = NOTHING if named_settings(simpler.stack) < named_settings(point.stack) else 1.0
    pairs = [(simpler.ram, point.ram)]
    for metric in metrics:
        if (metric in simpler.costs) != (metric in point.costs):
            return False
        if metric in point.costs:
            pairs.append((simpler.costs[metric], point.costs[metric]))
    return all(its <= slack * mine and (slack > 1 or its == mine) for its, mine in pairs)


def with_more(halved: Halved, more: Sequence[Point]) -> Halved:
    """What is chosen, and some more that go on, too."""
    points = {point.stack: point for point in (*halved.kept, *more)}
    return replace(
        halved,
        kept=list(points.values()),
        beaten={stack: far for stack, far in halved.beaten.items() if stack not in points},
        crowded=[stack for stack in halved.crowded if stack not in points],
        late=[stack for stack in halved.late if stack not in points],
    )


def within(
    points: Sequence[Point], metrics: Sequence[str], fits: Callable[[Sequence[str]], bool], best: Sequence[str]
) -> Halved:
    """Choose those that go on, as many as fit: `fits` says whether there is time for some stacks.

    The `best` go on whatever it says, if they do at all.
    """
    halved = halve(points, metrics)
    stacks = {point.stack for point in halved.kept}
    for most in range(len(halved.kept), 0, -1):
        fewer = {point.stack for point in halve(points, metrics, most).kept} | (stacks & set(best))
        if fits([point.stack for point in halved.kept if point.stack in fewer]):
            break
    else:
        fewer = stacks & set(best)
    return replace(
        halved,
        kept=[point for point in halved.kept if point.stack in fewer],
        late=[point.stack for point in halved.kept if point.stack not in fewer],
    )


@dataclass
class _Place:
    """A place on a front that is being thinned."""

    point: Point
    least: float
    """The least cost of the points that it stands for: itself, and those taken out above it."""


def _thinned(fronts: dict[str, list[Point]], most: int) -> list[Point]:
    """The points of all fronts without those that the next smaller one stands for with little loss.

    Those that lose less than `LITTLE` go, and more until no more than `most` are left, the least
    loss first.
    """
    remaining = {metric: [_Place(point, point.costs[metric]) for point in points] for metric, points in fronts.items()}
    while True:
        by_stack = {place.point.stack: place.point for places in remaining.values() for place in places}
        losses = dict.fromkeys(by_stack, 1.0)
        for metric, places in remaining.items():
            for number, place in enumerate(places):
                lost = ratio(places[number - 1].point.costs[metric], place.least) if number else float("inf")
                losses[place.point.stack] = max(losses[place.point.stack], lost)
        least = min(losses, key=lambda stack: losses[stack], default="")
        if not by_stack or (len(by_stack) <= most and losses[least] > LITTLE):
            return list(by_stack.values())
        remaining = {metric: _without(places, least) for metric, places in remaining.items()}


def _without(places: list[_Place], stack: str) -> list[_Place]:
    """A front without a stack, for which the next smaller one stands."""
    remaining: list[_Place] = []
    for place in places:
        if place.point.stack != stack:
            remaining.append(place)
        elif remaining:
            remaining[-1] = _Place(remaining[-1].point, min(remaining[-1].least, place.least))
    return remaining


def ranked(points: Sequence[Point], query: Query, slack: float | None = None) -> list[Point]:
    """The stacks with a figure for the goal, best first; of those as good that with less RAM first.

    Of those that take as much RAM, too, the quickest comes first, and of these the simplest.

    Those that do not keep up with the arrivals come last, whatever their figures. As good as the
    best are those that cost at most `slack` times as much, by default `NOTHING`, and for the goal
    `ram` those within its slack. Of lives that are as long the one with the best response comes
    first.
    """
    rankable = [point for point in points if query.metric in point.costs]
    if query.goal == "ram" or slack is None:
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


def is_decided_on_held_out_part(query: Query, result: SearchResult) -> bool:
    """Whether held-out figures, not those of the search, decide among the stacks measured there.

    They do for the goal `ram`, whose promise they make, and where the search was cut: a short
    prefix can be far from the whole. So they do where the defaults were measured there first.
    """
    return query.goal == "ram" or result.was_cut or result.is_held_out_first


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


def refuting(metric: str, chosen: Measured, better: Sequence[Measured]) -> Measured | None:
    """The stack that beats the search's choice on the held-out part, or None.

    `better` are those that were better there, the best first. One refutes it whose figure is lower
    by more than `NOTHING`, so that no row of the table is better than the advised one. One that
    keeps up with the arrivals where the chosen one does not refutes it by any lead.
    """
    costs = chosen.point([metric]).costs
    for other in better:
        if other.is_behind and not chosen.is_behind:
            continue
        is_relief = chosen.is_behind and not other.is_behind
        if is_relief or ratio(costs[metric], other.point([metric]).costs[metric]) > NOTHING:
            return other
    return None


def unbeaten(query: Query, stack: Measured, others: Sequence[Measured]) -> Measured:
    """A stack, or the best of those that beat it on the held-out part; none beats that one.

    One beats it that takes no more RAM and costs less by more than `NOTHING`, or that takes less by
    more than that and costs less at all, whatever the search found. Lives within `NOTHING` are as
    long. One that does not keep up with the arrivals beats only another that does not.
    """
    metric = query.metric
    mine, beaters = stack.point([metric], is_exact=True), {stack.stack: stack}
    for other in others:
        its = other.point([metric], is_exact=True)
        if metric in mine.costs.keys() & its.costs.keys() and its.ram <= mine.ram and its.is_behind <= mine.is_behind:
            is_less = query.goal != "life" and its.ram * NOTHING < mine.ram
            if ratio(mine.costs[metric], its.costs[metric]) > (1.0 if is_less else NOTHING):
                beaters[other.stack] = other
    return min(beaters.values(), key=lambda each: each.point([metric]).costs.get(metric, math.inf))


def is_within_noise(metric: str, one: Measured, other: Measured) -> bool:
    """Whether which of two is better is a matter of noise, or of little that one seed tells."""
    if one.mean(metric) is None or other.mean(metric) is None:
        return False
    pairs = [(float(was), float(now)) for was, now in other.beside(one, metric)]
    verdict = change(COLUMNS[metric], pairs).verdict
    costs = sorted(measured.point([metric]).costs[metric] for measured in (one, other))
    return verdict in (UNSEEN, SAME) or (verdict == UNKNOWN and costs[1] <= (1 + NEAR) * costs[0])


def thrifty(metric: str, best: Measured, others: Sequence[Measured], searched: Mapping[str, Measured]) -> Measured:
    """The stack with the least RAM of those about as good as the best: more RAM buys nothing.

    About as good are those that cost less than `NOTHING` times as much, and did on the part that
    was `searched`; or at most `NEAR` more on both, here within the noise. One that does not keep up
    with the arrivals is none of them, unless the best does not either.
    """
    finalists = {measured.stack: measured for measured in (best, *others)}

    def is_level(other: Measured) -> bool:
        parts = (finalists, searched)
        most = max(searched_ratio(metric, other, best, part, unknown=NOTHING) for part in parts)
        return most < NOTHING or (most <= 1 + NEAR and is_within_noise(metric, other, best))

    level = [other for other in others if is_level(other) and other.is_behind <= best.is_behind]
    order = sorted((best, *level), key=lambda measured: measured.mean("ram_bytes") or 0.0)
    return simplest_first(order, (metric,), lambda measured: measured.point([metric]))[0]


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


def searched_ratio(
    metric: str, one: Measured, other: Measured, searched: Mapping[str, Measured], *, unknown: float
) -> float:
    """What one stack cost over another on a part, as `searched`; `unknown` without both."""
    pair = [searched[each.stack].point([metric]).costs for each in (one, other) if each.stack in searched]
    if len(pair) < 2 or any(metric not in costs for costs in pair):
        return unknown
    return ratio(pair[0][metric], pair[1][metric])


def is_lucky(metric: str, chosen: Measured, other: Measured, result: SearchResult) -> bool:
    """Whether a stack may be better on the held-out part by luck alone.

    So it may where few requests are held out, and it was more than `NEAR` worse than the choice
    where that was made. One that keeps up with the arrivals there, as the choice does not, was not.
    """
    if result.requests - result.searched >= FEW_FOR_P99:
        return False
    searched = result.last.tried
    pair = [searched[stack] for stack in (chosen.stack, other.stack) if stack in searched and searched[stack].rows]
    if len(pair) < 2 or (pair[0].is_behind and not pair[1].is_behind):
        return False
    mine, its = (measured.point([metric]).costs.get(metric) for measured in pair)
    return mine is not None and its is not None and its > (1 + NEAR) * mine


def quickest(query: Query, best: Measured, others: Sequence[Measured]) -> Measured:
    """The stack with the best response of those that live about as long as the best.

    About as long is within a factor of `NOTHING`. Of those that respond as well within it, the one
    with the least RAM; a simpler one that ties takes its place. Where of the best only a bound is
    known, none is known to live as long.
    """
    if best.mean(query.metric) is None:
        return best
    limit = NOTHING * best.point([query.metric]).costs[query.metric]
    level = [
        other
        for other in (best, *others)
        if other.point([query.metric]).costs.get(query.metric, float("inf")) <= limit
        and other.is_behind <= best.is_behind
    ]
    order = by_response(query, level, lambda measured: measured.point(query.metrics))
    first = simplest_first(order, (query.metric, query.response), lambda measured: measured.point(query.metrics))[0]
    simpler = [other for other in others if is_tied_life(query, first, other) and _is_simpler(query, other, first)]
    return min((*simpler, first), key=_parts_and_ram)


def is_tied_life(query: Query, longer: Measured, other: Measured) -> bool:
    """Whether a life is shorter by at most `NEAR`, and forecasts overlap: it may be the longer."""
    lives = [measured.point([query.metric]).costs.get(query.metric) for measured in (other, longer)]
    if lives[0] is None or lives[1] is None or not overlaps(other, longer):
        return False
    return ratio(lives[0], lives[1]) <= 1 + NEAR


def _is_simpler(query: Query, other: Measured, best: Measured) -> bool:
    """Whether a stack has no more parts and RAM, fewer of one, and responds about as well."""
    less, more = _parts_and_ram(other), _parts_and_ram(best)
    responses = [measured.point([query.response]).costs.get(query.response, 0.0) for measured in (other, best)]
    is_slow = ratio(*responses) > 1 + NEAR or other.is_behind > best.is_behind
    return less != more and less[0] <= more[0] and less[1] <= more[1] and not is_slow


def _parts_and_ram(measured: Measured) -> tuple[int, float]:
    return measured.stack.count("+"), measured.mean("ram_bytes") or 0.0


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
