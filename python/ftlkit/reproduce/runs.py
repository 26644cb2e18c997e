"""The runs of a reproduction: its sweeps as points, run and kept as those of any sweep."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ftlkit import models
from ftlkit._native import UserError
from ftlkit._util import Json
from ftlkit._util.progress import Silent, Watcher
from ftlkit.api.traces import trace_info
from ftlkit.reproduce.files import Recordings, later_half
from ftlkit.reproduce.points import Point, statistics
from ftlkit.results import store as stores
from ftlkit.results.point_state import DONE
from ftlkit.study import one_line
from ftlkit.study.builder import check_seed
from ftlkit.sweeps import plan as plans
from ftlkit.sweeps import run as runs
from ftlkit.sweeps.plan import of_study, placed, taken
from ftlkit.sweeps.traces import Traces, scratch

if TYPE_CHECKING:
    from ftlkit.reproduce.claims import Claim
    from ftlkit.reproduce.plan import Plan, Sweep
    from ftlkit.results.document import Run
    from ftlkit.results.store import Store
    from ftlkit.sweeps.run import Prepared
    from ftlkit.sweeps.work import Executor


def run_sweeps(
    plan: Plan,
    store: Store | None,
    executor: Executor,
    watch: Callable[[], Watcher] = Silent,
    *,
    claims_only: bool = False,
) -> tuple[list[Point], int]:
    """Run the points of all sweeps that the store lacks; return all, and how many it had.

    With the seeds after the first, or with `claims_only`, only what a claim asks for is run. File
    workloads are recorded first, and what needs no run is told, so that what is wrong there is said
    before hours of runs. Without a store nothing is kept.
    """
    with scratch() as folder:
        result_store = store or stores.Store(folder / "store", create=True)
        points = list(_points(plan, Recordings(folder, watch), claims_only=claims_only))
        wanted_runs = [run for _, run in points if run is not None]
        done = runs.run_points(wanted_runs, result_store, executor, Traces(folder), watch, check=_refuse_hopeless)
    rows = iter(done.rows)
    results = {row["key"]: stores.results(row).document["runs"][0] for row in done.rows if row["state"] == DONE}
    return [point if run is None else _with_results(point, next(rows), results) for point, run in points], done.reused


def _refuse_hopeless(prepared: list[Prepared]) -> None:
    if prepared and all(point.refusal for point in prepared):
        raise UserError(prepared[0].refusal)


def _with_results(point: Point, row: Json, results: Mapping[str, Run]) -> Point:
    """A point with its results or its error; those that are the same run share them."""
    if row["state"] != DONE:
        return replace(point, error=f"{stores.named(row)}: {row['error']}")
    return replace(point, results=results[row["key"]])


def _points(plan: Plan, recordings: Recordings, *, claims_only: bool) -> Iterator[tuple[Point, plans.Point | None]]:
    """All points in the order of the study file, each with its run, if it still needs one.

    Those of a workload that agree in what they ask of the study share its recording and its
    statistics.
    """
    check_seed(plan.study.get("seed", 1), _seeds(plan))
    for sweep, workload, blank in planned(plan):
        wanted = [point for point in blank if (point.seed == 0 and not claims_only) or asked_for(point, plan.claims)]
        yield from ((point, None) for point in _evaluated(sweep, wanted))
        for _, group in itertools.groupby(wanted, lambda point: of_study(point.keys)):
            alike = list(group)
            study, files = study_of(plan, workload, alike[0])
            one_line.fit(study)
            if files:
                yield from ((point, None) for point in _analysed(sweep, alike, recordings, files, study["seed"]))
                study["workload"]["trace"] = str(recordings.trace(files, study["seed"]))
            yield from ((point, None) for point in _described(sweep, alike, study))
            yield from _runs(sweep, alike, study)


def _seeds(plan: Plan) -> int:
    return max((claim.seeds for claim in plan.claims), default=1)


def planned(plan: Plan) -> Iterator[tuple[Sweep, Json, list[Point]]]:
    """Sweeps and workloads in order, seed by seed, each with its points before they run."""
    for seed, sweep in itertools.product(range(_seeds(plan)), plan.sweeps):
        yield from (
            (sweep, workload, _blank(sweep, workload, seed)) for workload in sweep.workloads if not _absent(workload)
        )


def traces(workload: Json) -> Path:
    """Where a workload's trace is looked for: in the folder that `FTLKIT_TRACES` names, or here."""
    return Path(os.environ.get("FTLKIT_TRACES", ".")) / str(workload["trace"])


def _absent(workload: Json) -> bool:
    return "trace" in workload and not traces(workload).is_file()


def absent_traces(plan: Plan) -> list[str]:
    """Recorded traces of a study that are not at hand: their runs are left out."""
    return sorted({str(workload["trace"]) for _, workload in _absent_workloads(plan)})


def absent_points(plan: Plan) -> list[Point]:
    """The runs that are left out, each with the trace that it lacks: no claim is judged without."""
    return [
        replace(point, error=f"{workload['trace']} is not at hand", is_absent=True)
        for sweep, workload in _absent_workloads(plan)
        for point in _blank(sweep, workload, seed=0)
    ]


def _absent_workloads(plan: Plan) -> Iterator[tuple[Sweep, Json]]:
    return ((sweep, workload) for sweep in plan.sweeps for workload in sweep.workloads if _absent(workload))


def _blank(sweep: Sweep, workload: Json, seed: int) -> list[Point]:
    """The points of a sweep's workload before they run, grouped by the study's keys."""
    name = str(workload.get("label") or workload.get("preset") or workload.get("trace") or sweep.id)
    own = workload.get("keys", {})
    return [
        Point(sweep.id, name, variant.label, own | keys, None, seed=seed)
        for _, group in itertools.groupby(sweep.points(), of_study)
        for variant, keys in itertools.product(sweep.variants, list(group))
    ]


def asked_for(point: Point, claims: Sequence[Claim]) -> bool:
    """Whether a claim is judged by this run."""
    return any(claim.asks_for(point) for claim in claims)


def _evaluated(sweep: Sweep, wanted: Sequence[Point]) -> list[Point]:
    """The values of a sweep's models."""
    models_of = {variant.label: variant for variant in sweep.variants if variant.model}
    return [
        replace(
            point,
            model=models.evaluate(**models_of[point.variant].model | taken(models_of[point.variant].takes, point.keys)),
        )
        for point in wanted
        if point.variant in models_of
    ]


def _runs(sweep: Sweep, wanted: Sequence[Point], study: Json) -> Iterator[tuple[Point, plans.Point]]:
    """The points of a sweep's layers that ask the same of the study, each with its run."""
    layers = {variant.label: variant for variant in sweep.variants if variant.ftl}
    device = str(study.get("device", {}).get("preset", plans.UNNAMED["device"]))
    for point in (point for point in wanted if point.variant in layers):
        layer = layers[point.variant]
        varied = {key: str(value) for key, value in taken(layer.takes, point.keys).items()}
        ftl = layer.ftl | varied | {"label": point.variant}
        varied |= {key: str(value) for key, value in of_study(point.keys).items()}
        yield (
            point,
            plans.Point(study | {"ftl": [ftl]}, device, point.workload, point.variant, varied, study["seed"]),
        )


def _described(sweep: Sweep, requested: Sequence[Point], study: Json) -> list[Point]:
    """What the workload's requests are, for a sweep's variants that ask for it: shares by size."""
    wanted = [variant.label for variant in sweep.variants if variant.statistics]
    return [
        replace(point, model=statistics(trace_info(study["workload"], seed=study["seed"])))
        for point in requested
        if point.variant in wanted
    ]


def _analysed(sweep: Sweep, wanted: Sequence[Point], recordings: Recordings, files: Json, seed: int) -> list[Point]:
    """What the analyzer of a file workload found of the types that a sweep's variants ask for."""
    types = {variant.label: variant.file_type for variant in sweep.variants if variant.file_type}
    points = []
    for point in (point for point in wanted if point.variant in types):
        series = recordings.series(files, seed, types[point.variant])
        points.append(replace(point, model=later_half(series), series=series))
    return points


def study_of(plan: Plan, workload: Json, point: Point) -> tuple[Json, Json]:
    """The study of a point, without translation layers, and its file workload, if any."""
    study = placed(plan.study, point.keys, point.seed)
    shared = study.pop("files", {})
    own = {key: value for key, value in workload.items() if key not in ("label", "keys", "files")}
    study["workload"] = study.get("workload", {}) | own
    if "trace" in workload:
        study["workload"]["trace"] = str(traces(workload))
    varied = {key.partition(".")[2]: value for key, value in point.keys.items() if key.startswith("files.")}
    return study, (shared | workload["files"] | varied if "files" in workload else {})
