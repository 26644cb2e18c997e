"""Running a sweep: take points from a store, run the others, and store them at once."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ftlkit._util.native_call import Interrupted, TimeIsUp, watched
from ftlkit._util.progress import Silent, State, Watcher
from ftlkit.results import store as stores
from ftlkit.results.point_state import DONE, LOST, REFUSED
from ftlkit.sweeps import key
from ftlkit.sweeps.plan import UNNAMED
from ftlkit.sweeps.prepare import Prepared, prepare, refuse_hopeless
from ftlkit.sweeps.traces import Traces, as_given, scratch
from ftlkit.sweeps.work import Answer, Executor, Job

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ftlkit.results.document import Json
    from ftlkit.results.store import Store
    from ftlkit.sweeps.plan import Plan, Point


@dataclass(frozen=True)
class Sweep:
    """Points that were run, or what was finished of them."""

    rows: list[Json]
    """Points with `ftlkit.results.store.SCHEMA`'s columns, in order, without unfinished ones."""
    points: int
    """How many there are altogether."""
    reused: int
    """How many were in the store."""
    damaged: list[str]
    """Keys of points whose files in the store could not be read, and that were run again."""

    @property
    def cancelled(self) -> bool:
        """Whether it was stopped before all points were finished."""
        return len(self.rows) < self.points

    @property
    def failed(self) -> list[Json]:
        """Points that have an error in place of results."""
        return [row for row in self.rows if row["state"] != DONE]


def run(plan: Plan, store: Store, executor: Executor, watch: Callable[[], Watcher] = Silent) -> Sweep:
    """Run the points of a plan that a store has not.

    Ctrl-C ends it with `Interrupted`, whose `finished` is the sweep with the points that are
    finished; they are stored.
    """
    with scratch() as folder:
        traces = Traces(folder)
        return run_points(
            plan.points(), store, executor, traces, watch, check=lambda prepared: refuse_hopeless(plan, prepared)
        )


def run_points(
    points: Sequence[Point],
    store: Store,
    executor: Executor,
    traces: Traces,
    watch: Callable[[], Watcher] = Silent,
    *,
    check: Callable[[list[Prepared]], None] = lambda _: None,
) -> Sweep:
    """Run points that a store lacks, over traces laid out once for the same `traces`.

    A point that is refused is no error, unless `check` makes it one, which is given the points
    before they are run. Ctrl-C ends it as it ends `run`; where the executor's time is over, what is
    finished until then is returned.
    """
    try:
        prepared = watched(
            lambda control: prepare(points, traces, executor, control), watch(), until_s=executor.until_s
        )
    except TimeIsUp:
        return Sweep([], len(points), 0, [])
    except Interrupted:
        # Points that are prepared are no part of a sweep yet.
        raise Interrupted(None) from None
    check(prepared)
    finished, damaged = store.sound(sorted({point.key for point in prepared} & store.keys()))
    rows = {row["key"]: row for row in finished if row["state"] != LOST}
    reused = sum(point.key in rows for point in prepared)
    missing = list({point.key: point for point in prepared if point.key not in rows}.values())
    runnable = [point for point in missing if not point.refusal]
    for point in missing:
        if point.refusal:
            rows[point.key] = _kept(store, point, Answer(0, REFUSED, point.refusal))
    try:
        _run_missing(runnable, rows, store, executor, traces, watch())
    except KeyboardInterrupt:
        # It may have come between storing a point and taking note of it.
        rows |= {row["key"]: row for row in store.sound({point.key for point in missing} & store.keys())[0]}
        raise Interrupted(_sweep(prepared, rows, reused, damaged)) from None
    return _sweep(prepared, rows, reused, damaged)


def _sweep(prepared: list[Prepared], rows: dict[str, Json], reused: int, damaged: list[str]) -> Sweep:
    """The finished points, each called as it was asked here: a store may have it from elsewhere."""
    finished = [rows[point.key] | _place(point) for point in prepared if point.key in rows]
    return Sweep(finished, len(prepared), reused, damaged)


def _run_missing(
    missing: list[Prepared], rows: dict[str, Json], store: Store, executor: Executor, traces: Traces, watcher: Watcher
) -> None:
    jobs = [Job(place, point.study, traces.laid_out(point.study["workload"])) for place, point in enumerate(missing)]
    with watcher, closing(executor.run(jobs)) as answers:
        for number, answer in enumerate(answers, 1):
            missing_point = missing[answer.index]
            rows[missing_point.key] = _kept(store, missing_point, _as_given(answer, jobs[answer.index]))
            watcher.show(_progress(number, len(jobs)))


def _progress(done: int, points: int) -> State:
    return [("points", done, points)]


def _as_given(answer: Answer, job: Job) -> Answer:
    if answer.state != DONE or job.trace is None:
        return answer
    return Answer(answer.index, DONE, json.dumps(as_given(json.loads(answer.text), job.study, job.trace)))


def _kept(store: Store, point: Prepared, answer: Answer) -> Json:
    """The row of a point, stored."""
    is_done = answer.state == DONE
    row: Json = {
        **_place(point),
        "key": point.key,
        "engine": key.engine(),
        "trace": point.trace,
        "state": answer.state,
        "error": None if is_done else answer.text,
        "study": json.dumps(point.study),
        "document": answer.text if is_done else None,
    }
    row |= stores.measured(row)
    store.add(row)
    return row


def _place(prepared: Prepared) -> Json:
    """What a point is called."""
    point = prepared.point
    device = prepared.study["device"].get("preset", point.device) if point.device == UNNAMED["device"] else point.device
    return {
        "device": device,
        "workload": point.workload,
        "seed": point.seed,
        "label": point.ftl,
        "varied": [{"key": name, "value": value} for name, value in point.varied.items()],
    }
