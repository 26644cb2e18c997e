"""The statements of a sweep: the best point of each workload, and each caution once.

The sentences are made from the rows of the table, so that they say what the table shows.
"""

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby
from string import Formatter
from types import MappingProxyType
from typing import Any

from ftlkit._util import Json, units
from ftlkit._util.lookup import several
from ftlkit.report.cautions import CAUTIONS, all_cautions, steps
from ftlkit.report.life import even_bytes
from ftlkit.report.rules import Told, listed, say
from ftlkit.report.verdict import CLOSE, flushes_weigh
from ftlkit.results.columns import COLUMNS
from ftlkit.results.derived import mean_with_flushes
from ftlkit.results.metric import Metric
from ftlkit.results.noise import LITTLE, Estimate
from ftlkit.results.outcome import Outcome
from ftlkit.sweeps.goals import EVEN_LIFE, GOALS, WITH_FLUSHES, Goal
from ftlkit.sweeps.summary import Group, groups, text

NAMED = 3
"""More points than this are counted instead of named."""

_OF_MANY = {rule.id: rule.of_many for rule in CAUTIONS if rule.of_many}

KINDS = tuple(_OF_MANY)
"""Kinds of caution of a sweep's points, the gravest first. A stopped sweep says so itself."""

MOST = ("most", "enough")
"""Facts of which a sentence on several points tells the largest."""

FEW_SEEDS = 2
"""Of this many values an interval at 95 % is 12.7 standard errors to either side, of three 4.3."""


def summary(kind: str, facts: Mapping[str, Any] = MappingProxyType({})) -> str:
    """What a kind of caution with these facts means for a sweep's points."""
    more = "--requests, or of a recorded trace --repeat"
    return say(_OF_MANY[kind], steps(more, is_steady=facts.get("is_steady", False)) | dict(facts))


def told_facts(caution: Told) -> dict[str, Any]:
    """The facts of a caution that its summary tells."""
    names = {name for _, name, _, _ in Formatter().parse(_OF_MANY.get(caution.kind, ""))}
    names |= {"is_steady"} if names & {"prepare", "longer"} else set()
    return {name: value for name, value in caution.facts.items() if name in names}


def largest(facts: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The facts of a sentence on several points: the largest of some, else those of the first."""
    found = list(facts)
    return dict(found[0]) | {most: max(one[most] for one in found) for most in MOST if most in found[0]}


@dataclass(frozen=True)
class Statements:
    """Sentences on a sweep."""

    headline: list[str] = field(default_factory=list)
    """One for each workload and device."""
    cautions: list[str] = field(default_factory=list)
    """What weakens them, each with the points that it concerns."""


@dataclass(frozen=True)
class _Point:
    """A group of points that differ in their seeds alone, with what weakens it."""

    group: Group
    goal: Goal

    @property
    def metric(self) -> Metric:
        """What it is ranked by."""
        return COLUMNS[self.goal.column or self.goal.metric]

    @cached_property
    def kinds(self) -> dict[str, str]:
        """Kinds of caution, of any of its seeds, each with its summary."""
        least = {name: dict(facts) | {most: 0 for most in MOST if most in facts} for name, facts in self.facts.items()}
        return {kind: summary(kind, facts) for kind, facts in least.items()}

    @cached_property
    def facts(self) -> dict[str, Mapping[str, Any]]:
        """The same kinds with the facts of their sentences."""
        cautions = [caution for row in self.group.rows for caution in all_cautions(_outcome(row))]
        return {caution.kind: dict(caution.facts) for caution in cautions if caution.kind in KINDS}

    @cached_property
    def cost(self) -> Estimate | None:
        """What it is ranked by; None without reads and writes."""
        return self.group.estimate(self.goal.metric)

    @property
    def is_ranked(self) -> bool:
        """Whether its figure can stand beside others; a queue changes times alone."""
        return self.cost is not None and not set(self.kinds) & set(self.goal.barring)

    @property
    def shown(self) -> str:
        """The same as the table shows it."""
        return text(self.metric, self.cost)

    @property
    def forecast(self) -> tuple[float, float] | None:
        """The range of its life; None of a point ranked by something else."""
        if self.goal is not GOALS["life"]:
            return None
        low, high = (self.group.estimate(f"life_{end}_bytes") for end in ("low", "high"))
        return (low.mean, high.mean) if low and high else None


def statements(rows: Iterable[Json], goal: str | None = None, *, without: Collection[str] = ()) -> Statements:
    """What the points of a sweep say together, `without` some kinds of caution.

    They are ranked by a goal of `GOALS`; without one by the mean response, or where a point has no
    clock by write amplification.
    """
    found = groups(rows)
    has_clock = all(row.get("simulated_ns", 0) is not None for group in found for row in group.rows)
    ranked_by = GOALS[goal or ("mean" if has_clock else "wa")]
    if ranked_by is GOALS["life"] and any(group.estimate("life_bytes") is None for group in found):
        ranked_by = EVEN_LIFE
        found = [
            replace(group, rows=[row | {ranked_by.metric: even_bytes(_outcome(row))} for row in group.rows])
            for group in found
        ]
    if ranked_by is GOALS["mean"] and flushes_weigh(_outcome(row).document["runs"][0] for row in _flushing(found)):
        ranked_by = WITH_FLUSHES
        found = [replace(group, rows=[row | {ranked_by.metric: _waited(row)} for row in group.rows]) for group in found]
    points = [_Point(group, ranked_by) for group in found]
    places = [list(mine) for _, mine in groupby(sorted(points, key=_place), key=_place)]
    headline = [sentence for mine in places for sentence in _headline(mine)]
    return Statements(headline, [*_cautions(points, without), *_few_seeds(points)])


def _flushing(found: Iterable[Group]) -> Iterable[Json]:
    return (row for group in found for row in group.rows if row.get("flush_mean_ns") is not None)


def _waited(row: Json) -> float | None:
    """The mean response with flushes."""
    return None if row["response_mean_ns"] is None else mean_with_flushes(_outcome(row).document["runs"][0])


def _place(point: _Point) -> tuple[str, str]:
    return point.group.workload, point.group.device


def _outcome(row: Json) -> Outcome:
    return Outcome(json.loads(row["document"]))


def _headline(points: list[_Point]) -> list[str]:
    """Who leads on one workload and device."""
    where = f"On {points[0].group.workload} ({points[0].group.device})"
    ranked = [point for point in points if point.is_ranked]
    if not any(point.cost for point in points) and not points[0].goal.is_most:
        return [f"{where} no point has a {points[0].goal.words}."]
    if len(points) == 1 and points[0].cost:
        return [f"{where} {points[0].group.name} has a {points[0].goal.words} of {points[0].shown}."]
    if not ranked:
        return [f"{where} no point can be ranked: each is {points[0].goal.unranked}."]
    left_out = len(points) - len(ranked)
    aside = f" {several(left_out, 'point')} not ranked: {points[0].goal.unranked}." if left_out else ""
    return [f"{where} {_ranking(ranked)}{aside}{_reservation(ranked)}"]


def _ranking(points: list[_Point]) -> str:
    """The best point against the next and the worst."""
    ordered = sorted(points, key=_mean)
    best, worst, goal = ordered[0], ordered[-1], ordered[0].goal
    level = [point for point in ordered if _is_level(point, best)]
    shown = " to ".join(dict.fromkeys(point.shown for point in (best, level[-1])))
    if len(points) == 1:
        return f"{best.group.name} is the only point that can be ranked, with a {goal.words} of {best.shown}."
    if len(level) == len(points):
        return f"all {len(points)} ranked points are level in {goal.words}, {shown}{_least_ram(level)}."
    others = ordered[len(level) :]
    lead = f"{_names(level)} {'has' if len(level) == 1 else 'have'} the {goal.ends[0]} {goal.words}, {shown}"
    tail = f"; the {goal.ends[1]} is {worst.shown} ({worst.group.name})" if worst is not others[0] else ""
    return f"{lead}. The next is {others[0].shown} ({others[0].group.name}{_doubt(level, others[0])}){tail}."


def _least_ram(points: list[_Point]) -> str:
    """Which of equals takes least RAM, and which most, if they differ."""
    taken = [(ram.mean, point.group.name) for point in points if (ram := point.group.estimate("ram_bytes"))]
    if not taken or min(taken)[0] == max(taken)[0]:
        return ""
    least, most = ((units.size(size), name) for size, name in (min(taken), max(taken)))
    return f"; of these {least[1]} takes least RAM, {least[0]} (most: {most[0]}, {most[1]})"


def _is_level(point: _Point, best: _Point) -> bool:
    """Whether a point reads like the best one, or differs too little to rank, as in `compare`.

    Forecasts tell that by their ranges, seeds that differ by their intervals; else it is `CLOSE`.
    """
    mean, least = _mean(point), _mean(best)
    if point.metric.text(mean) == best.metric.text(least):
        return True
    if point.forecast and best.forecast:
        return point.forecast[1] >= best.forecast[0]
    is_drawn = all(one.cost and one.cost.half_width for one in (point, best))
    is_apart = is_drawn and not _doubt([best], point)
    return mean - least < (LITTLE if is_apart else CLOSE - 1) * abs(least)


def _doubt(level: list[_Point], other: _Point) -> str:
    """Whether the noise of seeds covers the distance."""
    best, next_ = level[0].cost, other.cost
    if best is None or next_ is None or best.half_width is None or next_.half_width is None:
        return ""
    are_near = best.low <= next_.high if other.goal.is_most else best.high >= next_.low
    return ", within the noise of the seeds" if are_near else ""


def _reservation(points: list[_Point]) -> str:
    """The gravest caution that all ranked points share."""
    for kind in KINDS:
        if all(kind in point.kinds for point in points):
            return " Read the cautions before you choose: they hold for every ranked point."
    return ""


def _mean(point: _Point) -> float:
    """The mean of what it is ranked by, the lower the better."""
    if point.cost is None:
        return float("inf")
    return -point.cost.mean if point.goal.is_most else point.cost.mean


def _names(points: list[_Point]) -> str:
    names = [point.group.name for point in points]
    if len(names) > NAMED:
        return f"{len(names)} points, {', '.join(names[:NAMED])} and {len(names) - NAMED} more,"
    return listed(names)


def _cautions(points: list[_Point], without: Collection[str]) -> list[str]:
    """Each kind of caution once (per device, if it is of one), with the points that it concerns."""
    sentences = []
    for kind in (kind for kind in KINDS if kind not in without):
        for said in dict.fromkeys(point.kinds[kind] for point in points if kind in point.kinds):
            mine = [point for point in points if point.kinds.get(kind) == said]
            facts = largest(point.facts[kind] for point in mine)
            sentences.append(f"{_scope(mine, len(points))}: {summary(kind, facts)}.")
    return sentences


def _few_seeds(points: list[_Point]) -> list[str]:
    """With two values the interval of a mean is often wider than the mean."""
    if max((len(point.group.rows) for point in points), default=0) != FEW_SEEDS:
        return []
    return ["Two seeds give wide intervals: use three or more (--seeds)."]


def _scope(points: list[_Point], total: int) -> str:
    if len(points) == total:
        return f"All {total} points" if total > 1 else "The one point"
    names = ", ".join(f"{point.group.name} on {point.group.workload}" for point in points[:NAMED])
    more = f" and {len(points) - NAMED} more" if len(points) > NAMED else ""
    return f"{len(points)} of {total} points ({names}{more})"
