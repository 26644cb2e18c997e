"""Running a sweep: the engine checks its points, and what a store lacks is run and stored at once.

The check completes each study, which gives the key. Points that differ in their translation layer
alone are checked together, so that a workload is looked over once for all of them. A trace is
parsed only to find out how it is read and to lay it out; all other checks read what was laid out.

A point that is refused is a result with its error; a key that nobody takes, or a sweep of which
nothing can be run, is the user's mistake and ends it.
"""

import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from itertools import groupby

from ftlkit import study
from ftlkit._native import Control, UserError
from ftlkit._util import Json
from ftlkit._util.native_call import Interrupted, TimeIsUp, uninterrupted, watched
from ftlkit._util.progress import Silent, Watcher
from ftlkit.own.references import code, references
from ftlkit.results import store as stores
from ftlkit.results.point_state import DONE, LOST, REFUSED
from ftlkit.results.store import Store
from ftlkit.sweeps import key
from ftlkit.sweeps.plan import UNNAMED, Plan, Point
from ftlkit.sweeps.traces import Traces, as_given, over, scratch
from ftlkit.sweeps.work import Answer, Executor, Job


@dataclass(frozen=True)
class Prepared:
    """A point with its key, before it is run."""

    point: Point
    key: str
    study: Json
    """The study with every key filled in; as asked, where it was refused."""
    trace: str | None
    """The digest of its trace, if it has one."""
    refusal: str = ""
    """Why it cannot be run."""


def prepare(points: Sequence[Point], traces: Traces, executor: Executor, control: Control) -> list[Prepared]:
    """Points, checked, in their order; traces that are read again and again are laid out for it."""
    for point in points:
        study.refuse_unreadable(point.study)
        traces.digest(point.study["workload"])
    shared = [_shared(point) for point in points]
    # Neighbours in order of these texts share all but their translation layers.
    order = sorted(range(len(points)), key=lambda place: shared[place])
    groups = [[points[place] for place in places] for _, places in groupby(order, key=lambda place: shared[place])]
    control.share_memory(min(executor.memory_sharers, len(points)))
    checker = _Checker(traces, control)
    if not traces.in_place:
        checker.lay_out(points, executor.least_readers)
    with ThreadPoolExecutor(executor.checks) as pool:
        checked = [point for group in pool.map(checker.together, groups) for point in group]
    prepared = [point for _, point in sorted(zip(order, checked, strict=True), key=lambda pair: pair[0])]
    return _with_presets(prepared)


def _with_presets(prepared: list[Prepared]) -> list[Prepared]:
    """The points, of which refused ones on the default device name its preset as the others do."""
    presets = {
        point.point.device: point.study["device"]["preset"] for point in prepared if "preset" in point.study["device"]
    }
    return [
        replace(point, study=point.study | {"device": {"preset": presets[point.point.device]} | point.study["device"]})
        if point.refusal and point.point.device == UNNAMED["device"] and point.point.device in presets
        else point
        for point in prepared
    ]


def _shared(point: Point) -> str:
    return json.dumps({name: value for name, value in point.study.items() if name != "ftl"}, sort_keys=True)


class _Checker:
    """Has the engine check studies, over traces that are laid out where it can."""

    def __init__(self, traces: Traces, control: Control) -> None:
        self._traces = traces
        self._control = control
        self._workloads = traces.resolved

    def lay_out(self, points: Sequence[Point], least: int) -> None:
        """Lay out each trace that this many of the points read.

        How it is read, with all defaults, a check tells of the trace as it was given; of one point,
        if that can be run.
        """
        tables: dict[str, list[Point]] = {}
        for point in points:
            if "trace" in point.study["workload"]:
                tables.setdefault(_text(point.study["workload"]), []).append(point)
        for text, readers in tables.items():
            for point in (readers[0], readers[-1]) if text not in self._workloads else ():
                with suppress(UserError):
                    self._workloads[text] = self._check(point.study)["workload"]
                    break
        read = [self._workloads[text] for text, readers in tables.items() if text in self._workloads for _ in readers]
        self._traces.lay_out(read, least, self._control)

    def together(self, group: Sequence[Point]) -> list[Prepared]:
        """Check points that differ in their layers alone; one by one, if refused together."""
        # Numbers tell layers of one name apart; of one alone an error says the name.
        names = [str(place) for place in range(len(group))] if len(group) > 1 else [group[0].ftl]
        layers = [point.study["ftl"][0] | {"label": name} for name, point in zip(names, group, strict=True)]
        try:
            resolved = self._resolved(group[0].study | {"ftl": layers})
        except UserError as error:
            if len(group) == 1:
                study = group[0].study
                name = key.text_digest(json.dumps([_engine(group[0]), study], sort_keys=True))
                return [Prepared(group[0], name, study, self._traces.digest(study["workload"]), str(error))]
            return [one for point in group for one in self.together([point])]
        return [
            self._prepared(point, resolved | {"ftl": [layer | {"label": point.ftl}]})
            for point, layer in zip(group, resolved["ftl"], strict=True)
        ]

    def _prepared(self, point: Point, resolved: Json) -> Prepared:
        trace = self._traces.digest(point.study["workload"])
        return Prepared(point, key.key(resolved, trace, _engine(point)), resolved, trace)

    def _resolved(self, document: Json) -> Json:
        """A completed study; its workload says how the original trace is read."""
        described = document["workload"]
        workload = self._workloads.get(_text(described))
        laid_out = None if workload is None else self._traces.laid_out(workload)
        if workload is None or laid_out is None:
            return self._check(document)
        try:
            resolved = self._check(document | {"workload": over(described, str(laid_out.path))})
        except UserError as error:
            raise UserError(str(error).replace(str(laid_out.path), described["trace"])) from None
        return resolved | {"workload": workload}

    def _check(self, document: Json) -> Json:
        return study.filled(document, self._control)


def _engine(point: Point) -> str:
    """The engine of a point, with the code of the classes that it names."""
    return key.engine() + code(references(point.study["ftl"]))


def _text(workload: Json) -> str:
    return json.dumps(workload, sort_keys=True)


def refuse_hopeless(plan: Plan, prepared: list[Prepared]) -> None:
    """Raise what all points say, or all that take one of the keys."""
    if all(point.refusal for point in prepared):
        raise UserError(prepared[0].refusal)
    for axis in plan.axes:
        takers = [point for point in prepared if axis.key in point.point.varied]
        if all(point.refusal for point in takers):
            raise UserError(f"{axis.where}: no point with it can be run. {takers[0].refusal}")


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
    jobs = [
        Job(place, one.study, traces.laid_out(one.study["workload"]), tuple(references(one.point.study["ftl"])))
        for place, one in enumerate(missing)
    ]
    with watcher, closing(executor.run(jobs)) as answers:
        for number, answer in enumerate(answers, 1):
            missing_point = missing[answer.index]
            with uninterrupted():
                rows[missing_point.key] = _kept(store, missing_point, _as_given(answer, jobs[answer.index]))
            watcher.show([("points", number, len(jobs))])


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
        "engine": _engine(point.point),
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
