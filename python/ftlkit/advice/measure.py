"""Runs of stacks over parts of a workload: prefixes for the search, and the held-out part.

Every run is a point of a sweep, with its key in the store, so that an advice asked for again runs
only what is missing. A prefix is measured on the device that the whole workload asks for.

A stack is better the less RAM it takes and the lower its costs are: response time, write
amplification, and the inverse of its life. On a front are those that no other beats in RAM and in
one of the costs. How far a stack is from a front is its cost over the least one that takes no more
RAM.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import TYPE_CHECKING, Any

from ftlkit import study
from ftlkit._util import Json
from ftlkit._util.native_call import Interrupted
from ftlkit._util.progress import Silent, Watcher
from ftlkit.advice.footprints import with_unit
from ftlkit.advice.query import FRONTS, UNIT, Query
from ftlkit.results.columns import COLUMNS
from ftlkit.results.metric import HIGHER
from ftlkit.results.outcome import simulated_bytes
from ftlkit.results.point_state import DONE
from ftlkit.sweeps import plan as plans
from ftlkit.sweeps import run as runs

if TYPE_CHECKING:
    from ftlkit.results.store import Store
    from ftlkit.sweeps.local import Local
    from ftlkit.sweeps.traces import Traces

WARM_UP = 2
"""The first of this many equal parts of a prefix is warm-up."""

_ENOUGH = 2
"""If this many seeds give identical runs, nothing is drawn, and no more are run."""
_SAME = ("event_hash", "ram_bytes", *FRONTS)
"""What makes runs the same: every flash operation with its time, and the figures that are told."""


@dataclass(frozen=True)
class Point:
    """A stack with what it takes and costs."""

    stack: str
    ram: float
    costs: dict[str, float]
    """By metric, lower is better; a metric that was not measured is missing."""
    is_behind: bool = False
    """Whether it did not keep up with the arrivals."""


@dataclass(frozen=True)
class Measured:
    """A stack's runs over one part of the workload, one per seed."""

    stack: str
    rows: list[Json]
    """With `ftlkit.results.store.SCHEMA`'s columns, in order of the seeds; none if it failed."""
    error: str = ""

    @property
    def is_behind(self) -> bool:
        """Whether a run did not keep up with the arrivals."""
        return any(row["is_overloaded"] for row in self.rows)

    @property
    def is_drawn(self) -> bool:
        """Whether the runs of the seeds differ; unknown, and so False, of a single one."""
        return any(len({row[name] for row in self.rows}) > 1 for name in _SAME)

    def is_complete(self, seeds: int) -> bool:
        """Whether more seeds would show nothing new: if two runs are identical, all are."""
        runs = len(self.rows)
        return bool(self.error) or runs == seeds or (runs == _ENOUGH and not self.is_drawn)

    def beside(self, other: Measured, metric: str) -> list[tuple[Any, Any]]:
        """A metric of this stack's runs and of another's, seed by seed.

        Where one of them has fewer runs, these are all the same, and one stands for each.
        """
        many = max(len(self.rows), len(other.rows))
        mine, its = (
            measured.rows if len(measured.rows) == many else measured.rows[:1] * many for measured in (self, other)
        )
        return [(one[metric], two[metric]) for one, two in zip(mine, its, strict=True)]

    def mean(self, metric: str) -> float | None:
        """A metric's mean over the seeds; None where a run has none."""
        values = [row[metric] for row in self.rows]
        return None if not values or any(value is None for value in values) else fmean(values)

    def least(self, metric: str) -> float | None:
        """The mean, or what it is at least: one that lasted lives for what it wrote, or more."""
        values = [_least(row, metric) for row in self.rows]
        return fmean(value for value in values if value is not None) if values and None not in values else None

    def life_range(self) -> tuple[float, float] | None:
        """The range of the life's forecasts, as means over the seeds; None if it was measured."""
        ends = [json.loads(row["document"])["runs"][0].get("endurance") or {} for row in self.rows]
        lives = [life for end in ends if (life := end.get("spares_gone")) and not life["is_measured"]]
        if not lives or len(lives) < len(self.rows):
            return None
        return fmean(life["low_bytes"] for life in lives), fmean(life["high_bytes"] for life in lives)

    def point(self, metrics: Sequence[str], *, is_exact: bool = False) -> Point:
        """What it takes and costs; where only a bound is known, the most that it may cost.

        With `is_exact` such a cost is left out.
        """
        costs = {}
        for metric in metrics:
            value = self.mean(metric) if is_exact else self.least(metric)
            if value is not None:
                costs[metric] = cost(metric, value)
        return Point(self.stack, float(self.mean("ram_bytes") or 0), costs, self.is_behind)


def _least(row: Json, metric: str) -> float | None:
    """A metric of a run, or what it is at least; None where nothing is known."""
    value: float | None = row[metric]
    if value is None and metric == "life_bytes" and row["end_of_life_request"] is None:
        device = json.loads(row["document"])["device"]
        value = row["host_written_bytes"] * device["logical_bytes"] / simulated_bytes(device) or None
    return value


def cost(metric: str, value: float) -> float:
    """A metric as what is to be low: of one that is to be high, the inverse."""
    if COLUMNS[metric].better != HIGHER:
        return value
    return 1 / value if value else float("inf")


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


class Runner:
    """Runs stacks, wherever their points are kept and run."""

    def __init__(self, query: Query, device: Json, store: Store, executor: Local, traces: Traces) -> None:
        self._query, self._device = query, device
        self._store, self._executor, self._traces = store, executor, traces
        self.watch: Callable[[], Watcher] = Silent

    def with_unit(self, unit_bytes: int) -> Runner:
        """The same on the device with another mapping unit."""
        query = self._query.with_unit(unit_bytes, int(self._device["capacity"]))
        asked = query.document()
        device = with_unit(self._device, unit_bytes, asked["device"], asked["workload"].get("generator"))
        runner = Runner(query, device, self._store, self._executor, self._traces)
        runner.watch = self.watch
        return runner

    def going_on(self, requests: int) -> Runner:
        """The same over more requests of the workload."""
        query = replace(self._query, options={**self._query.options, "requests": requests})
        runner = Runner(query, self._device, self._store, self._executor, self._traces)
        runner.watch = self.watch
        return runner

    def prefix(self, stacks: Sequence[str], requests: int, precondition: str = "") -> dict[str, Measured]:
        """Runs over the first requests, of which the second half is measured, with one seed.

        `precondition` is how the device is prepared, if not as asked. Runs out of time are missing.
        """
        if not stacks:
            return {}
        prepared = {"precondition": precondition} if precondition else {}
        plan = self._plan(stacks, {"skip": requests // WARM_UP, **prepared})
        workloads = [(name, table | {"requests": requests}) for name, table in plan.workloads]
        # A prefix may span less than the whole; the device stays, and its slice or none.
        device = {"slice": "all"} | self._device
        return self._run(replace(plan, workloads=workloads, devices=[(plan.devices[0][0], device)]))

    def held_out(self, stacks: Sequence[str], skip: int, seeds: int) -> dict[str, Measured]:
        """Complete runs over everything, measured after `skip` requests, with several seeds.

        A recorded trace is the same with every seed, and few translation layers draw anything. So
        two seeds come first there, and others only where these differ; the first of the stacks
        tells whether the device's preparation does.
        """
        measured_stacks: dict[str, Measured] = {}
        try:
            if self._is_recorded and seeds > _ENOUGH:
                self._add_recorded(measured_stacks, stacks, skip, seeds)
            else:
                measured_stacks |= self._seeds(stacks, skip, range(seeds))
        except Interrupted as stop:
            raise Interrupted((stop.finished or {}) | measured_stacks) from None
        return {stack: measured for stack, measured in measured_stacks.items() if measured.is_complete(seeds)}

    def beside(self, stacks_by_unit: Mapping[int, Sequence[str]], skip: int) -> dict[int, dict[str, Measured]]:
        """The same with one seed, for stacks with several mapping units at once.

        0 is the device's own unit.
        """
        points = []
        for unit, stacks in stacks_by_unit.items():
            runner = self.with_unit(unit) if unit else self
            made = runner._plan(stacks, {"skip": skip}).points() if stacks else []  # noqa: SLF001 - another of these
            points += [replace(point, varied={UNIT: str(unit)}) if unit else point for point in made]
        return self._run_points(points) if points else {}

    def _add_recorded(self, measured_stacks: dict[str, Measured], stacks: Sequence[str], skip: int, seeds: int) -> None:
        measured_stacks |= self._seeds(stacks[:1], skip, range(_ENOUGH))
        few = seeds if any(measured.is_drawn for measured in measured_stacks.values()) else _ENOUGH
        measured_stacks |= self._seeds(stacks[1:], skip, range(few))
        drawn = [
            stack
            for stack, measured in measured_stacks.items()
            if not measured.is_complete(seeds) and len(measured.rows) == _ENOUGH
        ]
        for stack, more in self._seeds(drawn, skip, range(_ENOUGH, seeds)).items():
            measured_stacks[stack] = replace(more, rows=[*measured_stacks[stack].rows, *more.rows])

    @property
    def _is_recorded(self) -> bool:
        return "trace" in self._query.document()["workload"]

    def _seeds(self, stacks: Sequence[str], skip: int, seeds: range) -> dict[str, Measured]:
        """Runs with some seeds, counted from the one that was asked for."""
        if not stacks or not seeds:
            return {}
        plan = self._plan(stacks, {"skip": skip, "seed": self._query.options.get("seed", 1) + seeds.start})
        return self._run(plans.with_more(plan, [], len(seeds)))

    def _plan(self, stacks: Sequence[str], more: Json) -> plans.Plan:
        chosen: study.Options = {**self._query.options, **more}  # type: ignore[typeddict-item] # options that a study has
        plan = plans.from_options([self._query.workload], stacks, self._query.device, chosen)
        layers = [study.scheme(stack) | {"label": stack} for stack in stacks]
        plan = replace(plan, study=plan.study | {"ftl": layers})
        return plan if self._query.keeps_time else plans.without_clock(plan)

    def _run(self, plan: plans.Plan) -> dict[str, Measured]:
        try:
            return self._run_points(plan.points()).get(0, {})
        except Interrupted as stop:
            raise Interrupted(stop.finished and stop.finished.get(0, {})) from None

    def _run_points(self, points: Sequence[plans.Point]) -> dict[int, dict[str, Measured]]:
        """Runs by the mapping unit that a point varies, or 0."""
        try:
            done = runs.run_points(points, self._store, self._executor, self._traces, self.watch)
        except Interrupted as stop:
            raise Interrupted(None if stop.finished is None else self._measured(stop.finished)) from None
        return self._measured(done)

    def _measured(self, done: runs.Sweep) -> dict[int, dict[str, Measured]]:
        by_unit: dict[int, dict[str, Measured]] = {}
        for run in done.rows:
            measured = by_unit.setdefault(sum(int(each["value"]) for each in run["varied"]), {})
            # Whether it keeps up is known of none where it is not known of all.
            row = run if self._query.keeps_time else run | {"is_overloaded": None}
            earlier = measured.get(row["label"], Measured(row["label"], []))
            made = (
                replace(earlier, rows=[*earlier.rows, row])
                if row["state"] == DONE
                else replace(earlier, error=row["error"])
            )
            measured[row["label"]] = made
        return by_unit


def wall_s(measured: Measured, longer: float) -> float:
    """About how long a run takes over a prefix `longer` times as long; preparing takes as long."""
    row = measured.rows[0]
    # The warm-up counts as measured here.
    total, served = float(row["wall_s"] or 0), float(row["measured_wall_s"] or 0)
    return max(0.0, total - served) + served * longer
