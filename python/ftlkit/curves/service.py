"""What translation layers serve over offered load, and over queue depth.

Each point is a run of a sweep. Over load, arrival times are the workload's, scaled to each load. A
run that falls behind its arrivals has response times that only reflect the length of the trace, so
they are neither drawn nor ranked. Nor are those of a run too short to decide whether it falls
behind. Over depth, the host keeps a fixed number of requests outstanding, and no run can fall
behind.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from ftlkit._native import UserError
from ftlkit._util import Json
from ftlkit.sweeps.summary import Group, groups

if TYPE_CHECKING:
    from ftlkit.results.noise import Estimate
    from ftlkit.sweeps.run import Sweep

LOAD, DEPTH = "load", "depth"
KEYS = {LOAD: "workload.speedup", DEPTH: "host.queue_depth"}
"""What is varied in the study, by the kind of curve."""

KINDS = {"read_p99_ns": "reads", "write_p99_ns": "writes"}
"""Requests of one kind, by the column of their 99th percentile."""

TAILS = {name.replace("p99", "p99_9"): kind for name, kind in KINDS.items()}
"""The same by the column of their 99.9th percentile."""

SERVED = ("iops", "throughput_bytes_per_s")
"""Rates, which follow from an offered load."""

METRICS = (
    *SERVED,
    *("response_mean_ns", "response_p99_ns"),
    *(*KINDS, "read_p50_ns", *TAILS, "write_amplification"),
)
"""What a point tells, as columns of results; those of a kind without requests are missing."""

TOLD = {
    "iops": "served",
    "response_mean_ns": "mean",
    "read_p50_ns": "read p50",
    "read_p99_ns": "read p99",
    "read_p99_9_ns": "read p99.9",
    "write_p99_ns": "write p99",
    "write_amplification": "WA",
    "throughput_bytes_per_s": "MB/s",
}
"""Headings of the table, in which a load has no rate served: it is that offered.

A narrow terminal leaves out the last ones.
"""

PROBE_DEPTH = 32
"""Outstanding requests of the closed loop that finds out what a layer can serve.

More hide a layer's weakness behind the device's parallelism; with fewer, dies stand idle.
"""

STEPS = 11
"""Loads by default: from a tenth of the most that a layer serves, to a tenth above it."""

FLOOR = (128, 32, 8, 2)
"""Parts of the lowest of these that come first, so the first load is 1/1280 of the most.

A percentile is an idle device's while fewer reads meet a program than lie beyond it. Random reads
and writes (30 %) on `7450-like`: p99.9 doubled at 0.6 % of saturation, p99 at 5 %.
"""

APART = 2.0
"""Layers that serve more unlike than by this factor get loads by factors, not by even steps."""

FACTOR = 1.4
"""The step of loads by factors: a rise is told to within it."""

NEAR = 0.975
"""Above this share of the busiest die's (or channel's) rate a longer run may fall behind.

Random reads and writes (30 %) on `7450-like`: 100,000 requests put that rate up to 2.4 % too high.
They bore 64,000 per second, 400,000 requests 62,000. What such a run shows is 61,000.
"""

GROWN = 0.001
"""A backlog that rises in each quarter of a run to this share of its time is a growing queue: the
simulator calls a run overloaded from 1 % on."""

BEYOND = 1.05
"""The first load above this multiple of what a layer serves is its last: its queue only grows."""


@dataclass(frozen=True)
class Point:
    """A translation layer at one load or depth."""

    ftl: str
    varied: str
    """The value of the key that is varied, as text."""
    over: float
    """Requests that arrive a second; or requests outstanding."""
    estimates: dict[str, Estimate]
    """Means over the seeds of `METRICS`, where known."""
    is_overloaded: bool
    """Whether it fell behind the arrivals with any seed."""
    is_undecided: bool = False
    """Whether it did not, but a longer run may."""

    @property
    def is_sustained(self) -> bool:
        """Whether it was shown to keep up."""
        return not (self.is_overloaded or self.is_undecided)


def measured(done: Sweep, kind: str) -> list[Point]:
    """The points of a sweep in the order of their layers, then ascending."""
    points = [point for group in groups(done.rows) if (point := _point(group, kind)) is not None]
    if not points:
        raise UserError("no point has a response time: the workload reads and writes nothing, or every point failed.")
    order = {name: place for place, name in enumerate(layers(points))}
    return sorted(points, key=lambda point: (order[point.ftl], point.over))


def _point(group: Group, kind: str) -> Point | None:
    varied = group.varied[KEYS[kind]]
    offered = group.estimate("offered_iops")
    over = float(varied) if kind == DEPTH else offered.mean if offered else None
    estimates = {name: estimate for name in METRICS if (estimate := group.estimate(name)) is not None}
    if over is None or "response_p99_ns" not in estimates:
        return None
    is_overloaded = any(row["is_overloaded"] for row in group.rows)
    is_undecided = kind == LOAD and not is_overloaded and any(map(may_fall_behind, group.rows))
    return Point(group.label, varied, over, estimates, is_overloaded, is_undecided)


def may_fall_behind(row: Json) -> bool:
    """Whether a run that was not overloaded came so near that a longer one may be."""
    load: Json = json.loads(row["document"])["runs"][0]["load"]
    backlog = load.get("backlog_ns") or [0.0]
    is_growing = all(after > before for before, after in pairwise(backlog))
    is_near = (load["offered_iops"] or 0.0) > NEAR * (load["bottleneck_iops"] or math.inf)
    return is_near or (is_growing and backlog[-1] > GROWN * row["simulated_ns"])


def layers(points: Iterable[Point]) -> list[str]:
    """The translation layers, in their order."""
    return list(dict.fromkeys(point.ftl for point in points))


def of_layer(points: Iterable[Point], ftl: str) -> list[Point]:
    """One layer's points."""
    return [point for point in points if point.ftl == ftl]


@dataclass(frozen=True)
class Capacity:
    """What was found out before a curve over load."""

    own_rate: float
    """Requests per second of the workload as it is."""
    served: dict[str, float]
    """Requests per second of each layer in a closed loop."""


def capacity(done: Sweep) -> Capacity:
    """The rate of the workload, and what each layer serves in a closed loop."""
    served = {group.label: rate.mean for group in groups(done.rows) if (rate := group.estimate("iops")) is not None}
    if not any(served.values()):
        raise UserError("the workload reads and writes nothing, so there is no load to vary: give another one.")
    row = next(row for row in done.rows if row["document"])
    workload: Json = json.loads(row["document"])["workload"]
    if not workload["duration_ns"]:
        raise UserError(
            "all requests of the workload arrive at once, so there is no load to vary. Take ftlkit curve depth, which "
            "varies how many are outstanding, or a workload whose requests have times."
        )
    return Capacity(workload["requests"] / workload["duration_ns"] * 1e9, served)


def loads(served: Iterable[float]) -> list[float]:
    """Requests per second to try by default, from what the layers serve in a closed loop."""
    known = [rate for rate in served if rate]
    low, high = min(known) / (STEPS - 1), max(known) * STEPS / (STEPS - 1)
    if max(known) <= APART * min(known):
        low = max(known) / (STEPS - 1)
        rates = [low * (place + 1) for place in range(STEPS)]
    else:
        count = math.ceil(math.log(high / low) / math.log(FACTOR))
        rates = [low * (high / low) ** (place / count) for place in range(count + 1)]
    return [_round(rate) for rate in (*(low / part for part in FLOOR), *rates)]


def _round(rate: float) -> float:
    """A rate as one would type it, to two digits: steps are at least a tenth apart."""
    return float(f"{rate:.2g}")


def between(points: Sequence[Point]) -> list[float]:
    """Loads to try between the highest one that a layer sustains and the next, where it may not."""
    kept = kept_up(points)
    if not kept or len(kept) == len(points):
        return []
    low, high = kept[-1].over, points[len(kept)].over
    return sorted({float(f"{low + part * (high - low) / 3:.3g}") for part in (1, 2)})


def reachable(rates: Sequence[float], served: float) -> list[float]:
    """The loads that a layer is tried with: up to the first one that should be too much for it."""
    first = next((place for place, rate in enumerate(rates) if rate > BEYOND * served), len(rates))
    return list(rates[: first + 1])


def speedup(rate: float, own_rate: float) -> str:
    """The factor on arrivals that makes a workload ask for this many requests per second."""
    return f"{rate / own_rate:.4g}" if rate < 1000 * own_rate else f"{rate / own_rate:.0f}"


def kept_up(points: Sequence[Point]) -> list[Point]:
    """One layer's points up to the first that was not shown to keep up."""
    first = next((place for place, point in enumerate(points) if not point.is_sustained), len(points))
    return list(points[:first])
