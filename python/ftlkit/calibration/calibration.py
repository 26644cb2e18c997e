"""A drive's device from fio's reports: from files to parameters, with what each rests on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ftlkit import study
from ftlkit._native import UserError
from ftlkit._util import Json
from ftlkit._util.lookup import hint, several
from ftlkit._util.native_call import watched
from ftlkit._util.progress import Silent, Watcher
from ftlkit.calibration import PRESET, certainty, fio, starts
from ftlkit.calibration.certainty import ABSENT, ASSUMED, GIVEN, ROUGHLY, Parameter
from ftlkit.calibration.fit import LINEAR, LOGARITHMIC, Fit, Prior, Problem, fitted, misfit
from ftlkit.calibration.model import Engine, Shape, Values, depends_on
from ftlkit.calibration.points import (
    IOPS,
    LATENCY,
    LOAD,
    READ,
    STEADY,
    TRIMMED,
    WRITE,
    Point,
    held_out,
    of_jobs,
    with_counters,
)
from ftlkit.calibration.profile import Profile
from ftlkit.calibration.shapes import Choice, chosen

TIMES = ("read_latency", "program_latency", "erase_latency", "transfer_latency", "link_latency", "controller_latency")

COUNTS = ("channels", "dies_per_channel", "page_size", "pages_per_block")

_WIDE = {"erase_latency": 1.0, "spare": 1.0}
"""The deviation of a prior where the preset is a fair guess; of all others it is 1.5."""

_SPARES = (0.04, 0.07, 0.1, 0.15, 0.2, 0.27, 0.35, 0.45, 0.6)
"""Where the spare may begin: near enough to each other for slopes to lead on."""

BUFFERED = (
    "Writes at depth 1 end before flash could have programmed them, so the drive answers from a write buffer. They say "
    "nothing of program_latency, which rests on bandwidth alone, as do erase_latency and spare. Planes, or a cache "
    "emptied later, would change all three unseen: no interval is stated. Compare with a buffered stack: page+fifo."
)

BEHIND_BUFFER = ("program_latency", "erase_latency", "spare")
"""Parameters that only bandwidth tells where writes are answered from a buffer."""

ASKS_FLASH = (
    "Reads of trimmed addresses take as long as reads of data, so the drive seems to ask flash for them. They say "
    "nothing of link and controller, and are not used."
)

LEAST_POINTS = 4
"""Fewer say less than there is to be known."""


@dataclass(frozen=True)
class Calibration:
    """A fitted device, what each parameter rests on, and how well it explains the points."""

    files: tuple[str, ...]
    preset: str
    shape: Shape
    values: Values
    parameters: list[Parameter]
    """Counts first, then times."""
    checked: list[tuple[Point, float, bool]]
    """Each point, the model's figure, and whether it was held out of the fit."""
    notes: list[str]
    runs: int
    given: Json
    """Keys that were stated, and so not fitted."""
    doubt: str
    """Why the points refute the fit, so that nothing is determined; empty if they do not."""
    endurance: int
    """The preset's: nothing tells it."""


@dataclass(frozen=True)
class Question:
    """The request, as by the options of `ftlkit calibrate`."""

    files: tuple[Path, ...]
    capacity: int | None = None
    jobs: str | None = None
    hold_out: str | None = None
    counters: Mapping[str, float] | None = None
    preset: str = PRESET
    given: Mapping[str, object] | None = None
    """Keys of `[device]` that are known."""


def calibrated(question: Question, watcher: Watcher) -> Calibration:
    """Fit a device to reports. Raises `UserError` where they do not say enough."""
    jobs = _jobs(question)
    capacity = question.capacity or next((found for path in question.files if (found := fio.capacity(path))), None)
    if capacity is None:
        raise UserError("--capacity: the report does not say how large the drive is. Give its size: --capacity 960GB.")
    points, notes = of_jobs(jobs, capacity, fio.before(question.files[0]))
    points = with_counters(points, question.counters or {})
    apart = held_out(points, question.hold_out)
    usable, more = _usable(points)
    notes += more
    given = dict(question.given or {})
    known = _known(question.preset, given)
    shape, assumed = _assumed(known, given, points, capacity)
    engine = Engine(given)
    used = [point for point in usable if point.job not in apart]
    if len(used) < LEAST_POINTS or not any(point.kind == READ for point in used):
        raise UserError(
            f"{', '.join(map(str, question.files))}: {several(len(used), 'point')} to fit; {LEAST_POINTS} with reads "
            f"among them are the least. {' '.join(notes)} Run the jobs of `ftlkit calibrate --print-jobs`."
        )
    progress = _Progress(watcher, engine)
    with watcher:
        return _calibrated(
            question,
            _Task(used, usable, apart, notes, shape, assumed, given, int(known["endurance"]), engine),
            progress,
        )


@dataclass(frozen=True)
class _Task:
    """All that a fit begins with."""

    used: list[Point]
    usable: list[Point]
    apart: set[str]
    notes: list[str]
    shape: Shape
    assumed: Values
    given: Json
    endurance: int
    engine: Engine


def _calibrated(question: Question, task: _Task, progress: _Progress) -> Calibration:
    timing = [point for point in task.used if point.kind not in (STEADY, LOAD)]
    priors = {name: prior for name, prior in _priors(task).items() if name not in task.given}
    # A core that commands wait for looks alike on all shapes.
    of_timing = {name: p for name, p in priors.items() if _is_asked(name, timing) and name != "controller_latency"}
    progress.stage("channels and dies")
    choice = chosen(timing, task.shape, task.given, task.assumed, of_timing, task.engine, progress.show)
    asked = {name: prior for name, prior in priors.items() if _is_asked(name, task.used)}
    progress.stage("all points")
    start = _spared(task, choice.best, asked)
    fit = fitted(task.used, choice.best.shape, start, asked, task.engine, progress.show)
    one = min((p for p in task.used if p.kind == READ and p.figure == LATENCY), key=lambda p: p.size, default=None)
    one_ns = one.measured if one is not None else 1e5
    intervals: Mapping[str, tuple[float, float]] = {}
    first = _checked(task, fit.shape, fit.values)
    # A fit that is refuted has no intervals.
    if not certainty.doubt(first):
        progress.stage("intervals")
        problem = Problem(task.used, fit.shape, asked, task.engine, progress.show)
        profile = Profile(problem, fit)
        if profile.better is not None:
            fit = fitted(task.used, fit.shape, profile.better, asked, task.engine, progress.show)
            profile = Profile(problem, fit)
        fit, intervals = profile.fit, certainty.for_any_victims(profile.intervals, fit.shape.pages_per_block)
    sure = certainty.judged(fit, asked, intervals, one_ns)
    settled, values = _settled(task, fit, sure, asked, progress)
    settled = {name: certainty.beside(parameter, choice.rivals) for name, parameter in settled.items()}
    parameters = [*_counts(task, choice), *_times(task, settled, values, question.preset)]
    checked = _checked(task, fit.shape, values)
    # What was assumed since may hide a misfit, and does not explain it.
    refuting = checked if certainty.doubt(checked) else first
    doubt = certainty.doubt(refuting)
    unsure = set(BEHIND_BUFFER if BUFFERED in task.notes else ())
    if doubt:
        progress.stage("doubts")
        doubt = certainty.doubt(refuting, _reason(task, fit, refuting, asked, progress))
        unsure = {parameter.key for parameter in parameters}
    return Calibration(
        files=tuple(map(str, question.files)),
        preset=question.preset,
        shape=fit.shape,
        values=values,
        parameters=certainty.believed(parameters, unsure),
        checked=checked,
        notes=task.notes,
        runs=task.engine.runs,
        given=task.given,
        doubt=doubt,
        endurance=task.endurance,
    )


def _checked(task: _Task, shape: Shape, values: Values) -> list[tuple[Point, float, bool]]:
    """Each point, the model's figure, and whether it was held out."""
    return [(p, task.engine.figure(p, shape, values), p.job in task.apart) for p in task.usable]


def _reason(
    task: _Task,
    fit: Fit,
    checked: Sequence[tuple[Point, float, bool]],
    asked: Mapping[str, Prior],
    progress: _Progress,
) -> str:
    """Kinds of jobs without which a fit explains all others, in words; empty if there is none."""
    explain: dict[str, float] = {}
    for kind in sorted({point.kind for point, modelled, _ in checked if certainty.is_far(point, modelled)}):
        rest = [point for point in task.used if point.kind != kind]
        own = {name: prior for name, prior in asked.items() if _is_asked(name, rest)}
        if len(rest) < LEAST_POINTS or not any(point.kind == READ for point in rest):
            continue
        values = fitted(rest, fit.shape, fit.values, own, task.engine, progress.show, rounds=5).values
        others = [(p, task.engine.figure(p, fit.shape, values)) for p in task.usable]
        if not any(certainty.is_far(p, modelled) for p, modelled in others if p.kind != kind):
            explain[kind] = max(_times_as_fast(p, modelled) for p, modelled in others if p.kind == kind)
    return certainty.reason({_KINDS[kind]: times for kind, times in explain.items()}, _KINDS[WRITE])


def _times_as_fast(point: Point, modelled: float) -> float:
    """How fast the drive is beside the model."""
    return point.measured / modelled if point.figure == IOPS else modelled / point.measured


_KINDS = {
    READ: "reads of data",
    TRIMMED: "reads that find nothing",
    WRITE: "first writes",
    STEADY: "settled writes",
    LOAD: "latencies under load",
}


def _spared(task: _Task, fit: Fit, asked: Mapping[str, Prior]) -> Values:
    """A fit without collections, with the spare that suits settled writes best."""
    steady = [point for point in task.used if point.kind == STEADY]
    asking = [max(steady, key=lambda point: point.used)] if steady else _loads_with_writes(task.used)
    if "spare" not in asked or not asking:
        return fit.values
    values = starts.programmed(task.used, fit.values) if "program_latency" in asked else fit.values
    tried = [values | {"spare": share} for share in _SPARES]
    return min(tried, key=lambda values: misfit(asking, fit.shape, values, task.engine))


def _loads_with_writes(points: Sequence[Point]) -> list[Point]:
    return [point for point in points if point.kind == LOAD and point.rates[1]]


def _settled(
    task: _Task, fit: Fit, sure: dict[str, Parameter], asked: Mapping[str, Prior], progress: _Progress
) -> tuple[dict[str, Parameter], Values]:
    """The parameters when those that nothing tells are the assumed ones, and the others follow."""
    values = dict(fit.values)
    for name, parameter in sure.items():
        if parameter.state in (ASSUMED, ABSENT):
            values[name] = task.assumed[name]
    rest = {name: prior for name, prior in asked.items() if sure[name].is_fitted}
    if len(rest) < len(asked) and rest:
        progress.stage("what is determined")
        values = fitted(task.used, fit.shape, values, rest, task.engine, progress.show, rounds=3).values
    return {name: _at(parameter, values[name]) for name, parameter in sure.items()}, values


def _at(parameter: Parameter, value: float) -> Parameter:
    """A parameter at the value that was taken in the end.

    Its interval is that of the fit in which nothing was assumed, and holds the value. What is
    assumed has none.
    """
    if parameter.state == ASSUMED or parameter.low is None or parameter.high is None:
        return replace(parameter, value=value, low=None, high=None)
    if parameter.state == ABSENT:
        return replace(parameter, value=value, low=min(parameter.low, value), high=max(parameter.high, value))
    old = float(parameter.value)
    has_moved = parameter.key in LOGARITHMIC and abs(value / old - 1) > certainty.SURE
    state = ROUGHLY if has_moved else parameter.state
    return replace(parameter, value=value, state=state, low=min(parameter.low, value), high=max(parameter.high, value))


class _Progress:
    """Shows how many runs were made, and of which stage."""

    def __init__(self, watcher: Watcher, engine: Engine) -> None:
        self._watcher, self._engine, self._stage, self._before = watcher, engine, "", 0

    def stage(self, name: str) -> None:
        """A new stage begins."""
        self._stage, self._before = name, self._engine.runs

    def show(self) -> None:
        """Show the stage's runs so far; how many there will be is not known."""
        self._watcher.show([(self._stage, self._engine.runs - self._before, 0)])


def _jobs(question: Question) -> list[fio.Job]:
    """The jobs of all files, or those that were named."""
    if not question.files:
        raise UserError("give the JSON that fio wrote: ftlkit calibrate drive.json. --print-jobs prints the jobs.")
    jobs = [job for path in question.files for job in fio.read(path)]
    if question.jobs is None:
        return jobs
    names = [name.strip() for name in question.jobs.split(",") if name.strip()]
    there = {job.name for job in jobs}
    for name in names:
        if name not in there:
            raise UserError(
                f"--jobs {name}: there is no such job.{hint(name, there)} There are {', '.join(sorted(there))}."
            )
    # The others are gone through as well: they change the drive's state.
    return [job if job.name in names or job.direction == "trim" else _unused(job) for job in jobs]


def _unused(job: fio.Job) -> fio.Job:
    """A job that changes the drive's state, and of which no point is made."""
    return replace(job, name=f"settle ({job.name})")


def _usable(points: Sequence[Point]) -> tuple[list[Point], list[str]]:
    """The points that say something of flash, and a note on those that do not."""
    usable, notes = list(points), []
    if starts.answers_from_buffer(points):
        usable = [
            point for point in usable if not (point.kind == WRITE and point.figure == LATENCY) and not point.is_write
        ]
        notes.append(BUFFERED)
    if starts.reads_flash_for_nothing(points):
        usable = [point for point in usable if point.kind != TRIMMED]
        notes.append(ASKS_FLASH)
    return usable, notes


def _known(preset: str, given: Json) -> Json:
    """The whole `[device]` table of the preset with what was given, in one spelling."""
    asked: Json = {
        "device": {"preset": preset} | given,
        "workload": {"generator": {"requests": 1, "span": "1MiB"}},
        "host": {"loop": "closed"},
        "ftl": [{"name": "page"}],
    }
    table: Json = watched(lambda control: study.filled(asked, control), Silent())["device"]
    return table


def _assumed(known: Json, given: Json, points: Sequence[Point], capacity: int) -> tuple[Shape, Values]:
    """What is taken where nothing tells: the preset's, or what was given."""
    size = int(known["page_size"])
    if "page_size" not in given:
        seen = starts.page_size(points) or min((point.size for point in points), default=4096)
        known = known | {"page_size": seen}
        if "transfer_latency" not in given:
            known["transfer_latency"] = f"{round(_ns(known['transfer_latency']) * seen / size)}ns"
    counts = {key: int(known[key]) for key in COUNTS}
    shape = Shape(capacity=capacity, **counts)
    values = {key: _ns(known[key]) if key in given or key not in LINEAR else 0.0 for key in TIMES}
    values["link_ns_per_byte"] = 1e9 / _rate(known["link_bandwidth"]) if "link_bandwidth" in given else 0.0
    values["spare"] = float(known["spare"])
    return shape, values


def _ns(text: Any) -> float:  # noqa: ANN401 - a time, or one for each type of page
    if isinstance(text, list):
        return sum(map(_ns, text)) / len(text)
    return float(str(text).removesuffix("ns"))


def _rate(text: str) -> float:
    return float(text.removesuffix("B/s"))


def _priors(task: _Task) -> dict[str, Prior]:
    """What is assumed of each parameter that was not given."""
    made = {name: Prior(task.assumed[name], _WIDE.get(name, 1.5)) for name in LOGARITHMIC}
    one = min((p.measured for p in task.used if p.kind == READ and p.figure == LATENCY), default=1e5)
    served = [p for p in task.used if p.figure == IOPS]
    most = max((p.measured for p in served), default=1e9 / one)
    moved = max((p.measured * p.size for p in served), default=4096e9 / one)
    made["link_latency"] = Prior(0.0, one)
    # A controller that one command holds for longer, or a slower link, could not have done that.
    made["controller_latency"] = Prior(0.0, 0.3e9 / most)
    made["link_ns_per_byte"] = Prior(0.0, 0.5e9 / moved)
    if "link_bandwidth" in task.given:
        del made["link_ns_per_byte"]
    return made


def _is_asked(name: str, points: Sequence[Point]) -> bool:
    return any(name in depends_on(point) for point in points)


def _counts(task: _Task, choice: Choice) -> list[Parameter]:
    """Channels, dies, pages and blocks, with what they rest on."""
    shape, made = choice.best.shape, []
    reads = tuple(p.job for p in starts.coarse(task.used) if p.kind == READ)[-certainty.MOST_JOBS :]
    for key in ("channels", "dies_per_channel"):
        if key in task.given:
            made.append(Parameter(key, float(getattr(shape, key)), GIVEN))
            continue
        others = sorted({getattr(rival.shape, key) for rival in choice.rivals} | {getattr(shape, key)})
        state = certainty.DETERMINED if len(others) == 1 else ROUGHLY
        note = "" if len(others) == 1 else f"{' or '.join(map(str, others))} fit alike"
        made.append(Parameter(key, float(getattr(shape, key)), state, others[0], others[-1], reads, note))
    writes = tuple(p.job for p in task.usable if p.kind == WRITE and p.figure == LATENCY)
    if "page_size" in task.given:
        made.append(Parameter("page_size", float(shape.page_size), GIVEN))
    elif writes:
        note = "the smallest write that reads nothing first"
        made.append(Parameter("page_size", float(shape.page_size), certainty.DETERMINED, None, None, writes[:3], note))
    else:
        note = "the smallest request: no measured write at depth 1 was answered by flash"
        made.append(Parameter("page_size", float(shape.page_size), ASSUMED, note=note))
    state = GIVEN if "pages_per_block" in task.given else ASSUMED
    note = "" if state == GIVEN else "cannot be told from outside"
    return [*made, Parameter("pages_per_block", float(shape.pages_per_block), state, note=note)]


def _times(task: _Task, sure: Mapping[str, Parameter], values: Values, preset: str) -> list[Parameter]:
    """Times and the spare, in the order of a device's keys."""
    made = []
    for name in (*TIMES, "link_ns_per_byte", "spare"):
        key = "link_bandwidth" if name == "link_ns_per_byte" else name
        if key in task.given:
            made.append(Parameter(name, values[name], GIVEN))
        elif name not in sure:
            made.append(Parameter(name, values[name], ASSUMED, note=f"no job asks for it; {_from(name, preset)}"))
        elif sure[name].state == ASSUMED:
            made.append(replace(sure[name], note=f"not determined by these measurements; {_from(name, preset)}"))
        else:
            made.append(sure[name])
    return made


def _from(name: str, preset: str) -> str:
    return "taken to be none" if name in LINEAR else f"taken from {preset}"
