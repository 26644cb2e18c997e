"""A quick reproduction: whole claims, cheapest first, until an estimated time is used.

A claim is judged by all of its runs or not at all, so its verdict is that of the whole study.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from ftlkit import _native
from ftlkit._native import UserError
from ftlkit._util import Json
from ftlkit._util.progress import Silent, Watcher
from ftlkit.api.traces import trace_info
from ftlkit.reproduce.runs import absent_points, asked_for, planned, study_of
from ftlkit.sweeps.plan import UNNAMED, taken

if TYPE_CHECKING:
    from ftlkit.reproduce.plan import Plan, Sweep
    from ftlkit.reproduce.points import Point

BUDGET_S = 600.0
"""Estimated seconds of one core: half of ten minutes on two, since runs differ from estimates."""

PAGE_S = 1.0e-6
"""Of a page that the host reads or writes: 0.8 to 1.0 µs on average over 3,700 runs."""
OPERATION_S = 30e-6
"""Of a file operation, and of recording one."""
PREPARED_PAGE_S = {"none": 0.02e-6, "steady": 2.6e-6}
"""Of a page of the device before the first request, from the same runs."""
FILLED_PAGE_S = 0.12e-6
"""The same for any other preparation."""
RUN_S = 0.1
"""Of a run without a request."""


def quick_plan(plan: Plan, watch: Callable[[], Watcher] = Silent) -> Plan:
    """The study with the claims that fit an estimated time, and the figures of their runs.

    The next claim is the one that adds the least time to the runs of those before it. Claims that
    lack a recorded trace are left out.
    """
    work = _work(plan, _Workloads(watch))
    absent = absent_points(plan)
    seconds = {key: cost for _, parts in work for key, cost in parts.items()}
    waiting = {
        claim.id: {key for point, parts in work if claim.asks_for(point) for key in parts}
        for claim in plan.claims
        if not any(claim.asks_for(point) for point in absent)
    }
    chosen: set[str] = set()
    done: set[str] = set()
    left_s = BUDGET_S
    while waiting:
        added = {name: sum(seconds[key] for key in keys - done) for name, keys in waiting.items()}
        name = min(added, key=added.__getitem__)
        left_s -= added[name]
        if left_s < 0:
            break
        chosen.add(name)
        done |= waiting.pop(name)
    claims = [claim for claim in plan.claims if claim.id in chosen]
    if not claims:
        raise UserError(
            f"{plan.name}: no claim has its traces at hand and runs in {BUDGET_S:g} s of one core: leave --quick out."
        )
    left_out = [point for point, _ in work if point.seed == 0 and not asked_for(point, claims)]
    left_out += absent

    def is_run(sweep: str, only: Json) -> bool:
        return not any(point.matches(sweep, only) for point in left_out)

    return replace(
        plan,
        claims=claims,
        figures=[figure for figure in plan.figures if is_run(figure.sweep, figure.only)],
        factorials=[factorial for factorial in plan.factorials if is_run(factorial.sweep, factorial.only)],
        holds="",
    )


def _work(plan: Plan, workloads: _Workloads) -> list[tuple[Point, dict[str, float]]]:
    """Each point with the seconds of its parts, if a claim asks for it.

    Points share the parts that are the same work.
    """
    return [
        (point, _parts(plan, sweep, workload, point, workloads) if asked_for(point, plan.claims) else {})
        for sweep, workload, points in planned(plan)
        for point in points
    ]


def _parts(plan: Plan, sweep: Sweep, workload: Json, point: Point, workloads: _Workloads) -> dict[str, float]:
    study, files = study_of(plan, workload, point)
    (variant,) = [variant for variant in sweep.variants if variant.label == point.variant]
    operations = files.get("operations", 0) * files.get("scale", 1)
    parts = {_text(files, study["seed"]): operations * OPERATION_S} if files else {}
    if variant.ftl:
        served_s = operations * OPERATION_S if files else workloads.pages(study) * PAGE_S
        preparation = PREPARED_PAGE_S.get(study.get("run", {}).get("precondition", ""), FILLED_PAGE_S)
        layer = variant.ftl | taken(variant.takes, point.keys)
        parts[_text(study, files, layer)] = RUN_S + served_s + preparation * workloads.device_pages(study)
    return parts


class _Workloads:
    """Statistics of workloads, each looked over once."""

    def __init__(self, watch: Callable[[], Watcher]) -> None:
        self._watch = watch
        self._known: dict[str, Json] = {}

    def pages(self, study: Json) -> float:
        """The pages of a study's requests; half a page more of each, as few begin at a page."""
        total = self._total(study["workload"])
        return float(total["requests"]) * (0.5 + 1024 * float(total["mean_size_kib"] or 0) / _page_size(study))

    def device_pages(self, study: Json) -> float:
        """The pages of a study's device; 0 if it follows from a recording yet to be made."""
        device, workload = study.get("device", {}), study["workload"]
        if device.get("capacity") != "auto":
            return _native.device_bytes(json.dumps(device))[1] / _page_size(study)
        return float(self._total(workload)["end_byte"]) / _page_size(study) if workload else 0.0

    def _total(self, workload: Json) -> Json:
        text = _text(workload)
        if text not in self._known:
            self._known[text] = trace_info(workload, watcher=self._watch())["statistics"]["total"]
        return self._known[text]


def _page_size(study: Json) -> int:
    device = study.get("device", {})
    size = device.get("page_size")
    if size is None:
        preset = _native.device_preset(device.get("preset", UNNAMED["device"]))
        size = next(known["page_size"] for known in json.loads(_native.devices()) if known["name"] == preset)
    return _native.read_quantity("size", str(size))


def _text(*parts: object) -> str:
    return json.dumps(parts, sort_keys=True)
