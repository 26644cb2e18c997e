"""The verdict of a curve over load or depth, in sentences: each says what points measured."""

import math
from collections.abc import Sequence
from itertools import combinations

from ftlkit._util import units
from ftlkit.curves.service import KINDS, SERVED, TAILS, TOLD, Point, kept_up, layers, of_layer
from ftlkit.report.rules import listed
from ftlkit.report.verdict import CLOSE
from ftlkit.results.columns import COLUMNS
from ftlkit.sweeps.summary import text

STEEP = 1.5
"""A rise is growth by this factor while load grows by no more: steeper than in proportion.

Where ever more reads wait evenly long, up to 150 µs beyond 74, p99 has grown so at 1.33 times the
load at which 1 % of them do. That of a queue with one server (M/M/1) does from 0.4 of saturation.
"""

FLAT = 0.25
"""Growth by less than this power of the load is of a level stretch beside a rise: p99 of reads on
`cm7-r-like` grows by powers up to 0.18 there, and from 0.27 on within."""

MOST = 3
"""Rises told per percentile; the lowest are told as one, so the upper ones stand for themselves."""

PERCENTILES = {
    name: f"{nth} percentile of {kind}"
    for nth, names in (("99th", KINDS), ("99.9th", TAILS))
    for name, kind in names.items()
}
"""What rises are told of, by column."""

ABOUT_HALF = 0.2
"""So far from a half a share of the most that is sustained may be, to stand for the usual load."""

NEARLY = 0.95
"""Share of a layer's highest rate that counts as reaching it: noise of short runs is below that."""


def over_load(points: Sequence[Point]) -> list[str]:
    """Who keeps up with most, who answers fastest where all do, how each one's responses grow."""
    names = layers(points)
    kept = {name: kept_up(of_layer(points, name)) for name in names}
    able = sorted((name for name in names if kept[name]), key=lambda name: -kept[name][-1].over)
    sentences = [_most(able, points, kept), *_together(able, kept)] if len(able) > 1 else []
    sentences += [_keeps_up(name, of_layer(points, name), kept[name]) for name in able]
    if behind := [name for name in names if not kept[name]]:
        was = "was" if len(behind) == 1 else "were"
        sentences.append(f"{listed(behind)} {was} not shown to keep up with any load that was tried.")
    return sentences


def _most(able: Sequence[str], points: Sequence[Point], kept: dict[str, list[Point]]) -> str:
    """The ranking by the highest load that each layer keeps up with, at least."""
    last = [kept[name][-1] for name in able]
    most = {name: _bound(of_layer(points, name), kept[name]) for name in able}
    if _rate(last[0]) == _rate(last[-1]):
        same = next((text for text in most.values() if text.startswith("at")), most[able[0]])
        return f"{listed(list(able))} keep up with {same} requests per second alike."
    lead = [point.ftl for point in last if _rate(point) == _rate(last[0])]
    others = listed([f"{name} with {most[name]}" for name in able[len(lead) :]])
    verb = "keeps" if len(lead) == 1 else "keep"
    return f"{listed(lead)} {verb} up with most: {most[lead[0]]} requests per second. Behind come {others}."


def _bound(points: Sequence[Point], kept: Sequence[Point]) -> str:
    """The highest load sustained: the least that it may be, unless the next one is too much."""
    is_known = len(points) > len(kept) and points[len(kept)].is_overloaded
    return f"{'' if is_known else 'at least '}{_rate(kept[-1])}"


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
    rates = f"{name} keeps up with {_rate(last)} requests per second{limit}"
    if len(kept) == 1:
        return f"{rates}. There it answers in {_mean(last)} on average."
    means = f"{_mean(first)} to {_mean(last)}"
    return f"{rates}. From {_rate(first)} to there its mean response goes from {means}.{_told(kept)}{_half(kept)}"


def _half(kept: Sequence[Point]) -> str:
    """The figures at about half of the highest load that a layer keeps up with."""
    point, share = min(((point, point.over / kept[-1].over) for point in kept), key=lambda each: abs(each[1] - 0.5))
    if abs(share - 0.5) > ABOUT_HALF:
        return ""
    figures = [(name, column, point.estimates.get(column)) for column, name in TOLD.items() if column not in SERVED]
    told = [f"{name} {text(COLUMNS[column], estimate)}" for name, column, estimate in figures if estimate is not None]
    return f" At {_rate(point)}, {units.share(share)} of its most: {', '.join(told)}."


def _told(kept: Sequence[Point]) -> str:
    """The rises of each percentile, and its height at the highest load sustained."""
    loads, sentences, level = [_rate(point) for point in kept], [], []
    for metric, name in _known(kept):
        times = [units.duration(point.estimates[metric].mean) for point in kept]
        if not (found := rises(kept, metric)):
            level.append(f"the {name} ({times[0]} to {times[-1]})")
            continue
        each = [f"from {times[low]} to {times[high]} between {loads[low]} and {loads[high]}" for low, high in found]
        end = "" if found[-1][1] == len(kept) - 1 else f". No rise follows: at {loads[-1]} it is {times[-1]}"
        sentences.append(f" The {name} rises {listed(each)}{end}.")
    return "".join(sentences) + (f" Without a rise: {listed(level)}." if level else "")


def rises(kept: Sequence[Point], metric: str) -> list[tuple[int, int]]:
    """The stretches over which a time may grow faster than load, each by its first and last place.

    Between two loads growth may be anywhere, so a stretch is as steep as the loads inside it allow.
    More loads narrow rises and part them, but show none where fewer showed a level stretch.
    """
    curve = [(point.over, max(point.estimates[metric].mean, 1.0)) for point in kept]
    found: list[tuple[int, int]] = []
    for low, high in sorted(
        _without_level_ends(curve, low, high)
        for low, high in combinations(range(len(curve)), 2)
        if _is_steep(curve[low], curve[high]) and curve[high - 1][0] <= STEEP * curve[low + 1][0]
    ):
        if found and low <= found[-1][1]:
            found[-1] = found[-1][0], max(high, found[-1][1])
        else:
            found.append((low, high))
    return found if len(found) <= MOST else [(found[0][0], found[-MOST][1]), *found[1 - MOST :]]


def _without_level_ends(curve: Sequence[tuple[float, float]], low: int, high: int) -> tuple[int, int]:
    """A stretch cut to where its time grows, as long as that is the growth of a rise."""
    start, end = curve[low], curve[high]
    inner = range(low + 1, high)
    low = next((at for at in inner[::-1] if _is_flat(start, curve[at]) and _is_steep(curve[at], end)), low)
    inner = range(low + 1, high)
    high = next((at for at in inner if _is_flat(curve[at], end) and _is_steep(curve[low], curve[at])), high)
    return low, high


def _is_steep(before: tuple[float, float], after: tuple[float, float]) -> bool:
    return after[1] >= STEEP * before[1]


def _is_flat(before: tuple[float, float], after: tuple[float, float]) -> bool:
    return after[1] / before[1] < math.pow(after[0] / before[0], FLAT)


def _together(names: Sequence[str], kept: dict[str, list[Point]]) -> list[str]:
    """Who answers fastest at about half of the load that all of them keep up with, and at all.

    Queues near the limit of one of them tell little of the usual load.
    """
    shared = set.intersection(*({point.varied for point in kept[name]} for name in names))
    if not shared:
        return []
    loads = sorted((point for point in kept[names[0]] if point.varied in shared), key=lambda point: point.over)
    half = min(loads, key=lambda point: abs(point.over - loads[-1].over / 2))
    share = half.over / loads[-1].over
    usual = f"{units.share(share)} of what all of these keep up with"
    told = [(half.varied, usual)] if abs(share - 0.5) <= ABOUT_HALF else []
    told.append((loads[-1].varied, "the most that all of these keep up with"))
    return [
        _compared([point for name in names for point in kept[name] if point.varied == load], words)
        for load, words in told
    ]


def _compared(same: list[Point], load: str) -> str:
    """Who answers fastest at one load, and who has the lowest percentiles."""
    ranked = sorted(same, key=_mean_ns)
    start = f"At {_rate(ranked[0])} a second, {load},"
    is_led = _mean_ns(ranked[1]) >= CLOSE * _mean_ns(ranked[0])
    but = "".join(_lower_tails(ranked, ranked[:1] if is_led else ranked))
    if not is_led:
        is_level = _mean_ns(ranked[-1]) < CLOSE * _mean_ns(ranked[0])
        return f"{start} mean responses are {'level: ' if is_level else ''}{_each(ranked)}.{but}"
    led = f"{ranked[0].ftl} answers fastest on average: {_mean(ranked[0])}"
    return f"{start} {led}, against {_each(ranked[1:])}.{but}"


def _known(points: Sequence[Point]) -> list[tuple[str, str]]:
    """The percentiles that all points have."""
    return [named for named in PERCENTILES.items() if all(named[0] in point.estimates for point in points)]


def _lower_tails(points: Sequence[Point], led: Sequence[Point]) -> list[str]:
    """Who has the lowest percentiles, a sentence each; none if only the leader by the mean."""
    lower: dict[str, list[str]] = {}
    for metric, name in _known(points):
        times = {point.ftl: point.estimates[metric].mean for point in points}
        best = min(times, key=times.__getitem__)
        leaders = [times[point.ftl] for point in led if point.ftl != best]
        other = max(leaders) if leaders else min(time for ftl, time in times.items() if ftl != best)
        if other >= CLOSE * times[best]:
            told = f"{name} ({units.duration(times[best])} against {units.duration(other)})"
            lower.setdefault(best, []).append(told)
    if len(led) == 1 and {*lower} <= {led[0].ftl}:
        return []
    return [f" {ftl} has the lowest {listed(told)}." for ftl, told in lower.items()]


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
