"""The statements of a sweep: the best point of each workload, and each caution once.

The sentences are made from the rows of the table, so that they say what the table shows.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING

from ftlkit._util.lookup import several
from ftlkit.report.cautions import CLOSED, FILL, SLOWER, STEADY, VERIFY, all_cautions
from ftlkit.results.columns import COLUMNS
from ftlkit.results.noise import LITTLE
from ftlkit.results.outcome import Outcome
from ftlkit.sweeps.summary import groups, text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from ftlkit.results.document import Json
    from ftlkit.results.noise import Estimate
    from ftlkit.sweeps.summary import Group

MORE = "--requests, or of a recorded trace --repeat"
"""Next step for workloads of which some may be generated."""

METRIC = COLUMNS["response_mean_ns"]
"""What points are ranked by."""

NAMED = 3
"""More points than this are counted instead of named."""

SUMMARIES = {
    "worn_out": "The device wore out before the workload ended, so figures are of the requests before",
    "refreshing_over": "Refreshing ended before the workload did, since no spare block was left or no block could be "
    "moved, so reads came to be uncorrectable. Give the device more spare blocks",
    "unchecked": f"What FTLs in Python returned for reads was not checked, and wrong data may be fast ({VERIFY})",
    "overloaded": "More requests arrive than are served, so response times measure the length of the trace. Lower the "
    f"load ({SLOWER}), or use a closed loop ({CLOSED})",
    "collections_not_reached": "The host wrote less than the device holds, and collecting copied hardly anything: its "
    f"cost in a steady state was not measured. Take a device in a steady state ({STEADY}), or replay more requests "
    f"({MORE})",
    "unwritten": "Reads found pages that had never been written, or had been trimmed, and cost nothing. Against the "
    f"first, fill the device ({FILL})",
    "untouched": "The workload never touches more than a twentieth of the data that the preparation left, which make "
    "collections dearer than in a device with more room. Say how full the device is (--in-use, in a study run.in_use)",
    "rising": "Write amplification was higher in the last fifth of the run than in the first, so means depend on its "
    f"length. Take a device in a steady state ({STEADY}), or replay more requests ({MORE})",
    "few_for_p99": "Response times are of fewer than 1,000 requests, so the 99th percentile is one of the longest few",
    "misaligned": "Most requests are off the device's page grid, and one offset would put them on it: see "
    "`ftlkit trace info`, and set align_offset",
    "repeated": "Many rows of the trace ask for what another has just asked for, as rows of several events of one "
    "request do; set blkparse_action or where",
    "ticks": "The trace's times are in coarse steps, or all one, and requests of a time wait for each other: see "
    "`ftlkit trace info`, and set tick, columns or a closed loop",
    "shared_streams": "Writes named streams beyond hint_streams, and shared the last stream: raise hint_streams, or "
    "number the streams from 1",
    "few_requests": "Few requests were replayed: percentiles beyond the 99th rest on a handful of them",
    "nothing_erased": "No block was erased, so nothing is said of garbage collection, write amplification and "
    f"endurance. Take a device in a steady state ({STEADY}), or give it less capacity (--capacity)",
    "unsettled": "Write amplification had not settled when measuring began: a steady state may differ",
    "cached_whole": "The mapping cache is larger than the whole map, so it never evicts: vary sizes below that",
}
"""What each kind of caution means for a sweep's points. A stopped sweep says so itself."""

NO_RANKING = ("worn_out", "overloaded")
"""Cautions that exclude points from the ranking: other requests, or a growing queue."""


FEW_SEEDS = 2
"""Of so many values an interval at 95 % is 12.7 standard errors to either side, of three 4.3."""


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

    @cached_property
    def kinds(self) -> list[str]:
        """Kinds of caution, of any of its seeds, the gravest first."""
        kinds = [caution.kind for row in self.group.rows for caution in all_cautions(_outcome(row))]
        return [kind for kind in SUMMARIES if kind in kinds]

    @cached_property
    def response(self) -> Estimate | None:
        """What it is ranked by; None without reads and writes."""
        return self.group.estimate(METRIC.name)

    @property
    def shown(self) -> str:
        """The response as the table shows it."""
        return text(METRIC, self.response)


def statements(rows: Iterable[Json], *, without: Collection[str] = ()) -> Statements:
    """What the points of a sweep say together, `without` some kinds of caution."""
    points = [_Point(group) for group in groups(rows)]
    places = [list(mine) for _, mine in groupby(sorted(points, key=_place), key=_place)]
    headline = [sentence for mine in places for sentence in _headline(mine)]
    return Statements(headline, [*_cautions(points, without), *_few_seeds(points)])


def _place(point: _Point) -> tuple[str, str]:
    return point.group.workload, point.group.device


def _outcome(row: Json) -> Outcome:
    return Outcome(json.loads(row["document"]))


def _headline(points: list[_Point]) -> list[str]:
    """Who leads on one workload and device."""
    where = f"On {points[0].group.workload} ({points[0].group.device})"
    ranked = [point for point in points if point.response and not set(point.kinds) & set(NO_RANKING)]
    if not any(point.response for point in points):
        return []
    if len(points) == 1:
        return [f"{where} {points[0].group.name} has a mean response of {points[0].shown}."]
    if not ranked:
        return [f"{where} no point can be ranked: each is overloaded or wore out."]
    left_out = len(points) - len(ranked)
    aside = f" {several(left_out, 'point')} not ranked: overloaded, worn out or without requests." if left_out else ""
    return [f"{where} {_ranking(ranked)}{aside}{_reservation(ranked)}"]


def _ranking(points: list[_Point]) -> str:
    """The best point against the next and the worst."""
    ordered = sorted(points, key=_mean)
    best, worst = ordered[0], ordered[-1]
    level = [point for point in ordered if _is_level(point, best)]
    if len(points) == 1:
        return f"{best.group.name} is the only point that can be ranked, with a mean response of {best.shown}."
    if len(level) == len(points):
        return f"all {len(points)} ranked points have the same mean response, {best.shown}."
    others = ordered[len(level) :]
    lead = f"{_names(level)} {'has' if len(level) == 1 else 'have'} the lowest mean response, {best.shown}"
    tail = f"; the highest is {worst.shown} ({worst.group.name})" if worst is not others[0] else ""
    return f"{lead}. The next is {others[0].shown} ({others[0].group.name}{_doubt(level, others[0])}){tail}."


def _is_level(point: _Point, best: _Point) -> bool:
    """Whether a point reads like the best one, or differs too little to be told from it."""
    return METRIC.text(_mean(point)) == METRIC.text(_mean(best)) or _mean(point) < (1 + LITTLE) * _mean(best)


def _doubt(level: list[_Point], other: _Point) -> str:
    """Whether the noise of seeds covers the distance."""
    best, next_ = level[0].response, other.response
    if best is None or next_ is None or best.half_width is None or next_.half_width is None:
        return ""
    return ", within the noise of the seeds" if best.high >= next_.low else ""


def _reservation(points: list[_Point]) -> str:
    """The gravest caution that all ranked points share."""
    for kind in SUMMARIES:
        if all(kind in point.kinds for point in points):
            return " Read the cautions before you choose: they hold for every ranked point."
    return ""


def _mean(point: _Point) -> float:
    return point.response.mean if point.response else float("inf")


def _names(points: list[_Point]) -> str:
    names = [point.group.name for point in points]
    if len(names) > NAMED:
        return f"{len(names)} points, {', '.join(names[:NAMED])} and {len(names) - NAMED} more,"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _cautions(points: list[_Point], without: Collection[str]) -> list[str]:
    """Each kind of caution once, with the points that it concerns."""
    sentences = []
    for kind, summary in SUMMARIES.items():
        mine = [point for point in points if kind in point.kinds]
        if mine and kind not in without:
            sentences.append(f"{_scope(mine, len(points))}: {summary}.")
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
