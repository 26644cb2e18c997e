"""The verdict of a curve over load or depth, in sentences: each says what points measured."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from ftlkit._util import units
from ftlkit.curves.service import KINDS, TAILS, Point, kept_up, layers, of_layer
from ftlkit.report.rules import listed
from ftlkit.report.verdict import CLOSE

KNEE = 2
"""Beyond the knee a percentile is this many times that at half of the highest load sustained.

A queue with one server (M/M/1) is there at 3/4 of what it can serve, and climbs to any height in
the last quarter. Lower loads do not count, so a knee is the same whatever loads were tried below
half.
"""

MET = 2
"""Reads of an idle device meet a program where their tail is this many times the lowest load's."""

NEARLY = 0.95
"""Share of a layer's highest rate that counts as reaching it: noise of short runs is below that."""


def over_load(points: Sequence[Point]) -> list[str]:
    """Who keeps up with most, who answers fastest where all do, how each one's responses grow."""
    names = layers(points)
    kept = {name: kept_up(of_layer(points, name)) for name in names}
    able = sorted((name for name in names if kept[name]), key=lambda name: -kept[name][-1].over)
    sentences = [_most(able, kept), *_together(able, kept)] if len(able) > 1 else []
    sentences += [_keeps_up(name, of_layer(points, name), kept[name]) for name in able]
    if behind := [name for name in names if not kept[name]]:
        was = "was" if len(behind) == 1 else "were"
        sentences.append(f"{listed(behind)} {was} not shown to keep up with any load that was tried.")
    return sentences


def _most(able: Sequence[str], kept: dict[str, list[Point]]) -> str:
    """The ranking by the highest load that each layer keeps up with."""
    last = [kept[name][-1] for name in able]
    if _rate(last[0]) == _rate(last[-1]):
        return f"{listed(list(able))} keep up with {_rate(last[0])} requests per second alike."
    lead = [point.ftl for point in last if _rate(point) == _rate(last[0])]
    others = listed([f"{point.ftl} with {_rate(point)}" for point in last[len(lead) :]])
    verb = "keeps" if len(lead) == 1 else "keep"
    return f"{listed(lead)} {verb} up with most: {_rate(last[0])} requests per second. Behind come {others}."


def _keeps_up(name: str, points: Sequence[Point], kept: Sequence[Point]) -> str:
    """The highest load that a layer keeps up with, and how its responses grow on the way there."""
    first, last = kept[0], kept[-1]
    beyond = points[len(kept) :]
    behind = next((point for point in beyond if point.is_overloaded), None)
    falls = f"falls behind at {_rate(behind)}" if behind else ""
    if beyond and beyond[0].is_undecided:
        limit = f"; {_rate(beyond[0])} is undecided{falls and f', and it {falls}'}"
    else:
        limit = f" and {falls}" if falls else ", the highest load that it was tried with"
    text = f"{name} keeps up with {_rate(last)} requests per second{limit}"
    if len(kept) == 1:
        return f"{text}. There it answers in {_mean(last)} on average."
    return (
        f"{text}. On the way from {_rate(first)} there its mean response goes from {_mean(first)} to {_mean(last)}, "
        f"and {_p99(first, last)}.{_knees(kept) if beyond else ''}{_met(kept)}"
    )


def _knees(kept: Sequence[Point]) -> str:
    """The knee of the 99th percentile and that of the tail, by loads up to the highest sustained.

    That is the load beyond which a longer run falls behind, so it has to be known.
    """
    if kept[0].over > kept[-1].over / 2:
        return f" Its knee is not known: it takes a load of half of {_rate(kept[-1])} or less."
    return (
        f"{_knee(kept, KINDS, 'Its knee', 'the 99th percentile')}"
        f"{_knee(kept, TAILS, 'The knee of its tail', 'the 99.9th percentile')}"
    )


def _knee(kept: Sequence[Point], kinds: Mapping[str, str], whose: str, percentile: str) -> str:
    """The first load from which on a percentile of reads or writes is far above that at half."""
    most, last = kept[-1].over, len(kept) - 1
    places = {name: knee(kept, name) for name in kinds if all(name in point.estimates for point in kept)}
    if not places:
        return ""
    metric = min(places, key=lambda name: places[name])
    place, of = places[metric], f"{percentile} of {kinds[metric]}"
    if place == last:
        return f" {whose} is no lower than {_rate(kept[-1])}: {percentile} stays below {KNEE} times that at half."
    low, high = kept[place], kept[place + 1]
    shares = f"{units.share(low.over / most)} to {units.share(high.over / most)} of {_rate(kept[-1])}"
    half = units.duration(at_load(kept, metric, most / 2))
    return f" {whose} is between {_rate(low)} and {_rate(high)}, {shares}: {of} passes {KNEE} times the {half} at half."


def knee(kept: Sequence[Point], metric: str) -> int:
    """The place of the highest load at which a time is not yet steep; the last, if at none."""
    most = kept[-1].over
    limit = KNEE * at_load(kept, metric, most / 2)
    flat = [place for place, point in enumerate(kept) if point.estimates[metric].mean <= limit]
    return flat[-1]


def at_load(points: Sequence[Point], metric: str, load: float) -> float:
    """A time at a load between the lowest and the highest, by its logarithm between two loads."""
    for low, high in pairwise(points):
        if low.over <= load <= high.over:
            share = (load - low.over) / (high.over - low.over) if high.over > low.over else 0.0
            ends = [max(point.estimates[metric].mean, 1.0) for point in (low, high)]
            return float(ends[0] ** (1 - share) * ends[1] ** share)
    raise ValueError(load)


def _met(kept: Sequence[Point]) -> str:
    """Where reads begin to wait for programs, far below the knee; nothing if at no such load."""
    metric, first = "read_p99_9_ns", kept[0]
    beyond = next((place for place in range(1, len(kept)) if _growth(kept[place], first, metric) > MET), None)
    if beyond is None or kept[beyond].over > kept[-1].over / 2:
        return ""
    loads = " and ".join(_rate(point) for point in kept[beyond - 1 : beyond + 1])
    times = " to ".join(units.duration(at.estimates[metric].mean) for at in kept[beyond - 1 : beyond + 1])
    return f" Reads begin to meet programs between {loads}: their 99.9th percentile goes from {times}."


def _growth(point: Point, first: Point, metric: str) -> float:
    """How many times that of the first point a time is; 0 where either has none."""
    pair = [at.estimates[metric].mean for at in (point, first) if metric in at.estimates]
    return pair[0] / pair[1] if len(pair) == 2 and pair[1] else 0.0


def _together(names: Sequence[str], kept: dict[str, list[Point]]) -> list[str]:
    """Who answers fastest at the highest load that all of them keep up with."""
    shared = set.intersection(*({point.varied for point in kept[name]} for name in names))
    if not shared:
        return []
    same = [[point for point in kept[name] if point.varied in shared][-1] for name in names]
    ranked = sorted(same, key=_mean_ns)
    start = f"At {_rate(ranked[0])} a second, which all of these keep up with,"
    if _mean_ns(ranked[1]) < CLOSE * _mean_ns(ranked[0]):
        is_level = _mean_ns(ranked[-1]) < CLOSE * _mean_ns(ranked[0])
        return [f"{start} mean responses are {'level: ' if is_level else ''}{_each(ranked)}."]
    return [f"{start} {ranked[0].ftl} answers fastest: {_mean(ranked[0])} on average, against {_each(ranked[1:])}."]


def over_depth(points: Sequence[Point]) -> list[str]:
    """The most that each layer serves, the depth that is enough for it, and what more costs."""
    tops = {name: max(of_layer(points, name), key=_served) for name in layers(points)}
    names = sorted(tops, key=lambda name: -_served(tops[name]))
    return [_saturates(of_layer(points, name), tops[name]) for name in names]


def _saturates(points: Sequence[Point], top: Point) -> str:
    enough = next(point for point in points if _served(point) >= NEARLY * _served(top))
    first, deepest = points[0], points[-1]
    text = f"{top.ftl} serves at most {_rate_served(top)} requests per second, with {top.over:.0f} outstanding"
    if enough is deepest:
        return f"{text}; with {first.over:.0f} it serves {_rate_served(first)}." if first is not deepest else f"{text}."
    there = "" if enough is top else f", and {_rate_served(enough)} with {enough.over:.0f}"
    return (
        f"{text}{there}. From {enough.over:.0f} to {deepest.over:.0f} outstanding its mean response goes from "
        f"{_mean(enough)} to {_mean(deepest)}."
    )


def _each(points: Sequence[Point]) -> str:
    return listed([f"{point.ftl} {_mean(point)}" for point in points])


def _served(point: Point) -> float:
    return point.estimates["iops"].mean


def _mean_ns(point: Point) -> float:
    return point.estimates["response_mean_ns"].mean


def _rate(point: Point) -> str:
    return units.rate(point.over)


def _rate_served(point: Point) -> str:
    return units.rate(_served(point))


def _mean(point: Point) -> str:
    return units.duration(_mean_ns(point))


def _p99(first: Point, last: Point) -> str:
    """The way of the 99th percentile: of reads, where both kinds have one."""
    are_mixed = all(name in point.estimates for name in KINDS for point in (first, last))
    metric, whose = "response_p99_ns", "its 99th percentile"
    if are_mixed:
        metric, whose = "read_p99_ns", "the 99th percentile of reads"
    begins, ends = (units.duration(point.estimates[metric].mean) for point in (first, last))
    return f"{whose} from {begins} to {ends}"
