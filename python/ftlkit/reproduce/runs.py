"""The runs of a reproduction, each reduced to the numbers that figures and claims are made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ftlkit import api
from ftlkit._native import UserError

if TYPE_CHECKING:
    from collections.abc import Callable

    from ftlkit.document import Json, Run
    from ftlkit.progress import Watcher
    from ftlkit.reproduce.plan import Plan, Sweep, Variant


@dataclass(frozen=True)
class Point:
    """One run: where it stands in its sweep, and its results."""

    sweep: str
    workload: str
    variant: str
    keys: Json
    run: Run

    def value(self, metric: str) -> float:
        """A metric by name; `gauges.NAME` and `notes.NAME` are the run's own."""
        if metric in METRICS:
            return METRICS[metric](self.run)
        group, _, name = metric.partition(".")
        table: Any = self.run.get(group) if group in ("gauges", "notes") else None
        if table is None or name not in table:
            own = [f"gauges.{each}" for each in self.run["gauges"]]
            raise UserError(f"no metric {metric} of {self.variant}; there are {', '.join([*METRICS, *own])}.")
        return float(table[name])

    def matches(self, sweep: str, only: Json) -> bool:
        """Whether it is of a sweep and has these keys, or one of several values of them."""
        mine = self.keys | {"workload": self.workload, "variant": self.variant}
        wanted = ((mine.get(key), each if isinstance(each, list) else [each]) for key, each in only.items())
        return self.sweep == sweep and all(value in values for value, values in wanted)


def _time_ns(run: Run, cause: str | None = None) -> float:
    return sum(
        each["time_ns"]
        for each in run["operations"]
        if each["cause"] != "precondition" and cause in (None, each["cause"])
    )


def _merge_cost_ms(run: Run) -> float:
    return _time_ns(run, "merge") / 1e6 / max(run["notes"]["log_victims"], 1)


METRICS: dict[str, Callable[[Run], float]] = {
    "flash_time_s": lambda run: _time_ns(run) / 1e9,
    "merges": lambda run: run["notes"]["log_victims"],
    "merge_cost_ms": _merge_cost_ms,
    "mean_response_us": lambda run: (run["response_ns"]["all"]["mean"] or 0.0) / 1e3,
    "write_amplification": lambda run: run["write_amplification"] or 0.0,
    "erases": lambda run: run["erases"]["total"],
    "mapping_hit_ratio": lambda run: run["mapping_hit_ratio"] or 0.0,
}
"""Numbers of a run. `flash_time_s` is the time of all flash operations but those that prepared the device."""


def run_sweeps(plan: Plan, threads: int | None, watch: Callable[[], Watcher] | None) -> list[Point]:
    """Run all sweeps: a study with a watcher of its own for each workload, so that its runs share the threads."""
    points = []
    for sweep in plan.sweeps:
        for workload in sweep.workloads:
            points += _run(plan, sweep, workload, threads, watch() if watch else None)
    return points


def _run(plan: Plan, sweep: Sweep, workload: Json, threads: int | None, watcher: Watcher | None) -> list[Point]:
    asked: dict[str, tuple[Variant, Json]] = {}
    entries = []
    for variant in sweep.variants:
        for keys in sweep.points():
            taken = {key: value for key, value in keys.items() if key in variant.takes}
            label = ", ".join([variant.label, *(f"{key} {value}" for key, value in keys.items())])
            asked[label] = (variant, keys)
            entries.append(variant.ftl | {key: str(value) for key, value in taken.items()} | {"label": label})
    study = plan.study | {"workload": plan.study.get("workload", {}) | workload, "ftl": entries}
    name = str(workload.get("preset") or workload.get("trace") or sweep.id)
    runs = api.run_study(study, threads=threads, watcher=watcher).document["runs"]
    return [Point(sweep.id, name, asked[run["label"]][0].label, asked[run["label"]][1], run) for run in runs]
