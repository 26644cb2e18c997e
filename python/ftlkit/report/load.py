"""Which runs kept up with the arrivals, and what the others served.

In an open loop that asks for more than a device can do, queues grow as long as the trace lasts.
Response times then only reflect the length of the trace, so such runs are compared by what does not
depend on the queue.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ftlkit.results.document import Document, Run


def is_overloaded(run: Run) -> bool | None:
    """Whether a run fell behind its arrivals, by the simulator; null without a clock."""
    load = run.get("load")
    if load is None:
        return None if run.get("simulated_ns", 0) is None else False
    return load["is_overloaded"]


LATE = 0.05
"""A backlog below this share of the last quarter's is none: under an even load it is above 2/5."""


def is_behind_late(run: Run) -> bool:
    """Whether an overloaded run fell behind in the second half of its requests alone.

    Its end is then denser or costlier than its mean, and what the mean alone does is not known.
    """
    load = run.get("load")
    backlog = load.get("backlog_ns") if load else None
    return bool(is_overloaded(run) and backlog and max(backlog[: len(backlog) // 2]) < LATE * backlog[-1])


def arrives_in_steps(document: Document) -> bool:
    """Whether requests arrive all at once, or in steps above the fastest run's mean response."""
    ticks = document["workload"].get("ticks")
    is_open = document["study"].get("host", {}).get("loop") == "open"
    means = [mean for run in document["runs"] if (mean := run["response_ns"]["all"]["mean"]) is not None]
    return bool(ticks and is_open and means and (ticks["tick_ns"] is None or ticks["tick_ns"] > min(means)))


def bottleneck(run: Run) -> float | None:
    """The most requests per second by the busiest die or channel; null if not measured."""
    load = run.get("load")
    return load.get("bottleneck_iops") if load else None


def offered(run: Run) -> float | None:
    """Requests per second that the workload asks for; null where that was not measured."""
    load = run.get("load")
    return load["offered_iops"] if load else None


def fifths(samples: Sequence[float | None], weights: Sequence[float] | None = None) -> list[float]:
    """The means of five equal stretches of a series; none of a series too short to tell.

    `weights` says how much each sample counts, such as the bytes that a ratio is of. Without them
    all count alike.
    """
    weighted = zip(samples, weights or [1.0] * len(samples), strict=True)
    values = [(value, weight) for value, weight in weighted if value is not None]
    fifth = len(values) // 5
    if fifth < 2:
        return []
    stretches = [values[i * fifth : (i + 1) * fifth] for i in range(5)]
    totals = [sum(weight for _, weight in stretch) for stretch in stretches]
    sums = [sum(value * weight for value, weight in stretch) for stretch in stretches]
    return [amount / total for amount, total in zip(sums, totals, strict=True)] if all(totals) else []


def written_between(cumulative: Sequence[float]) -> list[float]:
    """The bytes that the host wrote in each stretch, from those up to its end."""
    return [end - begin for begin, end in pairwise([0, *cumulative])]
