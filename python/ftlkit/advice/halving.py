"""Successive halving: which of the stacks that were tried on a prefix are tried on a longer one.

A stack is better the less RAM it takes and the lower its costs are: response time, write
amplification, and the inverse of its life. On a front are those that no other beats in RAM and in
one of the costs. How far a stack is from a front is its cost over the least one that takes no more
RAM.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SHARE = 3
"""Of so many stacks one goes on."""
MARGIN = 1.25
"""A stack that is farther than this from all fronts goes on in no case."""
LITTLE = 1.01
"""A stack on a front whose place another fills with less than this loss does not go on."""
NOTHING = 1.005
"""RAM that lowers a cost by less than this factor buys nothing that three printed digits tell."""
LEAST = 6
"""As many may go on, however few were tried."""


@dataclass(frozen=True)
class Point:
    """A stack with what it takes and costs."""

    stack: str
    ram: float
    costs: dict[str, float]
    """By metric, lower is better; a metric that was not measured is missing."""
    is_behind: bool = False
    """Whether it did not keep up with the arrivals."""


def front(points: Sequence[Point], metric: str, gain: float = 1.0) -> list[Point]:
    """Those that no other beats in RAM and a cost, by ascending RAM; of equals the first.

    With a `gain` above 1 more RAM must buy something: the one before costs more than `gain` times
    as much.
    """
    beaten_by_none: list[Point] = []
    for point in sorted(
        (other for other in points if metric in other.costs),
        key=lambda point: (point.ram, point.costs[metric], len(point.stack)),
    ):
        if not beaten_by_none or point.costs[metric] * gain < beaten_by_none[-1].costs[metric]:
            beaten_by_none.append(point)
    return beaten_by_none


def distance(point: Point, points: Sequence[Point], metric: str) -> float:
    """The cost over the least one with no more RAM; 1 on the front, infinite if not measured."""
    if metric not in point.costs:
        return float("inf")
    least = min(other.costs[metric] for other in points if metric in other.costs and other.ram <= point.ram)
    return ratio(point.costs[metric], least)


def ratio(one: float, other: float) -> float:
    """One cost over another, of which both may be 0: a buffer can absorb all writes."""
    if other == 0:
        return 1.0 if one == 0 else float("inf")
    return one / other


@dataclass(frozen=True)
class Halved:
    """Who goes on, and why the others do not."""

    kept: list[Point]
    """Those on fronts first, then by distance."""
    beaten: dict[str, float]
    """Stacks that another beats, each with its distance from the nearest front."""
    crowded: list[str]
    """Stacks on a front that do not go on: they were too many, or another fills their place."""
    late: list[str] = field(default_factory=list)
    """Stacks that would have gone on, had there been time."""


def halve(points: Sequence[Point], metrics: Sequence[str], most: int | None = None) -> Halved:
    """Choose those that go on: at most one in `SHARE`, or `most`.

    Of equals the one with the shortest text stays.
    """
    if most is None:
        most = max(LEAST, -(-len(points) // SHARE))
    equals: dict[tuple[float, ...], Point] = {}
    for point in sorted(points, key=lambda point: len(point.stack)):
        equals.setdefault((point.ram, *(point.costs.get(metric, -1.0) for metric in metrics)), point)
    single = {point.stack for point in equals.values()}
    doubled = {point.stack: 1.0 for point in points if point.stack not in single}
    points = [point for point in points if point.stack in single]
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
    beaten = doubled | {stack: far for stack, far in near.items() if stack not in gone}
    return Halved([*thinned, *going], beaten, [stack for stack in best if stack not in gone])


def with_more(halved: Halved, more: Sequence[Point]) -> Halved:
    """What is chosen, and some more that go on, too."""
    points = {point.stack: point for point in (*halved.kept, *more)}
    return replace(
        halved,
        kept=list(points.values()),
        beaten={stack: far for stack, far in halved.beaten.items() if stack not in points},
        crowded=[stack for stack in halved.crowded if stack not in points],
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
