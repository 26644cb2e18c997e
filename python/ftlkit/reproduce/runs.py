"""The runs of a reproduction: what its sweeps ask for."""

from __future__ import annotations

import itertools
import os
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ftlkit import api, models
from ftlkit.reproduce.files import Recordings, later_half
from ftlkit.reproduce.points import Point, statistics
from ftlkit.sweep.expand import of_study, placed, taken

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ftlkit.document import Json
    from ftlkit.progress import Watcher
    from ftlkit.reproduce.claims import Claim
    from ftlkit.reproduce.plan import Plan, Sweep


def run_sweeps(plan: Plan, threads: int | None, watch: Callable[[], Watcher] | None) -> list[Point]:
    """Run all sweeps: a study with a watcher of its own for each workload, so that its runs share the threads.

    With the seeds after the first only what a claim asks for is run.
    """
    with tempfile.TemporaryDirectory(prefix="ftlkit-") as folder:
        return _run_sweeps(plan, threads, watch, Recordings(Path(folder), watch))


def _run_sweeps(
    plan: Plan, threads: int | None, watch: Callable[[], Watcher] | None, recordings: Recordings
) -> list[Point]:
    points: list[Point] = []
    seeds = range(max((claim.seeds for claim in plan.claims), default=1))
    for seed, sweep in itertools.product(seeds, plan.sweeps):
        for workload in sweep.workloads:
            if _absent(workload):
                continue
            asked = [each for each in _blank(sweep, workload, seed) if seed == 0 or _is_asked_for(each, plan.claims)]
            points += _evaluated(sweep, asked)
            for _, group in itertools.groupby(asked, lambda each: of_study(each.keys)):
                alike = list(group)
                study, files = _study(plan, workload, alike[0])
                if files:
                    points += _analysed(sweep, alike, recordings, files, study["seed"])
                    study["workload"]["trace"] = str(recordings.trace(files, study["seed"]))
                points += _described(sweep, alike, study)
                points += _run(sweep, alike, study, threads, watch)
    return points


def traces(workload: Json) -> Path:
    """Where a workload's trace is looked for: in the folder that `FTLKIT_TRACES` names, or here."""
    return Path(os.environ.get("FTLKIT_TRACES", ".")) / str(workload["trace"])


def _absent(workload: Json) -> bool:
    return "trace" in workload and not traces(workload).is_file()


def absent_traces(plan: Plan) -> list[str]:
    """Recorded traces of a study that are not at hand: their runs are left out."""
    return sorted({str(each["trace"]) for sweep in plan.sweeps for each in sweep.workloads if _absent(each)})


def _blank(sweep: Sweep, workload: Json, seed: int) -> list[Point]:
    """The points of a sweep's workload before they are run; those that agree in the study's keys lie together."""
    name = str(workload.get("label") or workload.get("preset") or workload.get("trace") or sweep.id)
    own = workload.get("keys", {})
    return [
        Point(sweep.id, name, variant.label, own | keys, None, seed=seed)
        for _, group in itertools.groupby(sweep.points(), of_study)
        for variant, keys in itertools.product(sweep.variants, list(group))
    ]


def _is_asked_for(point: Point, claims: Sequence[Claim]) -> bool:
    """Whether a claim takes its number with this seed, too."""
    for claim in claims:
        orders_workloads = claim.measure["kind"] == "workload_order"
        keys = ("of", "against") if orders_workloads else ("of", "against", "rising")
        variants = [claim.measure[key] for key in keys if key in claim.measure]
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
            point,
            model=models.evaluate(**models_of[point.variant].model | taken(models_of[point.variant].takes, point.keys)),
        )
        for point in asked
        if point.variant in models_of
    ]


def _run(
    sweep: Sweep, asked: Sequence[Point], study: Json, threads: int | None, watch: Callable[[], Watcher] | None
) -> list[Point]:
    """The runs of a sweep's translation layers at points that agree in what they ask of the study."""
    layers = {variant.label: variant for variant in sweep.variants if variant.ftl}
    by_label = {_run_label(point): point for point in asked if point.variant in layers}
    if not by_label:
        return []
    ftl = [
        layers[point.variant].ftl
        | {key: str(value) for key, value in taken(layers[point.variant].takes, point.keys).items()}
        | {"label": label}
        for label, point in by_label.items()
    ]
    done = api.run_study(study | {"ftl": ftl}, threads=threads, watcher=watch() if watch else None)
    return [replace(by_label[run["label"]], results=run) for run in done.document["runs"]]


def _described(sweep: Sweep, asked: Sequence[Point], study: Json) -> list[Point]:
    """What the workload's requests are, for a sweep's variants that ask for it: shares by size."""
    wanted = [variant.label for variant in sweep.variants if variant.statistics]
    return [
        replace(point, model=statistics(api.trace_info(study["workload"], seed=study["seed"])))
        for point in asked
        if point.variant in wanted
    ]


def _analysed(sweep: Sweep, asked: Sequence[Point], recordings: Recordings, files: Json, seed: int) -> list[Point]:
    """What the analyzer of a file workload found of the types that a sweep's variants ask for."""
    types = {variant.label: variant.file_type for variant in sweep.variants if variant.file_type}
    found = []
    for point in (each for each in asked if each.variant in types):
        series = recordings.series(files, seed, types[point.variant])
        found.append(replace(point, model=later_half(series), series=series))
    return found


def _study(plan: Plan, workload: Json, point: Point) -> tuple[Json, Json]:
    """The study of a point, still without translation layers, and its file workload, if it is one."""
    study = placed(plan.study, point.keys, point.seed)
    shared = study.pop("files", {})
    own = {key: value for key, value in workload.items() if key not in ("label", "keys", "files")}
    study["workload"] = study.get("workload", {}) | own
    if "trace" in workload:
        study["workload"]["trace"] = str(traces(workload))
    varied = {key.partition(".")[2]: value for key, value in point.keys.items() if key.startswith("files.")}
    return study, (shared | workload["files"] | varied if "files" in workload else {})


def _run_label(point: Point) -> str:
    return ", ".join([point.variant, *(f"{key} {value}" for key, value in point.keys.items())])
