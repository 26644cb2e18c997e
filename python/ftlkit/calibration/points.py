"""What each job says of the drive: its state by then, and the figure to compare.

The jobs are gone through in their order, as the drive served them, and its state follows:

- It is *fresh* until as many bytes were written as it has. No collection can have begun.
- What was *trimmed* and not written since holds nothing: it is read without flash.
- It is *settled* when random writes have gone over the area twice before the job begins.
- What lies between is not used: write amplification still moves.
- Jobs at a rate (`rate_iops`) that ran at the same time are one load. Each has percentiles.

A report may state the state before its first job.

At depth 1 the figure is the latency. At more, and for settled writes, it is requests per second.
"""

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ftlkit._native import UserError
from ftlkit._util import units
from ftlkit._util.lookup import hint
from ftlkit.calibration.fio import AS_WRITTEN, MIXED, Job

LATENCY, IOPS, AMPLIFICATION = "latency_ns", "iops", "write_amplification"

PERCENTILES = {50.0: "p50", 99.0: "p99", 99.9: "p99_9"}
"""Figures of jobs at a rate, by percent."""

READ, TRIMMED, WRITE, STEADY, LOAD = "read", "trimmed", "write", "steady", "load"

PREPARES = ("settle", "grow")
"""How the names of jobs begin that prepare the drive and measure nothing."""

SETTLED = 2.0
"""How often random writes must have gone over an area before write amplification is settled."""

NOISE = {IOPS: 0.005, LATENCY: 0.005}
"""The least relative error of a figure."""

DRAWN = 0.07
"""The same of the model's draws for one request; it falls with the root of their number."""

WANDERS = 0.015
"""The same of settled writes: write amplification goes up and down, in drives and in the model."""

WITHOUT_FLASH = 0.05
"""The same of reads that find nothing: how long cores take to wake up varies by microseconds."""

TAILS = {50.0: 0.03, 99.0: 0.08, 99.9: 0.2}
"""The same of percentiles at a rate: of some thousand requests, few are slower than the last."""

BINNED = 0.01
"""The relative error of fio's percentiles, whose bins are 1/64 wide."""

TAIL = 0.02
"""A mean this far above the median has outliers, and the median is taken."""


@dataclass(frozen=True)
class Point:
    """A figure that a job measured."""

    job: str
    kind: str
    """`read` of data; `trimmed`: a read that finds none; `write` on a fresh drive; `steady`: random
    writes on a settled one; `load`: reads and writes that come at a rate.
    """
    is_random: bool
    is_uniform: bool
    size: int
    depth: int
    used: float
    """The share of the capacity that holds data and that requests go to."""
    figure: str
    measured: float
    noise: float
    """The relative standard error that is expected of it."""
    is_write: bool = False
    """Of a load: whether it is a figure of its writes."""
    rates: tuple[float, float] = (0.0, 0.0)
    """Offered reads and writes per second; 0: as many as are served."""
    is_poisson: bool = False

    @property
    def row(self) -> str:
        """Its name in a table."""
        return f"{self.job} {self.figure.replace('_', '.')}" if self.kind == LOAD else self.job

    @property
    def asked(self) -> tuple[object, ...]:
        """Everything on which the model's run depends, beside the device."""
        load = (*self.rates, self.is_poisson) if self.kind == LOAD else ()
        return (self.kind, self.is_random, self.is_uniform, self.size, self.depth, round(self.used, 6), *load)


class _Drive:
    """The state of the drive as jobs go by."""

    def __init__(self, capacity: int, state: str, share: float) -> None:
        self.capacity = capacity
        self.filled = share * capacity
        self.written = self.filled if state != "settled" else math.inf
        self.trimmed_from = float(capacity)
        """What begins here was trimmed, and not written since."""
        self.random_over: dict[float, float] = {} if state != "settled" else {self.filled: math.inf}

    def area(self, job: Job) -> tuple[float, float]:
        """Begin and end of a job's area in bytes."""
        begin = job.begin if job.begin >= 0 else -job.begin * self.capacity
        length = self.capacity - begin if job.area is None else job.area if job.area >= 0 else -job.area * self.capacity
        return begin, min(begin + length, float(self.capacity))

    def serve(self, job: Job) -> None:
        """Change as the job's writes and trims change it."""
        begin, end = self.area(job)
        if job.direction == "trim" and end - begin > 0.99 * self.capacity:
            self.written, self.filled, self.trimmed_from, self.random_over = 0.0, 0.0, 0.0, {}
        if job.direction not in ("write", MIXED):
            return
        self.written += job.moved_bytes
        self.trimmed_from = max(self.trimmed_from, end)
        if job.is_random or job.direction == MIXED:
            self.random_over[end] = self.random_over.get(end, 0.0) + job.moved_bytes
        elif begin <= 1.01 * self.filled:
            self.filled = max(self.filled, min(end, begin + job.moved_bytes))


def of_jobs(
    jobs: Sequence[Job], capacity: int, before: tuple[str, float] = ("erased", 0.0)
) -> tuple[list[Point], list[str]]:
    """The points of jobs, in their order, and why jobs were left out.

    `before` is the drive's state before them, and the share with data.
    """
    drive, points, left_out = _Drive(capacity, *before), [], []
    if jobs and jobs[0].direction != "trim" and before[0] == "erased":
        left_out.append(
            f"The first job, {jobs[0].name}, does not trim the drive: it is taken to have been erased before that job."
        )
    smallest = min((job.size for job in jobs if job.direction == "read"), default=0)
    for _, together in itertools.groupby(enumerate(jobs), key=_at_once):
        batch = [job for _, job in together]
        names = ", ".join(job.name for job in batch)
        made = _loads(batch, drive) if batch[0].rate else _point(batch[0], drive, smallest)
        if isinstance(made, Point):
            if not made.measured:
                # What only prepares the drive may have none.
                raise UserError(f"{batch[0].file}, job {names}: iops is 0, and must be above 0. {AS_WRITTEN}")
            points.append(made)
        elif isinstance(made, list):
            points += made
        elif made:
            left_out.append(f"{names} is not used: {made}")
        for job in batch:
            drive.serve(job)
    return _with_stalls(points, jobs), left_out


def _with_stalls(points: list[Point], jobs: Sequence[Job]) -> list[Point]:
    """The points, with more noise of reads per second where stalls lift means.

    Reads per second rest on means, for which no median stands in. If each read met a stall as often
    as at depth 1, the more that are served a second the more time would be lost. A queue that never
    runs empty hides stalls: that is taken to be so at the most reads per second of each size.
    """
    alone = {point.size: point for point in points if point.kind == READ and point.figure == LATENCY}
    names = {point.job for point in alone.values()}
    lifts = sorted(job.mean_ns / job.median_ns - 1 for job in jobs if job.name in names and job.median_ns)
    lift = max(0.0, lifts[len(lifts) // 2]) if lifts else 0.0
    most: dict[int, float] = {}
    for point in points:
        if point.kind == READ and point.figure == IOPS:
            most[point.size] = max(most.get(point.size, 0.0), point.measured)

    def lost(point: Point) -> float:
        if point.kind != READ or point.figure != IOPS or point.size not in alone:
            return 0.0
        at_once = point.measured * alone[point.size].measured * 1e-9
        return lift * at_once * (1 - point.measured / most[point.size])

    return [replace(point, noise=max(point.noise, lost(point))) for point in points]


def _at_once(numbered: tuple[int, Job]) -> tuple[str, int]:
    """File and group of jobs that offered a load together; other jobs are alone."""
    place, job = numbered
    return (job.file, job.group) if job.rate and not job.name.startswith(PREPARES) else ("", place)


def _loads(batch: Sequence[Job], drive: _Drive) -> list[Point] | str:
    """The points of jobs that offered a load together, or why there are none."""
    reads, writes = ([job for job in batch if job.direction == direction] for direction in ("read", "write"))
    if batch[0].name.startswith(PREPARES):
        return ""
    if len({(job.size, job.is_random, *drive.area(job)) for job in batch}) > 1:
        return "its jobs differ in sizes, order or areas. Give those of one load the same."
    why = next((why for why in (_why_not_settled(job, drive) for job in writes) if why), "")
    why = why or next((why for why in (_why_no_read(job, drive, job.size) for job in reads) if why), "")
    if why:
        return why
    used = max(drive.area(batch[0])[1], drive.filled) / drive.capacity
    first = batch[0]
    load = Point(first.name, LOAD, first.is_random, first.is_uniform, first.size, 1, used, "", 0.0, 0.0)
    load = replace(
        load,
        depth=sum(job.depth for job in batch),
        rates=(sum(job.rate for job in reads), sum(job.rate for job in writes)),
        is_poisson=any(job.is_poisson for job in batch) or len(batch) > 1,
    )
    return [
        replace(
            load,
            job=job.name,
            figure=PERCENTILES[share],
            measured=value,
            noise=TAILS[share],
            is_write=job.direction == "write",
        )
        for job in batch
        for share, value in job.percentiles_ns.items()
    ]


def _point(job: Job, drive: _Drive, smallest: int) -> Point | str:
    """A job's point, or why there is none; empty where none is meant."""
    if job.direction == "trim" or job.name.startswith(PREPARES):
        return ""
    if job.direction == MIXED:
        return f"it does several things at once (rw={job.kind}). Give reads, writes and trims jobs of their own."
    begin, end = drive.area(job)
    if job.direction == "read" and begin >= drive.trimmed_from:
        found = _latency_or_iops(job, TRIMMED, 0.0)
        return replace(found, noise=max(found.noise, WITHOUT_FLASH))
    if job.direction == "read":
        return _why_no_read(job, drive, smallest) or _latency_or_iops(job, READ, end / drive.capacity)
    used = max(end, drive.filled) / drive.capacity
    if drive.written + job.moved_bytes <= drive.capacity:
        return _latency_or_iops(job, WRITE, used)
    settled = replace(_latency_or_iops(job, STEADY, used), figure=IOPS, measured=job.iops, noise=WANDERS)
    return _why_not_settled(job, drive) or settled


def _why_no_read(job: Job, drive: _Drive, smallest: int) -> str:
    """Why a read says nothing; empty if it does."""
    _, end = drive.area(job)
    if end > 1.01 * drive.filled:
        return "it reads an area never written; drives answer such reads without touching flash."
    if job.size > smallest and sum(drive.random_over.values()) > 0.05 * drive.capacity:
        return "it reads several pages at once where random writes have torn neighbours apart. Read before them."
    return ""


def _why_not_settled(job: Job, drive: _Drive) -> str:
    """Why a write on a drive that is no longer fresh says nothing; empty if it does."""
    begin, end = drive.area(job)
    if not job.is_random:
        return "it writes in order on a drive that is no longer fresh, where collections go on beside it."
    if begin > 0 or end < 0.99 * drive.filled:
        return "its random writes leave out a part of the data, which is then never collected. Write over all of it."
    before = sum(written for over, written in drive.random_over.items() if abs(over - end) <= 0.01 * end)
    if before < SETTLED * end:
        return (
            f"write amplification has not settled: {units.size(before)} were written at random over {units.size(end)} "
            f"before it. Write {SETTLED:.0f} times that much first."
        )
    return ""


def served(depth: int) -> int:
    """How many requests the model serves for a point."""
    return 50 if depth == 1 else max(3_000, 40 * depth)


def _latency_or_iops(job: Job, kind: str, used: float) -> Point:
    """The figure that says most: latency at depth 1, else requests per second."""
    point = Point(job.name, kind, job.is_random, job.is_uniform, job.size, job.depth, used, IOPS, job.iops, NOISE[IOPS])
    if job.depth > 1:
        return replace(point, noise=math.hypot(point.noise, DRAWN * math.sqrt(job.depth / served(job.depth))))
    sampled = job.deviation_ns / job.mean_ns / job.requests**0.5 if job.mean_ns else 0.0
    if job.median_ns is not None and job.mean_ns > (1 + TAIL) * job.median_ns:
        return replace(point, figure=LATENCY, measured=job.median_ns, noise=max(BINNED, NOISE[LATENCY]))
    return replace(point, figure=LATENCY, measured=job.mean_ns, noise=max(sampled, NOISE[LATENCY]))


def with_counters(points: Iterable[Point], counters: Mapping[str, float]) -> list[Point]:
    """The points, with one more for each job whose write amplification the drive counted itself."""
    made = list(points)
    steady = {point.job: point for point in made if point.kind == STEADY}
    for job, amplification in counters.items():
        if job not in steady:
            raise UserError(
                f"--counters: {job} is no job with settled random writes.{hint(job, steady)} There are "
                f"{', '.join(steady) or 'none'}."
            )
        made.append(replace(steady[job], figure=AMPLIFICATION, measured=amplification, noise=WANDERS))
    return made


def held_out(points: Sequence[Point], names: str | None) -> set[str]:
    """The jobs whose points test the fit: those that were named by commas, or one of each group.

    Without names it is the middle one of each group of three or more that differ in one thing.
    """
    jobs = {point.job for point in points}
    if names is not None:
        chosen = [name.strip() for name in names.split(",") if name.strip() and name.strip() != "none"]
        for name in chosen:
            if name not in jobs:
                raise UserError(
                    f"--hold-out {name}: there is no such job.{hint(name, jobs)} There are {', '.join(sorted(jobs))}."
                )
        return set(chosen)
    groups: dict[tuple[object, ...], list[str]] = {}
    for point in points:
        if point.kind == READ and point.is_random:
            over = "size" if point.depth == 1 and point.size > min(p.size for p in points) else "depth"
            groups.setdefault((READ, over), []).append(point.job)
        elif point.kind == STEADY and point.figure == IOPS:
            groups.setdefault((STEADY,), []).append(point.job)
        elif point.kind == LOAD and point.figure == PERCENTILES[50.0]:
            groups.setdefault((LOAD, point.is_write), []).append(point.job)
    return {group[len(group) // 2] for group in groups.values() if len(group) >= 3}
