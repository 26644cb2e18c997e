"""What a claim is measured by: each measure makes one number of runs."""

import itertools
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ftlkit._native import UserError
from ftlkit._util import Json
from ftlkit.reproduce.points import Point, column, distribution, over_time


class ShareOfNothingError(UserError):
    """Runs whose figure is to be a share of 0: they give no verdict."""


@dataclass(frozen=True)
class Measure:
    """A measure: its function, the keys that it needs and takes, and what 0 means in its number."""

    number: Callable[[Json, Sequence[Point]], float]
    keys: tuple[str, ...]
    optional: tuple[str, ...] = ()
    averages: bool = False
    """Whether it takes means over runs, which may hide one: a page then shows each run."""
    is_change: bool = False
    """Whether it is a difference, 0 where there is none; a claim then says its sign."""
    above_zero: bool = False
    """Whether what it asks for is absent at 0 and below."""
    from_zero: bool = False
    """Whether what it asks for is absent below 0."""
    is_difference: bool = True
    """Whether its number is a distance from something, and not a figure or a share by itself."""
    over_workloads: bool = False
    """Whether it compares workloads; all others are of one."""
    unit: str = "%"
    """Of its number, unless a claim says otherwise: shares are in percent."""


def _of(points: Sequence[Point], variants: str | list[str]) -> list[Point]:
    """The runs of a variant or of several."""
    matching: list[Point] = []
    for variant in variants if isinstance(variants, list) else [variants]:
        mine = [point for point in points if point.variant == variant]
        if not mine:
            raise UserError(f"no run is called {variant}; there are {', '.join(sorted({p.variant for p in points}))}.")
        matching += mine
    return matching


def _lowest(measure: Json, points: Sequence[Point]) -> float:
    return min(point.value(measure["metric"]) for point in points)


def _over(value: float, base: float) -> float:
    """How far a value is above another, as a share of it."""
    if base == 0:
        raise ShareOfNothingError("a share of 0 has no meaning: the runs that it is compared with give 0")
    return value / base - 1


def _change_at_best(measure: Json, points: Sequence[Point]) -> float:
    """The lowest value of `of` over the lowest of `against` (one variant or several), less 1."""
    return _over(*(_lowest(measure, _of(points, measure[key])) for key in ("of", "against")))


def _change(measure: Json, points: Sequence[Point]) -> float:
    """The mean of `of` over that of `against`, less 1."""
    return _over(*(_value(measure | {"of": measure[key]}, points) for key in ("of", "against")))


def _value(measure: Json, points: Sequence[Point]) -> float:
    """The mean of `of`."""
    values = [point.value(measure["metric"]) for point in _of(points, measure["of"])]
    return sum(values) / len(values)


def _share_within(measure: Json, points: Sequence[Point]) -> float:
    """Mean share of a class's flash operations (`metric`) done within `us` microseconds."""
    shares = [
        max((share for ns, share in distribution(point, measure["metric"]) if ns <= 1e3 * measure["us"]), default=0.0)
        for point in _of(points, measure["of"])
    ]
    return sum(shares) / len(shares)


def _order(measure: Json, points: Sequence[Point]) -> float:
    """The smallest rise from one variant of `rising` to the next, as a share; may be negative.

    With `us` it is the share of operations done within that time that must rise.
    """
    number = _share_within if "us" in measure else _value
    values = [number(measure | {"of": variant}, points) for variant in measure["rising"]]
    return min(_over(after, before) for before, after in itertools.pairwise(values))


def _workload_order(measure: Json, points: Sequence[Point]) -> float:
    """The smallest rise of `change_at_best` between workloads of successive `rising` entries."""
    changes = []
    for named in measure["rising"]:
        workloads = named if isinstance(named, list) else [named]
        of_each = [[point for point in points if point.workload == workload] for workload in workloads]
        changes.append([_change_at_best(measure, mine) for mine in of_each])
    return min(min(after) - max(before) for before, after in itertools.pairwise(changes))


def _change_up_to(measure: Json, points: Sequence[Point]) -> float:
    """The lowest change of any workload: lowest of `of` over lowest of `against`, less 1."""
    return min(_change_at_best(measure, mine) for mine in _by_workload(points).values())


def _by_workload(points: Sequence[Point]) -> dict[str, list[Point]]:
    by_workload: dict[str, list[Point]] = {}
    for point in points:
        by_workload.setdefault(point.workload, []).append(point)
    return by_workload


def _mean_change(measure: Json, points: Sequence[Point]) -> float:
    """The mean over the workloads of `change_at_best`."""
    return statistics.mean(_change_at_best(measure, mine) for mine in _by_workload(points).values())


def _change_of_sums(measure: Json, points: Sequence[Point]) -> float:
    """The sum over the workloads of `of`'s lowest over that of `against`'s, less 1."""
    sums = (
        sum(_lowest(measure, _of(mine, measure[key])) for mine in _by_workload(points).values())
        for key in ("of", "against")
    )
    return _over(*sums)


def _share_lower(measure: Json, points: Sequence[Point]) -> float:
    """Of the workloads the share on which the lowest of `of` is below the lowest of `against`."""
    changes = [_change_at_best(measure, mine) for mine in _by_workload(points).values()]
    return sum(change < 0 for change in changes) / len(changes)


def _difference(measure: Json, points: Sequence[Point]) -> float:
    """The mean of `of` less that of `against`."""
    return _value(measure, points) - _value(measure | {"of": measure["against"]}, points)


def _off_by(measure: Json, points: Sequence[Point]) -> float:
    """The mean of `of` less the paper's number (`printed`); `relative`: as a share of that."""
    printed = measure["printed"]
    workload = points[0].workload
    if workload not in printed:
        raise UserError(f"printed has no number for {workload}; it has some for {', '.join(printed)}.")
    value = _value(measure, points)
    return _over(value, printed[workload]) if measure.get("relative") else value - float(printed[workload])


def _sensitivity(measure: Json, points: Sequence[Point]) -> float:
    """How much more a metric varies over a variant's runs than another (`with`) does."""
    return _spread(measure, points) - _spread(measure | {"metric": measure["with"]}, points)


def _spread(measure: Json, points: Sequence[Point]) -> float:
    """The highest value of a variant over its lowest, less 1."""
    values = [point.value(measure["metric"]) for point in _of(points, measure["of"])]
    return _over(max(values), min(values))


def _best(measure: Json, points: Sequence[Point]) -> float:
    """The value of a key at which a variant is lowest."""
    best = min(_of(points, measure["of"]), key=lambda point: point.value(measure["metric"]))
    return float(best.keys[measure["key"]])


def _loss_inside(measure: Json, points: Sequence[Point]) -> float:
    """How much worse the best inside the paper's intervals (`inside`) is than the best of all."""
    inside = [
        point for point in points
        if all(low <= point.keys[key] <= high for key, (low, high) in measure["inside"].items())
    ]  # fmt: skip
    if not inside:
        raise UserError(f"no run lies inside {measure['inside']}.")
    return _over(_lowest(measure, inside), _lowest(measure, points))


def _rise_at_edges(measure: Json, points: Sequence[Point]) -> float:
    """How much the better edge of the sweep of `key` exceeds the best between."""
    mine = _of(points, measure["of"])
    edges = [pick(point.keys[measure["key"]] for point in mine) for pick in (min, max)]
    between = [point for point in mine if point.keys[measure["key"]] not in edges]
    if not between:
        raise UserError(f"the sweep of {measure['key']} has nothing between its edges {edges}.")
    return _over(_lowest(measure, [point for point in mine if point not in between]), _lowest(measure, between))


def _correlation(measure: Json, points: Sequence[Point]) -> float:
    """Pearson's correlation of a metric with a key: 1 where it lies on a rising line."""
    mine = _of(points, measure["of"])
    keys, values = (
        [float(point.keys[measure["key"]]) for point in mine],
        [point.value(measure["metric"]) for point in mine],
    )
    if len(set(keys)) < 3:
        raise UserError(f"the sweep of {measure['key']} has {len(set(keys))} values: two points always lie on a line.")
    # A metric that never changes lies on no rising line.
    return statistics.correlation(keys, values) if len(set(values)) > 1 else 0.0


def _agreement(measure: Json, points: Sequence[Point]) -> float:
    """Of all pairs of runs the share that two metrics (`metric`, `with`) put in the same order."""
    both = [tuple(point.value(measure[key]) for key in ("metric", "with")) for point in _of(points, measure["of"])]
    pairs = list(itertools.combinations(both, 2))
    if not pairs:
        raise UserError("a single run has no order.")
    alike = [(one[0] - other[0]) * (one[1] - other[1]) > 0 or one == other for one, other in pairs]
    return sum(alike) / len(pairs)


def _spread_over_time(measure: Json, points: Sequence[Point]) -> float:
    """Highest over lowest of a time series column (`metric`), less 1, where it varies least."""
    columns = (column(point, measure["metric"]) for point in _of(points, measure["of"]))
    known = ([value for value in values if value is not None] for values in columns)
    return min(_over(max(values), min(values)) for values in known)


def _bend(measure: Json, points: Sequence[Point]) -> float:
    """How far a column's running sum strays from a straight line, as a share of the whole."""
    return max(_strays(point, column(point, measure["metric"])) for point in _of(points, measure["of"]))


def _strays(point: Point, values: Sequence[float | None]) -> float:
    requests: list[int] = [0, *over_time(point)["request"]]
    parts = [
        (value or 0) * (now - last) for value, (last, now) in zip(values, itertools.pairwise(requests), strict=True)
    ]
    whole = sum(parts)
    if whole == 0:
        raise ShareOfNothingError(f"a share of 0 has no meaning: the series of {point.variant} is 0 throughout")
    sums = itertools.accumulate(parts)
    return max(abs(so_far / whole - request / requests[-1]) for so_far, request in zip(sums, requests[1:], strict=True))


MEASURES: dict[str, Measure] = {
    "change_at_best": Measure(_change_at_best, ("metric", "of", "against"), is_change=True),
    "change_up_to": Measure(_change_up_to, ("metric", "of", "against"), is_change=True, over_workloads=True),
    "mean_change": Measure(
        _mean_change, ("metric", "of", "against"), averages=True, is_change=True, over_workloads=True
    ),
    "change_of_sums": Measure(
        _change_of_sums, ("metric", "of", "against"), averages=True, is_change=True, over_workloads=True
    ),
    "share_lower": Measure(_share_lower, ("metric", "of", "against"), is_difference=False, over_workloads=True),
    "difference": Measure(_difference, ("metric", "of", "against"), unit=""),
    "off_by": Measure(_off_by, ("metric", "of", "printed"), ("relative",), unit=""),
    "change": Measure(_change, ("metric", "of", "against"), averages=True, is_change=True),
    "value": Measure(_value, ("metric", "of"), averages=True, is_difference=False, unit=""),
    "share_within": Measure(_share_within, ("metric", "of", "us"), averages=True, is_difference=False),
    "order": Measure(_order, ("metric", "rising"), ("us",), averages=True, from_zero=True),
    "workload_order": Measure(
        _workload_order, ("metric", "of", "against", "rising"), from_zero=True, over_workloads=True
    ),
    "spread": Measure(_spread, ("metric", "of")),
    "spread_over_time": Measure(_spread_over_time, ("metric", "of")),
    "bend": Measure(_bend, ("metric", "of")),
    "workload_spread": Measure(_spread, ("metric", "of"), over_workloads=True),
    "sensitivity": Measure(_sensitivity, ("metric", "with", "of"), above_zero=True),
    "best": Measure(_best, ("metric", "of", "key"), is_difference=False, unit=""),
    "loss_inside": Measure(_loss_inside, ("metric", "inside")),
    "correlation": Measure(_correlation, ("metric", "of", "key"), is_difference=False, above_zero=True, unit=""),
    "agreement": Measure(_agreement, ("metric", "with", "of"), is_difference=False),
    "rise_at_edges": Measure(_rise_at_edges, ("metric", "of", "key"), above_zero=True),
}


def set_against_printed(measure: Json, points: Sequence[Point]) -> float:
    """What `off_by` sets against the printed number: the mean of `of`."""
    return _value(measure, points)


def at_edge(measure: Json, points: Sequence[Point], best: float) -> bool:
    """Whether an optimum is the first or last value tried, so a better one may lie beyond."""
    tried = [point.keys[measure["key"]] for point in _of(points, measure["of"])]
    return len(set(tried)) > 1 and best in (min(tried), max(tried))
