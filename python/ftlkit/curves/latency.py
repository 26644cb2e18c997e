"""Curves over offered load and over queue depth: runs of a sweep, told as a curve."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from ftlkit import _native
from ftlkit._native import UserError, __version__
from ftlkit._util import Json, units
from ftlkit._util.lookup import several
from ftlkit._util.native_call import Interrupted
from ftlkit._util.outputs import write
from ftlkit.curves import knees, service
from ftlkit.curves.saved import Saved
from ftlkit.curves.service import DEPTH, KEYS, LOAD, METRICS, Capacity, Point
from ftlkit.results.store import Store, named, varied
from ftlkit.sweeps import plan as plans
from ftlkit.sweeps import run as runs
from ftlkit.sweeps import values
from ftlkit.sweeps.executors import executor
from ftlkit.sweeps.intro import facts
from ftlkit.sweeps.statements import statements
from ftlkit.sweeps.summary import groups
from ftlkit.sweeps.traces import Traces, scratch

if TYPE_CHECKING:
    from ftlkit import study
    from ftlkit._util.progress import Watcher
    from ftlkit.curves.page import Drawing
    from ftlkit.sweeps.plan import Plan
    from ftlkit.sweeps.run import Sweep
    from ftlkit.sweeps.work import Executor

DEPTHS = "1..128:x2"
"""From a host that waits for every request to as many as an NVMe queue commonly has."""

FTLS = "page,dftl"

_SET_BY_CURVES = ("loop", "queue_depth", "speedup")

_CLOSED = values.axis("host.loop", "closed")


@dataclass(frozen=True)
class LatencyCurve(Saved):
    """Requests served and response times, over offered load or over queue depth."""

    kind: str
    """`load` or `depth`."""
    plan: Plan
    done: Sweep
    points: list[Point]
    capacity: Capacity | None = None
    """What layers serve in a closed loop, from which loads were chosen; None over depth."""

    @property
    def workload(self) -> str:
        """The workload's name."""
        return self.plan.workloads[0][0]

    @property
    def study(self) -> Json:
        """The study of a sweep that has all these points."""
        return self.plan.document

    @property
    def verdict(self) -> list[str]:
        """What the curve says, sentence by sentence."""
        return knees.over_load(self.points) if self.kind == LOAD else knees.over_depth(self.points)

    @property
    def facts(self) -> list[str]:
        """What the points were run on. How fast requests arrive is what differs between them."""
        firsts = {group.device: group for group in reversed(groups(self.done.rows))}
        lines = facts(self.plan, [*firsts.values()][::-1])
        return [line for line in lines if not line.startswith("Arrivals are ")]

    @property
    def cautions(self) -> list[str]:
        """What weakens it. That layers fall behind at high loads is what the curve is about."""
        done = replace(self.done, rows=[row | {"label": self._named(row), "varied": []} for row in self.done.rows])
        left_out = [f"Left out, since it failed: {named(row)}: {row['error']}" for row in done.failed]
        return [*statements(done.rows, without=("overloaded", "under_a_pass")).cautions, *left_out]

    def _named(self, row: Json) -> str:
        """A point by the load or the depth that was asked for, as the command spells it."""
        value = varied(row)[KEYS[self.kind]]
        if self.capacity is None:
            return f"{row['label']} with {value} outstanding"
        return f"{row['label']} at {units.rate(self.capacity.own_rate * float(value))}/s"

    @property
    def frame(self) -> pl.DataFrame:
        """A row per point: `ftl`, `offered_iops` or `queue_depth`, then means over the seeds.

        Behind each mean stands half of its 95 % interval, null with one seed. Both are null for
        reads or writes that do not occur. Over load, `is_overloaded` tells which points fell behind
        their arrivals, and `is_undecided` where a longer run may. Both are served as long as their
        queue lasts: their `iops` and times are no capacity.
        """
        over = "offered_iops" if self.kind == LOAD else "queue_depth"
        rows = []
        for point in self.points:
            row: Json = {"ftl": point.ftl, over: point.over if self.kind == LOAD else round(point.over)}
            if self.kind == LOAD:
                row |= {"speedup": float(point.varied)}
                row |= {name: getattr(point, name) for name in ("is_overloaded", "is_undecided")}
            for name in METRICS:
                estimate = point.estimates.get(name)
                row |= {name: estimate and estimate.mean, f"{name}_half_width": estimate and estimate.half_width}
            rows.append(row)
        kinds = {f"{name}_half_width": pl.Float64() for name in METRICS}
        return pl.DataFrame(rows, schema_overrides=kinds)

    @property
    def document(self) -> Json:
        """Everything as JSON, with the study that was asked."""
        return {
            "ftlkit": __version__,
            "study": self.study,
            "over": self.kind,
            "verdict": [units.typed(sentence) for sentence in self.verdict],
            "cautions": [units.typed(sentence) for sentence in self.cautions],
            "points": self.frame.to_dicts(),
        }

    def drawing(self) -> Drawing:
        """The curve as it is drawn and told."""
        from ftlkit.curves.drawings import latency  # noqa: PLC0415 - the drawing libraries take a second to load

        told = {"facts": self.facts, "verdict": self.verdict, "cautions": self.cautions}
        return latency(self.kind, self.study, self.points, self.capacity, **told)

    def report(self, path: str | Path) -> None:
        """Write one self-contained HTML file with verdict, charts and table."""
        from ftlkit.curves.page import page  # noqa: PLC0415 - as above

        write(Path(path), page(self.drawing()).encode(), self.inputs())

    def __repr__(self) -> str:
        return f"<ftlkit.LatencyCurve over {self.kind}, {several(len(self.points), 'point')}>"


def over_load(
    base: Plan, loads: str | None, store: Store, threads: int | None, watch: Callable[[], Watcher]
) -> LatencyCurve:
    """Run a plan's layers at each load; without `loads` at those that tell most of them.

    After Ctrl-C, `Interrupted.finished` is the sweep of what is stored, the closed loops included.
    """
    closed = plans.with_more(base, [_CLOSED, values.axis(KEYS[DEPTH], str(service.PROBE_DEPTH))], 1)
    place = executor(workers=threads)
    probes = runs.run(closed, store, place, watch)
    found = service.capacity(_told_apart(base, probes))
    given = None if loads is None else [_rate(text) for text in values.axis("loads", loads, "--loads").values()]
    rates = service.loads(found.served.values())
    parts = _by_layer(base, found, lambda _, served: given or service.reachable(rates, served))
    done = _tried(parts, probes, store, place, watch)
    if given is None:
        points = service.measured(_told_apart(base, done), LOAD)
        nearer = _by_layer(base, found, lambda name, _: service.between(service.of_layer(points, name)))
        if nearer:
            more = _tried(nearer, replace(probes, rows=probes.rows + done.rows), store, place, watch)
            done = replace(done, rows=done.rows + more.rows, points=done.points + more.points)
            parts += nearer
    loads_of_all = sorted({value for part in parts for value in part.axes[-1].values()}, key=values.order)
    whole = plans.with_more(base, [values.axis(KEYS[LOAD], loads_of_all)], None)
    return _curve(LOAD, whole, done, found)


def _tried(parts: list[Plan], before: Sweep, store: Store, place: Executor, watch: Callable[[], Watcher]) -> Sweep:
    """The runs of plans; after Ctrl-C with the rows of what was run before."""
    points = [point for part in parts for point in part.points()]
    with scratch() as folder:
        try:
            return runs.run_points(
                points,
                store,
                place,
                Traces(folder),
                watch,
                check=lambda prepared: runs.refuse_hopeless(parts[0], prepared),
            )
        except Interrupted as stop:
            rows = before.rows + (stop.finished.rows if stop.finished else [])
            raise Interrupted(replace(before, rows=rows, points=before.points + len(points))) from None


def so_far(kind: str, plan: Plan, done: Sweep) -> LatencyCurve:
    """The curve of a stopped sweep; `UserError` if none of its points has a response time."""
    mine = [row for row in done.rows if KEYS[kind] in varied(row)]
    probes = [row for row in done.rows if KEYS[kind] not in varied(row)]
    found = service.capacity(_told_apart(plan, replace(done, rows=probes))) if kind == LOAD else None
    return _curve(kind, plan, replace(done, rows=mine), found)


def _curve(kind: str, plan: Plan, done: Sweep, found: Capacity | None = None) -> LatencyCurve:
    done = _told_apart(plan, done)
    return LatencyCurve(kind, plan, done, service.measured(done, kind), found)


def _told_apart(plan: Plan, done: Sweep) -> Sweep:
    """Points of several devices, whose layers are called by their device, too."""
    if len(plan.devices) == 1:
        return done
    return replace(done, rows=[row | {"label": _on(row["label"], row["device"])} for row in done.rows])


def _on(layer: str, device: str) -> str:
    return f"{layer} on {device}"


def _by_layer(base: Plan, found: Capacity, rates: Callable[[str, float], Sequence[float]]) -> list[Plan]:
    """A plan per layer and device, over the loads of its name and of what it serves, if any."""
    made = []
    for device, entry in product(base.devices, base.study["ftl"]):
        label = str(entry.get("label") or entry["name"])
        name = label if len(base.devices) == 1 else _on(label, device[0])
        served = found.served.get(name)
        if served and (mine := rates(name, served)):
            factors = [service.speedup(rate, found.own_rate) for rate in mine]
            alone = replace(base, devices=[device], study=base.study | {"ftl": [entry]})
            made.append(plans.with_more(alone, [values.axis(KEYS[LOAD], factors, "--loads")], None))
    return made


def _rate(text: str) -> float:
    try:
        rate = float(text)
    except ValueError:
        rate = 0.0
        with suppress(UserError):
            rate = float(_native.read_quantity("count", text))
    if not 0 < rate < float("inf"):
        raise UserError(f"--loads: {text} is no load; give requests per second above 0, such as 500..4000:+500.")
    return rate


def over_depth(
    base: Plan, depths: str, store: Store, threads: int | None, watch: Callable[[], Watcher]
) -> LatencyCurve:
    """Run a plan's layers in a closed loop at each depth."""
    made = plans.with_more(base, [_CLOSED, values.axis(KEYS[DEPTH], depths, "--depths")], None)
    done = runs.run(made, store, executor(workers=threads), watch)
    return _curve(DEPTH, made, done)


def planned(
    workload: study.WorkloadChoice, ftls: str, device: str | None, options: study.Options, seeds: int | None
) -> Plan:
    """What all points of a curve share, checked."""
    for key in _SET_BY_CURVES:
        if key in options:
            raise UserError(f"{key}: a curve over load or depth sets it itself. Leave it out.")
    made = plans.from_options([workload], ftls, device, options)
    if (clock := made.study.get("run", {}).get("clock", True)) is not True:
        raise UserError(f"run.clock = {clock}: a curve over load or depth is of times. Leave it out.")
    host = {key: value for key, value in made.study.get("host", {}).items() if key not in _SET_BY_CURVES}
    return plans.with_more(replace(made, study=made.study | {"host": host}), [], seeds)
