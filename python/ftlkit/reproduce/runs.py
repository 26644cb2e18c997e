"""The runs of a reproduction, each reduced to the numbers that figures and claims are made of."""

from __future__ import annotations

import copy
import itertools
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ftlkit import api, models
from ftlkit._native import UserError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ftlkit.document import ClassLatency, Json, Run
    from ftlkit.progress import Watcher
    from ftlkit.reproduce.claims import Claim
    from ftlkit.reproduce.plan import Plan, Sweep, Variant


@dataclass(frozen=True)
class Point:
    """One run: where it stands in its sweep, and its results. Of a model, one evaluation and its value."""

    sweep: str
    workload: str
    variant: str
    keys: Json
    results: Run | None
    """None for a model's."""
    model: dict[str, float] = field(default_factory=dict)
    """What a model gave, by metric."""
    seed: int = 0
    """How far the study's seed it is run with is above the one in the file."""

    @property
    def run(self) -> Run:
        """The results of a run; a model has none."""
        if self.results is None:
            raise UserError(f"{self.variant} is a model: it has no runs of which more than its values could be shown.")
        return self.results

    def value(self, metric: str) -> float:
        """A metric by name; `gauges.NAME` and `notes.NAME` are the run's own."""
        if self.results is None:
            if metric not in self.model:
                raise UserError(f"no metric {metric} of the model {self.variant}; there are {', '.join(self.model)}.")
            return self.model[metric]
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


def _count(run: Run, cause: str, op: str) -> float:
    return sum(each["count"] for each in run["operations"] if (each["cause"], each["op"]) == (cause, op))


def latencies(run: Run, name: str) -> ClassLatency:
    """Latencies of a class of flash operations."""
    found = [each for each in run["classes"] or [] if each["name"] == name]
    if not found:
        raise UserError(f"{run['label']}: there are no latencies of {name}; set run.classes = true in the study.")
    return found[0]


def distribution(point: Point, name: str) -> list[tuple[float, float]]:
    """Time of a class's flash operations from ready to done, in nanoseconds, and the share done within it.

    Service takes as long for each of them, so the distribution is that of waiting, later by that much.
    """
    found = latencies(point.run, name)
    service = found["service_ns"]["mean"] or 0.0
    return [(waiting + service, share) for waiting, share in found["waiting_cdf"]]


def _latency_us(run: Run, name: str) -> float:
    """Mean of a flash operation of a class, from when it is ready until it is done."""
    found = latencies(run, name)
    return ((found["waiting_ns"]["mean"] or 0.0) + (found["service_ns"]["mean"] or 0.0)) / 1e3


def _lookup_us(run: Run) -> float:
    """Mean time that a lookup in the map takes. Copies are written side by side, so they count as one."""
    reads, writes = _count(run, "mapping", "read"), _count(run, "mapping", "program")
    copies = int(run["parameters"].get("replicas", 0)) + 1
    time = reads * _latency_us(run, "mapping_read") + writes / copies * _latency_us(run, "mapping_write")
    return time / max(run["notes"]["mapping_hits"] + run["notes"]["mapping_misses"], 1)


def _collected(run: Run, cause: str) -> float:
    return _count(run, cause, "read") + _count(run, cause, "program")


def _sequential_share(run: Run) -> float:
    """Of the pages that a detector sorted, those that it found sequential."""
    sequential, random = (run["notes"][f"{each}_pages"] for each in ("sequential", "random"))
    return sequential / max(sequential + random, 1.0)


METRICS: dict[str, Callable[[Run], float]] = {
    "flash_time_s": lambda run: _time_ns(run) / 1e9,
    "merges": lambda run: run["notes"]["log_victims"],
    "merge_cost_ms": _merge_cost_ms,
    "mean_response_us": lambda run: (run["response_ns"]["all"]["mean"] or 0.0) / 1e3,
    "mean_read_response_us": lambda run: (run["response_ns"]["read"]["mean"] or 0.0) / 1e3,
    "mean_write_response_us": lambda run: (run["response_ns"]["write"]["mean"] or 0.0) / 1e3,
    "moved_pages": lambda run: _count(run, "collection", "program"),
    "collection_operations": lambda run: _collected(run, "collection") + _collected(run, "mapping_collection"),
    "sequential_share": _sequential_share,
    "write_amplification": lambda run: run["write_amplification"] or 0.0,
    "erases": lambda run: run["erases"]["total"],
    "mapping_hit_ratio": lambda run: run["mapping_hit_ratio"] or 0.0,
    "mapping_miss_ratio": lambda run: 1.0 - (run["mapping_hit_ratio"] or 0.0),
    "mapping_read_us": lambda run: _latency_us(run, "mapping_read"),
    "mapping_write_us": lambda run: _latency_us(run, "mapping_write"),
    "mapping_writes": lambda run: _count(run, "mapping", "program"),
    "lookup_us": _lookup_us,
    "iops": lambda run: run["iops"] or 0.0,
}
"""Numbers of a run. `flash_time_s` is the time of all flash operations but those that prepared the device."""


def run_sweeps(plan: Plan, threads: int | None, watch: Callable[[], Watcher] | None) -> list[Point]:
    """Run all sweeps: a study with a watcher of its own for each workload, so that its runs share the threads.

    With the seeds after the first only what a claim asks for is run.
    """
    points = []
    seeds = range(max((claim.seeds for claim in plan.claims), default=1))
    for seed, sweep in itertools.product(seeds, plan.sweeps):
        for workload in sweep.workloads:
            asked = [each for each in _blank(sweep, workload, seed) if seed == 0 or _is_asked_for(each, plan.claims)]
            points += _evaluated(sweep, asked)
            for _, group in itertools.groupby(asked, lambda each: of_study(each.keys)):
                points += _run(plan, sweep, workload, list(group), threads, watch)
    return points


def _blank(sweep: Sweep, workload: Json, seed: int) -> list[Point]:
    """The points of a sweep's workload before they are run; those that agree in the study's keys lie together."""
    name = str(workload.get("label") or workload.get("preset") or workload.get("trace") or sweep.id)
    return [
        Point(sweep.id, name, variant.label, keys, None, seed=seed)
        for _, group in itertools.groupby(sweep.points(), of_study)
        for variant, keys in itertools.product(sweep.variants, list(group))
    ]


def _is_asked_for(point: Point, claims: Sequence[Claim]) -> bool:
    """Whether a claim takes its number with this seed, too."""
    for claim in claims:
        variants = [claim.measure[key] for key in ("of", "against", "rising") if key in claim.measure]
        named = {name for each in variants for name in (each if isinstance(each, list) else [each])}
        of_mine = point.matches(claim.measure["sweep"], claim.measure.get("only", {}))
        if point.seed < claim.seeds and of_mine and (not named or point.variant in named):
            return True
    return False


def _evaluated(sweep: Sweep, asked: Sequence[Point]) -> list[Point]:
    """The values of a sweep's models."""
    models_of = {variant.label: variant for variant in sweep.variants if variant.model}
    return [
        replace(
            point, model=models.evaluate(**models_of[point.variant].model | _taken(models_of[point.variant], point))
        )
        for point in asked
        if point.variant in models_of
    ]


def _run(
    plan: Plan,
    sweep: Sweep,
    workload: Json,
    asked: Sequence[Point],
    threads: int | None,
    watch: Callable[[], Watcher] | None,
) -> list[Point]:
    """The runs of a sweep's translation layers at points that agree in what they ask of the study."""
    layers = {variant.label: variant for variant in sweep.variants if variant.ftl}
    by_label = {_run_label(point): point for point in asked if point.variant in layers}
    if not by_label:
        return []
    study = copy.deepcopy(plan.study)
    for key, value in of_study(asked[0].keys).items():
        table, _, name = key.partition(".")
        study.setdefault(table, {})[name] = value
    study["seed"] = study.get("seed", 1) + asked[0].seed
    study["workload"] = study.get("workload", {}) | {key: value for key, value in workload.items() if key != "label"}
    study["ftl"] = [
        layers[point.variant].ftl
        | {key: str(value) for key, value in _taken(layers[point.variant], point).items()}
        | {"label": label}
        for label, point in by_label.items()
    ]
    runs = api.run_study(study, threads=threads, watcher=watch() if watch else None).document["runs"]
    return [replace(by_label[run["label"]], results=run) for run in runs]


def _run_label(point: Point) -> str:
    return ", ".join([point.variant, *(f"{key} {value}" for key, value in point.keys.items())])


def of_study(keys: Json) -> Json:
    """Those of the varied keys that are keys of the study, such as `host.queue_depth`."""
    return {key: value for key, value in keys.items() if "." in key}


def _taken(variant: Variant, point: Point) -> Json:
    return {key: value for key, value in point.keys.items() if key in variant.takes}
